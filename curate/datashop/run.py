"""A run: its folder, and the stamps of the stages that are finished in it.

A stage's stamp names what it was made from: its part of the spec, the code, and the stamps before it. A stage whose stamp
still says the same is left alone; another is done again. What the model has answered is not asked again either way.
"""

from __future__ import annotations

import enum
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from tootsie.curate import corpus_build
from tootsie.curate.corpus_card import card_is_ours
from tootsie.curate.datashop.embeddings import Encoder
from tootsie.curate.datashop.spec import DatashopSpec, EncoderSpec, ModelSpec, Protocol
from tootsie.curate.decontamination.evaluation_sets import read_evaluation_sets
from tootsie.curate.document_inputs import InputCorpus
from tootsie.curate.language import identifier_version
from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.provenance import code_version, fingerprint


class Stage(enum.StrEnum):
    """What a run does, in this order."""

    DESCRIBE = "describe"
    ANNOTATE = "annotate"
    TRAIN = "train-scorer"
    SCORE = "score"
    FILTER = "filter"
    REPHRASE = "rephrase"
    CHECK = "check"
    DECONTAMINATE = "decontaminate"
    CARD = "card"


BEFORE: dict[Stage, tuple[Stage, ...]] = {
    Stage.DESCRIBE: (),
    Stage.ANNOTATE: (Stage.DESCRIBE,),
    Stage.TRAIN: (Stage.ANNOTATE,),
    Stage.SCORE: (Stage.TRAIN,),
    Stage.FILTER: (Stage.SCORE,),
    Stage.REPHRASE: (Stage.FILTER,),
    Stage.CHECK: (Stage.REPHRASE,),
    Stage.DECONTAMINATE: (Stage.CHECK,),
    Stage.CARD: tuple(Stage)[:-1],
}
PARTS: dict[Stage, tuple[str, ...]] = {
    Stage.DESCRIBE: ("subjects",),
    Stage.ANNOTATE: ("annotate", "seed", "max_failures"),
    Stage.TRAIN: ("scorer", "seed"),
    Stage.SCORE: (),
    Stage.FILTER: ("filter",),
    Stage.REPHRASE: ("rephrase", "seed", "name", "max_failures"),
    Stage.CHECK: ("check",),
    Stage.DECONTAMINATE: ("evaluations",),
    Stage.CARD: ("name",),
}
"""Keys of the spec that a stage depends on."""
ASKING = frozenset((Stage.DESCRIBE, Stage.ANNOTATE, Stage.REPHRASE))
"""Stages that ask the model."""
ENCODING = frozenset((Stage.TRAIN, Stage.SCORE))
"""Stages that ask the scorer's encoder, where it has one."""
_ANSWERING = ("name", "revision", "temperature", "top_p", "seed", "reasks")
"""Keys of the model that its answers depend on."""


@dataclass(frozen=True)
class Run:
    """What the stages are given."""

    spec: DatashopSpec
    folder: str
    corpora: tuple[InputCorpus, ...]
    options: Any
    """Of Beam."""
    model: ModelSpec
    """With the URL of a server, once one is up."""
    first_wait: float = 0.5
    """Seconds before a request is tried again."""
    encoder: EncoderSpec | None = None
    """Of the scorer, likewise with a URL once one is up."""

    def path(self, *parts: str) -> str:
        """Return a place in the folder of the run."""
        return storage.join(self.folder, *parts)

    def stamp_url(self, stage: Stage) -> str:
        """Return where a stage's stamp lies."""
        return self.path("stages", f"{stage.value}.json")

    def identity(self, stage: Stage) -> str:
        """Return a hash of all that a stage's output depends on.

        Raises:
          ArtefactError: a stage before it is not finished, or with another spec, inputs or code.
        """
        before = {}
        for one in BEFORE[stage]:
            url = self.stamp_url(one)
            if not storage.exists(url):
                raise ArtefactError(
                    f"the stage {stage.value} needs the stage {one.value}, which is not finished",
                    file=url,
                    field="--stage",
                    remedy=f"--stage {one.value}, or leave --stage out to do all",
                )
            if self.finished(one) is None:
                raise ArtefactError(
                    f"the stage {stage.value} needs the stage {one.value}, which was done with another spec, inputs or code",
                    file=url,
                    field="--stage",
                    remedy=f"--stage {one.value}, or leave --stage out to do all",
                )
            before[one.value] = hashlib.sha256(storage.read_bytes(url)).hexdigest()
        content: dict[str, Any] = {
            "stage": stage.value,
            "before": before,
            "spec": self.spec.content(*PARTS[stage]),
            "code": code_version("curate"),
        }
        if stage is Stage.TRAIN and self.encoder is not None:  # where it is served changes nothing
            content["spec"]["scorer"]["encoder"] = Encoder.of(self.encoder).as_specified()
            content["max_failures"] = self.spec.max_failures
        if stage is Stage.SCORE and self.encoder is not None:
            content["max_failures"] = self.spec.max_failures
        if stage in ASKING:
            model = self.model.model_dump(mode="json")
            content["model"] = {name: model[name] for name in _ANSWERING}
        if stage in (Stage.ANNOTATE, Stage.SCORE, Stage.FILTER):
            content["inputs"] = [
                (corpus.source, file.name, file.sha256) for corpus in self.corpora for file in corpus.files
            ]
        checks = stage is Stage.CHECK
        if stage is Stage.REPHRASE and self.spec.rephrase.protocol is Protocol.TWO_STEP:
            content["check"] = self.spec.content("check")  # decides whether another question is tried
            checks = True
        if checks and self.spec.check.language:
            content["identifier"] = identifier_version("check.language")
        if stage is Stage.DECONTAMINATE and self.spec.evaluations:
            sets, common = read_evaluation_sets(self.spec.evaluations)
            content["evaluations"] = {one.name: one.sha256 for one in sets}
            content["common"] = [storage.sha256(url) for url in common]
        return fingerprint(content)

    def finished(self, stage: Stage) -> dict[str, Any] | None:
        """Return the books of a stage that is finished as it is wanted now; otherwise ``None``."""
        url = self.stamp_url(stage)
        if not storage.exists(url):
            return None
        stamp = json.loads(storage.read_bytes(url))
        if stamp["identity"] != self.identity(stage):
            return None
        books: dict[str, Any] = stamp["books"]
        return books

    def check_folder(self) -> None:
        """Refuse a folder in which something of others lies where the run is going to write and clear.

        Raises:
          ArtefactError: it has a README.md that is no card, or a stage's folder without a run's traces.
        """
        if not card_is_ours(self.folder):
            raise ArtefactError(
                "the folder has a README.md that is not of Tootsie, in the place of the card",
                file=self.folder,
                remedy="Move it away, or use another folder",
            )
        states = [self.stamp_url(stage) for stage in Stage] + [self._state_url(stage) for stage in Stage]
        if any(map(storage.exists, states)):
            return
        for stage in Stage:
            place = self.path(stage.value)
            if storage.exists(place) and storage.find_files(place):
                raise ArtefactError(
                    "the folder has files that no datashop run wrote, where this one would write",
                    file=place,
                    remedy="Move them away, or use another folder",
                )

    def _state_url(self, stage: Stage) -> str:
        return self.path("_work", stage.value, "identity")

    def begin(self, stage: Stage) -> None:
        """Clear what another version of a stage has left; what this one has left stays, to go on from."""
        identity = self.identity(stage)
        state = self._state_url(stage)
        if storage.exists(self.stamp_url(stage)) or not (
            storage.exists(state) and storage.read_bytes(state).decode() == identity
        ):
            self.clear(stage)
            storage.write_bytes(state, identity.encode())

    def clear(self, stage: Stage) -> None:
        """Delete what a stage wrote."""
        storage.remove(self.stamp_url(stage))
        for place in (self.path(stage.value), self.path("_work", stage.value)):
            for name in storage.find_files(place) if storage.exists(place) else ():
                storage.remove(name)
        corpus_build.remove_work(self.path(stage.value))

    def finish(self, stage: Stage, books: dict[str, Any]) -> dict[str, Any]:
        """Write the stamp of a stage."""
        content = {"identity": self.identity(stage), "books": books}
        storage.write_bytes(
            self.stamp_url(stage), (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
        )
        return books

    def books(self, stage: Stage) -> dict[str, Any]:
        """Return the books of a finished stage."""
        books: dict[str, Any] = json.loads(storage.read_bytes(self.stamp_url(stage)))["books"]
        return books

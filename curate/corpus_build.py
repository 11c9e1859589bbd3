"""Build a corpus: dumps → ``part-NNNNN-of-NNNNN.jsonl.zst``, ``rejects/`` and, last, ``_manifest.json``.

A run first writes down what it is about to do (``_work/plan.json``: settings, checksums of the inputs, code version). A
run that finds a plan goes on with it if it is the same plan, and refuses otherwise. Each finished shard leaves a receipt;
the manifest is the sum of the receipts.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fsspec.core import url_to_fs
from pydantic import BaseModel, ConfigDict, ValidationError

from tootsie.curate import corpus_sum
from tootsie.curate.corpus import Corpus, Unit
from tootsie.curate.corpus_card import card_is_ours, remove_card, write_card
from tootsie.curate.shard_output import DROPPED_TEXT, REJECTS, WORK, Receipt, finished_receipt, part_name
from tootsie.datasets import beam_runner, storage
from tootsie.datasets.accounting import ConservationError
from tootsie.datasets.copies import check_listed
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.datasets.manifest import MANIFEST_NAME, InputEntry, Manifest, read_manifest, write_manifest
from tootsie.datasets.provenance import code_version

if TYPE_CHECKING:
    from apache_beam import Pipeline
    from apache_beam.options.pipeline_options import PipelineOptions

TARGET_SHARD_BYTES = 64 * 2**20
"""Uncompressed source bytes of a shard, about."""
MIN_SHARDS = 4
"""Shards of even the smallest corpus, so that several workers have something to do; others have a multiple."""
MAX_SHARDS = 4096
"""Shards that are made unless more are asked for."""
MAX_NUMBERED_SHARDS = 99_999
"""Shards that five digits in a file name can tell apart."""
_EXPANSION = {".zip": 6, ".gz": 6, ".zst": 7, ".7z": 6}


@dataclass(frozen=True)
class BuildSettings:
    """How a corpus is built, whatever its kind."""

    shards: int | None = None
    """Output files; by default one for each 64 MiB of source, a multiple of 4."""
    seed: int = 0
    """Spreads the documents over the shards."""
    limit: int | None = None
    """Read only so many records (threads, for StackExchange), the first ones."""
    max_failures: float = 0.02
    """Share of the records whose conversion may fail before the run does."""
    time_limit: float = 60.0
    """Seconds of CPU time that the conversion of a document may take; 0 means any."""
    memory_limit: int = 2048
    """MiB that the conversion of a document may take; 0 means any."""
    allow_empty: bool = False
    """Whether a corpus without a document is no error."""
    sample_dropped_text: int = 256
    """Of about one document in so many it is written down what was left out; 0 for none."""


class Plan(BaseModel):
    """What a run is about to do; equal plans give equal bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """Corpus name."""
    code_version: str
    """Of the stage ``curate``."""
    settings: dict[str, Any]
    """Every option that can change the content."""
    inputs: list[InputEntry]
    """Files that are read, with their checksums."""


@dataclass(frozen=True)
class Job:
    """A plan together with where its inputs lie."""

    corpus: Corpus
    folder: str
    plan: Plan
    units: tuple[Unit, ...]
    settings: BuildSettings

    @property
    def shards(self) -> int:
        """Number of output files."""
        return int(self.plan.settings["shards"])

    @property
    def tasks(self) -> list[list[Unit]]:
        """Units by worker task: one each, or all in one where a limit runs over them."""
        return [list(self.units)] if self.settings.limit is not None else [[unit] for unit in self.units]


def entry_name(unit: Unit, url: str) -> str:
    """Return the name of an input file in the manifest: the same wherever the input lies."""
    name = url.rsplit("/", 1)[-1]
    return name if name == unit.name else f"{unit.name}/{name}"


def make_job(
    corpus: Corpus,
    inputs: Sequence[str],
    folder: str,
    settings: BuildSettings,
    on_file: Callable[[str, int], None] = lambda name, size: None,
) -> Job:
    """Look at the inputs and decide on shards.

    Args:
      corpus: the kind of dump, with its options.
      inputs: URLs, globs, brace ranges.
      folder: URL of the output.
      settings: of the build.
      on_file: called with name and size before a file's checksum is computed.

    Raises:
      ArtefactError: a file is not as the list of its copy says, or the copy has not been fetched to its end.
      InputError: no such file, or none of this corpus.
      SpecError: a setting out of range.
    """
    for name, value in (("--shards", settings.shards), ("--limit", settings.limit)):
        if value is not None and value < 1:
            raise SpecError("must be at least 1", field=name, value=value)
    if (settings.shards or 0) > MAX_NUMBERED_SHARDS:
        raise SpecError(f"must be at most {MAX_NUMBERED_SHARDS:,}", field="--shards", value=settings.shards)
    if not 0 <= settings.max_failures <= 1:
        raise SpecError(
            "must be a share between 0 and 1", field="--max-failures", value=settings.max_failures
        )
    found: list[tuple[Unit, list[InputEntry]]] = []
    digests: dict[str, str] = {}
    for unit in corpus.units(storage.expand(inputs)):
        entries = []
        for url in unit.urls:
            size = storage.size(url)
            on_file(entry_name(unit, url), size)
            digests[url] = storage.sha256(url)
            entries.append(InputEntry(path=entry_name(unit, url), size=size, sha256=digests[url]))
        found.append((unit, sorted(entries, key=lambda entry: (entry.path, entry.sha256))))
    check_listed(digests)
    # By name, then by content: neither the order on the command line nor the folder the inputs lie in has a part in it.
    found.sort(key=lambda pair: (pair[0].name, [entry.sha256 for entry in pair[1]]))
    units = [unit for unit, _ in found]
    shards = settings.shards or default_shards(units)
    content = {
        **{field.name: getattr(corpus, field.name) for field in dataclasses.fields(corpus)},
        "seed": settings.seed,
        "limit": settings.limit,
        "shards": shards,
        "time_limit": settings.time_limit,
        "memory_limit": settings.memory_limit,
        "sample_dropped_text": settings.sample_dropped_text,
    }
    plan = Plan(
        source=corpus.name,
        code_version=code_version("curate"),
        settings=json.loads(json.dumps(content)),
        inputs=sorted(
            (entry for _, entries in found for entry in entries), key=lambda entry: (entry.path, entry.sha256)
        ),
    )
    return Job(corpus, folder, plan, tuple(units), settings)


def default_shards(units: Sequence[Unit]) -> int:
    """Return how many shards the size of the inputs asks for; workers have no part in it."""
    total = sum(
        unit.size
        * max((factor for suffix, factor in _EXPANSION.items() if unit.urls[0].endswith(suffix)), default=1)
        for unit in units
        if not unit.joins
    )
    # A multiple, so that two or four workers, which are dealt the shards in turn, have equal shares of few.
    return min(MAX_SHARDS, max(1, math.ceil(total / TARGET_SHARD_BYTES / MIN_SHARDS)) * MIN_SHARDS)


def check_output(job: Job, *, overwrite: bool = False) -> Manifest | None:
    """Compare the output folder with the job.

    Returns:
      The manifest of an already finished, identical run; ``None`` where there is work to do.

    Raises:
      ArtefactError: the folder belongs to another run (the first difference is named), and ``overwrite`` is not set.
    """
    folder, plan_url = job.folder, storage.join(job.folder, WORK, "plan.json")
    if not card_is_ours(folder):
        raise ArtefactError(
            "the folder has a README.md that is not of Tootsie, in the place of the card of the corpus",
            file=folder,
            remedy="Move it away, or use another folder",
        )
    if overwrite:
        clear(folder)
        return None
    if storage.exists(storage.join(folder, MANIFEST_NAME)):
        manifest = read_manifest(folder)
        _same(
            job.plan,
            manifest.source,
            manifest.code_version,
            manifest.settings,
            manifest.inputs,
            folder,
            "finished",
        )
        remove_work(folder)
        return manifest
    if storage.exists(plan_url):
        try:
            plan = Plan.model_validate_json(storage.read_bytes(plan_url))
        except ValidationError:
            raise ArtefactError(
                "not a valid plan", file=plan_url, remedy="Start over with --overwrite"
            ) from None
        if plan != job.plan and not _has_work(folder):  # as after a mistake in the inputs or the options
            remove_work(folder)
            return None
        _same(job.plan, plan.source, plan.code_version, plan.settings, plan.inputs, folder, "unfinished")
    elif any(name.startswith("part-") for name in storage.list_files(folder)):
        raise ArtefactError(
            "the folder holds document files of an unknown run",
            file=folder,
            remedy="Use another, or --overwrite",
        )
    return None


def _has_work(folder: str) -> bool:
    """Return whether an unfinished run has finished anything: an input that is split, or a shard."""
    return any(storage.list_files(storage.join(folder, WORK, kind)) for kind in ("split", "shards")) or any(
        name.startswith("part-") for name in storage.list_files(folder)
    )


def _same(
    plan: Plan,
    source: str,
    version: str,
    settings: dict[str, Any],
    inputs: list[InputEntry],
    folder: str,
    state: str,
) -> None:
    names = sorted({*plan.settings, *settings})
    pairs = [
        ("source", plan.source, source),
        *(("--" + name.replace("_", "-"), plan.settings.get(name), settings.get(name)) for name in names),
        *_input_differences(plan.inputs, inputs),
        ("code version", plan.code_version, version),
    ]
    for field, wanted, found in pairs:
        if wanted != found:
            raise ArtefactError(
                f"the folder holds the {state} output of a run with other settings; this run has {wanted!r}",
                file=folder,
                field=field,
                value=found,
                remedy="Use another output folder, the same settings, or --overwrite",
            )


def _input_differences(wanted: list[InputEntry], found: list[InputEntry]) -> list[tuple[str, Any, Any]]:
    if [entry.path for entry in wanted] != [entry.path for entry in found]:
        return [("inputs", [entry.path for entry in wanted], [entry.path for entry in found])]
    return [
        (f"sha256 of {one.path}", one.sha256, other.sha256) for one, other in zip(wanted, found, strict=True)
    ]


def clear(folder: str) -> None:
    """Delete what a run of ours wrote into ``folder``, and nothing else."""
    storage.remove(storage.join(folder, MANIFEST_NAME))
    remove_card(folder)
    for place in (folder, storage.join(folder, REJECTS)):
        for name in storage.list_files(place):
            if name.startswith(("part-", f"{DROPPED_TEXT}-")):
                storage.remove(storage.join(place, name))
    remove_work(folder)


def remove_work(folder: str) -> None:
    """Delete the state of an unfinished run."""
    filesystem, path = url_to_fs(storage.join(folder, WORK))
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)


def unfinished_shards(job: Job) -> list[int]:
    """Return the shards that have no receipt, or whose files are not what the receipt says."""
    return [shard for shard in range(job.shards) if finished_receipt(job.folder, shard) is None]


def build(job: Job, options: PipelineOptions) -> Manifest:
    """Do what is left to do and write the manifest.

    Raises:
      InputError: an input is damaged, holds nothing, or too many of its records fail.
      ConservationError: records were lost between the steps.
    """
    for place in (
        job.folder,
        *(storage.join(job.folder, *parts) for parts in ([REJECTS], [WORK, "split"], [WORK, "shards"])),
    ):
        storage.remove_temporary(place)
    plan = json.dumps(job.plan.model_dump(), indent=1, ensure_ascii=False).encode()
    storage.write_bytes(storage.join(job.folder, WORK, "plan.json"), plan)
    wanted = unfinished_shards(job)
    if wanted:
        beam_runner.run(lambda pipeline: add_to(pipeline, job, wanted), options)
    return finish(job)


def add_to(pipeline: Pipeline, job: Job, wanted: Sequence[int]) -> Any:
    """Add the job's steps to a pipeline, for the shards ``wanted``."""
    from tootsie.curate.corpus_steps import add_steps
    from tootsie.curate.limited_conversion import ConversionLimits

    return add_steps(
        pipeline,
        job.corpus,
        job.folder,
        tasks=job.tasks,
        wanted=wanted,
        shards=job.shards,
        seed=job.settings.seed,
        limit=job.settings.limit,
        limits=ConversionLimits(job.settings.time_limit, job.settings.memory_limit * 2**20),
        sample=job.settings.sample_dropped_text,
    )


def finish(job: Job) -> Manifest:
    """Sum up the receipts, check the books and the error budget, write the manifest, remove the state of the run."""
    from tootsie.curate.corpus_steps import read_index

    receipts: list[Receipt] = []
    for shard in range(job.shards):
        receipt = finished_receipt(job.folder, shard)
        if receipt is None:
            raise RuntimeError(
                f"{job.folder}: {part_name(shard, job.shards)} was not written, though the pipeline ended well"
            )
        receipts.append(receipt)
    accounting = corpus_sum.check_books(
        receipts,
        job.folder,
        [entry.path for entry in job.plan.inputs],
        job.plan.source,
        max_failures=job.settings.max_failures,
        allow_empty=job.settings.allow_empty,
    )
    indexes = [read_index(job.folder, task) for task in range(len(job.tasks))]
    split = sum(count for index in indexes if index is not None for _, count, _ in index.values())
    if split != accounting.read:
        raise ConservationError(
            f"{job.folder}: {split:,} records were split off but {accounting.read:,} reached a shard"
        )
    manifest = Manifest(
        source=job.plan.source,
        code_version=job.plan.code_version,
        settings=job.plan.settings,
        inputs=job.plan.inputs,
        files=[receipt.file for receipt in receipts],
        accounting=accounting,
        counters=corpus_sum.total_counters(receipts),
        unmatched_rules=corpus_sum.unmatched_rules(receipts, job.plan.source),
        statistics=corpus_sum.statistics(receipts),
        notes=corpus_sum.notes(accounting.dropped, job.settings.time_limit),
    )
    write_card(job.folder, manifest)
    write_manifest(job.folder, manifest)
    remove_work(job.folder)
    return manifest

"""The stages of a run in order, each left alone where it is finished."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tootsie.curate.datashop import embedded_server
from tootsie.curate.datashop.annotation import annotate
from tootsie.curate.datashop.checking import check, decontaminate
from tootsie.curate.datashop.dataset_card import write_card
from tootsie.curate.datashop.description import describe
from tootsie.curate.datashop.rephrasing import rephrase
from tootsie.curate.datashop.run import ASKING, ENCODING, Run, Stage
from tootsie.curate.datashop.scoring import keep_best, score
from tootsie.curate.datashop.spec import DatashopSpec
from tootsie.curate.datashop.training import train_scorer
from tootsie.curate.decontamination.evaluation_sets import read_evaluation_sets
from tootsie.curate.document_inputs import find_corpora
from tootsie.curate.language import identifier_version

WORK: dict[Stage, Callable[[Run], dict[str, Any]]] = {
    Stage.DESCRIBE: describe,
    Stage.ANNOTATE: annotate,
    Stage.TRAIN: train_scorer,
    Stage.SCORE: score,
    Stage.FILTER: keep_best,
    Stage.REPHRASE: rephrase,
    Stage.CHECK: check,
    Stage.DECONTAMINATE: decontaminate,
    Stage.CARD: write_card,
}


def make_run(spec: DatashopSpec, folder: str, options: Any, *, first_wait: float = 0.5) -> Run:
    """Look at the inputs and return what is going to be done."""
    if spec.evaluations is not None:
        read_evaluation_sets(spec.evaluations)  # what is wrong there is better told before the model is asked
    if spec.check.language:
        identifier_version("check.language")  # likewise a package that is not there
    corpora = find_corpora(spec.inputs)
    encoder = spec.scorer.encoder
    return Run(
        spec,
        folder,
        corpora,
        options,
        embedded_server.identified(spec.model),
        first_wait,
        None if encoder is None else embedded_server.identified(encoder),
    )


def do(
    run: Run,
    stages: Sequence[Stage] = tuple(Stage),
    *,
    again: bool = False,
    say: Callable[[Stage, dict[str, Any] | None], None] = lambda stage, books: None,
) -> None:
    """Do the stages that are not finished.

    Args:
      run: see :func:`make_run`.
      stages: which.
      again: whether these are done again even where they are finished; what the model has answered is not asked again.
      say: called with a stage before it is worked on (``None``), and with its books when it is finished.

    Raises:
      UserError: see the stages.
    """
    run.check_folder()
    with contextlib.ExitStack() as stack:
        served = run.model.url is not None
        for stage in stages:
            books = None if again else run.finished(stage)
            if books is None:
                say(stage, None)
                if stage in ASKING and not served and not _needs_no_model(run, stage):
                    run = dataclasses.replace(
                        run, model=stack.enter_context(embedded_server.serving(run.model))
                    )
                    served = True
                if stage in ENCODING and run.encoder is not None:
                    run = dataclasses.replace(
                        run, encoder=stack.enter_context(embedded_server.serving(run.encoder))
                    )
                if again:
                    run.clear(stage)
                run.begin(stage)
                books = run.finish(stage, WORK[stage](run))
            say(stage, books)


def _needs_no_model(run: Run, stage: Stage) -> bool:
    return stage is Stage.DESCRIBE and all(subject.description is not None for subject in run.spec.subjects)

"""``tootsie curate datashop SPEC.yaml OUT``: from a description of wanted text to a corpus of questions and answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tootsie.curate import command_options as options

if TYPE_CHECKING:
    from tootsie.curate.datashop.run import Run, Stage


@options.workers_ahead("tootsie.curate.datashop.pipeline")
def datashop(
    paths: Annotated[
        list[str], typer.Argument(metavar="SPEC.yaml OUT", help="The spec and the output folder.")
    ],
    stage: Annotated[
        list[str] | None,
        typer.Option(
            help="Do this stage only: describe, annotate, train-scorer, score, filter, rephrase, check, decontaminate or card. "
            "Can be given several times.",
            metavar="NAME",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Do the stages again though they are finished; no answer is asked for twice."
        ),
    ] = False,
    workers: options.Workers = None,
    dry_run: options.DryRun = False,
) -> None:
    """Annotate a sample with a language model, train a scorer, filter, rephrase as questions and answers, check."""
    from tootsie.datasets import beam_logging

    beam_logging.hush_imports()
    from tootsie.curate import arguments
    from tootsie.curate.datashop import pipeline
    from tootsie.curate.datashop.run import Stage
    from tootsie.curate.datashop.spec import read_spec
    from tootsie.datasets import beam_runner
    from tootsie.datasets.errors import SpecError
    from tootsie.datasets.sole_writer import sole_writer

    found, beam_arguments = beam_runner.split_arguments(paths)
    if len(found) != 2 or "" in found:
        raise SpecError("a spec and an output folder are needed", field="SPEC.yaml OUT", value=found)
    chosen = [Stage(options.choice("--stage", name, tuple(Stage))) for name in stage or Stage]
    folder = found[1].rstrip("/") or "/"
    spec = read_spec(found[0])
    arguments.refuse_output_inside(folder, spec.inputs)
    beam_options = arguments.beam_options("datashop", beam_arguments, workers)
    run = pipeline.make_run(spec, folder, beam_options)
    ordered = [one for one in Stage if one in chosen]
    if dry_run:
        _say_plan(run, ordered)
        return
    start = time.monotonic()
    with sole_writer(folder):
        pipeline.do(
            run, ordered, again=again, say=lambda one, books: _say(one, books, time.monotonic() - start)
        )
    if Stage.CARD in ordered:
        print(f"{folder}: dataset in {folder}/{run.books(Stage.CARD)['dataset']}, card in {folder}/README.md")


def _say_plan(run: Run, stages: list[Stage]) -> None:
    for corpus in run.corpora:
        for entry in corpus.entries:
            print(f"read\t{corpus.source}/{entry.path}\t{entry.size}")
    print(f"model\t{run.model.name}\t{run.model.url or 'embedded'}")
    for stage in stages:
        print(f"stage\t{stage.value}")
    print(f"write\t{run.folder}")


def _say(stage: Stage, books: dict[str, Any] | None, seconds: float) -> None:
    if books is None:
        print(f"{seconds:8.1f} s  {stage.value} …", flush=True)
        return
    print(f"{seconds:8.1f} s  {stage.value}: {_few(books)}", flush=True)


def _few(books: dict[str, Any]) -> str:
    shown = []
    for name, value in books.items():
        if (name == "accounting" and isinstance(value, dict)) or name == "rows":
            dropped = ", ".join(f"{reason} {count:,}" for reason, count in value["dropped"].items())
            shown.append(
                f"{value['written']:,} of {value['read']:,} rows" + (f" ({dropped})" if dropped else "")
            )
        elif isinstance(value, bool):
            shown.append(f"{name}: {'yes' if value else 'no'}")
        elif isinstance(value, int | float | str):
            shown.append(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}")
    if "held_out" in books:
        shown.append(f"AUC {books['held_out']['auc']}")
    return "; ".join(shown)

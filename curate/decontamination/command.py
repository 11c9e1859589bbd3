"""``tootsie curate decontaminate IN... OUT --evaluations FILE``: leave out documents that have evaluation sets in them."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tootsie.curate import command_options as options


@options.workers_ahead("tootsie.curate.decontamination.pipeline")
def decontaminate(
    paths: options.Paths,
    evaluations: Annotated[
        str, typer.Option(help="YAML file that names the evaluation sets and their fields.", metavar="FILE")
    ],
    ngram: Annotated[int, typer.Option(help="Words of an n-gram.")] = 13,
    shortest: Annotated[
        int, typer.Option(help="Words of the shortest question or answer that is looked for, as a whole.")
    ] = 8,
    overlap: Annotated[
        float, typer.Option(help="Share of a question's or answer's n-grams that make a leak.")
    ] = 0.5,
    common_share: Annotated[
        float, typer.Option(help="Share of the documents above which an n-gram they have is common.")
    ] = 0.001,
    common_documents: Annotated[int, typer.Option(help="Documents that must have it at least.")] = 50,
    template_items: Annotated[
        int, typer.Option(help="Items of a set above which an n-gram is part of their template.")
    ] = 10,
    template_share: Annotated[
        float, typer.Option(help="Share of its items, likewise; the larger number counts.")
    ] = 0.01,
    tainted: Annotated[
        list[str] | None,
        typer.Option(
            help="Output of an earlier run: what is made from its contaminated documents goes too.",
            metavar="FOLDER",
        ),
    ] = None,
    derived: Annotated[
        bool, typer.Option("--derived", help="Every document must say what it was made from (derived_from).")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Write the report and the evidence, no documents.")
    ] = False,
    name: Annotated[str, typer.Option(help="Source name of files without a manifest.")] = "files",
    workers: options.Workers = None,
    max_failures: Annotated[float, typer.Option(help="Share of lines that may be no documents.")] = 0.0,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Leave out documents that have questions or answers of evaluation sets; write the report a mixture can ask for."""
    from tootsie.datasets import beam_logging

    beam_logging.hush_imports()
    from tootsie.curate import cleaning_command
    from tootsie.curate.decontamination import pipeline, taint
    from tootsie.curate.decontamination.evaluation_sets import check_searchable, read_evaluation_sets
    from tootsie.curate.decontamination.settings import DecontaminationSettings
    from tootsie.datasets import storage
    from tootsie.datasets.contamination import REPORT_NAME
    from tootsie.datasets.provenance import fingerprint

    settings = DecontaminationSettings(
        ngram, shortest, overlap, common_share, common_documents, template_items, template_share
    )
    settings.check()
    options.share("--max-failures", max_failures)
    command = cleaning_command.parse("decontaminate", paths, name, workers)
    sets, common = read_evaluation_sets(evaluations)
    check_searchable(sets, settings.shortest)
    known = taint.read_taint(tainted or ())
    content = {
        **settings.content(),
        "evaluations": {one.name: one.sha256 for one in sets},
        "common": [storage.sha256(url) for url in common],
        "tainted": fingerprint(known) if tainted else None,
        "derived": derived,
        "report_only": report_only,
    }
    run = command.plan(content, REPORT_NAME)
    if dry_run:
        command.say_plan(run)
        return
    start = time.monotonic()
    with command.writing(run, overwrite=overwrite, documents=not report_only) as finished:
        if finished:
            return
        manifests, report = pipeline.decontaminate(
            run,
            sets,
            common,
            known,
            settings,
            command.beam_options,
            derived=derived,
            write=not report_only,
            max_failures=max_failures,
        )
        command.finish(run, report.sealed().model_dump(mode="json"), manifests, time.monotonic() - start)
    print("\n".join(pipeline.matrix_lines(report)))
    for corpus in report.corpora:
        print(
            f"{corpus.source}\tcontaminated {corpus.contaminated:,} of {corpus.documents:,}, "
            f"made from contaminated ones {corpus.inherited:,}"
        )
    for one in report.evaluations:
        if one.too_short or one.undecidable:
            print(
                f"{one.name}\t{one.too_short:,} questions or answers are too short to be looked for, "
                f"{one.undecidable:,} have common n-grams only"
            )

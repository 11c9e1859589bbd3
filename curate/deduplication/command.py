"""``tootsie curate dedup IN... OUT``: remove documents whose content another one has."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tootsie.curate import command_options as options


@options.workers_ahead("tootsie.curate.deduplication.pipeline")
def dedup(
    paths: options.Paths,
    exact: Annotated[
        str, typer.Option(help="In what exact duplicates may differ: raw (nothing), whitespace or words.")
    ] = "words",
    shingle: Annotated[int, typer.Option(help="Words of the n-grams that signatures are made of.")] = 5,
    bands: Annotated[int, typer.Option(help="Bands of a signature.")] = 20,
    rows: Annotated[int, typer.Option(help="Hashes of a band.")] = 5,
    ngram: Annotated[int, typer.Option(help="Words of the n-grams by which a removal is verified.")] = 5,
    containment: Annotated[
        float, typer.Option(help="Share of a document's n-grams that the kept one must have.")
    ] = 1.0,
    cluster_containment: Annotated[
        float, typer.Option(help="Share from which documents belong to one cluster, which no split divides.")
    ] = 0.5,
    boilerplate: Annotated[
        str,
        typer.Option(
            help="Lines that most pages of a site have: off, ignore (in comparisons) or strip (also from the output)."
        ),
    ] = "ignore",
    boilerplate_share: Annotated[
        float, typer.Option(help="Share of a site's documents that have a line of boilerplate.")
    ] = 0.5,
    boilerplate_documents: Annotated[int, typer.Option(help="Documents that must have it at least.")] = 10,
    max_removed: Annotated[
        float, typer.Option(help="Share of a source above which the run stops and asks.")
    ] = 0.5,
    acknowledge: Annotated[
        list[str] | None, typer.Option(help="A source of which more may be removed.", metavar="SOURCE")
    ] = None,
    name: Annotated[str, typer.Option(help="Source name of files without a manifest.")] = "files",
    seed: Annotated[int, typer.Option(help="Of the hash functions.")] = 0,
    workers: options.Workers = None,
    max_failures: Annotated[float, typer.Option(help="Share of lines that may be no documents.")] = 0.0,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Remove exact and verified near-duplicates; write evidence, and clusters for splits."""
    from tootsie.datasets import beam_logging

    beam_logging.hush_imports()
    from tootsie.curate import cleaning_command
    from tootsie.curate.deduplication.pipeline import REPORT, deduplicate
    from tootsie.curate.deduplication.settings import Boilerplate, DeduplicationSettings, Variant

    settings = DeduplicationSettings(
        exact=Variant(options.choice("--exact", exact, tuple(Variant))),
        shingle=shingle,
        bands=bands,
        rows=rows,
        ngram=ngram,
        containment=containment,
        cluster_containment=cluster_containment,
        boilerplate=Boilerplate(options.choice("--boilerplate", boilerplate, tuple(Boilerplate))),
        boilerplate_share=boilerplate_share,
        boilerplate_documents=boilerplate_documents,
        seed=seed,
    )
    settings.check()
    options.share("--max-removed", max_removed)
    options.share("--max-failures", max_failures)
    command = cleaning_command.parse("dedup", paths, name, workers)
    run = command.plan(settings.content(), REPORT)
    if dry_run:
        command.say_plan(run)
        return
    start = time.monotonic()
    with command.writing(run, overwrite=overwrite) as finished:
        if finished:
            return
        manifests, report = deduplicate(
            run,
            settings,
            command.beam_options,
            max_removed=max_removed,
            acknowledged=acknowledge or (),
            max_failures=max_failures,
        )
        command.finish(run, report, manifests, time.monotonic() - start)
    clusters = report["clusters"]
    print(
        f"clusters\t{clusters['count']:,} of {clusters['documents']:,} documents, the largest of {clusters['largest']:,}"
    )
    for source, row in report["sources"].items():
        print(
            f"{source}\tremoved {row['removed']:,} of {row['documents']:,} ({row['removed_share']:.1%}); hashes alone, without "
            f"comparison, would have removed {row['unverified_would_remove']:,}"
        )

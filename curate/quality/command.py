"""``tootsie curate filter IN... OUT``: drop documents by quality, each with the rule that dropped it."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tootsie.curate import command_options as options

if TYPE_CHECKING:
    from tootsie.curate.cleaning_command import CleaningCommand
    from tootsie.curate.quality.filter_settings import Filter

REPORT = "filters.json"
"""File of the report."""


@options.workers_ahead("tootsie.curate.quality.judge", "datatrove.pipeline.filters")
def filter_documents(
    paths: options.Paths,
    filters: Annotated[
        str,
        typer.Option(
            help="Names of filters with commas, in their order (c4_paragraph, c4_quality, fineweb_quality, gopher_quality, "
            "gopher_repetition, url), or a YAML file with thresholds, lists of words (c4_badwords) and bounds on attributes.",
            metavar="LIST|FILE",
        ),
    ],
    name: Annotated[str, typer.Option(help="Source name of files without a manifest.")] = "files",
    workers: options.Workers = None,
    max_failures: Annotated[
        float, typer.Option(help="Share of documents on which a filter may fail, or that are none.")
    ] = 0.0,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Drop documents by datatrove's quality filters and by scores in attribute files."""
    from tootsie.datasets import beam_logging, fork_server

    beam_logging.hush_imports()
    from tootsie.curate import cleaning_command, cleaning_run
    from tootsie.curate.quality.filter_settings import check_packages, packages_of, parse_filters
    from tootsie.curate.quality.judge import FilterJudge

    options.share("--max-failures", max_failures)
    chosen = parse_filters(filters)
    check_packages(chosen)
    for _, package in packages_of(chosen):
        fork_server.preload(importlib.import_module, package)
    command = cleaning_command.parse("filter", paths, name, workers)
    run = command.plan(_content(command, chosen), REPORT)
    if dry_run:
        command.say_plan(run)
        return
    start = time.monotonic()
    with command.writing(run, overwrite=overwrite) as finished:
        if finished:
            return
        manifests = cleaning_run.write_documents(
            run, FilterJudge(chosen, run.files), command.beam_options, max_failures
        )
        report = {
            "run": run.identity,
            "filters": [one.content() for one in chosen],
            "sources": {
                output.corpus.source: manifest.accounting.model_dump()
                for output, manifest in zip(run.outputs, manifests, strict=True)
            },
        }
        command.finish(run, report, manifests, time.monotonic() - start)


def _content(command: CleaningCommand, filters: Sequence[Filter]) -> dict[str, Any]:
    """Return what decides about the content: the thresholds, the versions of what filters, the attribute files."""
    import importlib.metadata

    from tootsie.curate.quality.filter_settings import PACKAGES, AttributeFilter
    from tootsie.datasets import storage
    from tootsie.datasets.errors import ArtefactError, SpecError

    names = {"datatrove"}
    attributes: dict[str, str] = {}
    for one in filters:
        if isinstance(one, AttributeFilter):
            if len(command.corpora) > 1:
                raise SpecError(
                    "attributes belong to the files of one corpus; several corpora are read",
                    field="IN...",
                    remedy="Filter one corpus after the other",
                )
            for file in command.corpora[0].files:
                url = storage.join(one.folder, file.name)
                if not storage.exists(url):
                    raise ArtefactError(
                        "there is no attribute file for a document file",
                        file=url,
                        remedy="Write the attributes of all documents",
                    )
                attributes[f"{one.key}/{file.name}"] = storage.sha256(url)
        else:
            names |= {
                "pyahocorasick" if package == "ahocorasick" else package
                for package in PACKAGES.get(one.name, ())
            }
    return {
        "filters": [one.content() for one in filters],
        "packages": {package: importlib.metadata.version(package) for package in sorted(names)},
        "attributes": attributes,
    }

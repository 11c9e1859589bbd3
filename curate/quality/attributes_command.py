"""``tootsie curate attributes IN OUT``: write scores down as Dolma's attribute files, for ``filter`` and for others."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tootsie.curate import command_options as options

if TYPE_CHECKING:
    from tootsie.curate.cleaning_run import CleaningRun
    from tootsie.curate.document_inputs import InputFile
    from tootsie.curate.quality.scorers import Scorer

REPORT = "attributes.json"
"""File of the report, written last."""
STEP = "attributes"


@options.workers_ahead("tootsie.curate.quality.scorers")
def write_attributes(
    paths: options.Paths,
    scorers: Annotated[
        str,
        typer.Option(
            help="Scorers with semicolons: language:en,de (the probability of each), model:FILE (a classifier of datashop), "
            "names of filters or a YAML file of filters (1 for what they keep, 0 for what they drop).",
            metavar="LIST",
        ),
    ],
    workers: options.Workers = None,
    max_failures: Annotated[
        float, typer.Option(help="Share of documents on which a scorer may fail, or that are none.")
    ] = 0.0,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Score documents and write the scores as attribute files (Dolma's form), one for each document file."""
    from tootsie.datasets import beam_logging

    beam_logging.hush_imports()
    from tootsie.curate import cleaning_command, cleaning_run
    from tootsie.curate.array_shuffle import run_tasks
    from tootsie.curate.quality.scorers import check_experiment, parse_scorers
    from tootsie.datasets.errors import SpecError
    from tootsie.datasets.sole_writer import sole_writer

    options.share("--max-failures", max_failures)
    chosen = parse_scorers(scorers)
    command = cleaning_command.parse("attributes", paths, "files", workers)
    if len(command.corpora) > 1:
        raise SpecError(
            "attributes belong to the files of one corpus; several corpora are read",
            field="IN...",
            remedy="Write those of one corpus after the other",
        )
    experiment = check_experiment(command.folder.rsplit("/", 1)[-1])
    run = command.plan({"scorers": [one.content for one in chosen], "experiment": experiment}, REPORT)
    if dry_run:
        command.say_plan(run)
        return
    start = time.monotonic()
    with sole_writer(command.folder):
        if _finished(run, overwrite=overwrite):
            print(f"{command.folder}: already finished; nothing to do")
            return
        cleaning_run.remove_temporary(run)
        tasks = list(enumerate(run.files))
        run_tasks(AttributeWriter(run.folder, experiment, chosen), tasks, command.beam_options)
        report = _report(run, chosen, max_failures)
        command.finish(run, report, [], time.monotonic() - start)
    for name in ("documents", "scored", "failures"):
        print(f"{name}\t{report[name]}")


@dataclass(frozen=True)
class AttributeWriter:
    """Writes the attributes of a document file."""

    folder: str
    experiment: str
    scorers: tuple[Scorer, ...]

    def __call__(self, task: tuple[int, InputFile]) -> None:
        """Write the file, then its receipt, unless that is done."""
        from tootsie.curate.array_shuffle import step_url
        from tootsie.datasets import storage

        index, file = task
        receipt = step_url(self.folder, STEP, index, "json")
        url = storage.join(self.folder, file.name)
        if storage.exists(receipt):
            return
        counts = {"documents": 0, "failures": 0}
        problems: list[str] = []
        with storage.atomic_write(url) as stream:
            for part in _packed(self._lines(file, counts, problems), file.name):
                stream.write(part)
        content = {**counts, "problems": problems[:5], "sha256": storage.sha256(url)}
        storage.write_bytes(receipt, json.dumps(content).encode())

    def _lines(self, file: InputFile, counts: dict[str, int], problems: list[str]) -> Iterator[bytes]:
        from tootsie.curate.document_inputs import Unreadable, read_numbered
        from tootsie.curate.quality.attributes import attribute_line
        from tootsie.curate.quality.scorers import attributes_of

        made = [(scorer, scorer.make()) for scorer in self.scorers]
        for number, document in read_numbered(file):
            counts["documents"] += 1
            if isinstance(document, Unreadable):  # the rows stay those of the documents
                counts["failures"] += 1
                problems.append(f"{file.name}: {document.problem}")
                yield attribute_line("", {})
                continue
            found, wrong = attributes_of(document, self.experiment, made)
            if wrong:
                counts["failures"] += 1
                problems.append(f"{file.name}, record {number - file.first}: {'; '.join(wrong)}")
            yield attribute_line(document.id, found)


def _packed(lines: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield lines compressed as the name of their file says; equal lines give equal bytes."""
    import zstandard

    from tootsie.datasets.compression import Compression, by_name
    from tootsie.datasets.storage import ZSTD_LEVEL

    kind, _ = by_name(name)
    if kind is Compression.ZSTD:
        compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compressobj()
        for line in lines:
            yield compressor.compress(line)
        yield compressor.flush()
    elif kind is Compression.GZIP:
        yield gzip.compress(b"".join(lines), mtime=0)
    else:
        yield from lines


def _finished(run: CleaningRun, *, overwrite: bool) -> bool:
    """Return whether an identical run is finished in the output folder; make room for this one.

    Raises:
      ArtefactError: the folder belongs to another run, and ``overwrite`` is not set.
    """
    from tootsie.curate import corpus_build
    from tootsie.curate.shard_output import WORK
    from tootsie.datasets import storage
    from tootsie.datasets.errors import ArtefactError

    report = storage.join(run.folder, REPORT)
    state = storage.join(run.folder, WORK, "run")
    if overwrite:
        storage.remove(report)
        corpus_build.remove_work(run.folder)
    elif storage.exists(report):
        if json.loads(storage.read_bytes(report)).get("run") == run.identity:
            return True
    elif storage.exists(state):
        if storage.read_bytes(state) == run.identity.encode():
            return False
    elif not storage.list_files(run.folder):
        storage.write_bytes(state, run.identity.encode())
        return False
    if not overwrite:
        raise ArtefactError(
            "the folder holds files of a run with other inputs, scorers or code",
            file=run.folder,
            remedy="Use another output folder, or --overwrite",
        )
    for file in run.files:
        storage.remove(storage.join(run.folder, file.name))
    storage.write_bytes(state, run.identity.encode())
    return False


def _report(run: CleaningRun, scorers: tuple[Scorer, ...], max_failures: float) -> dict[str, Any]:
    """Return what was written.

    Raises:
      InputError: scorers failed on more documents than they may.
    """
    from tootsie.curate.array_shuffle import step_url
    from tootsie.datasets import storage
    from tootsie.datasets.errors import InputError

    receipts = [
        json.loads(storage.read_bytes(step_url(run.folder, STEP, index, "json")))
        for index in range(len(run.files))
    ]
    documents = sum(one["documents"] for one in receipts)
    failures = sum(one["failures"] for one in receipts)
    assert documents == run.documents, "every row of the documents has one of attributes"
    if failures > max_failures * documents:
        problems = [problem for one in receipts for problem in one["problems"]]
        raise InputError(
            f"{failures:,} of {documents:,} documents could not be scored: {problems[0]}",
            field="--max-failures",
            value=max_failures,
            remedy="They have no score, so a filter that looks at it stops at them. Mend them, or allow a share of them",
        )
    return {
        "run": run.identity,
        "scorers": [one.content for one in scorers],
        "keys": [
            f"{run.folder.rsplit('/', 1)[-1]}__{one.name}__{label}" for one in scorers for label in one.labels
        ],
        "documents": documents,
        "scored": documents - failures,
        "failures": failures,
        "files": {
            file.name: {"documents": one["documents"], "sha256": one["sha256"]}
            for file, one in zip(run.files, receipts, strict=True)
        },
    }

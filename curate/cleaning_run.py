"""A cleaning stage: corpora in, the same corpora out with some documents fewer, one shard of output for each file of input.

It writes what ``tootsie curate`` writes: parts, ``rejects/``, the card, the manifest. One input becomes the output folder
itself; several become folders below it, by their names, so that each can be tokenized and mixed on its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tootsie.curate import corpus_build, corpus_sum
from tootsie.curate.array_shuffle import run_tasks
from tootsie.curate.corpus import EXCERPT, Dropped, Outcome
from tootsie.curate.corpus_build import BuildSettings, Job, Plan
from tootsie.curate.corpus_card import write_card
from tootsie.curate.document_inputs import InputCorpus, InputFile, Unreadable, read_numbered
from tootsie.curate.shard_output import REJECTS, WORK, Receipt, finished_receipt, part_name, write_shard
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, SpecError, UserError, shorten
from tootsie.datasets.manifest import Manifest, write_manifest
from tootsie.datasets.provenance import code_version, fingerprint

EVIDENCE = "evidence"
"""Folder of what a stage decided by."""

FAILED = "stage failed"
"""Reason of a document on which a stage raised."""
NO_FAULTS_OF_DOCUMENTS = (UserError, OSError, MemoryError)
"""What ends a run, whichever document it was raised on."""

Judge = Callable[[int, Document], Outcome]
"""Says of a numbered document what becomes of it."""


def problem_of(error: Exception) -> str:
    """Return what was raised on a document, for its reject."""
    return shorten(f"{type(error).__name__}: {error}", 300)


@dataclass(frozen=True)
class Output:
    """One corpus that is written."""

    folder: str
    corpus: InputCorpus
    plan: Plan


@dataclass(frozen=True)
class CleaningRun:
    """A run over one or several corpora."""

    folder: str
    """Of the run: its report, and ``_work`` while it is unfinished."""
    outputs: tuple[Output, ...]
    report: str
    """File name of the report, which is written last."""

    @property
    def identity(self) -> str:
        """SHA-256 of what is read, of the settings and of the code: equal ones give equal bytes."""
        return fingerprint([output.plan.model_dump() for output in self.outputs])

    @property
    def files(self) -> list[InputFile]:
        """All files, in the order of their documents' numbers."""
        return [file for output in self.outputs for file in output.corpus.files]

    @property
    def documents(self) -> int:
        """Documents in all of them."""
        return sum(output.corpus.documents for output in self.outputs)


@dataclass(frozen=True)
class ShardTask:
    """One file to write."""

    folder: str
    source: str
    shard: int
    shards: int
    file: InputFile


def plan_run(
    stage: str, corpora: Sequence[InputCorpus], folder: str, settings: dict[str, Any], report: str
) -> CleaningRun:
    """Return what a run is going to do.

    Args:
      stage: its name, which the manifests state.
      corpora: what it reads.
      folder: of the output.
      settings: every option that can change the content.
      report: file name of its report.

    Raises:
      SpecError: there is nothing to read.
    """
    if not sum(corpus.documents for corpus in corpora):
        raise SpecError(
            "no documents in the inputs", field="IN...", remedy="Name a corpus folder or jsonl files"
        )
    identities = {corpus.source: corpus.manifest_sha256 for corpus in corpora}
    outputs = []
    for corpus in corpora:
        content = {
            **settings,
            "stage": stage,
            "corpora": identities,
            "shards": len(corpus.files),
        }
        plan = Plan(
            source=corpus.source,
            code_version=code_version("curate"),
            settings=json.loads(json.dumps(content)),
            inputs=corpus.entries,
        )
        place = folder if len(corpora) == 1 else storage.join(folder, corpus.source)
        outputs.append(Output(place, corpus, plan))
    return CleaningRun(folder, tuple(outputs), report)


def remove_temporary(run: CleaningRun) -> None:
    """Delete what a run that was killed left of files that it was writing; to be called by the only writer of the folder."""
    for folder in {run.folder, *(output.folder for output in run.outputs)}:
        for place in (folder, storage.join(folder, REJECTS), storage.join(folder, EVIDENCE)):
            storage.remove_temporary(place)


def check_output(run: CleaningRun, *, overwrite: bool = False, documents: bool = True) -> bool:
    """Compare the output folder with the run; return whether an identical run is already finished there.

    Args:
      run: what is going to be done.
      overwrite: whether another run's output is deleted.
      documents: whether the run writes documents, not only a report.

    Raises:
      ArtefactError: the folder belongs to another run, and ``overwrite`` is not set.
    """
    report = storage.join(run.folder, run.report)
    if overwrite:
        storage.remove(report)
        corpus_build.remove_work(run.folder)
    finished = [
        corpus_build.check_output(
            Job(None, output.folder, output.plan, (), BuildSettings()),  # type: ignore[arg-type]
            overwrite=overwrite,
        )
        for output in run.outputs
    ]
    if storage.exists(report) and (all(finished) or not documents):
        if json.loads(storage.read_bytes(report)).get("run") == run.identity:
            return True
        raise ArtefactError(
            "the folder holds the report of a run with other inputs, settings or code",
            file=report,
            remedy="Use another output folder, or --overwrite",
        )
    state = storage.join(run.folder, WORK, "run")
    content = run.identity.encode()
    if storage.exists(state) and storage.read_bytes(state) != content:
        raise ArtefactError(
            "the folder holds the unfinished output of a run with other inputs, settings or code",
            file=run.folder,
            remedy="Use another output folder, the same command, or --overwrite",
        )
    storage.write_bytes(state, content)
    remove_temporary(run)
    return False


def write_documents(run: CleaningRun, judge: Judge, options: Any, max_failures: float) -> list[Manifest]:
    """Write all documents that ``judge`` keeps, and the manifests.

    Raises:
      InputError: nothing is left of a corpus, or too many of its lines are no documents.
    """
    tasks = []
    for output in run.outputs:
        files = output.corpus.files
        plan = json.dumps(output.plan.model_dump(), indent=1, ensure_ascii=False).encode()
        storage.write_bytes(storage.join(output.folder, WORK, "plan.json"), plan)
        for shard, file in enumerate(files):
            if finished_receipt(output.folder, shard) is None:
                tasks.append(ShardTask(output.folder, output.corpus.source, shard, len(files), file))
    run_tasks(ShardWriter(judge), tasks, options)
    return [_finish(output, max_failures) for output in run.outputs]


class ShardWriter:
    """Writes one shard of output from one file of input."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def __call__(self, task: ShardTask) -> None:
        """Write the shard, its rejects and its receipt."""
        outcomes = _outcomes(self._judge, task.file)
        write_shard(task.folder, task.shard, task.shards, task.source, outcomes, task.file.documents)


def _outcomes(judge: Judge, file: InputFile) -> Iterator[Outcome]:
    for number, document in read_numbered(file):
        if isinstance(document, Unreadable):
            yield Dropped(
                reason="no document",
                id=f"{file.name}:{number - file.first}",
                excerpt=document.line.decode("utf-8", "replace"),
                detail=document.problem,
                failure=True,
            )
            continue
        try:
            outcome = judge(number, document)
        except NO_FAULTS_OF_DOCUMENTS:
            raise
        except Exception as error:
            outcome = Dropped(
                reason=FAILED,
                id=document.id,
                excerpt=document.text[:EXCERPT],
                detail=problem_of(error),
                failure=True,
            )
        yield outcome


def _finish(output: Output, max_failures: float) -> Manifest:
    receipts: list[Receipt] = []
    shards = len(output.corpus.files)
    for shard in range(shards):
        receipt = finished_receipt(output.folder, shard)
        if receipt is None:
            raise RuntimeError(f"{output.folder}: {part_name(shard, shards)} was not written")
        receipts.append(receipt)
    accounting = corpus_sum.check_books(
        receipts,
        output.folder,
        [entry.path for entry in output.plan.inputs],
        output.plan.source,
        max_failures=max_failures,
        allow_empty=True,
    )
    manifest = Manifest(
        source=output.plan.source,
        code_version=output.plan.code_version,
        settings=output.plan.settings,
        inputs=output.plan.inputs,
        files=[receipt.file for receipt in receipts],
        accounting=accounting,
        counters=corpus_sum.total_counters(receipts),
        statistics=corpus_sum.statistics(receipts),
    )
    write_card(output.folder, manifest)
    write_manifest(output.folder, manifest)
    return manifest


def finish_run(run: CleaningRun, report: dict[str, Any]) -> None:
    """Write the report and remove the state of the run."""
    content = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    storage.write_bytes(storage.join(run.folder, run.report), content.encode())
    for folder in {run.folder, *(output.folder for output in run.outputs)}:
        corpus_build.remove_work(folder)


def write_jsonl(url: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as compressed JSON lines."""
    with storage.atomic_zstd(url) as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

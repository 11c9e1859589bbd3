"""The steps of a decontamination, each of which continues where an earlier run was stopped."""

from __future__ import annotations

import bisect
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from tootsie.curate import cleaning_run
from tootsie.curate.array_shuffle import run_tasks, step_url
from tootsie.curate.cleaning_run import CleaningRun
from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome
from tootsie.curate.decontamination.evaluation_sets import EvaluationSet
from tootsie.curate.decontamination.index import EvaluationIndex
from tootsie.curate.decontamination.scan import Scanner, ScanTask, read_scan
from tootsie.curate.decontamination.settings import DecontaminationSettings
from tootsie.curate.decontamination.taint import LINEAGE, TAINTED
from tootsie.curate.decontamination.verdict import Leak, LeakFinder, common_grams, document_counts
from tootsie.datasets import storage
from tootsie.datasets.contamination import DecontaminationReport, SearchedCorpus, SearchedEvaluation
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError
from tootsie.datasets.manifest import Manifest, manifest_sha256
from tootsie.datasets.provenance import code_version

EVIDENCE = f"{cleaning_run.EVIDENCE}/leaks.jsonl.zst"
"""Every leak, with the ids of document and item."""


@dataclass
class Findings:
    """What was found in all corpora."""

    contaminated: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    inherited: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    documents: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    items: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    evidence: list[dict[str, Any]] = field(default_factory=list)
    tainted: dict[str, set[str]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class JudgeContaminated:
    """Drops what was found; the findings of a file are read from ``_work/findings`` with the file."""

    def __init__(self, folder: str, firsts: tuple[int, ...]) -> None:
        self._folder = folder
        self._firsts = firsts
        self._file = -1
        self._dropped: dict[str, list[Any]] = {}

    def __call__(self, number: int, document: Document) -> Outcome:
        """Return what becomes of a document."""
        file = bisect.bisect_right(self._firsts, number) - 1
        if file != self._file:
            url = step_url(self._folder, "findings", file, "json")
            self._file, self._dropped = file, json.loads(storage.read_bytes(url))
        found = self._dropped.get(str(number))
        if found is None:
            return Kept(document, {}, len(document.text))
        reason, evidence = found
        return Dropped(
            reason=reason,
            id=document.id,
            excerpt=document.text[:EXCERPT],
            detail=f"see {EVIDENCE}",
            metadata={"found": evidence},
            failure=reason in ("no lineage", cleaning_run.FAILED),
        )


def decontaminate(
    run: CleaningRun,
    sets: list[EvaluationSet],
    common_files: list[str],
    tainted: dict[str, list[str]],
    settings: DecontaminationSettings,
    options: Any,
    *,
    derived: bool,
    write: bool,
    max_failures: float,
) -> tuple[list[Manifest], DecontaminationReport]:
    """Do what is left to do; return the manifests (none where nothing is written) and the report.

    Args:
      run: what is read and written.
      sets: what is looked for.
      common_files: documents whose n-grams say nothing.
      tainted: documents that earlier runs found, with the evaluation sets they leak.
      settings: what a leak is.
      options: of Beam.
      derived: whether each document must say what it was made from.
      write: whether the documents are written, without what was found.
      max_failures: share of the lines that may be no documents, or lack what they were made from.

    Raises:
      InputError: too many lines are no documents, or documents do not say what they were made from.
    """
    index = EvaluationIndex([part for one in sets for part in one.parts], settings.ngram, settings.shortest)
    index_url = step_url(run.folder, "index", 0, "json.zst")
    taint_url = step_url(run.folder, "index", 0, "taint.json")
    index.save(index_url)
    storage.write_bytes(taint_url, json.dumps(tainted).encode())
    sources = [output.corpus.source for output in run.outputs for _ in output.corpus.files]
    tasks = [
        ScanTask(number, source, file)
        for number, (source, file) in enumerate(zip(sources, run.files, strict=True))
    ]
    run_tasks(Scanner(run.folder, index_url, taint_url, derived), tasks, options)
    counts = document_counts(read_scan(run.folder, task.index) for task in tasks)
    common = common_grams(
        index,
        counts,
        run.documents,
        {one.name: one.items for one in sets},
        _known(index, common_files),
        settings,
    )
    finder = LeakFinder(index, common, settings.overlap)
    findings = Findings()
    for task in tasks:
        _judge_file(run, task, finder, tainted, findings)
    if findings.lost and (not write or len(findings.lost) > max_failures * run.documents):
        raise InputError(
            f"{len(findings.lost):,} documents do not say what they were made from",
            field=f"metadata.{LINEAGE}",
            value=", ".join(findings.lost[:3]),
            remedy="Each needs 'SOURCE/ID', or a list of these; without it nobody knows whether it is clean",
        )
    if findings.failed and not write:
        raise InputError(
            f"{len(findings.failed):,} documents could not be searched: {findings.failed[0]}",
            field="--report-only",
            remedy="Without it they are left out; nobody knows whether they are clean",
        )
    cleaning_run.write_jsonl(storage.join(run.folder, EVIDENCE), findings.evidence)
    cleaning_run.write_jsonl(
        storage.join(run.folder, TAINTED),
        (
            {"document": name, "evaluations": sorted(found)}
            for name, found in sorted({**{k: set(v) for k, v in tainted.items()}, **findings.tainted}.items())
        ),
    )
    manifests: list[Manifest] = []
    if write:
        firsts = tuple(file.first for file in run.files)
        manifests = cleaning_run.write_documents(
            run, JudgeContaminated(run.folder, firsts), options, max_failures
        )
    return manifests, _report(run, sets, index, finder, findings, settings, write)


def _known(index: EvaluationIndex, files: list[str]) -> set[int]:
    """Return the n-grams of common texts."""
    known: set[int] = set()
    for url in files:
        for number, line in enumerate(storage.read_lines(url)):
            known.update(index.find(Document.from_json(line, file=url, record=number).text))
    return known


def _judge_file(
    run: CleaningRun,
    task: ScanTask,
    finder: LeakFinder,
    tainted: dict[str, list[str]],
    findings: Findings,
) -> None:
    dropped: dict[int, tuple[str, list[dict[str, Any]]]] = {}
    for found in read_scan(run.folder, task.index):
        leaks = finder.leaks(found.grams)
        name = f"{task.source}/{found.id}"
        through = sorted({one for origin in found.tainted for one in tainted[origin]})
        if leaks:
            rows = [asdict(leak) for leak in leaks]
            dropped[found.number] = ("contaminated", rows)
            findings.contaminated[task.source] += 1
            findings.evidence += [{"document": name, **row} for row in rows]
            _count(findings, task.source, leaks)
        elif found.tainted:
            dropped[found.number] = ("made from contaminated", [{"derived_from": list(found.tainted)}])
            findings.inherited[task.source] += 1
            findings.evidence.append(
                {"document": name, "derived_from": list(found.tainted), "evaluations": through}
            )
        elif found.problem:
            dropped[found.number] = (cleaning_run.FAILED, [{"problem": found.problem}])
            findings.failed.append(f"{name} ({found.problem})")
        elif found.lost:
            dropped[found.number] = ("no lineage", [])
            findings.lost.append(name)
        if leaks or found.tainted:
            # Under both names that it may be called by where something is made from it.
            for known in (name, f"{found.source}/{found.id}"):
                findings.tainted.setdefault(known, set()).update(
                    {leak.evaluation for leak in leaks} | set(through) | set(tainted.get(known, ()))
                )
    storage.write_bytes(
        step_url(run.folder, "findings", task.index, "json"),
        json.dumps(dropped).encode("utf-8", "surrogatepass"),
    )


def _count(findings: Findings, source: str, leaks: list[Leak]) -> None:
    for evaluation in {leak.evaluation for leak in leaks}:
        findings.documents[source, evaluation] += 1
    for leak in leaks:
        findings.items[source, leak.evaluation].add(leak.item)


def _report(
    run: CleaningRun,
    sets: list[EvaluationSet],
    index: EvaluationIndex,
    finder: LeakFinder,
    findings: Findings,
    settings: DecontaminationSettings,
    write: bool,
) -> DecontaminationReport:
    looked_for: dict[str, list[bool]] = defaultdict(list)
    for part, grams in zip(index.parts, index.grams_of, strict=True):
        looked_for[part.evaluation].append(bool(grams))
    corpora = [
        SearchedCorpus(
            source=output.corpus.source,
            input_manifest_sha256=output.corpus.manifest_sha256,
            manifest_sha256=manifest_sha256(output.folder) if write else None,
            documents=output.corpus.documents,
            contaminated=findings.contaminated[output.corpus.source],
            inherited=findings.inherited[output.corpus.source],
        )
        for output in run.outputs
    ]
    leaked: dict[str, set[str]] = {one.name: set() for one in sets}
    for (_, name), items in findings.items.items():
        leaked[name] |= items
    return DecontaminationReport(
        run=run.identity,
        code_version=code_version("curate"),
        settings=settings.content(),
        evaluations=[
            SearchedEvaluation(
                name=one.name,
                sha256=one.sha256,
                items=one.items,
                parts=sum(looked_for[one.name]),
                too_short=len(one.parts) - sum(looked_for[one.name]),
                undecidable=finder.undecidable(one.name),
            )
            for one in sets
        ],
        corpora=corpora,
        matrix={
            corpus.source: {
                one.name: {
                    "documents": findings.documents[corpus.source, one.name],
                    "items": len(findings.items[corpus.source, one.name]),
                }
                for one in sets
            }
            for corpus in corpora
        },
        leaked_items={name: sorted(items) for name, items in leaked.items()},
    )


def matrix_lines(report: DecontaminationReport) -> Iterator[str]:
    """Yield the table of the report: a line for each corpus and evaluation set, tabs between."""
    yield "corpus\tevaluation\tdocuments\titems\tof"
    of = {one.name: one.items for one in report.evaluations}
    for source, row in report.matrix.items():
        for name, found in row.items():
            yield f"{source}\t{name}\t{found['documents']:,}\t{found['items']:,}\t{of[name]:,}"

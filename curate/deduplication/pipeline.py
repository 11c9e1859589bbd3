"""The steps of a deduplication, each of which continues where an earlier run was stopped."""

from __future__ import annotations

import bisect
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate import cleaning_run
from tootsie.curate.array_shuffle import Met, Shuffle, run_shuffle, step_url
from tootsie.curate.cleaning_run import CleaningRun
from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome
from tootsie.curate.deduplication.boilerplate import find_boilerplate
from tootsie.curate.deduplication.compared_documents import extract, files_of
from tootsie.curate.deduplication.compared_text import without_boilerplate
from tootsie.curate.deduplication.components import Components, components
from tootsie.curate.deduplication.decision import COMPARED, decide_all
from tootsie.curate.deduplication.linked_pairs import link_pairs
from tootsie.curate.deduplication.outcomes import Found, Removed, join_evidence, read_decisions, tell_files
from tootsie.curate.deduplication.proposal import KIND, BoilerplateFile, Signer, failures_url, propose
from tootsie.curate.deduplication.settings import Boilerplate, DeduplicationSettings
from tootsie.curate.deduplication.verification import ComparedPairs, Comparer, compare
from tootsie.datasets import storage
from tootsie.datasets.document import CLUSTER, Document
from tootsie.datasets.errors import InputError
from tootsie.datasets.manifest import Manifest

REPORT = "deduplication.json"
"""The report, written last."""
EVIDENCE = f"{cleaning_run.EVIDENCE}/pairs.jsonl.zst"
"""Every pair that was compared, and what came of it."""
GROUPS = f"{cleaning_run.EVIDENCE}/groups.jsonl.zst"
"""Every document that was proposed, with the group that follows from the proposals alone and its cluster."""
BUCKET_RECORDS = 1 << 22
"""Records that meet in a bucket, about."""
BUCKET_PAIRS = 1 << 20
"""Pairs that meet in a bucket, about."""
ALONE_BUCKETS = 4
"""Buckets of pairs that are decided where the command was started, one after another; more go through Beam."""


class JudgeDuplicates:
    """Writes what stays; what was decided on the documents of a file is read from ``_work/decisions`` with the file."""

    def __init__(
        self, folder: str, firsts: tuple[int, ...], boilerplate: BoilerplateFile, ngram: int
    ) -> None:
        self.folder = folder
        self.firsts = firsts
        self.boilerplate = boilerplate
        self.ngram = ngram
        self._file = -1
        self._removed: dict[str, Removed] = {}
        self._clusters: dict[str, str] = {}
        self._failed: dict[str, str] = {}

    def _turn_to(self, number: int) -> None:
        file = bisect.bisect_right(self.firsts, number) - 1
        if file != self._file:
            self._removed, self._clusters = read_decisions(self.folder, file)
            url = failures_url(self.folder, self.firsts[file])
            self._failed = json.loads(storage.read_bytes(url)) if storage.exists(url) else {}
            self._file = file

    def __call__(self, number: int, document: Document) -> Outcome:
        """Return what becomes of a document."""
        self._turn_to(number)
        if str(number) in self._failed:
            return Dropped(
                reason=cleaning_run.FAILED,
                id=document.id,
                excerpt=document.text[:EXCERPT],
                detail=self._failed[str(number)],
                metadata=_few(document.metadata),
                failure=True,
            )
        found = self._removed.get(str(number))
        if found is not None:
            reason, source, name, share = found
            evidence = {"source": source, "id": name, "containment": share, "ngram": self.ngram}
            return Dropped(
                reason=reason,
                id=document.id,
                excerpt=document.text[:EXCERPT],
                detail=f"its content is in {source}/{name}",
                metadata={**_few(document.metadata), "kept": evidence},
            )
        counters = {}
        if str(number) in self._clusters:
            metadata = {**document.metadata, CLUSTER: self._clusters[str(number)]}
            document = document.model_copy(update={"metadata": metadata})
            counters["documents in clusters"] = 1
        text, gone = without_boilerplate(document, self.boilerplate.lines)
        if gone:
            if not text.strip():
                return Dropped(
                    reason="only boilerplate",
                    id=document.id,
                    excerpt=document.text[:EXCERPT],
                    metadata=_few(document.metadata),
                )
            document = document.model_copy(update={"text": text})
            counters["boilerplate lines"] = gone
        return Kept(document, counters, len(document.text))


def _few(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: metadata[name] for name in ("url", "license", "title") if name in metadata}


def deduplicate(
    run: CleaningRun,
    settings: DeduplicationSettings,
    options: Any,
    *,
    max_removed: float,
    acknowledged: Sequence[str],
    max_failures: float,
) -> tuple[list[Manifest], dict[str, Any]]:
    """Do what is left to do; return the manifests and the report.

    Args:
      run: what is read and written.
      settings: what duplicates are.
      options: of Beam.
      max_removed: share of a source above which the run stops.
      acknowledged: sources of which more may go.
      max_failures: share of the lines that may be no documents.

    Raises:
      InputError: more of a source would go than ``max_removed``; the evidence is written and says why.
    """
    records = run.documents * (settings.bands + 1)
    buckets = max(4, -(-records // BUCKET_RECORDS))
    boilerplate = BoilerplateFile(None)
    lines = np.empty(0, np.uint64)
    if settings.boilerplate is not Boilerplate.OFF:
        lines = find_boilerplate(run, settings, buckets, options)
        url = step_url(run.folder, "boilerplate", 0, "u8")
        storage.write_bytes(url, lines.astype("<u8").tobytes())
        boilerplate = BoilerplateFile(url)
    shuffle = Shuffle(
        run.folder, "signatures", KIND, Signer(settings, boilerplate, run.folder), propose, buckets
    )
    proposals = run_shuffle(shuffle, run.files, options)
    decision = _decide(run, settings, boilerplate, proposals, options)
    report = _report(run, settings, decision, len(lines))
    files = len(run.files)
    join_evidence(run.folder, ("removed", "refused"), files, storage.join(run.folder, EVIDENCE))
    join_evidence(run.folder, ("groups",), files, storage.join(run.folder, GROUPS))
    _check_shares(run, report, max_removed, acknowledged)
    judge = JudgeDuplicates(
        run.folder,
        tuple(file.first for file in run.files),
        boilerplate if settings.boilerplate is Boilerplate.STRIP else BoilerplateFile(None),
        settings.ngram,
    )
    return cleaning_run.write_documents(run, judge, options, max_failures), report


@dataclass(frozen=True)
class _Decision:
    """What was decided, and how."""

    proposals: Met
    pairs: Met
    verified: Components
    found: Found
    outcomes: Met
    alone: bool
    """Whether this process decided, and not workers."""
    shuffled: dict[str, int]
    """Bytes of each step."""


def _decide(
    run: CleaningRun,
    settings: DeduplicationSettings,
    boilerplate: BoilerplateFile,
    proposals: Met,
    options: Any,
) -> _Decision:
    buckets = max(1, -(-proposals.total("pairs") // BUCKET_PAIRS))
    alone = buckets <= ALONE_BUCKETS
    files = files_of(run)
    pairs = link_pairs(run.folder, proposals, buckets, options, alone=alone)
    asked = extract(run, settings, boilerplate, pairs, options)
    compared = compare(pairs, files, options)

    def graph(name: str, edges: Edges) -> Components:
        return components(run.folder, name, edges, buckets, options, alone=alone)

    proposed = graph("proposed", Edges(compared, 0.0))
    verified = graph("verified", Edges(compared, settings.containment))
    decided = decide_all(
        compared, verified, Comparer(run.folder, files), settings.containment, options, alone=alone
    )
    clusters = graph("clusters", Edges(compared, settings.cluster_containment, decided))
    found = Found(compared, decided, proposed, clusters, settings.containment)
    outcomes = tell_files(run.folder, found, files, settings.ngram, options, alone=alone)
    shuffled = {
        "signatures": proposals.shuffled_bytes,
        "pairs": pairs.shuffled_bytes + asked.shuffled_bytes,
        "components": sum(one.shuffled_bytes for one in (proposed, verified, clusters)),
        "decision": decided.shuffled_bytes,
        "outcomes": outcomes.shuffled_bytes,
    }
    return _Decision(proposals, pairs, verified, found, outcomes, alone, shuffled)


@dataclass(frozen=True)
class Edges:
    """The edges of a graph of documents: exact pairs, and those of which the small document is in the large one to some share."""

    compared: ComparedPairs
    least: float
    """Share."""
    decided: Met | None = None
    """Whose comparisons count too."""

    def __call__(self, bucket: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the ends of the edges of a bucket."""
        near, shares = self.compared.near(bucket)
        parts = [self.compared.exact(bucket), near[shares >= self.least]]
        if self.decided is not None:
            later = self.decided.read(bucket, "compared", list(COMPARED))
            parts.append(later[later["containment"] >= self.least])
        one, other = (np.concatenate([part[name] for part in parts]) for name in ("small", "large"))
        return one, other


def _report(
    run: CleaningRun, settings: DeduplicationSettings, decision: _Decision, boilerplate_lines: int
) -> dict[str, Any]:
    sources = {}
    file = 0
    for output in run.outputs:
        documents = output.corpus.documents
        removed, unverified = (
            sum(
                int(decision.outcomes.read(file + one, name, np.int64).sum())
                for one in range(len(output.corpus.files))
            )
            for name in ("removed", "unverified")
        )
        file += len(output.corpus.files)
        sources[output.corpus.source] = {
            "manifest_sha256": output.corpus.manifest_sha256,
            "documents": documents,
            "removed": removed,
            "removed_share": round(removed / max(1, documents), 6),
            "unverified_would_remove": unverified,
        }
    found = decision.found
    count, members, largest = found.clusters.sizes()
    return {
        "format": "tootsie-deduplication/1",
        "run": run.identity,
        "settings": settings.content(),
        "sources": sources,
        "pairs": {
            "exact": decision.pairs.total("exact_count"),
            "proposed": decision.pairs.total("near_count"),
            "refused": decision.outcomes.total("refused"),
            "documents_in_crowds": decision.proposals.total("crowded"),
        },
        "boilerplate_lines": boilerplate_lines,
        "clusters": {"count": count, "documents": members, "largest": largest},
        "decision": {
            "by": "one process" if decision.alone else "shuffles",
            "buckets": decision.pairs.buckets,
            "largest_component": decision.verified.sizes()[2],
            "rounds": {
                name: graph.rounds
                for name, graph in (
                    ("proposed", found.proposed),
                    ("verified", decision.verified),
                    ("clusters", found.clusters),
                )
            },
            "shuffled_bytes": decision.shuffled,
        },
    }


def _check_shares(
    run: CleaningRun, report: dict[str, Any], max_removed: float, acknowledged: Sequence[str]
) -> None:
    over = {
        source: row["removed_share"]
        for source, row in report["sources"].items()
        if row["removed_share"] > max_removed and source not in acknowledged
    }
    if over:
        shares = ", ".join(f"{source} {share:.1%}" for source, share in over.items())
        raise InputError(
            f"more of a source would be removed than {max_removed:.0%}: {shares}",
            file=storage.join(run.folder, EVIDENCE),
            field="--max-removed",
            remedy="Look at the pairs there. If they are right: "
            + " ".join(f"--acknowledge {source}" for source in over)
            + ", which goes on from here",
        )

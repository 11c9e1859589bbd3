"""The steps of a deduplication, each of which continues where an earlier run was stopped."""

from __future__ import annotations

import bisect
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate import cleaning_run
from tootsie.curate.array_shuffle import Shuffle, run_shuffle, step_url
from tootsie.curate.cleaning_run import CleaningRun
from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome
from tootsie.curate.deduplication.boilerplate import find_boilerplate
from tootsie.curate.deduplication.compared_text import without_boilerplate
from tootsie.curate.deduplication.decision import BLOCK, Decision, Verdict, decide
from tootsie.curate.deduplication.proposal import KIND, BoilerplateFile, Signer, propose, unique_pairs
from tootsie.curate.deduplication.settings import Boilerplate, DeduplicationSettings
from tootsie.curate.deduplication.verification import compare, extract, read_names
from tootsie.datasets import storage
from tootsie.datasets.document import CLUSTER, Document
from tootsie.datasets.errors import InputError
from tootsie.datasets.manifest import Manifest

REPORT = "deduplication.json"
"""The report, written last."""
EVIDENCE = "evidence/pairs.jsonl.zst"
"""Every pair that was compared, and what came of it."""
GROUPS = "evidence/groups.jsonl.zst"
"""Every document that was proposed, with the group that follows from the proposals alone and its cluster."""
BUCKET_RECORDS = 1 << 22
"""Records that meet in a bucket, about."""

Removed = tuple[str, str, str, float]
"""Reason, source and id of the document that was kept, containment."""


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

    def _turn_to(self, number: int) -> None:
        file = bisect.bisect_right(self.firsts, number) - 1
        if file != self._file:
            content = json.loads(storage.read_bytes(step_url(self.folder, "decisions", file, "json")))
            self._file, self._removed, self._clusters = file, content["removed"], content["clusters"]

    def __call__(self, number: int, document: Document) -> Outcome:
        """Return what becomes of a document."""
        self._turn_to(number)
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
    shuffle = Shuffle(run.folder, "signatures", KIND, Signer(settings, boilerplate), propose, buckets)
    found = run_shuffle(shuffle, run.files, options)
    exact, near = unique_pairs(found["exact"]), unique_pairs(found["near"])
    decision = _decide(run, settings, boilerplate, exact, near, options)
    names = read_names(run)
    report = _report(run, settings, decision, lines, exact, near, int(found["crowded"].sum()))
    cleaning_run.write_jsonl(storage.join(run.folder, EVIDENCE), _evidence(decision, names, settings))
    cleaning_run.write_jsonl(storage.join(run.folder, GROUPS), _groups(decision, names))
    _check_shares(run, report, max_removed, acknowledged)
    _write_decisions(run, decision, names)
    judge = JudgeDuplicates(
        run.folder,
        tuple(file.first for file in run.files),
        boilerplate if settings.boilerplate is Boilerplate.STRIP else BoilerplateFile(None),
        settings.ngram,
    )
    return cleaning_run.write_documents(run, judge, options, max_failures), report


def _decide(
    run: CleaningRun,
    settings: DeduplicationSettings,
    boilerplate: BoilerplateFile,
    exact: NDArray[Any],
    near: NDArray[Any],
    options: Any,
) -> Decision:
    compared = np.unique(np.concatenate([near["small"], near["large"]]))
    # One that went for a document that goes itself is compared with what that one went for.
    also = exact["small"][np.isin(exact["large"], compared)]
    compared = np.union1d(compared, also)
    numbers = np.unique(np.concatenate([compared, exact["small"], exact["large"]]))
    extract(run, settings, boilerplate, numbers, np.isin(numbers, compared), options)
    rounds = iter(range(1000))
    return decide(
        exact,
        near,
        lambda pairs: compare(run, next(rounds), pairs, options),
        threshold=settings.containment,
        cluster_threshold=settings.cluster_containment,
    )


def _write_decisions(run: CleaningRun, decision: Decision, names: dict[int, tuple[str, str]]) -> None:
    """Write for each file which of its documents go, and the clusters of the others."""
    removed: list[dict[int, Removed]] = [{} for _ in run.files]
    clusters: list[dict[int, str]] = [{} for _ in run.files]
    firsts = [file.first for file in run.files]
    for number, verdict in decision.removed.items():
        removed[bisect.bisect_right(firsts, number) - 1][number] = _reason(verdict, names)
    for number, first in decision.clusters.items():
        if number not in decision.removed:
            clusters[bisect.bisect_right(firsts, number) - 1][number] = "/".join(names[first])
    for index in range(len(firsts)):
        content = json.dumps({"removed": removed[index], "clusters": clusters[index]}).encode()
        storage.write_bytes(step_url(run.folder, "decisions", index, "json"), content)


def _reason(verdict: Verdict, names: dict[int, tuple[str, str]]) -> Removed:
    source, name = names[verdict.kept]
    return (
        "exact duplicate" if verdict.exact else "near duplicate",
        source,
        name,
        round(verdict.containment, 6),
    )


def _evidence(
    decision: Decision, names: dict[int, tuple[str, str]], settings: DeduplicationSettings
) -> Iterator[dict[str, Any]]:
    """Yield a row for each removed document, then one for each pair that was refused."""
    for number in sorted(decision.removed):
        verdict = decision.removed[number]
        yield _row(
            names,
            number,
            verdict.kept,
            "removed",
            "exact" if verdict.exact else "near",
            verdict.containment,
            settings.ngram,
        )
    for start in range(0, len(decision.rejected), BLOCK):
        for small, large, found in decision.rejected[start : start + BLOCK].tolist():
            yield _row(names, small, large, "refused", "near", found, settings.ngram)


def _groups(decision: Decision, names: dict[int, tuple[str, str]]) -> Iterator[dict[str, Any]]:
    for number, first in sorted(decision.proposed_groups.items()):
        cluster = decision.clusters.get(number)
        yield {
            "source": names[number][0],
            "id": names[number][1],
            "proposed_group": "/".join(names[first]),
            "cluster": None if cluster is None else "/".join(names[cluster]),
        }


def _row(
    names: dict[int, tuple[str, str]],
    small: int,
    large: int,
    verdict: str,
    method: str,
    share: float,
    ngram: int,
) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "document": {"source": names[small][0], "id": names[small][1]},
        "other": {"source": names[large][0], "id": names[large][1]},
        "method": method,
        "containment": round(share, 6),
        "ngram": ngram,
    }


def _report(
    run: CleaningRun,
    settings: DeduplicationSettings,
    decision: Decision,
    lines: NDArray[np.uint64],
    exact: NDArray[Any],
    near: NDArray[Any],
    crowded: int,
) -> dict[str, Any]:
    removed = np.array(sorted(decision.removed), np.uint64)
    # Without comparison, all but one of a group would go.
    unverified = np.array(sorted(n for n, first in decision.proposed_groups.items() if n != first), np.uint64)
    sources = {}
    for output in run.outputs:
        documents = output.corpus.documents
        bounds = (
            [output.corpus.files[0].first, output.corpus.files[0].first + documents] if documents else [0, 0]
        )
        first, stop = np.searchsorted(removed, bounds).tolist()
        one, other = np.searchsorted(unverified, bounds).tolist()
        sources[output.corpus.source] = {
            "manifest_sha256": output.corpus.manifest_sha256,
            "documents": documents,
            "removed": stop - first,
            "removed_share": round((stop - first) / max(1, documents), 6),
            "unverified_would_remove": other - one,
        }
    sizes = Counter(decision.clusters.values())
    return {
        "format": "tootsie-deduplication/1",
        "run": run.identity,
        "settings": settings.content(),
        "sources": sources,
        "pairs": {
            "exact": len(exact),
            "proposed": len(near),
            "refused": len(decision.rejected),
            "documents_in_crowds": crowded,
        },
        "boilerplate_lines": len(lines),
        "clusters": {
            "count": len(sizes),
            "documents": sum(sizes.values()),
            "largest": max(sizes.values(), default=0),
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

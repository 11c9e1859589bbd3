"""What was decided, file by file: who goes for whom, the clusters, and the evidence with the names of the documents."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Met, Records, Shuffle, filled, run_shuffle, step_url
from tootsie.curate.deduplication.compared_documents import ComparedDocuments, Files
from tootsie.curate.deduplication.components import Components
from tootsie.curate.deduplication.decision import COMPARED, PASSED
from tootsie.curate.deduplication.verification import ComparedPairs
from tootsie.datasets import storage

REMOVED, REFUSED, GROUP, CLUSTER = range(4)
OUTCOME = (
    ("hash", "<u8"),
    ("kind", "u1"),
    ("number", "<u8"),
    ("other", "<u8"),
    ("exact", "?"),
    ("containment", "<f8"),
)
"""What became of a document (``REMOVED`` for another, ``REFUSED`` as a copy of it), or the smallest member of its group or
cluster."""
DECISIONS = "decisions"
EVIDENCE = ("removed", "refused", "groups")
"""Pieces of the evidence of a file."""
BLOCK = 1 << 16
"""Records that are made Python's values at a time."""
Removed = tuple[str, str, str, float]
"""Reason, source and id of the document that was kept, containment."""


@dataclass(frozen=True)
class Found:
    """All that was found of the documents, in buckets."""

    compared: ComparedPairs
    decided: Met
    proposed: Components
    """What the proposals alone would make one."""
    clusters: Components
    threshold: float
    """Containment from which a pair passes."""


@dataclass(frozen=True)
class _Tell:
    """Tells the files what was found of their documents."""

    found: Found
    files: Files

    def __call__(self, bucket: int) -> Iterator[Records]:
        found = self.found
        removed = found.decided.read(bucket, "removed", list(PASSED))
        yield self._of(
            REMOVED,
            removed["small"],
            removed["large"],
            exact=removed["exact"],
            containment=removed["containment"],
        )
        later = found.decided.read(bucket, "compared", list(COMPARED))
        near, shares = found.compared.near(bucket)
        for pairs, containment in ((near, shares), (later, later["containment"])):
            no = containment < found.threshold
            yield self._of(REFUSED, pairs["small"][no], pairs["large"][no], containment=containment[no])
        yield self._of(GROUP, *found.proposed.labels(bucket))
        yield self._of(CLUSTER, *found.clusters.labels(bucket))

    def _of(self, kind: int, number: NDArray[Any], other: NDArray[Any], **more: Any) -> Records:
        return filled(
            OUTCOME, len(number), hash=self.files.key(number), kind=kind, number=number, other=other, **more
        )


@dataclass(frozen=True)
class _WriteOutcomes:
    """Writes what became of the documents of a file."""

    folder: str
    files: Files
    ngram: int

    def __call__(self, records: Records) -> Mapping[str, NDArray[Any]]:
        """Write decisions and evidence; return how many were ``removed``, ``refused`` and ``unverified``."""
        file = int(records["hash"][0] >> np.uint64(32))
        documents = ComparedDocuments(self.folder, self.files)
        records = records[np.lexsort((records["other"], records["number"]))]
        removed, refused, group, cluster = (
            records[records["kind"] == kind] for kind in (REMOVED, REFUSED, GROUP, CLUSTER)
        )
        clusters = dict(zip(cluster["number"].tolist(), cluster["other"].tolist(), strict=True))
        gone: dict[int, Removed] = {}
        for number, other, exact, share in _rows(removed, "number", "other", "exact", "containment"):
            reason = "exact duplicate" if exact else "near duplicate"
            gone[number] = (reason, *documents.name(other), round(share, 6))
        decisions = {
            "removed": gone,
            "clusters": {
                number: "/".join(documents.name(first))
                for number, first in clusters.items()
                if number not in gone
            },
        }
        write_decisions(self.folder, file, decisions)
        for name, rows in zip(
            EVIDENCE,
            (
                self._pairs("removed", removed, documents),
                self._pairs("refused", refused, documents),
                _groups(group, clusters, documents),
            ),
            strict=True,
        ):
            with storage.atomic_zstd(step_url(self.folder, f"evidence-{name}", file, "jsonl.zst")) as stream:
                for row in rows:
                    line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
                    stream.write(line.encode("utf-8", "surrogatepass") + b"\n")
        documents.close()
        return {
            "removed": np.array([len(removed)]),
            "refused": np.array([len(refused)]),
            # Without comparison, all but one of a group would go.
            "unverified": np.array([int((group["number"] != group["other"]).sum())]),
        }

    def _pairs(self, verdict: str, pairs: Records, documents: ComparedDocuments) -> Iterator[dict[str, Any]]:
        for number, other, exact, share in _rows(pairs, "number", "other", "exact", "containment"):
            yield {
                "verdict": verdict,
                "document": _named(documents.name(number)),
                "other": _named(documents.name(other)),
                "method": "exact" if exact else "near",
                "containment": round(share, 6),
                "ngram": self.ngram,
            }


def _groups(
    groups: Records, clusters: dict[int, int], documents: ComparedDocuments
) -> Iterator[dict[str, Any]]:
    for number, first in _rows(groups, "number", "other"):
        cluster = clusters.get(number)
        yield {
            **_named(documents.name(number)),
            "proposed_group": "/".join(documents.name(first)),
            "cluster": None if cluster is None else "/".join(documents.name(cluster)),
        }


def _named(name: tuple[str, str]) -> dict[str, str]:
    return {"source": name[0], "id": name[1]}


def _rows(records: Records, *fields: str) -> Iterator[Any]:
    for start in range(0, len(records), BLOCK):
        block = records[start : start + BLOCK]
        yield from zip(*(block[field].tolist() for field in fields), strict=True)


def write_decisions(folder: str, file: int, decisions: Mapping[str, Any]) -> None:
    """Write what becomes of the documents of a file: those ``removed``, and the ``clusters`` of the others, by number."""
    content = json.dumps(decisions, ensure_ascii=False).encode("utf-8", "surrogatepass")
    storage.write_bytes(step_url(folder, DECISIONS, file, "json"), content)


def read_decisions(folder: str, file: int) -> tuple[dict[str, Removed], dict[str, str]]:
    """Return those ``removed`` and the ``clusters`` of the others, by number as text."""
    content = json.loads(
        storage.read_bytes(step_url(folder, DECISIONS, file, "json")).decode("utf-8", "surrogatepass")
    )
    return content["removed"], content["clusters"]


def tell_files(folder: str, found: Found, files: Files, ngram: int, options: Any, *, alone: bool) -> Met:
    """Write what became of the documents of each file: decisions and evidence; return counts in a bucket for each file."""
    count = len(files.firsts)
    shuffle = Shuffle(
        folder, "outcomes", OUTCOME, _Tell(found, files), _WriteOutcomes(folder, files, ngram), count
    )
    met = run_shuffle(shuffle, list(range(found.decided.buckets)), options, alone=alone)
    for file in range(count):
        if not storage.exists(
            step_url(folder, DECISIONS, file, "json")
        ):  # none of its documents is in a pair
            write_decisions(folder, file, {"removed": {}, "clusters": {}})
    return met


def join_evidence(folder: str, names: tuple[str, ...], files: int, url: str) -> None:
    """Write the pieces of the evidence of all files as one: of each kind file after file."""
    with storage.atomic_zstd(url) as stream:
        for name in names:
            for file in range(files):
                piece = step_url(folder, f"evidence-{name}", file, "jsonl.zst")
                if storage.exists(piece):
                    with storage.open_decompressed(piece) as lines:
                        shutil.copyfileobj(lines, stream)

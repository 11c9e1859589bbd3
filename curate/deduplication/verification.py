"""Compare the documents of proposed pairs: what share of the n-grams of the small one the large one has.

Pairs are compared in chunks, ordered by the large document, which is read once for all its pairs in a chunk. N-grams are
compared as 64-bit hashes: that one that is missing passes for present has a probability of about 5e-20 for each n-gram of the
large document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Met, run_tasks, step_url
from tootsie.curate.deduplication.compared_documents import ComparedDocuments, Files
from tootsie.curate.deduplication.compared_text import containment
from tootsie.curate.deduplication.proposal import PAIR
from tootsie.datasets import storage

CHUNK = 1 << 16
"""Pairs of a task."""


@dataclass(frozen=True)
class Comparer:
    """Compares pairs of documents whose n-grams were written."""

    folder: str
    files: Files

    def __call__(self, pairs: NDArray[Any]) -> NDArray[np.float64]:
        """Return float64[pairs]: the share of the n-grams of each pair's small document that its large one has."""
        documents = ComparedDocuments(self.folder, self.files)
        found = np.zeros(len(pairs))
        for row, (small, large) in enumerate(
            zip(pairs["small"].tolist(), pairs["large"].tolist(), strict=True)
        ):
            wanted, held = documents.grams(small), documents.grams(large)
            found[row] = containment(wanted, held[0])
        documents.close()
        return found


@dataclass(frozen=True)
class ComparedPairs:
    """Linked pairs, with what the comparison of the near ones gave."""

    pairs: Met

    def exact(self, bucket: int) -> NDArray[Any]:
        """Return the pairs of a bucket whose words are the same."""
        return self.pairs.read(bucket, "exact", list(PAIR))

    def near(self, bucket: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the other pairs, and the containment of each."""
        pairs = self.pairs.read(bucket, "near", list(PAIR))
        shares = [
            np.frombuffer(storage.read_bytes(self.url(bucket, chunk)), "<f8") for chunk in _chunks(len(pairs))
        ]
        return pairs, np.concatenate([np.empty(0), *shares])

    def url(self, bucket: int, chunk: int) -> str:
        """Return the file of what a chunk of the near pairs of a bucket gave."""
        return step_url(self.pairs.folder, f"compared-{bucket:05d}", chunk, "f8")


@dataclass(frozen=True)
class _Chunk:
    """Compares a chunk of a bucket."""

    compared: ComparedPairs
    comparer: Comparer

    def __call__(self, task: tuple[int, int]) -> None:
        bucket, chunk = task
        url = self.compared.url(bucket, chunk)
        if not storage.exists(url):
            pairs = self.compared.pairs.read(bucket, "near", list(PAIR))
            found = self.comparer(pairs[chunk * CHUNK : (chunk + 1) * CHUNK])
            storage.write_bytes(url, found.astype("<f8").tobytes())


def _chunks(pairs: int) -> range:
    return range(-(-pairs // CHUNK))


def compare(pairs: Met, files: Files, options: Any) -> ComparedPairs:
    """Compare all near pairs."""
    compared = ComparedPairs(pairs)
    chunk = _Chunk(compared, Comparer(pairs.folder, files))
    tasks = [
        (bucket, one)
        for bucket in range(pairs.buckets)
        for one in _chunks(int(pairs.read(bucket, "near_count", np.int64).sum()))
    ]
    if len(tasks) == 1:  # not worth the start of workers
        chunk(tasks[0])
    else:
        run_tasks(chunk, tasks, options)
    return compared

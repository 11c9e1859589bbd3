"""The exact score that a given share of a corpus reaches, in two passes over the scores and 65,536 counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Cut:
    """Where a corpus is divided."""

    threshold: float
    """Documents with at least this score are kept."""
    kept: int
    """How many that are."""
    documents: int
    """Of how many."""
    wanted: int
    """How many were asked for."""

    @property
    def error(self) -> float:
        """Share of the documents that are kept beyond what was asked for: they have the very score of the last one."""
        return (self.kept - self.wanted) / max(1, self.documents)


def _ordered(scores: Scores) -> NDArray[np.uint32]:
    """Return numbers in the order of the scores; none may be negative or no number."""
    if len(scores) and not (scores >= 0).all():
        raise AssertionError("scores are probabilities")
    return (scores + np.float32(0)).view(np.uint32)


def cut_share(files: Callable[[], Iterable[Scores]], share: float) -> Cut:
    """Return the cut that keeps a share of all documents, the best ones; no sketch, so no error but for equal scores.

    Args:
      files: returns the scores of one file after the other; called twice.
      share: over 0, at most 1; the number kept is rounded up.
    """
    high = np.zeros(1 << 16, np.int64)
    documents = 0
    for scores in files():
        high += np.bincount(_ordered(scores) >> np.uint32(16), minlength=1 << 16)
        documents += len(scores)
    wanted = min(documents, int(np.ceil(share * documents)))
    if not wanted:
        return Cut(1.0, 0, documents, 0)
    above = np.cumsum(high[::-1])
    block = (1 << 16) - 1 - int(np.searchsorted(above, wanted))
    over = int(high[block + 1 :].sum())
    low = np.zeros(1 << 16, np.int64)
    for numbers in _in_block(files(), block):
        low += np.bincount(numbers, minlength=1 << 16)
    above = np.cumsum(low[::-1])
    rank = int(np.searchsorted(above, wanted - over))
    number = np.array([(block << 16) | ((1 << 16) - 1 - rank)], np.uint32)
    return Cut(float(number.view(np.float32)[0]), over + int(above[rank]), documents, wanted)


def _in_block(files: Iterable[Scores], block: int) -> Iterator[NDArray[np.uint32]]:
    for scores in files:
        numbers = _ordered(scores)
        yield numbers[(numbers >> np.uint32(16)) == block] & np.uint32(0xFFFF)


def cut_threshold(files: Iterable[Scores], threshold: float) -> Cut:
    """Return the cut at a given score."""
    kept = documents = 0
    least = np.float32(threshold)
    for scores in files:
        kept += int((scores >= least).sum())
        documents += len(scores)
    return Cut(float(least), kept, documents, kept)

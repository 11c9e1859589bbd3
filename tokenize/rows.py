"""Rows of tokens being filled from caches: B rows of T tokens, in one piece of memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

import numpy as np

from tootsie.tokenize.row_memory import RowMemory
from tootsie.tokenize.shard_reader import MARK, Batch

UNIT = 32
"""Segment ids that are written at a time."""
Places = bytes | bytearray | memoryview
"""The memory of int64[n]."""


class Rows:
    """B rows of T tokens. Whoever fills row r writes ``tokens[r]``, says where documents begin or in
    what it lies, and places its loss.

    Several threads may fill rows at the same time.

    Args:
      count: B.
      length: T.
      memory: where its large arrays lie; absent: in memory of their own.
    """

    def __init__(self, count: int, length: int, memory: RowMemory | None = None) -> None:
        self.length = length
        self._memory = memory or RowMemory()
        self.tokens = self._memory.empty((count, length), np.int32)
        """int32[B, T]."""
        self.bytes = memoryview(self.tokens.reshape(-1).view(np.uint8).data)
        """The memory of ``tokens``."""
        self._begins: list[tuple[Sequence[int], Sequence[int], Sequence[int], Places]] = []
        self._lying: list[tuple[Batch, int, Sequence[int], Sequence[int]]] = []
        self._loss: np.ndarray | None = None
        self._lock = threading.Lock()

    def mark(self, rows: Sequence[int], counts: Sequence[int], shifts: Sequence[int], places: Places) -> None:
        """Say where documents begin in some rows.

        Args:
          rows: n of them.
          counts: how many begin in each, n numbers.
          shifts: what is to be added to the places of each, n numbers.
          places: int64[sum of counts], those of one row after the other: with the shift, counted over all rows
            (``row * T + position``). What does not lie in its row is left out.
        """
        self._begins.append((rows, counts, shifts, places))  # One step, which threads can't divide.

    def lie(self, batch: Batch, first_token: int, rows: Sequence[int], starts: Sequence[int]) -> None:
        """Say that some rows lie in a record batch, so that it can be asked where documents begin when somebody wants to know.

        Args:
          batch: it; its file stays open until that was found out, or until the rows are gone.
          first_token: the place of its first token.
          rows: n of them.
          starts: the place of the first token of each, n numbers.
        """
        self._lying.append((batch, first_token, rows, starts))

    def note_begins(self) -> None:
        """Find out where documents begin in the rows that lie in record batches."""
        length = self.length
        marked: list[int] = []
        counts: list[int] = []
        shifts: list[int] = []
        places = bytearray()
        with self._lock:
            for batch, first_token, rows, starts in self._lying:
                marks, offsets = batch.marks, batch.places
                for row, begin in zip(rows, starts, strict=True):
                    start = begin - first_token
                    low, high = marks[start // MARK], marks[(start + length + MARK - 1) // MARK]
                    if low < high:
                        places += offsets[low:high]
                        marked.append(row)
                        counts.append(high - low)
                        shifts.append(row * length - start)
            self._lying.clear()
            self.mark(marked, counts, shifts, places)

    @property
    def loss_mask(self) -> np.ndarray:
        """bool[B, T]: whether the token carries loss when it is the one to be predicted; read-only where all do."""
        return np.broadcast_to(np.True_, self.tokens.shape) if self._loss is None else self._loss

    def place_loss(self, row: int, at: int, mask: np.ndarray | None) -> None:
        """Say which tokens of a row carry loss, from position ``at`` on: bool[n]; ``None``, or never said: all."""
        if mask is None:
            return
        with self._lock:
            if self._loss is None:
                self._loss = np.ones(self.tokens.shape, bool)
        self._loss[row, at : at + len(mask)] = mask

    def segment_ids(self) -> np.ndarray:
        """Return int32[B, T]: 1 for the first document in the row, 2 for the next, …"""
        self.note_begins()
        count, length = self.tokens.shape
        if not self.tokens.size:
            return np.zeros((count, length), np.int32)
        firsts = np.arange(count) * length
        rows, counts, shifts = (
            np.array([*itertools.chain.from_iterable(part[which] for part in self._begins)], np.int64)
            for which in range(3)
        )
        added = np.frombuffer(b"".join(part[3] for part in self._begins), np.int64) + np.repeat(
            shifts, counts
        )
        inside = added // length == np.repeat(rows, counts)
        begins = np.concatenate([firsts, added[inside]])
        begins.sort(kind="stable")  # Made of few runs that are sorted already.
        lengths = np.diff(begins, append=count * length)
        if not lengths.all():
            begins = begins[lengths > 0]
            lengths = np.diff(begins, append=count * length)
        before = np.searchsorted(begins, firsts)  # segments of the rows above
        numbers = (np.arange(1, len(begins) + 1) - before[begins // length]).astype(np.int32)
        units = -(-self.tokens.size // UNIT)
        flat = self._memory.empty((units * UNIT,), np.int32)
        _repeat_into(flat, numbers, begins, lengths)
        return flat[: self.tokens.size].reshape(count, length)


def _repeat_into(out: np.ndarray, numbers: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> None:
    """Write ``np.repeat(numbers, lengths)``, most of it a unit at a time; what lies beyond it in the last unit is of no meaning.

    Args:
      out: int32[U * UNIT].
      numbers: int32[n].
      begins: int64[n], where each begins, from 0 on.
      lengths: int64[n], all positive.
    """
    units = len(out) // UNIT
    # Each unit becomes what lies at its first place; what begins after that is then written over it.
    which = np.repeat(np.arange(len(begins)), np.diff(-(-begins // UNIT), append=units))
    np.take(np.repeat(numbers, UNIT).reshape(-1, UNIT), which, 0, out.reshape(units, UNIT), "clip")
    rest = np.minimum(-begins % UNIT, lengths)
    ends = np.cumsum(rest)
    out[np.arange(ends[-1]) + np.repeat(begins - (ends - rest), rest)] = np.repeat(numbers, rest)

"""Rows of tokens being filled from caches: B rows of T tokens, in one piece of memory."""

from __future__ import annotations

import threading

import numpy as np


class Rows:
    """B rows of T tokens. Whoever fills row r writes ``tokens[r]``, adds where documents begin, and places its loss.

    Several threads may fill rows at the same time.

    Args:
      count: B.
      length: T.
    """

    def __init__(self, count: int, length: int) -> None:
        self.length = length
        self.tokens = np.empty((count, length), np.int32)
        """int32[B, T]."""
        self.bytes = memoryview(self.tokens.reshape(-1).view(np.uint8).data)
        """The memory of ``tokens``."""
        self.begins: list[tuple[int, np.ndarray, int]] = []
        """Where documents begin, ``(row, places, shift)``: at ``places + shift``, int64[n], counted over all rows
        (``row * T + position``). What does not lie in the row is left out. Appending is one step that threads can't divide."""
        self._loss: np.ndarray | None = None
        self._lock = threading.Lock()

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
        count, length = self.tokens.shape
        if not self.tokens.size:
            return np.zeros((count, length), np.int32)
        firsts = np.arange(count) * length
        rows, found, shifts = zip(*self.begins, strict=True) if self.begins else ((), (), ())
        counts = [len(begins) for begins in found]
        added = np.concatenate([*found, firsts[:0]]) + np.repeat(np.array(shifts, np.int64), counts)
        inside = added // length == np.repeat(np.array(rows, np.int64), counts)
        begins = np.concatenate([firsts, added[inside]])
        begins.sort(kind="stable")  # Made of few runs that are sorted already.
        lengths = np.diff(begins, append=count * length)
        if not lengths.all():
            begins = begins[lengths > 0]
            lengths = np.diff(begins, append=count * length)
        before = np.searchsorted(begins, firsts)  # segments of the rows above
        numbers = np.arange(1, len(begins) + 1) - before[begins // length]
        return np.repeat(numbers.astype(np.int32), lengths).reshape(count, length)

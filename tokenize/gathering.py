"""Read the rows of a batch out of many caches at once.

A batch has few rows of each shard. What is the same work for every row is done for all rows together: where they lie among
the shards of all caches, and in which order to read them. What is left for each row is a copy and a look at its checksums.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from tootsie.tokenize.rows import Rows
from tootsie.tokenize.shard_reader import Piece, ShardReader
from tootsie.tokenize.trailer import BLOCK

if TYPE_CHECKING:
    from tootsie.tokenize.cache import TokenCache

REMOTE_SHARDS_AT_A_TIME = 8
"""Remote shards that one call reads at the same time."""


class Gathering:
    """Reads rows of several caches, whose tokens it counts through: those of the first, then those of the second, …

    Args:
      caches: C of them, ``None`` for one of which no row is asked for.
    """

    def __init__(self, caches: Sequence[TokenCache | None]) -> None:
        self._caches = list(caches)
        self._tokens = np.array([0 if cache is None else cache.tokens for cache in caches], np.int64)
        self._begins = np.cumsum(self._tokens) - self._tokens
        ends = [
            np.zeros(0, np.int64) if cache is None else cache.shard_ends + begin
            for cache, begin in zip(caches, self._begins, strict=True)
        ]
        self._ends = np.concatenate(ends) if ends else np.zeros(0, np.int64)
        """Where each shard of all caches ends."""
        self._shards = [0, *itertools.accumulate(len(part) for part in ends)][:-1]
        """The first shard of each cache among all."""
        self._packed = [
            number
            for number, cache in enumerate(caches)
            if cache is not None and cache.ledger.row_tokens is not None
        ]

    def gather(
        self, which: np.ndarray, windows: np.ndarray, into: Rows, rows: np.ndarray | None = None
    ) -> None:
        """Read rows; of remote caches, several shards at a time.

        Args:
          which: int[n], the cache of each.
          windows: int64[n], the row of its cache, counted in rows of the length of ``into``.
          into: where they go.
          rows: int64[n], which row of ``into`` each becomes; by default 0 to n - 1.

        Raises:
          IndexError: there is no such row.
          ArtefactError: what lies there is not what was written, or rows of this length would cut packed conversations.
        """
        length = into.length
        for number in self._packed:
            if (which == number).any():
                self._cache(number).check_rows(length)
        if not len(windows) or not length:
            return
        wrong = (windows < 0) | (windows >= self._tokens[which] // length)
        if wrong.any():
            at = int(wrong.argmax())
            start = int(windows[at]) * length
            self._cache(int(which[at])).checked(start, start + length)
        places = windows * length + self._begins[which]
        order = places.argsort()
        places = places[order]
        numbers = self._ends.searchsorted(places, "right")
        cuts = (np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()
        shards = numbers[[0, *cuts]].tolist()
        starts, to = places.tolist(), (order if rows is None else rows[order]).tolist()
        remote = []
        for shard, first, end in zip(shards, [0, *cuts], [*cuts, len(starts)], strict=True):
            number = bisect_right(self._shards, shard) - 1
            task = number, shard, starts[first:end], to[first:end], into
            if self._cache(number).remote:
                remote.append(task)
            else:
                self._copy(*task)
        if len(remote) == 1:
            self._copy(*remote[0])
        elif remote:
            with ThreadPoolExecutor(min(len(remote), REMOTE_SHARDS_AT_A_TIME)) as pool:
                for done in [pool.submit(self._copy, *task) for task in remote]:
                    done.result()
        if remote:
            into.note_begins()  # What a remote shard takes of the disk is free when nobody refers to it.

    def _cache(self, number: int) -> TokenCache:
        cache = self._caches[number]
        assert cache is not None, f"rows of cache {number}, which was left out"
        return cache

    def _copy(self, number: int, shard: int, starts: list[int], rows: list[int], into: Rows) -> None:
        """Copy rows that begin in one shard; starts are ascending, and counted over all caches."""
        cache, before = self._cache(number), int(self._begins[number])
        base = int(self._ends[shard - 1]) if shard > self._shards[number] else before
        opened = cache.open_shard(shard - self._shards[number])
        if cache.remote:
            opened.prepare(np.array(starts) - base, into.length)
        for at in copy_rows(opened, base, starts, rows, into):
            cache.copy_pieces(starts[at] - before, rows[at], into)


def copy_rows(shard: ShardReader, base: int, starts: list[int], rows: list[int], into: Rows) -> list[int]:
    """Copy those rows that lie in one record batch of a shard each, and return the places of the others.

    The inner loop is what reading costs beside the copying, so it does little.

    Args:
      shard: where the rows begin.
      base: the place of its first token.
      starts: n places, ascending.
      rows: n rows of ``into``.
      into: where they go.

    Raises:
      ArtefactError: they are not as they were written.
    """
    length, size, file = into.length, into.length * shard.words.itemsize, shard.file
    view, words, find, check = file.view, shard.words, file.checked.find, file.check_blocks
    tokens, out, width = into.tokens, into.bytes, words.itemsize
    as_they_are = width == tokens.itemsize
    first_tokens, opened = shard.first_tokens, shard.opened
    others = []
    first, count = 0, len(starts)
    while first < count:
        which = bisect_right(first_tokens, starts[first] - base) - 1
        batch = opened[which] or shard.batch(which)
        first_token = base + batch.first_token
        end = bisect_right(starts, first_token + batch.tokens - length, first)
        if end == first:
            others.append(first)
            first += 1
            continue
        mine, begins = rows[first:end], starts[first:end]
        zero = batch.at - first_token * width
        unsure = find(0, *batch.blocks) >= 0
        for row, begin in zip(mine, begins, strict=True):
            at = zero + begin * width
            if unsure:
                low, high = at // BLOCK, (at + size + BLOCK - 1) // BLOCK
                if find(0, low, high) >= 0:
                    check(low, high)
            if as_they_are:
                to = row * size
                out[to : to + size] = view[at : at + size]
            else:
                at //= width
                tokens[row] = words[at : at + length]
        into.lie(batch, first_token, mine, begins)
        if batch.has_loss_spans:
            for row, begin in zip(mine, begins, strict=True):
                at = begin - first_token
                into.place_loss(row, 0, Piece(batch, at, at + length).loss_mask)
        first = end
    return others

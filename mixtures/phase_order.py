"""Which dataset each position of one phase draws from: an exact, stateless schedule.

A phase draws ``n_i`` sequences of dataset i over L positions, Σ n_i = L. The *quota* of i after k positions is
``q_i(k) = n_i·k / L``. The schedule keeps ``|drawn_i(k) − q_i(k)| < 1`` for every dataset at every prefix k.
``docs/mixtures.md`` has the proofs; the outline:

**Windows.** Unit j (1, 2, …) of i may be drawn at position k only if ``q_i(k + 1) > j − 1`` and must be drawn before
the first k with ``q_i(k) ≥ j``. Drawing every unit in its window *is* the bound. With

    release(j) = ⌊(j − 1)·L / n_i⌋,   deadline(j) = ⌈j·L / n_i⌉

the window is ``[release, deadline)``. Earliest deadline first (EDF), ties by name, finds such a schedule (Baruah
et al. 1996, proportionate progress; Tijdeman 1980, the chairman assignment problem).

**Two classes.** Datasets are split by rate into *fast* and *slow*. The fast ones together have drawn exactly
``⌊Y_fast(k)⌋`` after k, Y the sum of their quotas, hence the slow ones ``⌈Y_slow(k)⌉``. Each class then runs EDF on its own
positions. This loses nothing: an interval [a, b) with N whole windows of a class inside has ``Y(b) − Y(a) ≥ N``, so
``⌊Y(b)⌋ − ⌊Y(a)⌋ ≥ N`` positions, which is Hall's condition; and no position stays empty, because
``⌈Y(k)⌉ ≤ Σ⌈q_i(k)⌉`` units are released. It gains two things: the slow ones never make the fast ones look far back, and
with it

**Random access.** After k positions a class has drawn ``⌊q_i(k)⌋`` units of each dataset, and one more of some set E
of those with a fraction. E is what EDF gives: go through the begun units in deadline order and admit each with which
the admitted ones can still be matched to positions before k (the greedy basis of a transversal matroid). Matchable
means, for every a: admitted units released at a or later ≤ ``capacity(a)``, the positions in [a, k) of the class less
the units due by k that were released at a or later. Only an `a` at which the units released earlier have gathered
quota enough for one position can bind; the rest is never looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from tootsie.mixtures import snapshot
from tootsie.mixtures.lockstep import draw_in_lockstep, fits
from tootsie.mixtures.rate_class import RateClass

SPLIT_ABOVE = 4096
"""Look-back in positions above which the datasets are split into two classes."""
LEAST_LANE = 64
"""Positions of a lane at least."""
LANES_FROM = 6
"""Stretches from which on they are drawn in lockstep."""
LANES = 1024
"""Lanes at a time: enough to hide the cost of a step, few enough for the caches."""
LANE_COST = 6
"""What the state at the start of a lane costs, in steps of all lanes."""


class PhaseOrder:
    """The schedule of one phase.

    Args:
      sequences: n_i by dataset name, all positive; they add up to L.

    Attributes:
      names: the datasets, sorted; the indices below refer to it.
      length: L.
    """

    def __init__(self, sequences: Mapping[str, int]) -> None:
        self.names = tuple(sorted(sequences))
        self.counts = tuple(sequences[name] for name in self.names)
        self.length = sum(self.counts)
        slow = slow_datasets(self.counts, self.length)
        fast = [i for i in range(len(self.names)) if i not in slow]
        self._classes = [
            RateClass(
                tuple(members),
                tuple(self.counts[i] for i in members),
                sum(self.counts[i] for i in members),
                self.length,
                rounds_up,
            )
            for members, rounds_up in ((fast, False), (sorted(slow), True))
            if members
        ]

    def drawn(self, position: int) -> list[int]:
        """Return the units drawn of each dataset in the first ``position`` positions of the phase (0 <= position <= L)."""
        result = [count * position // self.length for count in self.counts]
        for rate_class in self._classes:
            for member, begun in zip(rate_class.members, rate_class.begun(position), strict=True):
                result[member] += begun
        return result

    def datasets(self, start: int, end: int, drawn: list[int]) -> np.ndarray:
        """Return the datasets of the positions [start, end), int32[end - start], given the units drawn before."""
        is_fast = self._is_fast(np.array([start]), end - start)[0]
        result = np.empty(end - start, dtype=np.int32)
        for rate_class in self._classes:
            at = np.flatnonzero(is_fast != rate_class.rounds_up)
            members = rate_class.schedule((at + start).tolist(), [drawn[i] for i in rate_class.members])
            result[at] = np.array(rate_class.members, dtype=np.int32)[members]
        return result

    def one(self, position: int) -> tuple[int, int]:
        """Draw one position of the phase: the index of the dataset, and how many of its units the phase has drawn before."""
        drawn = self.drawn(position)
        is_fast = self._classes[0].taken(position + 1) > self._classes[0].taken(position)
        rate_class = self._classes[0 if is_fast or len(self._classes) == 1 else 1]
        (member,) = rate_class.schedule([position], [drawn[i] for i in rate_class.members])
        dataset = rate_class.members[member]
        return dataset, drawn[dataset]

    def at(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw any positions of the phase.

        Args:
          positions: int64[n] in [0, L), ascending; one may stand there several times.

        Returns:
          ``(dataset, unit)``, int32[n] and int64[n]: the index of the dataset, and how many of its units are drawn before.
        """
        gaps = np.diff(positions)
        heads = np.concatenate([[0], np.flatnonzero(gaps > LEAST_LANE) + 1])
        if self.has_lanes and (len(heads) >= LANES_FROM or len(positions) >= LANES_FROM * LEAST_LANE):
            return self._at_lanes(positions)
        dataset, unit = np.empty(len(positions), np.int32), np.empty(len(positions), np.int64)
        for first, end in itertools.pairwise([*heads.tolist(), len(positions)]):
            if end - first == 1:
                dataset[first], unit[first] = self.one(int(positions[first]))
                continue
            start, stop = int(positions[first]), int(positions[end - 1]) + 1
            drawn = self.drawn(start)
            members = self.datasets(start, stop, drawn)
            offsets = positions[first:end] - start
            dataset[first:end] = members[offsets]
            unit[first:end] = _units(members[None], np.array([drawn]))[0, offsets]
        return dataset, unit

    def _at_lanes(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Do the same with a lane for each stretch of :data:`LEAST_LANE` positions in which there are some."""
        lane = np.concatenate([[0], np.cumsum(np.diff(positions // LEAST_LANE) > 0)])
        heads = np.flatnonzero(np.diff(lane, prepend=-1))
        starts = positions[heads]
        sizes = positions[np.append(heads[1:], len(positions)) - 1] - starts + 1
        dataset, unit = np.empty(len(positions), np.int32), np.empty(len(positions), np.int64)
        # Lanes of about the same length go together; most have one position.
        by_size = np.argsort(sizes, kind="stable")
        rank = np.empty(len(by_size), np.int64)
        rank[by_size] = np.arange(len(by_size))
        by_rank = np.argsort(rank[lane], kind="stable")
        ranks = rank[lane][by_rank]
        for first in range(0, len(by_size), LANES):
            mine = by_size[first : first + LANES]
            drawn = self.drawn_at(starts[mine])
            members = self._lockstep(starts[mine], int(sizes[mine[-1]]), drawn)
            units = _units(members, drawn)
            which = by_rank[slice(*np.searchsorted(ranks, (first, first + LANES)))]
            row, column = rank[lane[which]] - first, positions[which] - starts[lane[which]]
            dataset[which], unit[which] = members[row, column], units[row, column]
        return dataset, unit

    def drawn_at(self, positions: np.ndarray) -> np.ndarray:
        """Return what :meth:`drawn` says of many positions, int64[W, D]; for phases that have lanes."""
        result = np.empty((len(positions), len(self.names)), dtype=np.int64)
        for rate_class in self._classes:
            result[:, rate_class.members] = snapshot.drawn_at(rate_class, positions)
        return result

    def stretch(self, start: int, end: int) -> tuple[np.ndarray, list[int]]:
        """Draw the positions [start, end).

        Returns:
          ``(dataset, drawn)``: the index of the dataset of each, int32[end - start], and the units of each dataset drawn before
          them. So the n-th draw of a dataset, n from 0, is its unit ``drawn + n``.
        """
        size = max(LEAST_LANE, math.isqrt(LANE_COST * (end - start)))
        starts = np.arange(start, end, size, dtype=np.int64)
        drawn = self.drawn_at(starts)
        dataset = self._lockstep(starts, min(size, end - start), drawn)
        return dataset.reshape(-1)[: end - start], drawn[0].tolist()

    def _lockstep(self, starts: np.ndarray, size: int, drawn: np.ndarray) -> np.ndarray:
        """Return the dataset of each position of W stretches, int32[W, S], given the units drawn before each, int64[W, D]."""
        if len(self._classes) == 1:
            offsets = np.broadcast_to(np.arange(size, dtype=np.int64), (len(starts), size))
            return draw_in_lockstep(self.counts, self.length, starts, offsets, drawn)
        dataset = np.zeros((len(starts), size), dtype=np.int32)
        is_fast = self._is_fast(starts, size)
        for rate_class in self._classes:
            mine = is_fast != rate_class.rounds_up
            sizes = mine.sum(axis=1)
            offsets = np.argsort(~mine, axis=1, kind="stable")[:, : int(sizes.max(initial=0))]
            before = drawn[:, rate_class.members]
            member = draw_in_lockstep(rate_class.counts, self.length, starts, offsets, before)
            real = np.arange(offsets.shape[1]) < sizes[:, None]
            lane = np.nonzero(real)[0]
            dataset[lane, offsets[real]] = np.array(rate_class.members, dtype=np.int32)[member[real]]
        return dataset

    @property
    def has_lanes(self) -> bool:
        """Whether the numbers of this phase are small enough for many lanes at once."""
        return fits(len(self.counts), self.length)

    def _is_fast(self, starts: np.ndarray, size: int) -> np.ndarray:
        """Return which of the positions [start, start + size) belong to the first class, bool[W, size]."""
        if len(self._classes) == 1:
            return np.full((len(starts), size), not self._classes[0].rounds_up)
        fast = self._classes[0]
        parts = [divmod(fast.total * start, self.length) for start in starts.tolist()]
        rest = np.array([part[1] for part in parts], dtype=np.int64)[:, None]
        return np.diff((rest + fast.total * np.arange(size + 1, dtype=np.int64)) // self.length, axis=1) == 1


def _units(members: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return which unit each draw of W lanes is, int64[W, S], given the units drawn before, int64[W, D]."""
    lanes, size = members.shape
    datasets = drawn.shape[1]
    key = (members + np.arange(lanes, dtype=np.int64)[:, None] * datasets).reshape(-1)
    if size == 1:
        return drawn.reshape(-1)[key].reshape(lanes, 1)
    order = np.argsort(key, kind="stable")
    first = np.cumsum(np.bincount(key, minlength=lanes * datasets))
    before = np.concatenate([[0], first[:-1]]) - drawn.reshape(-1)
    units = np.empty(len(key), dtype=np.int64)
    units[order] = np.arange(len(key)) - before[key[order]]
    return units.reshape(lanes, size)


def grouped(dataset: np.ndarray, datasets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(order, ends)``: the places by dataset, ascending within each, and where those of each end in ``order``."""
    order = np.argsort(dataset.astype(np.int16) if datasets < 2**15 else dataset, kind="stable")
    return order, np.cumsum(np.bincount(dataset, minlength=datasets))


def slow_datasets(counts: tuple[int, ...], length: int) -> frozenset[int]:
    """Return the datasets of the slow class: none, or the split that makes the longer of both look-backs shortest.

    A fast class looks back over one window of its second slowest dataset, a slow class over one window of its
    slowest, counted in its own positions. The split depends on the counts alone, ties go by index.
    """
    by_rate = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    if len(counts) < 3 or length // counts[by_rate[-2]] <= SPLIT_ABOVE:
        return frozenset()
    best, slowest = length // counts[by_rate[-2]], len(counts)
    total = 0
    for size in range(len(counts) - 1, 0, -1):
        total += counts[by_rate[size]]
        back_fast = length // counts[by_rate[size - 2]] if size > 1 else 0
        back_slow = total // counts[by_rate[-1]] if size < len(counts) - 1 else 0
        if max(back_fast, back_slow) < best:
            best, slowest = max(back_fast, back_slow), size
    return frozenset(by_rate[slowest:])

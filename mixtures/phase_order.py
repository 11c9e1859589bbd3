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

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tootsie.mixtures.lockstep import draw_in_lockstep, fits

SPLIT_ABOVE = 4096
"""Look-back in positions above which the datasets are split into two classes."""
LEAST_LANE = 64
"""Positions of a lane at least."""
LANE_COST = 6
"""What the state at the start of a lane costs, in steps of all lanes."""
_CHUNK = 2**18
"""Numbers looked at in one go: members × interval starts."""


@dataclass(frozen=True)
class RateClass:
    """Datasets that share a set of positions.

    ``taken(k)``, the positions of the class among the first k, is ⌊total·k / length⌋, or ⌈…⌉ for the slow class.
    """

    members: tuple[int, ...]
    """Indices of its datasets, in tie-breaking order."""
    counts: tuple[int, ...]
    """n_i of each."""
    total: int
    """Σ n_i."""
    length: int
    """L."""
    rounds_up: bool
    """Whether this is the slow class."""

    def taken(self, position: int) -> int:
        """Return how many of the first ``position`` positions belong to the class."""
        whole = self.total * position
        return -(-whole // self.length) if self.rounds_up else whole // self.length

    def begun(self, position: int) -> list[bool]:
        """Return E: for each member whether one unit more than ⌊q_i⌋ is drawn after ``position`` positions."""
        length = self.length
        done = [count * position // length for count in self.counts]
        missing = self.taken(position) - sum(done)
        fractional = [i for i, count in enumerate(self.counts) if count * position % length]
        result = [False] * len(self.counts)
        if missing == len(fractional):
            for i in fractional:
                result[i] = True
        elif missing:
            for i in self._greedy(position, fractional, done, missing):
                result[i] = True
        return result

    def _greedy(self, position: int, fractional: list[int], done: list[int], missing: int) -> list[int]:
        length, counts = self.length, self.counts
        release = {i: done[i] * length // counts[i] for i in fractional}
        by_deadline = sorted(fractional, key=lambda i: (-(-(done[i] + 1) * length // counts[i]), i))
        latest_first = sorted(fractional, key=lambda i: -release[i])
        capacity = self._capacities(position, latest_first, release, done, missing)
        if capacity is None:
            return by_deadline[:missing]
        place = {i: at for at, i in enumerate(latest_first)}
        room = capacity.copy()
        admitted: list[int] = []
        for i in by_deadline:
            if len(admitted) == missing:
                break
            if room[place[i] :].min() > 0:
                room[place[i] :] -= 1
                admitted.append(i)
        if len(admitted) != missing:
            raise AssertionError(
                f"{len(admitted)} of {missing} begun units placed before {position} of {length}"
            )
        return admitted

    def _capacities(
        self, position: int, latest_first: list[int], release: dict[int, int], done: list[int], missing: int
    ) -> np.ndarray | None:
        """Return, for c = 1 …, the least capacity over the a that exactly the c latest units are not released before.

        ``None`` where no a can bind.
        """
        first = self._first_binding(position, latest_first, release, done)
        if first is None:
            return None
        releases = np.array([release[i] for i in reversed(latest_first)], dtype=np.int64)
        least = np.full(len(latest_first) + 1, missing, dtype=np.int64)
        due = np.array(done, dtype=np.int64)
        counts = np.array(self.counts, dtype=np.int64)[:, None]
        for base, offsets, taken in self._starts(first, position):
            parts = [divmod(count * base, self.length) for count in self.counts]
            whole = np.array([part[0] for part in parts], dtype=np.int64)
            rest = np.array([part[1] for part in parts], dtype=np.int64)[:, None]
            # How many units are due that were not released before: max(0, due - whole - ...), summed over the members.
            released = counts * offsets
            released += rest + (self.length - 1)
            released //= self.length
            np.subtract((due - whole)[:, None], released, out=released)
            inside = np.maximum(released, 0, out=released).sum(axis=0)
            capacity = self.taken(position) - taken - inside
            later = len(releases) - np.searchsorted(releases, base + offsets, side="left")
            np.minimum.at(least, later, capacity)
        return least[1:]

    def _first_binding(
        self, position: int, latest_first: list[int], release: dict[int, int], done: list[int]
    ) -> int | None:
        """Return the smallest a from which on the units released before a have gathered one position's quota."""
        # The rounding of the slow class can lend it all but one L-th of a position.
        needed = 1 if self.rounds_up else self.length

        counts = quotas = 0
        for number, i in enumerate(reversed(latest_first)):
            counts += self.counts[i]
            quotas += done[i] * self.length
            # With the units released so far: where counts · a − quotas reaches what is needed, before the next release.
            start = max(release[i] + 1, -(-(needed + quotas) // counts))
            following = len(latest_first) - 2 - number
            if start <= (release[latest_first[following]] if following >= 0 else position):
                return start
        return None

    def _starts(self, first: int, position: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return the interval starts to look at, in chunks: (base, int64 offsets from it, positions taken before)."""
        chunks = []
        size = max(1, _CHUNK // len(self.counts))
        if not self.rounds_up:
            for base in range(first, position, size):
                offsets = np.arange(min(size, position - base), dtype=np.int64)
                whole, rest = divmod(self.total * base, self.length)
                chunks.append((base, offsets, whole + (rest + self.total * offsets) // self.length))
            return chunks
        # Only just after a position of the class can a start bind: the n-th such start is ⌊(n − 1)·L / total⌋ + 1.
        begin, end = self.taken(first), self.taken(position)
        for number in range(max(1, begin), end + 1, size):
            ordinals = np.arange(min(size, end + 1 - number), dtype=np.int64)
            base, rest = divmod((number - 1) * self.length, self.total)
            offsets = (rest + ordinals * self.length) // self.total
            inside = offsets + base + 1 < position
            if inside.any():
                chunks.append((base + 1, offsets[inside], (number + ordinals)[inside]))
        return chunks

    def schedule(self, positions: list[int], drawn: list[int]) -> list[int]:
        """Return the member (an index into :attr:`members`) that each of these consecutive positions of the class draws.

        Args:
          positions: of the class, ascending, without a gap.
          drawn: units of each member before the first of them.
        """
        if len(self.counts) == 1:
            return [0] * len(positions)
        length, counts = self.length, self.counts
        drawn = list(drawn)
        ready: list[tuple[int, int]] = []
        waiting = [
            (done * length // count, i)
            for i, (done, count) in enumerate(zip(drawn, counts, strict=True))
            if done < count
        ]
        heapq.heapify(waiting)
        result = []
        for position in positions:
            while waiting and waiting[0][0] <= position:
                i = heapq.heappop(waiting)[1]
                heapq.heappush(ready, (-(-(drawn[i] + 1) * length // counts[i]), i))
            i = heapq.heappop(ready)[1]
            result.append(i)
            drawn[i] += 1
            if drawn[i] < counts[i]:
                heapq.heappush(waiting, (drawn[i] * length // counts[i], i))
        return result


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
        is_fast = self._is_fast(start, end - start)
        result = np.empty(end - start, dtype=np.int32)
        for rate_class in self._classes:
            at = np.flatnonzero(is_fast != rate_class.rounds_up)
            members = rate_class.schedule((at + start).tolist(), [drawn[i] for i in rate_class.members])
            result[at] = np.array(rate_class.members, dtype=np.int32)[members]
        return result

    def lanes(self, starts: list[int], size: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw many stretches at once.

        Args:
          starts: first position of each of the W stretches, in [0, L).
          size: S, positions of each. What lies past the end of the phase means nothing.

        Returns:
          ``(dataset, unit)``, int32[W, S] and int64[W, S]: the index of the dataset, and how many of its units the phase
          has drawn before.
        """
        drawn = [self.drawn(start) for start in starts]
        dataset = self._lockstep(starts, size, drawn)
        before = np.array(drawn, dtype=np.int64)
        unit = np.empty(dataset.shape, dtype=np.int64)
        for lane, members in enumerate(dataset):
            by_dataset, ends = grouped(members, len(self.names))
            first = before[lane] - np.concatenate([[0], ends[:-1]])
            unit[lane, by_dataset] = np.arange(size) + first[members[by_dataset]]
        return dataset, unit

    def stretch(self, start: int, end: int) -> tuple[np.ndarray, list[int]]:
        """Draw the positions [start, end).

        Returns:
          ``(dataset, drawn)``: the index of the dataset of each, int32[end - start], and the units of each dataset drawn before
          them. So the n-th draw of a dataset, n from 0, is its unit ``drawn + n``.
        """
        size = max(LEAST_LANE, math.isqrt(LANE_COST * (end - start)))
        starts = list(range(start, end, size))
        drawn = [self.drawn(first) for first in starts]
        dataset = self._lockstep(starts, min(size, end - start), drawn)
        return dataset.reshape(-1)[: end - start], drawn[0]

    def _lockstep(self, starts: list[int], size: int, drawn: list[list[int]]) -> np.ndarray:
        """Return the dataset of each position of W stretches, int32[W, S], given the units drawn before each."""
        if len(self._classes) == 1:
            offsets = np.broadcast_to(np.arange(size, dtype=np.int64), (len(starts), size))
            return draw_in_lockstep(self.counts, self.length, starts, offsets, drawn)
        dataset = np.zeros((len(starts), size), dtype=np.int32)
        is_fast = np.stack([self._is_fast(start, size) for start in starts])
        for rate_class in self._classes:
            mine = is_fast != rate_class.rounds_up
            sizes = mine.sum(axis=1)
            offsets = np.argsort(~mine, axis=1, kind="stable")[:, : int(sizes.max(initial=0))]
            before = [[row[i] for i in rate_class.members] for row in drawn]
            member = draw_in_lockstep(rate_class.counts, self.length, starts, offsets, before)
            real = np.arange(offsets.shape[1]) < sizes[:, None]
            lane = np.nonzero(real)[0]
            dataset[lane, offsets[real]] = np.array(rate_class.members, dtype=np.int32)[member[real]]
        return dataset

    @property
    def has_lanes(self) -> bool:
        """Whether the numbers of this phase are small enough for :meth:`lanes`."""
        return fits(len(self.counts), self.length)

    def _is_fast(self, start: int, size: int) -> np.ndarray:
        """Return which of the positions [start, start + size) belong to the first class, bool[size]."""
        if len(self._classes) == 1:
            return np.full(size, not self._classes[0].rounds_up)
        fast = self._classes[0]
        offsets = np.arange(size + 1, dtype=np.int64)
        whole, rest = divmod(fast.total * start, self.length)
        taken = whole + (rest + fast.total * offsets) // self.length
        return np.diff(taken) == 1


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

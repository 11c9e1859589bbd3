"""Datasets of a phase that share a set of positions, and which units they have drawn after any number of positions.

:mod:`tootsie.mixtures.phase_order` says what is computed, and why; :mod:`tootsie.mixtures.snapshot` computes the same for many
positions at once.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

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

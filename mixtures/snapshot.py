"""The state of a phase at many positions at once: what :meth:`tootsie.mixtures.rate_class.RateClass.begun` says of one.

What is computed, :mod:`tootsie.mixtures.phase_order` explains: the set E of begun units that are drawn, admitted in the order of
their deadlines where every *start* a leaves room for them. Here the starts of all positions lie in one flat array of *slots*:
slot s of a position stands for the start ``first + s`` (in the slow class for the s-th start that lies just after a position of
the class). A due unit released at r uses up room in every slot with a ≤ r, so counting units by their last slot and summing
backwards gives all capacities.

Glossary of shapes: W positions, M members of the class.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tootsie.mixtures.rate_class import RateClass

MOST_NUMBERS = 2**17
"""Members times positions looked at in one go."""
MOST_SLOTS = 2**18
"""Slots looked at in one go: bounds the memory."""
LARGEST = 2**50
"""Largest number that :func:`quotient` is exact for."""
_NONE = np.iinfo(np.int64).max


def quotient(a: np.ndarray | int, b: np.ndarray | int, c: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(⌊a·b / c⌋, a·b mod c)``, int64, exact where all of them are at most :data:`LARGEST`.

    The product may need 100 bits: a quotient estimated in doubles is off by less than one, its remainder exact modulo 2**64.
    """
    a, b, c = (np.asarray(part, dtype=np.int64) for part in (a, b, c))
    if int(a.max(initial=0)) * int(b.max(initial=0)) < 2**62:
        product = a * b
        whole = product // c
        return whole, product - whole * c
    whole = np.atleast_1d(a.astype(np.float64) * b / c).astype(np.int64)
    rest = np.atleast_1d(a) * b - whole * c
    shift = rest // c
    return whole + shift, rest - shift * c


def taken(rate_class: RateClass, position: np.ndarray) -> np.ndarray:
    """Return how many of the first ``position`` positions belong to the class, int64 of the same shape."""
    if rate_class.total == rate_class.length:
        return position
    whole, rest = quotient(position, rate_class.total, rate_class.length)
    return whole + (rest > 0) if rate_class.rounds_up else whole


def drawn_at(rate_class: RateClass, position: np.ndarray) -> np.ndarray:
    """Return the units of each member drawn in the first ``position`` (int64[W], each <= L) positions, int64[W, M]."""
    counts, length = np.array(rate_class.counts, dtype=np.int64), rate_class.length
    part = max(1, MOST_NUMBERS // len(counts))
    if len(position) > part:
        several = [position[first : first + part] for first in range(0, len(position), part)]
        return np.concatenate([drawn_at(rate_class, some) for some in several])
    due, rest = quotient(position[:, None], counts, length)
    fractional = rest > 0
    missing = taken(rate_class, position) - due.sum(axis=1)
    begun = fractional & (missing == fractional.sum(axis=1))[:, None]
    doubtful = np.flatnonzero((missing > 0) & (missing < fractional.sum(axis=1)))
    if len(doubtful):
        some = _Doubtful(rate_class, position[doubtful], due[doubtful], rest[doubtful], missing[doubtful])
        begun[doubtful] = some.admitted()
    return due + begun


class _Doubtful:
    """Positions at which some of the begun units are drawn, and some are not; members are in the order of their releases."""

    def __init__(
        self,
        rate_class: RateClass,
        position: np.ndarray,
        due: np.ndarray,
        rest: np.ndarray,
        missing: np.ndarray,
    ) -> None:
        length = rate_class.length
        self.rate_class, self.position, self.due, self.missing = rate_class, position, due, missing
        self.counts = np.array(rate_class.counts, dtype=np.int64)
        fractional = rest > 0
        release = np.where(fractional, quotient(due, length, self.counts)[0], -1)
        self.by_release = np.argsort(release, axis=1, kind="stable")
        self.release = np.take_along_axis(release, self.by_release, axis=1)
        after, part = quotient(due + 1, length, self.counts)
        self.by_deadline = np.argsort(np.where(fractional, after + (part > 0), _NONE), axis=1, kind="stable")
        self.units = fractional.sum(axis=1)
        self.first = self._first_binding(np.where(fractional, rest, 0), fractional)

    def _first_binding(self, rest: np.ndarray, fractional: np.ndarray) -> np.ndarray:
        """Return the smallest start that can bind, int64[W]; the position itself where none can."""
        needed = 1 if self.rate_class.rounds_up else self.rate_class.length
        rests = np.cumsum(np.take_along_axis(rest, self.by_release, axis=1), axis=1)
        counts = np.cumsum(
            np.where(fractional, self.counts, 0)[np.arange(len(rest))[:, None], self.by_release], axis=1
        )
        position = self.position[:, None]
        # Counted backwards from the position: the units released by then have gathered rests − counts · (position − a).
        start = np.maximum(self.release + 1, position - (rests - needed) // np.maximum(counts, 1))
        following = np.concatenate([self.release[:, 1:], position], axis=1)
        found = (start <= following) & (self.release >= 0)
        at = np.argmax(found, axis=1)
        return np.where(found.any(axis=1), start[np.arange(len(at)), at], self.position)

    def admitted(self) -> np.ndarray:
        """Return which members have one unit more than those due, bool[W, M]."""
        if self.rate_class.rounds_up:
            # The n-th start just after a position of the class is ⌊(n − 1)·L / total⌋ + 1; it is not after a where n <= taken(a).
            self.passed = taken(self.rate_class, self.first - 1)
            slots = np.maximum(0, taken(self.rate_class, self.position - 1) - self.passed)
        else:
            self.passed = self.first - 1
            slots = self.position - self.first
        result = np.zeros(self.release.shape, dtype=bool)
        for row in np.flatnonzero(slots > MOST_SLOTS).tolist():
            result[row] = self.rate_class.begun(int(self.position[row]))
        for rows in _parts(np.flatnonzero(slots <= MOST_SLOTS), slots):
            result[rows] = self._greedy(rows, self._room(rows, slots[rows]))
        return result

    def _number(self, start: np.ndarray) -> np.ndarray:
        """Return the number of the last start that is not after ``start``; slot s of a position has number ``passed + 1 + s``."""
        return taken(self.rate_class, start) if self.rate_class.rounds_up else start

    def _room(self, rows: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Return the least capacity of the slots between two releases, int64[W, M]: column m for those after the release before.

        The begun units that use room there are those of the columns from m on.
        """
        ends = np.cumsum(slots)
        owner = np.repeat(np.arange(len(rows)), slots)
        number = np.arange(int(ends[-1])) + (self.passed[rows] + 1 - (ends - slots))[owner]
        before = number if self.rate_class.rounds_up else taken(self.rate_class, number)
        capacity = taken(self.rate_class, self.position[rows])[owner] - before
        capacity -= self._inside(rows, slots)
        last = np.clip(self._number(self.release[rows]) - self.passed[rows][:, None], 0, slots[:, None])
        begins = np.concatenate([np.zeros((len(rows), 1), dtype=np.int64), last], axis=1)
        at = (begins + (ends - slots)[:, None]).reshape(-1)
        least = np.minimum.reduceat(np.append(capacity, _NONE), at).reshape(begins.shape)[:, :-1]
        missing = self.missing[rows][:, None]
        return np.where(last > begins[:, :-1], np.minimum(least, missing), missing)

    def _inside(self, rows: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Return for each slot how many units have their whole window between its start and the position."""
        length, members = self.rate_class.length, len(self.counts)
        # Unit u + 1 is released at ⌊u·L / n⌋, which is not before the first start from u = ⌈first·n / L⌉ on.
        whole, part = quotient(self.first[rows][:, None], self.counts, length)
        unit = whole + (part > 0)
        several = np.maximum(0, self.due[rows] - unit).reshape(-1)
        owner = np.repeat(np.arange(len(several)), several)
        unit = unit.reshape(-1)[owner] + np.arange(len(owner)) - (np.cumsum(several) - several)[owner]
        release = quotient(unit, length, self.counts[owner % members])[0]
        lane = owner // members
        ends = np.cumsum(slots)
        slot = self._number(release) - self.passed[rows][lane] - 1
        counted = slot >= 0
        last = (slot + (ends - slots)[lane])[counted]
        upto = np.cumsum(np.bincount(last, minlength=int(ends[-1])))
        # A unit counts in its last slot and in all before it.
        total = upto[ends - 1] if len(upto) else ends
        return np.repeat(total, slots) - np.concatenate([[0], upto[:-1]])[: len(upto)]

    def _greedy(self, rows: np.ndarray, room: np.ndarray) -> np.ndarray:
        """Admit begun units in the order of their deadlines, each where every slot up to its release has room, bool[W, M]."""
        members = np.arange(room.shape[1])
        lanes = np.arange(len(rows))
        by_deadline = self.by_deadline[rows]
        column = np.empty_like(by_deadline)
        np.put_along_axis(column, self.by_release[rows], members[None], axis=1)
        left, units = self.missing[rows].copy(), self.units[rows]
        result = np.zeros(room.shape, dtype=bool)
        for step in range(int(units.max())):
            member = by_deadline[:, step]
            upto = members <= column[lanes, member][:, None]
            fits = (np.where(upto, room, 1).min(axis=1) > 0) & (left > 0) & (step < units)
            room -= upto & fits[:, None]
            result[lanes, member] |= fits
            left -= fits
            if not left.any():
                return result
        raise AssertionError(
            f"{int(left.sum())} begun units not placed in a phase of {self.rate_class.length}"
        )


def _parts(rows: np.ndarray, slots: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows in parts of :data:`MOST_SLOTS` slots or a little more."""
    if len(rows):
        part = np.cumsum(slots[rows]) // MOST_SLOTS
        yield from np.split(rows, np.flatnonzero(np.diff(part)) + 1)

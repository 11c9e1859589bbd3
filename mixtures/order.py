"""The data order: a pure function from a position to (dataset, epoch, window).

It depends on the plan alone: not on how positions are grouped into batches, hosts or calls, nor on what was asked
before. Any position is computed from the state of its phase there, which :mod:`tootsie.mixtures.phase_order` gives directly.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import threading
from typing import NamedTuple

import numpy as np

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.block_shuffle import Shuffle, epoch_shuffle, permute_each
from tootsie.mixtures.phase_order import PhaseOrder, grouped
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import PlanPhase
from tootsie.mixtures.tape import Tape

STRETCH_FROM = 2**14
"""Positions in a row from which on they are not looked at one by one."""
STRETCH = 2**22
"""Positions in a row computed at a time: bounds the memory."""
AHEAD_AFTER = 4
"""Times that positions were asked for where those asked for before end, from which on more are computed than asked for."""
AHEAD = 2**18
"""Positions computed then."""
MANY = 64
"""Windows of one pass over one dataset from which on they are computed together."""


class Draws(NamedTuple):
    """What positions draw."""

    dataset: np.ndarray
    """int32[n], index into ``plan.datasets``."""
    epoch: np.ndarray
    """int64[n], passes over the dataset completed before."""
    window: np.ndarray
    """int64[n], row of the dataset's token cache at the sequence length of the phase."""


class Order:
    """The data order of a plan. Safe to use from several threads.

    Raises:
      ArtefactError: a phase that follows one cut short does not carry on from the counts reached.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._starts = [phase.start for phase in plan.phases]
        self._index = {dataset.name: index for index, dataset in enumerate(plan.datasets)}
        self._tapes, self._begun = plan.lengths.tapes, plan.lengths.begun
        # Sequences in an epoch, by tape; 1 stands for those of a dataset that is too short to be drawn from it.
        self._rows = {
            tape: np.array([max(1, tape.rows(dataset.tokens)) for dataset in plan.datasets], dtype=np.int64)
            for tape in dict.fromkeys(self._tapes)
        }
        self._phase_order = functools.lru_cache(maxsize=None)(self._make_phase_order)
        self._reading = threading.Lock()
        self._expected = self._in_a_row = self._kept_from = 0
        self._kept: Draws | None = None
        for before, after in zip(plan.phases, plan.phases[1:], strict=False):
            if before.length != before.end - before.start:
                self._check_carried(before, after)

    def draw(self, positions: np.ndarray) -> Draws:
        """Return what each position draws.

        Args:
          positions: int64[n] in [0, plan.total_sequences), in any order.

        Raises:
          IndexError: a position lies outside the plan.
        """
        positions = np.asarray(positions, dtype=np.int64).reshape(-1)
        if positions.size and (int(positions.min()) < 0 or int(positions.max()) >= self.plan.total_sequences):
            raise IndexError(f"a position lies outside [0, {self.plan.total_sequences:,})")
        if positions.size and (np.diff(positions) == 1).all():
            first, end = int(positions[0]), int(positions[-1]) + 1
            kept = self._read_on(first, end) if end - first < AHEAD else None
            if kept is not None or end - first < STRETCH_FROM:
                return kept or self._draw_each(positions)
            return self._stretch(first, end)
        return self._draw_each(positions)

    def _read_on(self, first: int, end: int) -> Draws | None:
        """Return the draws of [first, end) where somebody is reading on and on; ``None`` where they are not at hand."""
        with self._reading:
            self._in_a_row = self._in_a_row + 1 if first == self._expected else 0
            self._expected = end
            kept = self._kept
            if kept is None or not self._kept_from <= first or end > self._kept_from + len(kept.dataset):
                if self._in_a_row < AHEAD_AFTER:
                    return None
                kept = self._stretch(first, min(self.plan.total_sequences, max(end, first + AHEAD)))
                self._kept, self._kept_from = kept, first
            return Draws(*(array[first - self._kept_from : end - self._kept_from].copy() for array in kept))

    def _draw_each(self, positions: np.ndarray) -> Draws:
        """Return the draws of positions in any order."""
        if len(positions) == 1:
            return self._draw_one(int(positions[0]))
        if not (np.diff(positions) >= 0).all():
            by_position = np.argsort(positions, kind="stable")
            back = np.empty_like(by_position)
            back[by_position] = np.arange(len(positions))
            return Draws(*(part[back] for part in self._draw_each(positions[by_position])))
        draws = Draws(*(np.empty(len(positions), dtype) for dtype in (np.int32, np.int64, np.int64)))
        numbers = np.searchsorted(self._starts, positions, side="right") - 1
        edges = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        for first, end in itertools.pairwise([*edges, len(positions)]):
            number = int(numbers[first])
            order, index = self._phase_order(number)
            begun = np.array([self._begun[number].get(name, 0) for name in order.names], dtype=np.int64)
            member, unit = order.at(positions[first:end] - self._starts[number])
            placed = self._placed(self._tapes[number], index[member], unit + begun[member])
            for whole, part in zip(draws, placed, strict=True):
                whole[first:end] = part
        return draws

    def _draw_one(self, position: int) -> Draws:
        """Return the draw of one position, each of three arrays of one element."""
        number = bisect.bisect_right(self._starts, position) - 1
        order, index = self._phase_order(number)
        member, unit = order.one(position - self._starts[number])
        dataset, tape = int(index[member]), self._tapes[number]
        epoch, row = divmod(
            self._begun[number].get(order.names[member], 0) + unit, int(self._rows[tape][dataset])
        )
        shuffle = self.shuffle(tape, dataset, epoch)
        window = tape.windows(lambda spans: np.array([shuffle.at(int(spans[0]))]), np.array([row]))
        return Draws(np.array([dataset], dtype=np.int32), np.array([epoch]), window)

    def _placed(self, tape: Tape, dataset: np.ndarray, unit: np.ndarray) -> Draws:
        """Return where on the tape of its dataset each draw lies."""
        rows = self._rows[tape][dataset]
        epoch = unit // rows
        return Draws(dataset, epoch, self._shuffled(tape, dataset, epoch, unit - epoch * rows))

    def counts(self, position: int) -> np.ndarray:
        """Return how many sequences of each dataset are drawn before ``position``, int64[D].

        Raises:
          IndexError: the position lies outside [0, plan.total_sequences].
        """
        if not 0 <= position <= self.plan.total_sequences:
            raise IndexError(f"position {position} lies outside [0, {self.plan.total_sequences:,}]")
        number = max(0, bisect.bisect_left(self._starts, position) - 1)
        phase = self.plan.phases[number]
        counts = self._carried(phase)
        order, index = self._phase_order(number)
        counts[index] += np.array(order.drawn(position - phase.start), dtype=np.int64)
        return counts

    def _carried(self, phase: PlanPhase) -> np.ndarray:
        return np.array(
            [phase.carried.get(dataset.name, 0) for dataset in self.plan.datasets], dtype=np.int64
        )

    def _make_phase_order(self, number: int) -> tuple[PhaseOrder, np.ndarray]:
        order = PhaseOrder(self.plan.phases[number].sequences)
        return order, np.array([self._index[name] for name in order.names], dtype=np.int32)

    def _stretch(self, first: int, end: int) -> Draws:
        """Return the draws of the positions [first, end)."""
        draws = Draws(*(np.zeros(end - first, dtype) for dtype in (np.int32, np.int64, np.int64)))
        number = bisect.bisect_right(self._starts, first) - 1
        position = first
        while position < end:
            phase = self.plan.phases[number]
            stop = min(end, phase.end, position + STRETCH)
            part = Draws(*(array[position - first : stop - first] for array in draws))
            if self._phase_order(number)[0].has_lanes:
                self._draw_stretch(number, position - phase.start, stop - phase.start, part)
            else:
                for at in range(position, stop, STRETCH_FROM - 1):
                    upto = min(stop, at + STRETCH_FROM - 1)
                    for whole, few in zip(part, self._draw_each(np.arange(at, upto)), strict=True):
                        whole[at - position : upto - position] = few
            position = stop
            number += position == phase.end
        return draws

    def _draw_stretch(self, number: int, start: int, end: int, draws: Draws) -> None:
        """Fill in the draws of the positions [start, end) of a phase."""
        order, index = self._phase_order(number)
        tape = self._tapes[number]
        member, drawn = order.stretch(start, end)
        draws.dataset[:] = index[member]
        places, ends = grouped(member, len(order.names))
        for which, mine in enumerate(np.split(places, ends[:-1])):
            if not len(mine):
                continue
            # The draws of a dataset follow one another: whole passes, but for the first and the last.
            unit = self._begun[number].get(order.names[which], 0) + drawn[which]
            in_epoch = int(self._rows[tape][index[which]])
            done = 0
            while done < len(mine):
                passes, row = divmod(unit + done, in_epoch)
                rows = np.arange(row, min(in_epoch, row + len(mine) - done), dtype=np.int64)
                at = mine[done : done + len(rows)]
                draws.window[at] = tape.windows(self.shuffle(tape, int(index[which]), passes), rows)
                if passes:
                    draws.epoch[at] = passes
                done += len(rows)

    def shuffle(self, tape: Tape, dataset: int, epoch: int) -> Shuffle:
        """Return the order of a dataset's spans in one epoch of a tape."""
        given = self.plan.datasets[dataset]
        return epoch_shuffle(
            tape.spans(given.tokens), self.plan.seed, tape.key(given.name), epoch, given.shuffle
        )

    def _shuffled(self, tape: Tape, dataset: np.ndarray, epoch: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return the windows at places of the tapes; each epoch of each dataset has a permutation of its own."""
        datasets = len(self.plan.datasets)
        epochs, rank = np.unique(epoch, return_inverse=True)
        pairs, which = np.unique(rank * datasets + dataset, return_inverse=True)
        shuffles = [
            self.shuffle(tape, number, int(epochs[passes]))
            for passes, number in zip(*(part.tolist() for part in np.divmod(pairs, datasets)), strict=True)
        ]
        if len(row) < MANY * len(shuffles):
            return tape.windows(lambda spans: permute_each(shuffles, which, spans), row)
        window = np.empty(len(row), dtype=np.int64)
        places, ends = grouped(which, len(shuffles))
        for shuffle, rows in zip(shuffles, np.split(places, ends[:-1]), strict=True):
            window[rows] = tape.windows(shuffle, row[rows])
        return window

    def _check_carried(self, before: PlanPhase, after: PlanPhase) -> None:
        reached = self.counts(before.end)
        carried = self._carried(after)
        for index in np.flatnonzero(reached != carried).tolist():
            raise ArtefactError(
                f"the phase before has drawn {int(reached[index]):,} sequences of {self.plan.datasets[index].name!r}",
                file=f"plan {self.plan.name}",
                field=f"phases.{after.name}.carried",
                value=int(carried[index]),
                remedy="Compile the plan again",
            )

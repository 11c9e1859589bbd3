"""The data order: a pure function from a position to (dataset, epoch, window).

It depends on the plan alone: not on how positions are grouped into batches, hosts or calls, nor on what was asked
before. Blocks of :data:`BLOCK` positions are computed from the state at their start, which
:mod:`tootsie.mixtures.phase_order` gives directly, and kept while they are in use.
"""

from __future__ import annotations

import bisect
import functools
import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.phase_order import PhaseOrder
from tootsie.mixtures.plan import Plan, PlanPhase
from tootsie.mixtures.shuffle import permutation

BLOCK = 4096
"""Positions computed at a time; has no influence on the order."""
CACHED_BLOCKS = 64
LANES_FROM = 16
"""Blocks of a phase from which on they are computed in lockstep."""
LANES = 1024
"""Blocks computed in lockstep at a time: enough to hide the cost of a step, few enough for the caches."""


class Draws(NamedTuple):
    """What positions draw."""

    dataset: np.ndarray
    """int32[n], index into ``plan.datasets``."""
    epoch: np.ndarray
    """int64[n], passes over the dataset completed before."""
    window: np.ndarray
    """int64[n], row of the dataset's token cache at the plan's sequence length."""


class Order:
    """The data order of a plan. Safe to use from several threads.

    Raises:
      ArtefactError: a phase that follows one cut short does not carry on from the counts reached.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._starts = [phase.start for phase in plan.phases]
        self._index = {dataset.name: index for index, dataset in enumerate(plan.datasets)}
        self._windows = np.array([dataset.windows for dataset in plan.datasets], dtype=np.int64)
        self._phase_order = functools.lru_cache(maxsize=None)(self._make_phase_order)
        self._block = functools.lru_cache(CACHED_BLOCKS)(self._make_block)
        self._reached: tuple[tuple[int, int], list[int]] | None = None
        self._lock = threading.Lock()
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
        starts = np.array(self._starts, dtype=np.int64)
        phases = np.searchsorted(starts, positions, side="right") - 1
        local = positions - starts[phases]
        block = local // BLOCK
        dataset = np.empty(len(positions), dtype=np.int32)
        unit = np.empty(len(positions), dtype=np.int64)
        for phase, blocks, rows in _by_phase(phases, block):
            if len(blocks) >= LANES_FROM and self._phase_order(phase)[0].has_lanes:
                self._draw_lanes(phase, blocks, rows, local, dataset, unit)
                continue
            for number, mine in zip(blocks.tolist(), rows, strict=True):
                with self._lock:
                    block_dataset, block_unit = self._block(phase, number)
                offsets = local[mine] - number * BLOCK
                dataset[mine] = block_dataset[offsets]
                unit[mine] = block_unit[offsets]
        windows = self._windows[dataset]
        epoch = unit // windows
        return Draws(dataset, epoch, self._shuffled(dataset, epoch, unit - epoch * windows))

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

    def _make_block(self, number: int, block: int) -> tuple[np.ndarray, np.ndarray]:
        """Return dataset int32[b] and unit int64[b]: which draw of its dataset each position of the block is."""
        phase = self.plan.phases[number]
        order, index = self._phase_order(number)
        start = block * BLOCK
        end = min(start + BLOCK, phase.end - phase.start)
        # Reading on from one block to the next needs no search: the counts are at hand.
        known = self._reached
        drawn = known[1] if known is not None and known[0] == (number, block) else order.drawn(start)
        local = order.datasets(start, end, drawn)
        unit = np.empty(end - start, dtype=np.int64)
        for member, name in enumerate(order.names):
            at = np.flatnonzero(local == member)
            unit[at] = phase.carried.get(name, 0) + drawn[member] + np.arange(len(at))
        after = (np.array(drawn) + np.bincount(local, minlength=len(drawn))).tolist()
        self._reached = ((number, block + 1), after)
        return index[local], unit

    def _draw_lanes(
        self,
        number: int,
        blocks: np.ndarray,
        rows: list[np.ndarray],
        local: np.ndarray,
        dataset: np.ndarray,
        unit: np.ndarray,
    ) -> None:
        """Fill in ``dataset`` and ``unit`` at ``rows``, the positions of many blocks of one phase."""
        order, index = self._phase_order(number)
        carried = np.array(
            [self.plan.phases[number].carried.get(name, 0) for name in order.names], dtype=np.int64
        )
        for first in range(0, len(blocks), LANES):
            part = blocks[first : first + LANES]
            members, units = map(np.ascontiguousarray, order.lanes((part * BLOCK).tolist(), BLOCK))
            for lane, mine in enumerate(rows[first : first + LANES]):
                offsets = local[mine] - part[lane] * BLOCK
                member = members[lane][offsets]
                dataset[mine] = index[member]
                unit[mine] = units[lane][offsets] + carried[member]

    def _shuffled(self, dataset: np.ndarray, epoch: np.ndarray, row: np.ndarray) -> np.ndarray:
        window = np.empty(len(row), dtype=np.int64)
        by_dataset = np.argsort(
            dataset.astype(np.int16) if len(self._windows) < 2**15 else dataset, kind="stable"
        )
        ends = np.cumsum(np.bincount(dataset, minlength=len(self._windows)))
        for which, rows in enumerate(np.split(by_dataset, ends[:-1])):
            if not len(rows):
                continue
            epochs = epoch[rows]
            several = epochs.min() != epochs.max()
            for passes in np.unique(epochs).tolist() if several else epochs[:1].tolist():
                mine = rows[epochs == passes] if several else rows
                shuffle = permutation(
                    int(self._windows[which]), self.plan.seed, self.plan.datasets[which].name, passes
                )
                window[mine] = shuffle(row[mine])
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


def _by_phase(phases: np.ndarray, blocks: np.ndarray) -> Iterator[tuple[int, np.ndarray, list[np.ndarray]]]:
    """Yield ``(phase, blocks, rows)``: the distinct blocks of each phase, and where in the arguments each occurs."""
    key = phases * (int(blocks.max(initial=0)) + 1) + blocks
    order = np.arange(len(key)) if (np.diff(key) >= 0).all() else np.argsort(key, kind="stable")
    key = key[order]
    cuts = np.flatnonzero(np.diff(key)) + 1
    rows = np.split(order, cuts)
    heads = order[np.concatenate([[0], cuts])] if len(order) else order
    for phase in np.unique(phases[heads]).tolist():
        mine = np.flatnonzero(phases[heads] == phase)
        yield phase, blocks[heads[mine]], [rows[i] for i in mine.tolist()]

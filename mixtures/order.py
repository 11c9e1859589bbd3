"""The data order: a pure function from a position to (dataset, epoch, window).

It depends on the plan alone: not on how positions are grouped into batches, hosts or calls, nor on what was asked
before. Blocks of :data:`BLOCK` positions are computed from the state at their start, which
:mod:`tootsie.mixtures.phase_order` gives directly, and kept while they are in use.
"""

from __future__ import annotations

import bisect
import functools
import threading
from typing import NamedTuple

import numpy as np

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.phase_order import PhaseOrder
from tootsie.mixtures.plan import Plan, PlanPhase
from tootsie.mixtures.shuffle import permutation

BLOCK = 1024
"""Positions computed at a time; has no influence on the order."""
CACHED_BLOCKS = 64


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
        dataset = np.empty(len(positions), dtype=np.int32)
        unit = np.empty(len(positions), dtype=np.int64)
        phases = np.searchsorted(np.array(self._starts, dtype=np.int64), positions, side="right") - 1
        local = positions - np.array(self._starts, dtype=np.int64)[phases]
        keys = np.stack([phases, local // BLOCK])
        blocks, inverse = np.unique(keys, axis=1, return_inverse=True)
        inverse = inverse.reshape(-1)
        for number, (phase, block) in enumerate(blocks.T.tolist()):
            rows = np.flatnonzero(inverse == number)
            with self._lock:
                block_dataset, block_unit = self._block(phase, block)
            offsets = local[rows] - block * BLOCK
            dataset[rows] = block_dataset[offsets]
            unit[rows] = block_unit[offsets]
        epoch = unit // self._windows[dataset]
        return Draws(dataset, epoch, self._shuffled(dataset, epoch, unit - epoch * self._windows[dataset]))

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

    def _shuffled(self, dataset: np.ndarray, epoch: np.ndarray, row: np.ndarray) -> np.ndarray:
        window = np.empty(len(row), dtype=np.int64)
        pairs, inverse = np.unique(np.stack([dataset.astype(np.int64), epoch]), axis=1, return_inverse=True)
        inverse = inverse.reshape(-1)
        for number, (which, passes) in enumerate(pairs.T.tolist()):
            rows = np.flatnonzero(inverse == number)
            name = self.plan.datasets[which].name
            shuffle = permutation(int(self._windows[which]), self.plan.seed, name, passes)
            window[rows] = shuffle(row[rows])
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

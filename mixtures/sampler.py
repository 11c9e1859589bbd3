"""Batches of a plan: rows of tokens, for any step, in any order, from token caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.order import Draws, Order
from tootsie.mixtures.plan import Plan
from tootsie.tokenize.cache import TokenCache, Window


class WindowSource(Protocol):
    """What the sampler needs of a token cache."""

    @property
    def ledger_sha256(self) -> str:
        """Identity of the cache."""

    def window(self, index: int, length: int) -> Window:
        """Return row ``index`` of ``length`` tokens."""


class Batch(NamedTuple):
    """B rows of T tokens, the sequence length of the phase."""

    tokens: np.ndarray
    """int32[B, T]."""
    segment_ids: np.ndarray
    """int32[B, T]: 1 for the first document in the row, 2 for the next, …"""
    loss_mask: np.ndarray
    """bool[B, T]: whether the token carries loss when it is the one to be predicted."""
    dataset: np.ndarray
    """int32[B], index into ``plan.datasets``."""
    epoch: np.ndarray
    """int64[B], passes over the dataset completed before."""
    window: np.ndarray
    """int64[B], row of the dataset's cache."""


class Sampler:
    """Reads the rows that a plan draws.

    Args:
      plan: what to draw.
      caches: by dataset name; absent: opened where the plan says. Every dataset that a phase draws from must be there.

    Raises:
      ArtefactError: a cache is missing, or is not the one that the plan was compiled from.
    """

    def __init__(self, plan: Plan, caches: Mapping[str, WindowSource] | None = None) -> None:
        self.plan = plan
        self.order = Order(plan)
        used = {name for phase in plan.phases for name in phase.sequences}
        self._caches: list[WindowSource | None] = []
        for dataset in plan.datasets:
            if dataset.name not in used:
                self._caches.append(None)
                continue
            cache: WindowSource | None
            cache = TokenCache.open(dataset.cache) if caches is None else caches.get(dataset.name)
            if cache is None:
                raise ArtefactError(
                    f"no cache was given for the dataset {dataset.name!r}",
                    file=dataset.cache,
                    remedy="Give all or none",
                )
            if cache.ledger_sha256 != dataset.ledger_sha256:
                raise ArtefactError(
                    f"the cache of {dataset.name!r} is not the one that the plan was compiled from",
                    file=dataset.cache,
                    field="ledger_sha256",
                    value=cache.ledger_sha256,
                    remedy=f"The plan has {dataset.ledger_sha256}: restore that cache, or compile the plan again",
                )
            self._caches.append(cache)

    def draws(self, step: int, rows: slice | None = None) -> Draws:
        """Return what the rows of a step draw, without reading tokens.

        Raises:
          IndexError: the plan has no such step.
        """
        first, end = self.plan.rows_of_step(step)
        return self.order.draw(
            np.arange(first, end, dtype=np.int64)[rows if rows is not None else slice(None)]
        )

    def batch(self, step: int, rows: slice | None = None) -> Batch:
        """Return the rows of a step, or some of them (one host's part).

        Raises:
          IndexError: the plan has no such step.
        """
        draws, length = self.draws(step, rows), self.plan.length_of(self.plan.phase_of_step(step))
        shape = (len(draws.dataset), length)
        tokens, segments, mask = np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape, bool)
        # Rows of one cache in the order of the cache, so that neighbours are read together.
        for row in np.lexsort((draws.window, draws.dataset)).tolist():
            cache = self._caches[draws.dataset[row]]
            assert cache is not None
            window = cache.window(int(draws.window[row]), length)
            tokens[row], segments[row], mask[row] = window.tokens, window.segment_ids, window.loss_mask
        return Batch(tokens, segments, mask, *draws)

    def consumed(self, position: int) -> dict[str, int]:
        """Return how many sequences of each dataset are drawn before ``position``."""
        counts = self.order.counts(position)
        return {dataset.name: int(count) for dataset, count in zip(self.plan.datasets, counts, strict=True)}

    def batches(self, first: int, end: int, rows: slice | None = None) -> Iterator[Batch]:
        """Yield the batches of the steps [first, end); while one is in use, a thread reads the next."""
        if first >= end:
            return
        with ThreadPoolExecutor(1) as reader:
            upcoming = reader.submit(self.batch, first, rows)
            for step in range(first, end):
                batch = upcoming.result()
                if step + 1 < end:
                    upcoming = reader.submit(self.batch, step + 1, rows)
                yield batch

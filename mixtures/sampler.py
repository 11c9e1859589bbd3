"""Batches of a plan: rows of tokens, for any step, in any order, from token caches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.order import Draws, Order
from tootsie.mixtures.plan import Plan
from tootsie.tokenize.cache import Checking, Gathering, RowMemory, Rows, TokenCache

READ_AHEAD = 2
"""Batches that are read before they are asked for."""


class WindowSource(Protocol):
    """What the sampler needs of a token cache."""

    @property
    def ledger_sha256(self) -> str:
        """Identity of the cache."""

    def gather(self, windows: np.ndarray, into: Rows, rows: np.ndarray) -> None:
        """Read the rows ``windows`` (int64[n]) of the cache into the ``rows`` (int64[n]) of ``into``."""


@dataclass(frozen=True, eq=False)
class Batch:
    """B rows of T tokens, the sequence length of the phase."""

    tokens: np.ndarray
    """int32[B, T]."""
    loss_mask: np.ndarray
    """bool[B, T]: whether the token carries loss when it is the one to be predicted; read-only where all do."""
    dataset: np.ndarray
    """int32[B], index into ``plan.datasets``."""
    epoch: np.ndarray
    """int64[B], passes over the dataset completed before."""
    window: np.ndarray
    """int64[B], row of the dataset's cache."""
    rows: Rows = field(repr=False)
    """What the batch was read into: knows where documents begin."""

    @cached_property
    def segment_ids(self) -> np.ndarray:
        """int32[B, T]: 1 for the first document in the row, 2 for the next, …; made when first asked for."""
        return self.rows.segment_ids()


class Sampler:
    """Reads the rows that a plan draws.

    Args:
      plan: what to draw.
      caches: by dataset name; absent: opened where the plan says. Every dataset that a phase draws from must be there.
      checking: of caches that are opened here, when bytes are compared with their checksums.

    Raises:
      ArtefactError: a cache is missing, or is not the one that the plan was compiled from.
    """

    def __init__(
        self,
        plan: Plan,
        caches: Mapping[str, WindowSource] | None = None,
        checking: Checking = Checking.FIRST_USE,
    ) -> None:
        self.plan = plan
        self.order = Order(plan)
        self._memory = RowMemory()
        used = {name for phase in plan.phases for name in phase.sequences}
        self._caches: list[WindowSource | None] = []
        for dataset in plan.datasets:
            if dataset.name not in used:
                self._caches.append(None)
                continue
            cache: WindowSource | None
            cache = TokenCache.open(dataset.cache, checking) if caches is None else caches.get(dataset.name)
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
        known = [cache for cache in self._caches if cache is None or isinstance(cache, TokenCache)]
        self._gathering = Gathering(known) if len(known) == len(self._caches) else None

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
        into = Rows(len(draws.dataset), length, self._memory)
        if self._gathering is not None:
            self._gathering.gather(draws.dataset, draws.window, into)
        else:
            for number in np.unique(draws.dataset).tolist():
                rows_of = np.flatnonzero(draws.dataset == number)
                cache = self._caches[number]
                assert cache is not None
                cache.gather(draws.window[rows_of], into, rows_of)
        return Batch(into.tokens, into.loss_mask, *draws, rows=into)

    def _whole_batch(self, step: int, rows: slice | None) -> Batch:
        batch = self.batch(step, rows)
        batch.segment_ids  # noqa: B018  (made here, not where the batch is used)
        return batch

    def consumed(self, position: int) -> dict[str, int]:
        """Return how many sequences of each dataset are drawn before ``position``."""
        counts = self.order.counts(position)
        return {dataset.name: int(count) for dataset, count in zip(self.plan.datasets, counts, strict=True)}

    def batches(
        self, first: int, end: int, rows: slice | None = None, ahead: int = READ_AHEAD
    ) -> Iterator[Batch]:
        """Yield the batches of the steps [first, end); while one is in use, a thread reads the next, segment ids included.

        At most ``ahead`` batches wait, so memory is that of ``ahead + 1``. When the iterator is closed or dropped, the thread
        ends with the batch it reads; what it failed with is raised at the batch's turn.
        """
        reader = ThreadPoolExecutor(1, "read-ahead")
        try:
            waiting = deque(
                reader.submit(self._whole_batch, step, rows) for step in range(first, min(end, first + ahead))
            )
            for step in range(first, end):
                batch = waiting.popleft().result()
                if step + ahead < end:
                    waiting.append(reader.submit(self._whole_batch, step + ahead, rows))
                yield batch
                del batch
        finally:
            reader.shutdown(cancel_futures=True)

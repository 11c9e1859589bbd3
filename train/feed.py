"""The batches of a run on its devices; each process reads the rows of its own devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh

from tootsie.train import hosts
from tootsie.train.sharding import own_rows, place_rows, place_whole
from tootsie.train.step import Rows


class Fed(NamedTuple):
    """A batch as the step takes it; B and T of the whole batch."""

    rows: Rows  # Global arrays on a mesh; NumPy arrays without one.
    dataset: np.ndarray  # int32 [B], index into the plan's datasets, also of rows that other processes read.
    tokens: int  # B × T.


def feed(sampler: Any, mesh: Mesh | None, first: int, end: int) -> Iterator[Fed]:
    """Yield the batches of the steps [first, end).

    With several processes the next batch is not read ahead where the batch size changes: other rows are the own ones then.

    Raises:
      AssertionError: a row is not what the plan draws there.
    """
    if mesh is None or hosts.count() == 1:
        for batch in sampler.batches(first, end):
            rows = place_whole(mesh, Rows(batch.tokens, batch.segment_ids, batch.loss_mask))
            yield Fed(rows, batch.dataset, batch.tokens.size)
        return
    while first < end:
        phase = sampler.plan.phase_of_step(first)
        stop, size = min(end, phase.end_step), phase.batch_size
        own = own_rows(mesh, size)
        for step, batch in enumerate(sampler.batches(first, stop, own), first):
            drawn = sampler.draws(step).dataset
            if not np.array_equal(drawn[own], batch.dataset):
                raise AssertionError(f"step {step}: the rows {own} are of other datasets than the plan draws")
            rows = place_rows(mesh, size, Rows(batch.tokens, batch.segment_ids, batch.loss_mask))
            yield Fed(rows, drawn, size * batch.tokens.shape[1])
        first = stop

"""From a document to every step that sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tootsie.datasets.errors import InputError
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.shuffle import permutation
from tootsie.mixtures.trace import open_cache


def find_document(plan: Plan, document: str) -> list[dict[str, Any]]:
    """Return every draw of every window that holds a part of a document, in the order of the run.

    Each is ``{"step", "row", "position", "phase", "dataset", "epoch", "window", "tokens": [start, stop]}``; ``tokens`` is the
    part of the document's ids that lies in the window.

    Args:
      plan: a loaded plan; the ids of its caches are read through, ids only.
      document: its id.

    Raises:
      InputError: no cache of the plan holds a document of this id.
      ArtefactError: a cache is missing, or is not the one that the plan was compiled from, or the plan was made from cards.
    """
    _ = plan.cache_tokenizer  # Refuses a plan from cards: what is not tokenized has no documents yet.
    order = Order(plan)
    total = order.counts(plan.total_sequences)
    found: list[dict[str, Any]] = []
    known = False
    for number, dataset in enumerate(plan.datasets):
        cache = open_cache(plan, number)
        start = 0
        for entry in cache.iterate():
            stop = start + len(entry.input_ids)
            if entry.document_id == document:
                known = True
                windows = range(start // plan.sequence_length, -(-stop // plan.sequence_length))
                for window in windows:
                    if window >= dataset.windows:
                        continue  # In the tail, which is never drawn.
                    left = max(start, window * plan.sequence_length) - start
                    right = min(stop, (window + 1) * plan.sequence_length) - start
                    for position, epoch in _positions(plan, order, number, window, int(total[number])):
                        found.append(_draw(plan, position) | {
                            "dataset": dataset.name, "epoch": epoch, "window": window, "tokens": [left, right]
                        })  # fmt: skip
            start = stop
    if not known:
        raise InputError(
            "no cache of the plan holds this document",
            field="--document",
            value=document,
            remedy="Ids look like those that 'tootsie mix trace' prints",
        )
    return sorted(found, key=lambda draw: draw["position"])


def _positions(plan: Plan, order: Order, number: int, window: int, drawn: int) -> list[tuple[int, int]]:
    """Return ``(position, epoch)`` of every draw of a window of a dataset of which ``drawn`` sequences are drawn in all."""
    dataset = plan.datasets[number]
    result = []
    for epoch in range(-(-drawn // dataset.windows)):
        unit = epoch * dataset.windows + permutation(dataset.windows, plan.seed, dataset.name, epoch).inverse(
            window
        )
        if unit < drawn:
            result.append((_position_of(plan, order, number, unit), epoch))
    return result


def _position_of(plan: Plan, order: Order, number: int, unit: int) -> int:
    """Return the position that draws unit ``unit`` (from 0) of a dataset, by bisection over the counts."""
    low, high = 0, plan.total_sequences  # The count at `low` is at most `unit`, that at `high` above it.
    while high - low > 1:
        middle = (low + high) // 2
        if int(order.counts(middle)[number]) > unit:
            high = middle
        else:
            low = middle
    assert int(order.draw(np.array([low])).dataset[0]) == number
    return low


def _draw(plan: Plan, position: int) -> dict[str, Any]:
    phase = next(phase for phase in plan.phases if position < phase.end)
    step, row = divmod(position - phase.start, phase.batch_size)
    return {"step": phase.first_step + step, "row": row, "position": position, "phase": phase.name}

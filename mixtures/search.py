"""From a document to every step that sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tootsie.datasets.errors import InputError
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.tape import Tape
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
    tapes = dict.fromkeys(plan.lengths.tapes)
    found: list[dict[str, Any]] = []
    known = False
    for number, dataset in enumerate(plan.datasets):
        cache = open_cache(plan, number)
        start = 0
        for entry in cache.iterate():
            stop = start + len(entry.input_ids)
            if entry.document_id == document:
                known = True
                for tape in tapes:
                    rows, size = tape.rows(dataset.tokens), tape.length
                    # What lies in the tail, past the last row, is never drawn.
                    for window in range(start // size, min(rows, -(-stop // size))):
                        left, right = (
                            max(start, window * size) - start,
                            min(stop, (window + 1) * size) - start,
                        )
                        for position, epoch in _positions(order, number, tape, window):
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


def _positions(order: Order, number: int, tape: Tape, window: int) -> list[tuple[int, int]]:
    """Return ``(position, epoch)`` of every draw of a window (at the length of ``tape``) of a dataset."""
    plan, dataset = order.plan, order.plan.datasets[number]
    rows = tape.rows(dataset.tokens)
    result = []
    for phase, its_tape, begun in zip(plan.phases, plan.lengths.tapes, plan.lengths.begun, strict=True):
        if its_tape != tape or dataset.name not in phase.sequences:
            continue
        before, after = (int(order.counts(position)[number]) for position in (phase.start, phase.end))
        first = begun.get(dataset.name, 0)  # Place on the tape of the phase's first draw of the dataset.
        for epoch in range(first // rows, -(-(first + after - before) // rows)):
            place = epoch * rows + tape.row(order.shuffle(tape, number, epoch).inverse, window)
            if first <= place < first + after - before:
                draw = before + place - first
                result.append((_position_of(order, number, draw, phase.start, phase.end), epoch))
    return result


def _position_of(order: Order, number: int, draw: int, low: int, high: int) -> int:
    """Return the position in [low, high) of a dataset's draw number ``draw`` (from 0), by bisection over the counts."""
    while high - low > 1:  # The count at `low` is at most `draw`, that at `high` above it.
        middle = (low + high) // 2
        if int(order.counts(middle)[number]) > draw:
            high = middle
        else:
            low = middle
    assert int(order.draw(np.array([low])).dataset[0]) == number
    return low


def _draw(plan: Plan, position: int) -> dict[str, Any]:
    phase = next(phase for phase in plan.phases if position < phase.end)
    step, row = divmod(position - phase.start, phase.batch_size)
    return {"step": phase.first_step + step, "row": row, "position": position, "phase": phase.name}

"""From a step back to documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.datasets.terminal import printable_line
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import Evidence
from tootsie.tokenize.cache import TokenCache


def trace_rows(plan: Plan, step: int, row: int | None = None) -> list[dict[str, Any]]:
    """Return what each row of a step draws, with its documents, read from the caches.

    Each row is ``{"row", "position", "phase", "dataset", "epoch", "window", "length", "documents": [{"shard", "row", "id",
    "tokens": [start, stop]}]}``; ``tokens`` is the part of the document's ids that lies in the window. A document has
    its ``"url"`` too where the cache has it. Of a dataset that is planned from its card the documents are not known.

    Args:
      plan: a loaded plan.
      step: step of the run, from 0.
      row: only this row of the batch; all where absent.

    Raises:
      SpecError: the plan has no such step, or the step no such row.
      ArtefactError: a cache is missing, or is not the one that the plan was compiled from.
    """
    if step >= plan.total_steps:
        last = plan.total_steps - 1
        raise SpecError(
            "the plan has no such step", field="--step", value=step, remedy=f"The last is {last:,}"
        )
    phase = plan.phase_of_step(step)
    if row is not None and row >= phase.batch_size:
        raise SpecError(
            "the step has no such row",
            field="--row",
            value=row,
            remedy=f"The last is {phase.batch_size - 1:,}",
        )
    first, end = plan.rows_of_step(step)
    positions = (
        np.arange(first, end, dtype=np.int64) if row is None else np.array([first + row], dtype=np.int64)
    )
    draws, length = Order(plan).draw(positions), plan.length_of(phase)
    caches: dict[int, TokenCache] = {}
    result = []
    for position, number, epoch, window in zip(
        positions.tolist(), *(part.tolist() for part in draws), strict=True
    ):
        is_cache = plan.datasets[number].evidence is Evidence.LEDGER
        if is_cache and number not in caches:
            caches[number] = open_cache(plan, number)
        start = window * length
        stop = start + length
        documents = [
            {
                "shard": span.shard,
                "row": span.row,
                "id": span.document_id,
                **({} if span.url is None else {"url": span.url}),
                "tokens": [max(span.start, start) - span.start, min(span.stop, stop) - span.start],
            }
            for span in (caches[number].documents_in(start, stop) if is_cache else ())
        ]
        result.append(
            {
                "row": position - first,
                "position": position,
                "phase": phase.name,
                "dataset": plan.datasets[number].name,
                "epoch": epoch,
                "window": window,
                "length": length,
                "documents": documents,
            }
        )
    return result


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print a trace, a line for each row and an indented line for each document."""
    for row in rows:
        print(
            f"row {row['row']}  position {row['position']:,}  {row['dataset']}  epoch {row['epoch']}  window {row['window']:,}"
        )
        for document in row["documents"]:
            begin, end = document["tokens"]
            where = f"shard {document['shard']} row {document['row']}  tokens {begin:,}-{end:,}"
            url = f"  {document['url']}" if "url" in document else ""
            print(printable_line(f"    {where}  {document['id']}{url}"))


def open_cache(plan: Plan, number: int) -> TokenCache:
    """Open the cache of a plan's dataset.

    Raises:
      ArtefactError: it is missing, or is not the one that the plan was compiled from.
    """
    dataset = plan.datasets[number]
    cache = TokenCache.open(dataset.cache)
    if cache.ledger_sha256 != dataset.ledger_sha256:
        raise ArtefactError(
            f"the cache of {dataset.name!r} is not the one that the plan was compiled from",
            file=dataset.cache,
            field="ledger_sha256",
            value=cache.ledger_sha256,
            remedy=f"The plan has {dataset.ledger_sha256}: restore that cache, or compile the plan again",
        )
    return cache

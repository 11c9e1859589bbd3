"""How many documents of each dataset a run has consumed, exactly, from the order of the plan and the token caches.

A dataset's draws 0, 1, 2, … walk its windows in a pseudo-random order, once in each epoch. So after n draws the windows
seen are all of them, or the first n of the first epoch's permutation; where sequence lengths change, some for each length. A
document was consumed when one of its tokens lies in one of those.

Glossary: n draws, W windows seen, D documents, T tokens of a window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import PlanDataset
from tootsie.mixtures.tape import Tape
from tootsie.tokenize.cache import TokenCache

MAX_SEQUENCES = 1_000_000
"""Runs that have drawn more are not counted: a page should not take minutes."""
MAX_DOCUMENTS = 5_000_000
"""Nor are datasets of more documents."""


class Consumed(NamedTuple):
    """Documents of one dataset that a run has seen a part of."""

    documents: int | None  # Their number; None where it was not counted.
    why_not: str  # Why it was not counted; empty where it was.


def count_documents(plan: Plan, dataset: PlanDataset, cache: str, drawn: int, total: int) -> Consumed:
    """Count the documents of ``dataset`` that its first ``drawn`` sequences touch.

    Args:
      plan: of the run.
      dataset: of the plan.
      cache: URL of its token cache.
      drawn: sequences drawn of it.
      total: sequences drawn of all datasets.
    """
    if not drawn:
        return Consumed(0, "")
    if total > MAX_SEQUENCES or dataset.documents > MAX_DOCUMENTS:
        return Consumed(
            None, f"not counted beyond {MAX_SEQUENCES:,} sequences or {MAX_DOCUMENTS:,} documents"
        )
    if storage.local_path(cache) is None:
        return Consumed(None, "its cache is not on this machine")
    try:
        opened = TokenCache.open(cache)
        if opened.ledger_sha256 != dataset.ledger_sha256:
            return Consumed(None, "another cache stands in its place")
        return Consumed(documents_of(opened, plan, dataset, drawn), "")
    except ArtefactError as fault:
        return Consumed(None, f"its cache is not at hand: {fault.problem}")


def documents_of(cache: TokenCache, plan: Plan, dataset: PlanDataset, drawn: int) -> int:
    """Return the number of documents with a token in the first ``drawn`` windows that the order takes.

    Raises:
      ArtefactError: a shard is damaged.
    """
    order = Order(plan)
    seen = [
        (tape.length, windows_of(order, dataset, tape, first, count))
        for tape, first, count in plan.lengths.stretches(dataset.name, drawn)
    ]
    count = base = 0
    for number, shard in enumerate(cache.ledger.shards):
        for batch in cache.open_shard(number).batches:
            ends = np.asarray(batch.offsets, np.int64) + base + batch.first_token  # int64[D + 1]
            touched = np.zeros(len(ends) - 1, bool)
            for T, windows in seen:
                first, last = ends[:-1] // T, (ends[1:] - 1) // T  # windows of the first and last token
                touched |= np.searchsorted(windows, last, "right") > np.searchsorted(windows, first, "left")
            count += int(np.sum(touched & (ends[1:] > ends[:-1])))
        base += shard.tokens
    return count


def windows_of(order: Order, dataset: PlanDataset, tape: Tape, first: int, count: int) -> np.ndarray:
    """Return the windows at ``count`` (> 0) places of a tape from ``first`` on, int64[W], ascending, each once."""
    rows = tape.rows(dataset.tokens)
    if count >= rows:
        return np.arange(rows)
    number = [known.name for known in order.plan.datasets].index(dataset.name)
    parts = []
    for epoch in range(first // rows, (first + count - 1) // rows + 1):
        begin, end = max(first, epoch * rows), min(first + count, (epoch + 1) * rows)
        shuffle = order.shuffle(tape, number, epoch)
        parts.append(tape.windows(shuffle, np.arange(begin, end, dtype=np.int64) - epoch * rows))
    return np.unique(np.concatenate(parts))

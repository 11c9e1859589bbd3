"""Statistics of token caches: counts, bytes a token, lengths of documents, how documents begin and end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.ledger import TokenCount

QUANTILES = (0, 1, 10, 25, 50, 75, 90, 99, 100)
"""Percentiles of the lengths of documents; each is the length of a document."""


@dataclass(frozen=True)
class Statistics:
    """Of one cache."""

    name: str
    split: str
    tokenizer: str
    fingerprint: str
    """Of the tokenizer."""
    ledger_sha256: str
    shards: int
    documents: int
    tokens: int
    bytes: int
    """UTF-8 bytes of all texts."""
    lengths: dict[int, int]
    """Percentile to tokens of a document."""
    mean_length: float
    loss_tokens: int
    """Tokens that carry loss."""
    row_tokens: int | None
    """Length of the rows that conversations are packed into."""
    read: int
    """Documents read."""
    dropped: dict[str, int]
    """Documents left out, by reason."""
    counters: dict[str, int]
    first_tokens: tuple[TokenCount, ...]
    last_tokens: tuple[TokenCount, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            **{
                name: value
                for name, value in vars(self).items()
                if name not in ("first_tokens", "last_tokens")
            },
            "bytes_per_token": self.bytes / self.tokens,
            "lengths": {str(percent): length for percent, length in self.lengths.items()},
            "first_tokens": [count.model_dump() for count in self.first_tokens],
            "last_tokens": [count.model_dump() for count in self.last_tokens],
        }


def statistics_of(cache: TokenCache) -> Statistics:
    """Return the statistics of a cache; reads the lengths of its documents, not their ids."""
    ledger = cache.ledger
    lengths = document_lengths(cache)
    marks = np.percentile(lengths, QUANTILES, method="lower")
    return Statistics(
        name=ledger.name,
        split=ledger.split,
        tokenizer=ledger.tokenizer.name,
        fingerprint=ledger.tokenizer.fingerprint,
        ledger_sha256=cache.ledger_sha256,
        shards=len(ledger.shards),
        documents=ledger.documents,
        tokens=ledger.tokens,
        bytes=ledger.bytes,
        lengths={percent: int(mark) for percent, mark in zip(QUANTILES, marks, strict=True)},
        mean_length=ledger.tokens / ledger.documents,
        loss_tokens=_loss_tokens(cache),
        row_tokens=ledger.row_tokens,
        read=ledger.accounting.read,
        dropped=dict(ledger.accounting.dropped),
        counters=dict(ledger.counters),
        first_tokens=ledger.first_tokens,
        last_tokens=ledger.last_tokens,
    )


def document_lengths(cache: TokenCache) -> np.ndarray:
    """Return the tokens of each document, int64[documents], in order."""
    shards = (cache.open_shard(number) for number in range(len(cache.ledger.shards)))
    return np.concatenate([np.diff(batch.offsets) for shard in shards for batch in shard.batches])


def statistics_table(found: Sequence[Statistics]) -> Table:
    """Return one row for each cache: counts, bytes a token, and the lengths of documents in tokens."""
    table = Table()
    for column in ("dataset", "split", "tokenizer"):
        table.add_column(column)
    for column in ("shards", "documents", "tokens", "MB of text", "bytes a token", "loss"):
        table.add_column(column, justify="right")
    for column in ("shortest", "10 %", "median", "90 %", "99 %", "longest"):
        table.add_column(column, justify="right")
    for cache in found:
        table.add_row(
            cache.name,
            cache.split,
            cache.tokenizer,
            f"{cache.shards:,}",
            f"{cache.documents:,}",
            f"{cache.tokens:,}",
            f"{cache.bytes / 1e6:,.1f}",
            f"{cache.bytes / cache.tokens:.3f}",
            f"{cache.loss_tokens / cache.tokens:.1%}",
            *(f"{cache.lengths[percent]:,}" for percent in (0, 10, 50, 90, 99, 100)),
        )
    return table


def ends_table(found: Sequence[Statistics], piece: Callable[[Statistics, int], str]) -> Table:
    """Return the most frequent first and last tokens of the documents of each cache.

    Args:
      found: the caches.
      piece: shows an id of a cache.
    """
    table = Table()
    for column in ("dataset", "split", "first token"):
        table.add_column(column)
    table.add_column("documents", justify="right")
    table.add_column("last token")
    table.add_column("documents", justify="right")
    for cache in found:
        rows = min(8, max(len(cache.first_tokens), len(cache.last_tokens)))
        for number in range(rows):
            cells = [cache.name, cache.split] if not number else ["", ""]
            for counts in (cache.first_tokens, cache.last_tokens):
                if number < len(counts):
                    cells += [piece(cache, counts[number].token), f"{counts[number].documents:,}"]
                else:
                    cells += ["", ""]
            table.add_row(*cells)
    return table


def _loss_tokens(cache: TokenCache) -> int:
    total = 0
    for number in range(len(cache.ledger.shards)):
        for batch in cache.open_shard(number).batches:
            spans = batch.loss_spans
            total += batch.tokens if spans is None else int((spans[2] - spans[1]).sum())
    return total

"""Token caches for the eye: documents as coloured pieces, and a table of statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.cache import CachedDocument, TokenCache
from tootsie.tokenize.identity import Tokenizer

PIECE_STYLES = (
    "black on bright_cyan",
    "black on bright_yellow",
    "black on bright_green",
    "black on bright_magenta",
)
SPECIAL_STYLE = "bold white on red"


def show_documents(
    cache: TokenCache,
    tokenizer: Tokenizer,
    *,
    document: str | None,
    start: int,
    limit: int,
    tokens: int,
    ids: bool,
) -> Iterator[Text]:
    """Yield the documents as text: a headline each, then the pieces, neighbours in different colours.

    Args:
      cache: an opened cache.
      tokenizer: the one that made it.
      document: show only the document of this id.
      start: otherwise those from this token of the cache on.
      limit: documents to show.
      tokens: tokens of each to show.
      ids: write the id behind each piece.

    Raises:
      SpecError: there is no such document or token.
    """
    shown = 0
    for headline, found in _chosen(cache, document, start):
        if shown == limit:
            return
        shown += 1
        more = len(found.input_ids) - tokens
        yield Text(
            f"{headline}: {len(found.input_ids):,} tokens, {found.byte_length:,} bytes, "
            f"{found.byte_length / len(found.input_ids):.2f} bytes a token",
            style="bold",
        )
        yield coloured(found.input_ids[:tokens].tolist(), tokenizer, ids=ids)
        yield Text(f"… {more:,} more\n" if more > 0 else "")
    if document is not None and not shown:
        raise SpecError("no such document", file=cache.url, field="--document", value=document)


def coloured(tokens: Sequence[int], tokenizer: Tokenizer, *, ids: bool = False) -> Text:
    """Return the pieces of ``tokens``; bytes that are no whole character are shown as ``\\xNN``, line breaks also as ``⏎``."""
    text = Text()
    specials = {tokenizer.identity.bos_id, tokenizer.identity.eos_id}
    for number, token in enumerate(tokens):
        piece = tokenizer.decode_bytes([token]).decode("utf-8", "backslashreplace")
        visible = piece.replace("\n", "⏎\n").replace("\t", "→\t")
        text.append(
            visible, style=SPECIAL_STYLE if token in specials else PIECE_STYLES[number % len(PIECE_STYLES)]
        )
        if ids:
            text.append(f"{token} ", style="dim")
    return text


def statistics_table(caches: Sequence[TokenCache]) -> Table:
    """Return one row for each cache: counts, bytes a token, and the lengths of documents in tokens."""
    table = Table()
    for column in ("dataset", "split", "tokenizer"):
        table.add_column(column)
    for column in (
        "shards",
        "documents",
        "tokens",
        "MB of text",
        "bytes a token",
        "shortest",
        "median",
        "90 %",
        "longest",
    ):
        table.add_column(column, justify="right")
    for cache in caches:
        ledger = cache.ledger
        lengths = document_lengths(cache)
        marks = np.percentile(lengths, [0, 50, 90, 100], method="lower")
        table.add_row(
            ledger.name,
            ledger.split,
            ledger.tokenizer.name,
            f"{len(ledger.shards):,}",
            f"{ledger.documents:,}",
            f"{ledger.tokens:,}",
            f"{ledger.bytes / 1e6:,.1f}",
            f"{ledger.bytes / ledger.tokens:.3f}",
            *(f"{int(mark):,}" for mark in marks),
        )
    return table


def document_lengths(cache: TokenCache) -> np.ndarray:
    """Return the tokens of each document, int64[documents], in order."""
    shards = (cache.open_shard(number) for number in range(len(cache.ledger.shards)))
    return np.concatenate([np.diff(batch.offsets) for shard in shards for batch in shard.batches])


def _chosen(cache: TokenCache, document: str | None, start: int) -> Iterator[tuple[str, CachedDocument]]:
    if document is not None:
        for found in cache.iterate():
            if found.document_id == document:
                yield found.document_id, found
        return
    if start >= cache.tokens:
        raise SpecError(
            f"the cache ends at token {cache.tokens:,}", file=cache.url, field="--start", value=start
        )
    while start < cache.tokens:
        span = cache.documents_in(start, start + 1)[0]
        yield (
            f"{span.document_id} (shard {span.shard}, row {span.row}, token {span.start:,})",
            cache.document(span.shard, span.row),
        )
        start = span.stop

"""Documents of a token cache for the eye, as coloured pieces, and for machines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from rich.text import Text

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.cache import CachedDocument, TokenCache
from tootsie.tokenize.identity import Tokenizer
from tootsie.tokenize.origin import source_path
from tootsie.tokenize.shard_reader import Piece

PIECE_STYLES = (
    "black on bright_cyan",
    "black on bright_yellow",
    "black on bright_green",
    "black on bright_magenta",
)
SPECIAL_STYLE = "bold white on red"


@dataclass(frozen=True)
class ShownDocument:
    """A document and where it lies."""

    document: CachedDocument
    shard: int
    """Number of the shard."""
    row: int
    """Row within the shard."""
    start: int
    """Its first token in the whole cache."""
    loss_mask: np.ndarray | None
    """bool[n]: which of its tokens carry loss; ``None``: all."""
    source: str | None
    """Corpus, file and row that it was read from, where the cache knows them."""

    @property
    def headline(self) -> str:
        """Id, place and size on one line."""
        found = self.document
        scored = "" if self.loss_mask is None else f", {int(self.loss_mask.sum()):,} with loss"
        return (
            f"{found.document_id} (shard {self.shard}, row {self.row}, token {self.start:,}): "
            f"{len(found.input_ids):,} tokens{scored}, {found.byte_length:,} bytes, "
            f"{found.byte_length / len(found.input_ids):.2f} bytes a token"
            + (f"; from {self.source}" if self.source else "")
        )


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

    Where only some tokens carry loss, these are underlined.

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
    for found in choose_documents(cache, document=document, start=start, limit=limit):
        more = len(found.document.input_ids) - tokens
        yield Text(found.headline, style="bold")
        mask = None if found.loss_mask is None else found.loss_mask[:tokens].tolist()
        yield coloured(found.document.input_ids[:tokens].tolist(), tokenizer, ids=ids, loss=mask)
        yield Text(f"… {more:,} more\n" if more > 0 else "")


def describe_documents(
    cache: TokenCache,
    tokenizer: Tokenizer,
    *,
    document: str | None,
    start: int,
    limit: int,
    tokens: int,
) -> Iterator[dict[str, Any]]:
    """Yield the documents as JSON values: id, place, sizes, ids, pieces (bytes that are no character as ``\\xNN``), loss.

    Raises:
      SpecError: see :func:`show_documents`, as for the arguments.
    """
    for found in choose_documents(cache, document=document, start=start, limit=limit):
        shown = found.document.input_ids[:tokens].tolist()
        yield {
            "document_id": found.document.document_id,
            "shard": found.shard,
            "row": found.row,
            "start": found.start,
            "tokens": len(found.document.input_ids),
            "bytes": found.document.byte_length,
            "source": found.source,
            "input_ids": shown,
            "pieces": [
                tokenizer.decode_bytes([token]).decode("utf-8", "backslashreplace") for token in shown
            ],
            "loss_mask": None if found.loss_mask is None else found.loss_mask[:tokens].astype(int).tolist(),
        }


def coloured(
    tokens: Sequence[int], tokenizer: Tokenizer, *, ids: bool = False, loss: Sequence[bool] | None = None
) -> Text:
    """Return the pieces of ``tokens``; bytes that are no whole character are shown as ``\\xNN``, line breaks also as ``⏎``.

    Args:
      tokens: ids.
      tokenizer: whose they are.
      ids: write the id behind each piece.
      loss: which of them carry loss, and are underlined.
    """
    text = Text()
    specials = {tokenizer.identity.bos_id, tokenizer.identity.eos_id, *tokenizer.specials.values()}
    for number, token in enumerate(tokens):
        piece = tokenizer.decode_bytes([token]).decode("utf-8", "backslashreplace")
        visible = piece.replace("\n", "⏎\n").replace("\t", "→\t")
        style = SPECIAL_STYLE if token in specials else PIECE_STYLES[number % len(PIECE_STYLES)]
        text.append(visible, style=f"{style} underline" if loss is not None and loss[number] else style)
        if ids:
            text.append(f"{token} ", style="dim")
    return text


def choose_documents(
    cache: TokenCache, *, document: str | None, start: int, limit: int
) -> Iterator[ShownDocument]:
    """Yield the documents of an id, or those from a token on; at most ``limit``.

    Raises:
      SpecError: there is no such document or token.
    """
    places = _places_of(cache, document) if document is not None else _places_from(cache, start)
    shown = 0
    for shard, row in itertools.islice(places, limit):
        shown += 1
        batch = cache.open_shard(shard).batch_of_row(row)
        first, last = (int(batch.offsets[row - batch.first_row + side]) for side in (0, 1))
        origin = batch.origin(row - batch.first_row)
        base = sum(entry.tokens for entry in cache.ledger.shards[:shard]) + batch.first_token
        yield ShownDocument(
            document=cache.document(shard, row),
            shard=shard,
            row=row,
            start=base + first,
            loss_mask=Piece(batch, first, last).loss_mask,
            source=None if origin is None else source_path(cache.ledger.sources, origin),
        )
    if document is not None and not shown:
        raise SpecError("no such document", file=cache.url, field="--document", value=document)


def _places_of(cache: TokenCache, document: str) -> Iterator[tuple[int, int]]:
    for shard in range(len(cache.ledger.shards)):
        for batch in cache.open_shard(shard).batches:
            for row in np.flatnonzero(pc.equal(batch.column("document_id"), document)).tolist():
                yield shard, batch.first_row + row


def _places_from(cache: TokenCache, start: int) -> Iterator[tuple[int, int]]:
    if start >= cache.tokens:
        raise SpecError(
            f"the cache ends at token {cache.tokens:,}", file=cache.url, field="--start", value=start
        )
    while start < cache.tokens:
        span = cache.documents_in(start, start + 1)[0]
        yield span.shard, span.row
        start = span.stop

"""A token cache as the later stages see it: one long row of tokens that knows where its documents begin.

Shapes: N tokens of the cache, T tokens of a window. Memory is constant: shards are mapped, opened on first use, and at
most :data:`OPEN_SHARDS` stay open.

What is checked when. ``open``: the ledger is valid and every shard is there with its size. First use of a shard: it is the
shard that the ledger means (its own path, tokenizer, documents and tokens). ``verify`` (:mod:`tootsie.tokenize.verification`):
every byte.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.ledger import Ledger, ledger_url, load_ledger
from tootsie.tokenize.shard_reader import Batch, Piece, ShardReader

if TYPE_CHECKING:
    from tootsie.tokenize.verification import Verification

OPEN_SHARDS = 128
"""Local shards kept open (mapped) at a time."""
OPEN_REMOTE_SHARDS = 4
"""Likewise for shards on other file systems, which are held in memory."""


@dataclass(frozen=True)
class Window:
    """One row of tokens."""

    tokens: np.ndarray
    """int32[T]."""
    segment_ids: np.ndarray
    """int32[T]: 1 for the first document in the row, 2 for the next, …"""
    loss_mask: np.ndarray
    """bool[T]: whether the token carries loss when it is the one to be predicted."""


@dataclass(frozen=True)
class DocumentSpan:
    """Where one document lies."""

    document_id: str
    """Its id in the corpus."""
    shard: int
    """Number of the shard."""
    row: int
    """Row within the shard."""
    start: int
    """First token, in the whole cache (even if the range asked for begins later)."""
    stop: int
    """End, exclusive."""


@dataclass(frozen=True)
class CachedDocument:
    """One document."""

    document_id: str
    """Its id in the corpus."""
    input_ids: np.ndarray
    """uint16 or uint32[n], BOS and EOS included."""
    byte_length: int
    """UTF-8 bytes of its text."""


class TokenCache:
    """A finished cache; make one with :meth:`open`."""

    def __init__(self, url: str, ledger: Ledger, ledger_sha256: str) -> None:
        self.url = url
        self.ledger = ledger
        self.ledger_sha256 = ledger_sha256
        self._ends = np.cumsum([shard.tokens for shard in ledger.shards], dtype=np.int64)
        local = storage.local_path(url) is not None
        self._shard = functools.lru_cache(OPEN_SHARDS if local else OPEN_REMOTE_SHARDS)(self._open_shard)

    @classmethod
    def open(cls, url: str) -> TokenCache:
        """Return the cache at ``url`` after the cheap checks.

        Raises:
          ArtefactError: no or no valid ledger; a shard is missing or has another size; the cache holds no document.
        """
        ledger, digest = load_ledger(url)
        if not ledger.documents:
            raise ArtefactError(
                "the cache holds no document", file=ledger_url(url), remedy="Tokenize more documents"
            )
        check_sizes(url, ledger)
        return cls(url, ledger, digest)

    @property
    def tokens(self) -> int:
        """N, ids in the cache."""
        return self.ledger.tokens

    @property
    def documents(self) -> int:
        """Documents in the cache."""
        return self.ledger.documents

    def windows(self, length: int) -> int:
        """Return how many whole windows of ``length`` tokens there are; the tail is left over."""
        return self.tokens // length

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return the tokens ``[start, stop)`` of the concatenated documents, int32[stop - start].

        Raises:
          IndexError: the range is not within the cache.
        """
        out = np.empty(self._checked(start, stop), np.int32)
        at = 0
        for _, _, piece in self._pieces(start, stop):
            size = piece.stop - piece.start
            out[at : at + size] = piece.batch.ids[piece.start : piece.stop]
            at += size
        return out

    def window(self, index: int, length: int) -> Window:
        """Return row ``index``: the tokens ``[index * length, (index + 1) * length)``.

        Raises:
          IndexError: there is no such row.
        """
        start = index * length
        tokens = np.empty(self._checked(start, start + length), np.int32)
        begins = np.zeros(length, np.int32)
        loss_mask = np.ones(length, bool)
        at = 0
        for _, _, piece in self._pieces(start, start + length):
            size = piece.stop - piece.start
            tokens[at : at + size] = piece.batch.ids[piece.start : piece.stop]
            offsets = piece.batch.offsets
            first, last = np.searchsorted(offsets, (piece.start, piece.stop), "left")
            begins[offsets[first:last] - piece.start + at] = 1
            if "loss_spans" in piece.batch.columns.schema.names:
                loss_mask[at : at + size] = _loss_mask(piece)
            at += size
        begins[0] = 1
        return Window(tokens, np.cumsum(begins, dtype=np.int32), loss_mask)

    def documents_in(self, start: int, stop: int) -> list[DocumentSpan]:
        """Return the documents that have a token in ``[start, stop)``, in order.

        Raises:
          IndexError: the range is not within the cache.
        """
        self._checked(start, stop)
        spans = []
        for shard, base, piece in self._pieces(start, stop):
            batch = piece.batch
            first, last = _rows(batch, piece.start, piece.stop)
            names = batch.columns.column("document_id")
            for row in range(first, last):
                begin, end = (base + batch.first_token + int(at) for at in batch.offsets[row : row + 2])
                spans.append(DocumentSpan(names[row].as_py(), shard, batch.first_row + row, begin, end))
        return spans

    def iterate(self) -> Iterator[CachedDocument]:
        """Yield all documents in order."""
        for number in range(len(self.ledger.shards)):
            for batch in self._shard(number).batches:
                yield from _documents(batch, 0, batch.columns.num_rows)

    def document(self, shard: int, row: int) -> CachedDocument:
        """Return one document.

        Raises:
          IndexError: there is no such shard or row.
        """
        if not 0 <= shard < len(self.ledger.shards):
            raise IndexError(f"{self.url}: there is no shard {shard} among {len(self.ledger.shards)}")
        if not 0 <= row < self.ledger.shards[shard].documents:
            raise IndexError(f"{self.url}: there is no row {row} in shard {shard}")
        batch = self._shard(shard).batch_of_row(row)
        return next(_documents(batch, row - batch.first_row, row - batch.first_row + 1))

    def verify(self) -> Verification:
        """Read and check everything; see :func:`tootsie.tokenize.verification.verify`.

        Raises:
          ArtefactError: the first thing that is not as the ledger says.
        """
        from tootsie.tokenize.verification import verify

        return verify(self)

    def open_shard(self, number: int) -> ShardReader:
        """Return a shard, opened now or still open.

        Raises:
          ArtefactError: it is damaged or another shard.
        """
        return self._shard(number)

    def _open_shard(self, number: int) -> ShardReader:
        return ShardReader(self.url, self.ledger.shards[number], self.ledger.tokenizer)

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, Piece]]:
        """Yield ``(shard, its first token in the cache, piece)`` for tokens ``[start, stop)``."""
        shard = int(np.searchsorted(self._ends, start, "right"))
        while start < stop:
            base, end = int(self._ends[shard]) - self.ledger.shards[shard].tokens, int(self._ends[shard])
            for piece in self._shard(shard).pieces(start - base, min(stop, end) - base):
                yield shard, base, piece
            start = max(start, end)
            shard += 1

    def _checked(self, start: int, stop: int) -> int:
        if not 0 <= start <= stop <= self.tokens:
            raise IndexError(f"{self.url}: tokens [{start:,}, {stop:,}) are not within [0, {self.tokens:,})")
        return stop - start

    def __reduce__(self) -> tuple[object, ...]:
        return TokenCache, (self.url, self.ledger, self.ledger_sha256)


def check_sizes(url: str, ledger: Ledger) -> None:
    """Compare the files of a cache with its ledger: one listing, no file opened.

    Raises:
      ArtefactError: a shard is missing or has another size.
    """
    filesystem, path = storage.url_to_fs(storage.join(url, "shards"))
    listing = filesystem.ls(path, detail=True) if filesystem.exists(path) else []
    sizes = {item["name"].rsplit("/", 1)[-1]: item["size"] for item in listing}
    for shard in ledger.shards:
        name = shard.path.rsplit("/", 1)[-1]
        file = storage.join(url, shard.path)
        if name not in sizes or shard.path != f"shards/{name}":
            raise ArtefactError(
                "the ledger lists a shard that is missing",
                file=file,
                remedy="Copy it again, or build the cache again",
            )
        if sizes[name] != shard.size:
            raise ArtefactError(
                f"the shard has {sizes[name]:,} bytes, the ledger says {shard.size:,}",
                file=file,
                remedy="Copy it again, or build the cache again",
            )


def _rows(batch: Batch, start: int, stop: int) -> tuple[int, int]:
    """Return the rows ``[first, last)`` of a batch that have a token in ``[start, stop)``."""
    first = int(np.searchsorted(batch.offsets, start, "right")) - 1
    last = int(np.searchsorted(batch.offsets, stop, "left"))
    return first, last


def _loss_mask(piece: Piece) -> np.ndarray:
    """Return bool[piece.stop - piece.start]: the loss spans of its documents; a document without them carries loss throughout."""
    batch = piece.batch
    first, last = _rows(batch, piece.start, piece.stop)
    mask = np.zeros(piece.stop - piece.start, bool)
    column = batch.columns.column("loss_spans")
    for row in range(first, last):
        begin, end = int(batch.offsets[row]), int(batch.offsets[row + 1])
        spans = column[row].as_py()
        for span in [{"start": 0, "end": end - begin}] if spans is None else spans:
            low = max(begin + span["start"] - piece.start, 0)
            high = min(begin + span["end"], end) - piece.start
            mask[low : max(high, low)] = True
    return mask


def _documents(batch: Batch, first: int, last: int) -> Iterator[CachedDocument]:
    names = batch.columns.column("document_id").slice(first, last - first).to_pylist()
    lengths = batch.columns.column("byte_length").slice(first, last - first).to_pylist()
    for row, (name, length) in enumerate(zip(names, lengths, strict=True), start=first):
        yield CachedDocument(name, batch.ids[batch.offsets[row] : batch.offsets[row + 1]], length)

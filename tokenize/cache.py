"""A token cache as the later stages see it: one long row of tokens that knows where its documents begin.

Shapes: N tokens of the cache, T tokens of a window. Memory is constant: shards are mapped, opened on first use, and at
most :data:`OPEN_SHARDS` stay open. Of a remote cache the blocks that are read come to the local disk
(:mod:`tootsie.tokenize.block_cache`).

What is checked when. ``open``: the ledger is valid and every shard is there with its size. First use of a shard: it is the
shard that the ledger means (its own path, tokenizer, documents and tokens, checksums of its blocks). First use of a block of
8 KiB: its checksum (see :class:`Checking`). ``verify`` (:mod:`tootsie.tokenize.verification`): every byte.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.block_cache import BlockCache
from tootsie.tokenize.checked_file import REMEDY, Checking
from tootsie.tokenize.gathering import Gathering
from tootsie.tokenize.ledger import Ledger, ledger_url, load_ledger
from tootsie.tokenize.row_memory import RowMemory
from tootsie.tokenize.rows import Rows
from tootsie.tokenize.shard_reader import Batch, Piece, ShardReader

if TYPE_CHECKING:
    from tootsie.tokenize.verification import Verification

__all__ = [
    "CachedDocument",
    "Checking",
    "DocumentSpan",
    "Gathering",
    "RowMemory",
    "Rows",
    "TokenCache",
    "Window",
    "check_sizes",
]

OPEN_SHARDS = 512
"""Local shards kept open (mapped) at a time. One takes 13 KB of memory and 6 KB for each of its record batches that was used;
a row takes many times as long where its shard has to be opened again."""
OPEN_REMOTE_SHARDS = 32
"""Likewise remote ones, each of which holds a file handle."""


@dataclass(frozen=True)
class Window:
    """One row of tokens."""

    tokens: np.ndarray
    """int32[T]."""
    segment_ids: np.ndarray
    """int32[T]: 1 for the first document in the row, 2 for the next, …"""
    loss_mask: np.ndarray
    """bool[T]: whether the token carries loss when it is the one to be predicted; read-only where all do."""


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
    url: str | None = None
    """Where it comes from, if the corpus says so."""


@dataclass(frozen=True)
class CachedDocument:
    """One document."""

    document_id: str
    """Its id in the corpus."""
    input_ids: np.ndarray
    """uint16 or uint32[n], BOS and EOS included."""
    byte_length: int
    """UTF-8 bytes of its text."""
    loss_mask: np.ndarray | None = None
    """bool[n]: which tokens carry loss; ``None``: all."""


class TokenCache:
    """A finished cache; make one with :meth:`open`."""

    def __init__(
        self,
        url: str,
        ledger: Ledger,
        ledger_sha256: str,
        checking: Checking = Checking.FIRST_USE,
        blocks: BlockCache | None = None,
    ) -> None:
        self.url = url
        self.ledger = ledger
        self.ledger_sha256 = ledger_sha256
        self._row_tokens = ledger.row_tokens
        self._checking = checking
        self.remote = storage.local_path(url) is None
        """Whether it lies on another machine than this one."""
        self._blocks = blocks or (BlockCache.from_environment() if self.remote else None)
        self.shard_ends = np.cumsum(ledger.shards.column("tokens"))
        """int64[shards]: where each ends, in tokens."""
        self._open: OrderedDict[int, ShardReader] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls, url: str, checking: Checking = Checking.FIRST_USE, blocks: BlockCache | None = None
    ) -> TokenCache:
        """Return the cache at ``url`` after the cheap checks.

        Args:
          url: its folder.
          checking: when bytes are compared with their checksums.
          blocks: where parts of a remote cache are kept; by default as the environment says.

        Raises:
          ArtefactError: no or no valid ledger; a shard is missing or has another size; the cache holds no document.
        """
        ledger, digest = load_ledger(url)
        if not ledger.documents:
            raise ArtefactError(
                "the cache holds no document", file=ledger_url(url), remedy="Tokenize more documents"
            )
        check_sizes(url, ledger)
        return cls(url, ledger, digest, checking, blocks)

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
        out = np.empty(self.checked(start, stop), np.int32)
        at = 0
        for _, _, piece in self._pieces(start, stop):
            size = piece.stop - piece.start
            out[at : at + size] = piece.ids
            at += size
        return out

    def window(self, index: int, length: int) -> Window:
        """Return row ``index``: the tokens ``[index * length, (index + 1) * length)``.

        Raises:
          IndexError: there is no such row.
        """
        into = Rows(1, length)
        self.gather(np.array([index]), into, np.zeros(1, np.int64))
        return Window(into.tokens[0], into.segment_ids()[0], into.loss_mask[0])

    def gather(self, windows: np.ndarray, into: Rows, rows: np.ndarray) -> None:
        """Read many rows at once; of a remote cache, several shards at a time.

        Args:
          windows: int64[n], as ``index`` of :meth:`window`; their length is that of ``into``.
          into: where they go.
          rows: int64[n], which row of ``into`` each becomes.

        Raises:
          IndexError: there is no such row.
          ArtefactError: what lies there is not what was written, or rows of this length would cut packed conversations.
        """
        windows = np.asarray(windows, np.int64)
        self._gathering.gather(np.zeros(len(windows), np.int64), windows, into, np.asarray(rows))

    @functools.cached_property
    def _gathering(self) -> Gathering:
        return Gathering([self])

    def check_rows(self, length: int) -> None:
        """Refuse rows that would cut through the conversations of a packed cache.

        Raises:
          ArtefactError: rows of this length would.
        """
        if self._row_tokens is not None and length % self._row_tokens:
            raise ArtefactError(
                f"conversations are packed into rows of {self._row_tokens:,} tokens, which other rows would cut",
                file=self.url,
                field="sequence length",
                value=length,
                remedy=f"Draw sequences of {self._row_tokens:,} tokens (or a multiple), or build the cache with --row-tokens",
            )

    def _first(self, number: int) -> int:
        """Return the position in the cache of the first token of a shard."""
        return int(self.shard_ends[number - 1]) if number else 0

    def copy_pieces(self, start: int, row: int, into: Rows) -> None:
        """Read a row that does not lie in one batch, from a token on, into a row of ``into``."""
        at = 0
        for _, _, piece in self._pieces(start, start + into.length):
            size = piece.stop - piece.start
            into.tokens[row, at : at + size] = piece.ids
            begins = piece.begins
            into.mark([row], [len(begins)], [row * into.length + at], begins.data)
            into.place_loss(row, at, piece.loss_mask)
            at += size

    def documents_in(self, start: int, stop: int) -> list[DocumentSpan]:
        """Return the documents that have a token in ``[start, stop)``, in order.

        Raises:
          IndexError: the range is not within the cache.
        """
        self.checked(start, stop)
        spans = []
        for shard, base, piece in self._pieces(start, stop):
            batch = piece.batch
            first, last = piece.rows
            names = batch.column("document_id")
            for row in range(first, last):
                begin, end = (base + batch.first_token + int(at) for at in batch.offsets[row : row + 2])
                place = (shard, batch.first_row + row)
                spans.append(DocumentSpan(names[row].as_py(), *place, begin, end, batch.url(row)))
        return spans

    def iterate(self) -> Iterator[CachedDocument]:
        """Yield all documents in order."""
        for number in range(len(self.ledger.shards)):
            for batch in self._shard(number).batches:
                yield from _documents(batch, 0, batch.documents)

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

    def _shard(self, number: int) -> ShardReader:
        with self._lock:
            found = self._open.get(number)
            if found is not None and not (self.remote and found.file.replaced):
                self._open.move_to_end(number)
                return found
            if (
                found is not None
            ):  # Its space becomes free only when it is closed; so it is with others that are gone.
                for gone in [key for key, shard in self._open.items() if shard.file.replaced]:
                    del self._open[gone]
        found = ShardReader(
            self.url, self.ledger.shards[number], self.ledger.tokenizer, self._checking, self._blocks
        )
        with self._lock:
            self._open[number] = found
            while len(self._open) > (OPEN_REMOTE_SHARDS if self.remote else OPEN_SHARDS):
                self._open.popitem(last=False)
        return found

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, Piece]]:
        """Yield ``(shard, its first token in the cache, piece)`` for tokens ``[start, stop)``."""
        shard = int(np.searchsorted(self.shard_ends, start, "right"))
        while start < stop:
            base, end = self._first(shard), int(self.shard_ends[shard])
            for piece in self._shard(shard).pieces(start - base, min(stop, end) - base):
                yield shard, base, piece
            start = max(start, end)
            shard += 1

    def checked(self, start: int, stop: int) -> int:
        """Return the length of a range of tokens.

        Raises:
          IndexError: it is not within the cache.
        """
        if not 0 <= start <= stop <= self.tokens:
            raise IndexError(f"{self.url}: tokens [{start:,}, {stop:,}) are not within [0, {self.tokens:,})")
        return stop - start

    def __reduce__(self) -> tuple[object, ...]:
        return TokenCache, (self.url, self.ledger, self.ledger_sha256, self._checking, self._blocks)


def check_sizes(url: str, ledger: Ledger) -> None:
    """Compare the files of a cache with its ledger: one listing, no file opened.

    A web server has no listing; there each shard's turn comes when it is opened.

    Raises:
      ArtefactError: a shard is missing or has another size.
    """
    if url.split("://", 1)[0] in ("http", "https"):
        return
    sizes = _list_sizes(storage.join(url, "shards"))
    for path, size in zip(ledger.shards.paths, ledger.shards.column("size").tolist(), strict=True):
        name = path.removeprefix("shards/")
        found = None if name == path else sizes.get(name)
        if found is None:
            raise ArtefactError(
                "the ledger lists a shard that is missing", file=storage.join(url, path), remedy=REMEDY
            )
        if found != size:
            raise ArtefactError(
                f"the shard has {found:,} bytes, the ledger says {size:,}",
                file=storage.join(url, path),
                remedy=REMEDY,
            )


def _list_sizes(folder: str) -> dict[str, int]:
    """Return the files in a folder with their sizes."""
    local = storage.local_path(folder)
    if local is not None:
        try:
            with os.scandir(local) as found:
                return {item.name: item.stat().st_size for item in found if item.is_file()}
        except FileNotFoundError:
            return {}
    filesystem, path = storage.url_to_fs(folder)
    listing = filesystem.ls(path, detail=True) if filesystem.exists(path) else []
    return {item["name"].rsplit("/", 1)[-1]: item["size"] for item in listing}


def _documents(batch: Batch, first: int, last: int) -> Iterator[CachedDocument]:
    names = batch.column("document_id").slice(first, last - first).to_pylist()
    lengths = batch.column("byte_length").slice(first, last - first).to_pylist()
    for row, (name, length) in enumerate(zip(names, lengths, strict=True), start=first):
        piece = Piece(batch, int(batch.offsets[row]), int(batch.offsets[row + 1]))
        yield CachedDocument(name, piece.ids, length, piece.loss_mask)

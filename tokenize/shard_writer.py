"""Write one shard of a token cache: an Arrow IPC file that appears whole or not at all.

Layout: record batches of at most :data:`BATCH_TOKENS` ids (a longer document has a batch of its own), uncompressed so that
the file can be memory-mapped. The schema's metadata names the shard and the tokenizer, so that a shard that lies in
another's place is recognised without reading it. Before Arrow's footer lie checksums of the file's blocks and a table of its
batches (:mod:`tootsie.tokenize.trailer`). Equal documents give equal bytes.
"""

from __future__ import annotations

import contextlib
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import xxhash

from tootsie.datasets import storage
from tootsie.tokenize.identity import TokenizerIdentity
from tootsie.tokenize.ledger import FORMAT, ShardEntry
from tootsie.tokenize.trailer import BlockHasher, Trailer, encode_trailer

BATCH_TOKENS = 2**20
"""Ids of one record batch, at most; part of what makes shard bytes reproducible."""
BATCH_DOCUMENTS = 2**16
"""Documents of one record batch, at most."""
BATCH_NAMES = 2**26
"""Bytes of ids and URLs of one record batch, about: a single one may be longer. Arrow's strings end at 2 GiB a batch."""
_IPC_OPTIONS = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V5, compression=None)


def shard_path(number: int, count: int) -> str:
    """Return the path of shard ``number`` of ``count``, relative to the ledger."""
    return f"shards/{number:05d}-of-{count:05d}.arrow"


def shard_schema(
    identity: TokenizerIdentity,
    path: str,
    *,
    loss_spans: bool = False,
    urls: bool = False,
    origins: bool = False,
) -> pa.Schema:
    """Return the schema of a shard.

    Args:
      identity: decides the width of the ids.
      path: the shard's own path, kept in the metadata.
      loss_spans: whether the column ``loss_spans`` is there.
      urls: whether the column ``url`` is there.
      origins: whether the columns ``source_file`` and ``source_row`` are there.
    """
    ids = pa.uint16() if identity.dtype == "uint16" else pa.uint32()
    fields = [
        pa.field("input_ids", pa.large_list(pa.field("item", ids, nullable=False)), nullable=False),
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("byte_length", pa.int64(), nullable=False),
    ]
    if loss_spans:
        span = pa.struct(
            [pa.field("start", pa.int32(), nullable=False), pa.field("end", pa.int32(), nullable=False)]
        )
        fields.append(pa.field("loss_spans", pa.list_(pa.field("item", span, nullable=False)), nullable=True))
    if urls:
        fields.append(pa.field("url", pa.string(), nullable=True))
    if origins:
        fields.append(pa.field("source_file", pa.int32(), nullable=False))
        fields.append(pa.field("source_row", pa.int64(), nullable=False))
    metadata = {"format": FORMAT, "shard": path, "tokenizer_fingerprint": identity.fingerprint}
    return pa.schema(fields, metadata=metadata)


class ShardWriter:
    """Collects documents and writes them batch by batch; memory is that of one batch and one document."""

    def __init__(self, stream: _Hashing, writer: Any, schema: pa.Schema, identity: TokenizerIdentity) -> None:
        self._stream = stream
        self._writer = writer
        self._schema = schema
        self._dtype = np.dtype(identity.dtype)
        self._vocabulary_size = identity.vocabulary_size
        self._loss_spans, self._has_urls = "loss_spans" in schema.names, "url" in schema.names
        self._has_origins = "source_row" in schema.names
        self.documents = 0
        self.tokens = 0
        self.bytes = 0
        self.first_tokens: Counter[int] = Counter()
        self.last_tokens: Counter[int] = Counter()
        self.batches: list[tuple[int, int, int]] = []
        """Of each batch written: where it ends in the file, its documents, its tokens."""
        self._clear()

    def append(
        self,
        document_id: str,
        ids: np.ndarray,
        byte_length: int,
        loss_spans: Sequence[tuple[int, int]] | None = None,
        url: str | None = None,
        origin: tuple[int, int] | None = None,
    ) -> None:
        """Add one document.

        Args:
          document_id: its id in the corpus.
          ids: its tokens, uint32[n] with n ≥ 1, BOS and EOS included.
          byte_length: UTF-8 bytes of its text.
          loss_spans: half-open ranges of tokens that carry loss; ``None`` means all.
          url: where it comes from, if that is known.
          origin: number of its source file and row in it; see :class:`tootsie.tokenize.origin.Origin`.
        """
        assert len(ids) > 0, f"{document_id}: a document without tokens"
        assert loss_spans is None or self._loss_spans, "the schema has no loss_spans"
        assert url is None or self._has_urls, "the schema has no url"
        assert (origin is not None) == self._has_origins, "an origin for every document, or for none"
        names = _utf8_bound(document_id) + (0 if url is None else _utf8_bound(url))
        if self._ids and (
            self._batch_tokens + len(ids) > BATCH_TOKENS
            or len(self._ids) >= BATCH_DOCUMENTS
            or self._batch_names + names > BATCH_NAMES
        ):
            self.flush()
        self._ids.append(ids)
        self._document_ids.append(document_id)
        self._byte_lengths.append(byte_length)
        self._spans.append(loss_spans)
        self._urls.append(url)
        if origin is not None:
            self._origins.append(origin)
        self._batch_tokens += len(ids)
        self._batch_names += names

    def flush(self) -> None:
        """Write what was collected as one record batch."""
        if not self._ids:
            return
        offsets = np.zeros(len(self._ids) + 1, np.int64)
        np.cumsum([len(ids) for ids in self._ids], out=offsets[1:])
        ids = np.concatenate(self._ids)
        if int(ids.max()) >= self._vocabulary_size:
            row = int(np.searchsorted(offsets, int(ids.argmax()), "right")) - 1
            raise AssertionError(
                f"{self._document_ids[row]}: id {ids.max()} is not below {self._vocabulary_size}"
            )
        lengths = np.asarray(self._byte_lengths, np.int64)
        self.documents += len(self._ids)
        self.tokens += len(ids)
        self.bytes += int(lengths.sum())
        for counts, found in (
            (self.first_tokens, ids[offsets[:-1]]),
            (self.last_tokens, ids[offsets[1:] - 1]),
        ):
            values, times = np.unique(found, return_counts=True)
            counts.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
        list_type = self._schema.field("input_ids").type
        columns = [
            pa.LargeListArray.from_arrays(
                pa.array(offsets), pa.array(ids.astype(self._dtype)), type=list_type
            ),
            pa.array(self._document_ids, pa.string()),
            pa.array(lengths),
        ]
        if self._loss_spans:
            spans = [
                None if row is None else [{"start": start, "end": end} for start, end in row]
                for row in self._spans
            ]
            columns.append(pa.array(spans, self._schema.field("loss_spans").type))
        if self._has_urls:
            columns.append(pa.array(self._urls, pa.string()))
        if self._has_origins:
            origins = np.asarray(self._origins, np.int64)
            columns += [pa.array(origins[:, 0].astype(np.int32)), pa.array(origins[:, 1])]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))
        self.batches.append((self._stream.size, len(self._ids), len(ids)))
        self._clear()

    def _clear(self) -> None:
        self._ids: list[np.ndarray] = []
        self._document_ids: list[str] = []
        self._byte_lengths: list[int] = []
        self._spans: list[Sequence[tuple[int, int]] | None] = []
        self._urls: list[str | None] = []
        self._origins: list[tuple[int, int]] = []
        self._batch_tokens = 0
        self._batch_names = 0


def _utf8_bound(text: str) -> int:
    """Return the bytes of a text in UTF-8, or four for each character where that would have to be counted."""
    return len(text) if text.isascii() else 4 * len(text)


class _Hashing:
    """A writable stream that keeps size and checksums of all that goes through it."""

    closed = False

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._blocks = BlockHasher()
        self._held: bytearray | None = None
        self.digest = xxhash.xxh3_128()
        self.size = 0
        self.head = b""
        """The first bytes, 16 or more."""

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self._held is not None:
            self._held += view
            return view.nbytes
        if len(self.head) < 16:
            self.head += view
        self._blocks.update(view)
        self._put(view)
        return view.nbytes

    def hold(self) -> None:
        """Keep back what comes from here on; Arrow's footer is at its end."""
        self._held = bytearray()

    def finish(self, batches: list[tuple[int, int, int]]) -> tuple[int, str]:
        """Write what was kept back, our part of the trailer before the footer; return body and checksum of the trailer."""
        held, self._held = bytes(self._held or b""), None
        (size,) = struct.unpack("<i", held[-10:-6])
        footer = len(held) - 10 - size
        self.write(held[:footer])
        body = self.size
        table = np.array(batches, np.int64).reshape(-1, 3)
        # After the magic and its padding comes the schema: marker, length, content. Then the batches, one after another.
        first = 16 + struct.unpack("<i", self.head[12:16])[0]
        at = np.concatenate([[first], table[:-1, 0]])[: len(table)]
        ours = encode_trailer(Trailer(self._blocks.finish(), at, table[:, 1], table[:, 2]))
        trailer = ours + held[footer:]
        self._put(memoryview(trailer))
        return body, xxhash.xxh3_128(trailer).hexdigest()

    def _put(self, view: memoryview) -> None:
        self.digest.update(view)
        self.size += view.nbytes
        self._stream.write(view)

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class OpenShard:
    """The shard being written; :attr:`entry` is there when the file is."""

    def __init__(self, writer: ShardWriter) -> None:
        self.writer = writer
        self.entry: ShardEntry | None = None


@contextlib.contextmanager
def write_shard(
    folder: str,
    path: str,
    identity: TokenizerIdentity,
    *,
    loss_spans: bool = False,
    urls: bool = False,
    origins: bool = False,
) -> Iterator[OpenShard]:
    """Write a shard; it appears when the block ends without an exception.

    Example::

        with write_shard(folder, shard_path(0, 1), tokenizer.identity) as shard:
            shard.writer.append("page-1", tokenizer.encode_document(text), len(text.encode()))
        shard.entry

    Args:
      folder: the cache.
      path: from :func:`shard_path`.
      identity: the tokenizer's.
      loss_spans: whether documents carry loss spans.
      urls: whether documents have URLs.
      origins: whether documents have the number of a source file and a row.
    """
    schema = shard_schema(identity, path, loss_spans=loss_spans, urls=urls, origins=origins)
    with storage.atomic_write(storage.join(folder, path)) as stream:
        hashing = _Hashing(stream)
        with pa.ipc.new_file(pa.PythonFile(hashing, "w"), schema, options=_IPC_OPTIONS) as arrow:
            writer = ShardWriter(hashing, arrow, schema, identity)
            shard = OpenShard(writer)
            yield shard
            writer.flush()
            hashing.hold()
        body, trailer = hashing.finish(writer.batches)
    shard.entry = ShardEntry(
        path=path,
        documents=writer.documents,
        tokens=writer.tokens,
        bytes=writer.bytes,
        size=hashing.size,
        xxh3_128=hashing.digest.hexdigest(),
        body=body,
        trailer_xxh3_128=trailer,
    )

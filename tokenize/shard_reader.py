"""Read one shard of a token cache: memory-mapped, checked before use, record batches looked at when they are needed."""

from __future__ import annotations

import bisect
import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.block_cache import BlockCache
from tootsie.tokenize.checked_file import REMEDY, CheckedFile, Checking
from tootsie.tokenize.identity import TokenizerIdentity
from tootsie.tokenize.ledger import ShardEntry
from tootsie.tokenize.origin import Origin
from tootsie.tokenize.shard_writer import shard_schema
from tootsie.tokenize.trailer import BLOCK

__all__ = ["REMEDY", "Batch", "Checking", "Piece", "ShardReader"]

MARK = 4096
"""Tokens between two marks of a batch."""


class Batch:
    """One record batch; arrays are views of the mapped file, compared with their checksums when they are asked for."""

    def __init__(self, file: CheckedFile, columns: pa.RecordBatch, first_token: int, first_row: int) -> None:
        self._file = file
        self._columns = columns
        self._seen: set[str] = set()
        listed = columns.column("input_ids")
        _, offsets, _, values = listed.buffers()
        file.check(*file.position(offsets))
        self.first_token = first_token
        """Position of its first token within the shard."""
        self.first_row = first_row
        """Row of its first document within the shard."""
        self.offsets: np.ndarray = np.asarray(listed.offsets)
        """int64[documents + 1]: document d has ``ids[offsets[d]:offsets[d + 1]]``."""
        self.places = memoryview(self.offsets.data)
        """The same, quicker to cut."""
        self._ids = np.asarray(listed.values)
        self.tokens = len(self._ids)
        """Ids in it."""
        self.has_loss_spans = "loss_spans" in columns.schema.names
        """Whether :attr:`loss_spans` is there."""
        self.at = file.position(values)[0] if self.tokens else 0
        """Where its ids begin in the file."""
        if self.at % self._ids.itemsize:
            raise file.damaged("the ids are not aligned")
        self.blocks = self.at // BLOCK, -(-(self.at + self.tokens * self._ids.itemsize) // BLOCK)
        """The blocks of the file in which its ids lie, ``[first, last)``."""
        places = np.arange(-(-self.tokens // MARK) + 1) * MARK
        self.marks = memoryview(np.searchsorted(self.offsets, places).astype(np.int32).data)
        """For every :data:`MARK`-th token, the first document that begins there or later, int32: quicker than a search for
        each row."""

    @property
    def documents(self) -> int:
        """Rows in it."""
        return len(self.offsets) - 1

    @property
    def ids(self) -> np.ndarray:
        """uint16 or uint32[tokens]."""
        return self.read(0, self.tokens)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return the ids ``[start, stop)``, uint16 or uint32[stop - start].

        Raises:
          ArtefactError: they are not those that were written.
        """
        width = self._ids.itemsize
        self._file.check(self.at + start * width, self.at + stop * width)
        return self._ids[start:stop]

    def column(self, name: str) -> pa.Array:
        """Return another column than the ids.

        Raises:
          ArtefactError: it is not as it was written.
        """
        found = self._columns.column(name)
        if name not in self._seen:
            self._file.check_all([self._file.position(buffer) for buffer in found.buffers() if buffer])
            self._seen.add(name)
        return found

    @property
    def columns(self) -> pa.RecordBatch:
        """All columns."""
        self.ids  # noqa: B018  (compared)
        for name in self._columns.schema.names[1:]:
            self.column(name)
        return self._columns

    def url(self, row: int) -> str | None:
        """Return the URL of a document, a row of the batch; ``None`` where it is not known.

        Raises:
          ArtefactError: it is not as it was written.
        """
        return self.column("url")[row].as_py() if "url" in self._columns.schema.names else None

    def origin(self, row: int) -> Origin | None:
        """Return which document of which source file a row of the batch is; ``None`` where it is not known.

        Raises:
          ArtefactError: it is not as it was written.
        """
        if "source_row" not in self._columns.schema.names:
            return None
        return Origin(self.column("source_file")[row].as_py(), self.column("source_row")[row].as_py())

    @functools.cached_property
    def loss_spans(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Spans that carry loss, within the batch: ``first int64[documents + 1]``, ``start``, ``stop int64[spans]``.

        Document d has the spans ``first[d]`` to ``first[d + 1]``, cut at its ends; one whose spans are null has one, all of it.
        ``None`` where the shard has no such column.
        """
        if not self.has_loss_spans:
            return None
        column = self.column("loss_spans")
        null = column.is_null().to_numpy(zero_copy_only=False)
        counts = np.where(null, 1, np.diff(np.asarray(column.offsets)))
        first = np.zeros(self.documents + 1, np.int64)
        np.cumsum(counts, out=first[1:])
        start, stop = np.zeros(first[-1], np.int64), np.full(first[-1], np.iinfo(np.int64).max // 2)
        given = np.repeat(~null, counts)
        spans = column.flatten()
        start[given], stop[given] = np.asarray(spans.field("start")), np.asarray(spans.field("end"))
        begins, ends = (np.repeat(self.offsets[side], counts) for side in (slice(None, -1), slice(1, None)))
        start = np.minimum(begins + start, ends)
        return first, start, np.clip(begins + stop, start, ends)


@dataclass(frozen=True)
class Piece:
    """What a range of tokens has in one batch."""

    batch: Batch
    start: int
    """First token, within the batch."""
    stop: int
    """End, exclusive."""

    @property
    def ids(self) -> np.ndarray:
        """uint16 or uint32[stop - start]."""
        return self.batch.read(self.start, self.stop)

    @property
    def rows(self) -> tuple[int, int]:
        """Documents of the batch ``[first, last)`` that have a token in it."""
        first = int(np.searchsorted(self.batch.offsets, self.start, "right")) - 1
        return first, int(np.searchsorted(self.batch.offsets, self.stop, "left"))

    @property
    def begins(self) -> np.ndarray:
        """int64[n]: where documents begin, counted from ``start``."""
        offsets = self.batch.offsets
        first, last = np.searchsorted(offsets, (self.start, self.stop), "left")
        return offsets[first : min(last, len(offsets) - 1)] - self.start

    @property
    def loss_mask(self) -> np.ndarray | None:
        """bool[stop - start]: whether a token lies in a loss span of its document; ``None``: all do."""
        found = self.batch.loss_spans
        if found is None:
            return None
        (first, starts, stops), (low, high) = found, self.rows
        spans = slice(int(first[low]), int(first[high]))
        edges = np.zeros(self.stop - self.start + 1, np.int32)
        np.add.at(edges, np.clip(starts[spans] - self.start, 0, len(edges) - 1), 1)
        np.add.at(edges, np.clip(stops[spans] - self.start, 0, len(edges) - 1), -1)
        return np.cumsum(edges[:-1]) > 0


class ShardReader:
    """One opened shard.

    Args:
      folder: the cache.
      entry: its line in the ledger.
      identity: the ledger's tokenizer.
      checking: when the bytes are compared with their checksums.
      blocks: where parts of remote shards are kept; by default as the environment says.
      copy: a copy of the whole shard on this machine, read in its place.

    Raises:
      ArtefactError: the file is not an Arrow file, or not the shard that the ledger means.
    """

    def __init__(
        self,
        folder: str,
        entry: ShardEntry,
        identity: TokenizerIdentity,
        checking: Checking = Checking.FIRST_USE,
        blocks: BlockCache | None = None,
        copy: Path | None = None,
    ) -> None:
        self.url = storage.join(folder, entry.path)
        self.entry = entry
        self._identity = identity
        local = copy or storage.local_path(self.url)
        if local is None:
            remote = (blocks or BlockCache.from_environment()).open(self.url, entry)
            self.file = self._opened(remote.path, remote=remote)
        else:
            self.file = self._opened(local, checking=checking)
        file, trailer = self.file, self.file.trailer
        try:
            self._reader = pa.ipc.open_file(file.source)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        self._check_schema(self._reader.schema)
        found = int(trailer.documents.sum()), int(trailer.tokens.sum())
        if found != (entry.documents, entry.tokens):
            raise self._damaged(
                f"the shard has {found[0]:,} documents and {found[1]:,} tokens, "
                f"the ledger says {entry.documents:,} and {entry.tokens:,}"
            )
        if self._reader.num_record_batches != len(trailer.at):
            raise self._damaged("its table of record batches is not Arrow's")
        self.first_tokens: list[int] = (np.cumsum(trailer.tokens) - trailer.tokens).tolist()
        """The first token of each batch within the shard."""
        self._rows = np.concatenate([[0], np.cumsum(trailer.documents)])
        self.opened: list[Batch | None] = [None] * len(trailer.at)
        """The batches that were looked at."""
        self.words = file.words(np.dtype(identity.dtype))
        """The file as ids, not compared with anything."""

    def __len__(self) -> int:
        return len(self.opened)

    @property
    def batches(self) -> Iterator[Batch]:
        """All batches in order."""
        return (self.batch(number) for number in range(len(self)))

    def batch(self, number: int) -> Batch:
        """Return one batch, its offsets checked.

        Raises:
          ArtefactError: it is not as it was written.
        """
        found = self.opened[number]
        if found is None:
            found = self.opened[number] = self._open_batch(number)
        return found

    def pieces(self, start: int, stop: int) -> Iterator[Piece]:
        """Yield the pieces that make up tokens ``[start, stop)`` of the shard, in order."""
        number = bisect.bisect_right(self.first_tokens, start) - 1
        while start < stop:
            batch = self.batch(number)
            end = min(stop, batch.first_token + batch.tokens)
            if end > start:
                yield Piece(batch, start - batch.first_token, end - batch.first_token)
            start, number = max(start, end), number + 1

    def prepare(self, starts: np.ndarray, length: int) -> None:
        """Check the ids of many rows at once, which fetches what is missing of a remote shard at the same time.

        Args:
          starts: int64[n], the first token of each row within the shard.
          length: tokens of a row; those beyond the batch that it begins in are left out.

        Raises:
          ArtefactError: something is not as it was written.
        """
        width, ranges = self.words.itemsize, []
        for start in starts.tolist():
            batch = self.batch(bisect.bisect_right(self.first_tokens, start) - 1)
            start -= batch.first_token
            ranges.append((batch.at + start * width, batch.at + min(start + length, batch.tokens) * width))
        self.file.check_all(ranges)

    def batch_of_row(self, row: int) -> Batch:
        """Return the batch that holds document ``row``."""
        return self.batch(int(np.searchsorted(self._rows, row, "right")) - 1)

    def _open_batch(self, number: int) -> Batch:
        at, file = int(self.file.trailer.at[number]), self.file
        try:
            if not 0 <= at <= self.entry.body - 8:
                raise self._damaged("the record batch lies outside the body", number)
            file.check(at, at + 8)
            marker, size = struct.unpack("<Ii", file.view[at : at + 8])
            if marker != 0xFFFFFFFF or not 0 < size <= self.entry.body - at - 8:
                raise self._damaged("the record batch has no header", number)
            file.check(at, at + 8 + size)
            columns = self._reader.get_batch(number)
            batch = Batch(file, columns, self.first_tokens[number], int(self._rows[number]))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        offsets = batch.offsets
        if len(offsets) == 1 and not offsets[0] == batch.tokens == 0:
            raise self._damaged("the offsets of a record batch do not fit its ids", number)
        if not len(offsets) or offsets[0] != 0 or batch.tokens != offsets[-1]:
            raise self._damaged("the offsets of a record batch do not fit its ids", number)
        if (batch.documents, batch.tokens) != (
            file.trailer.documents[number],
            file.trailer.tokens[number],
        ):
            raise self._damaged("the record batch has other counts than the table of batches", number)
        return batch

    def _opened(self, path: Path, **options: object) -> CheckedFile:
        """Map the file; where it is not the one that the ledger means, say what it is as far as it tells."""
        try:
            return CheckedFile(self.url, path, self.entry, **options)  # type: ignore[arg-type]
        except ArtefactError:
            if "remote" not in options:
                with pa.memory_map(str(path)) as source:
                    try:
                        schema = pa.ipc.open_file(source).schema
                    except (pa.ArrowException, OSError, ValueError) as error:
                        raise self._unreadable(error) from None
                    self._check_schema(schema)
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def _check_schema(self, schema: pa.Schema) -> None:
        expected = shard_schema(
            self._identity,
            self.entry.path,
            loss_spans="loss_spans" in schema.names,
            urls="url" in schema.names,
            origins="source_row" in schema.names,
        )
        metadata = schema.metadata or {}
        for key, value in (expected.metadata or {}).items():
            found = metadata.get(key, b"").decode("utf-8", "replace")
            if found != value.decode():
                kind = {
                    "shard": "another shard lies here",
                    "tokenizer_fingerprint": "made by another tokenizer",
                }
                name = key.decode()
                raise ArtefactError(
                    kind.get(name, "another shard format"),
                    file=self.url,
                    field=name,
                    value=found,
                    remedy=REMEDY,
                )
        if not schema.equals(expected):
            raise self._damaged("the columns are not those of a token cache")

    def _unreadable(self, error: Exception) -> ArtefactError:
        lines = str(error).splitlines() or [""]
        return self._damaged(f"not a readable Arrow file ({lines[0][:120]})")

    def _damaged(self, problem: str, batch: int | None = None) -> ArtefactError:
        field = None if batch is None else f"record batch {batch}"
        return ArtefactError(problem, file=self.url, field=field, remedy=REMEDY)

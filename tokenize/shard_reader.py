"""Read one shard of a token cache: memory-mapped where it is local, no Python loop over documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.identity import TokenizerIdentity
from tootsie.tokenize.ledger import ShardEntry
from tootsie.tokenize.shard_writer import shard_schema

REMEDY = "Copy the shard again, or delete the cache and build it again"


@dataclass(frozen=True)
class Batch:
    """One record batch; arrays are views of the mapped file."""

    first_token: int
    """Position of its first token within the shard."""
    first_row: int
    """Row of its first document within the shard."""
    ids: np.ndarray
    """uint16 or uint32[tokens]."""
    offsets: np.ndarray
    """int64[documents + 1]: document d has ``ids[offsets[d]:offsets[d + 1]]``."""
    columns: pa.RecordBatch
    """All columns."""


@dataclass(frozen=True)
class Piece:
    """What a range of tokens has in one batch."""

    batch: Batch
    start: int
    """First token, within the batch."""
    stop: int
    """End, exclusive."""


class ShardReader:
    """One opened shard.

    Args:
      folder: the cache.
      entry: its line in the ledger.
      identity: the ledger's tokenizer.

    Raises:
      ArtefactError: the file is not an Arrow file, or not the shard that the ledger means.
    """

    def __init__(self, folder: str, entry: ShardEntry, identity: TokenizerIdentity) -> None:
        self.url = storage.join(folder, entry.path)
        self.entry = entry
        local = storage.local_path(self.url)
        try:
            self._source = (
                pa.memory_map(str(local)) if local else pa.PythonFile(storage.open_binary(self.url), "r")
            )
            reader = pa.ipc.open_file(self._source)
            self._check_schema(reader.schema, identity)
            batches: list[Batch] = []
            first_token = first_row = 0
            for number in range(reader.num_record_batches):
                columns = reader.get_batch(number)
                listed = columns.column("input_ids")
                offsets = np.asarray(listed.offsets)
                if not len(offsets) or offsets[0] != 0 or len(listed.values) != offsets[-1]:
                    raise self._damaged("the offsets of a record batch do not fit its ids", number)
                batches.append(Batch(first_token, first_row, np.asarray(listed.values), offsets, columns))
                first_token += int(offsets[-1])
                first_row += columns.num_rows
        except (pa.ArrowInvalid, pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(f"not a readable Arrow file ({str(error).splitlines()[0][:120]})") from None
        self.batches = batches
        if (first_row, first_token) != (entry.documents, entry.tokens):
            raise self._damaged(
                f"the shard has {first_row:,} documents and {first_token:,} tokens, "
                f"the ledger says {entry.documents:,} and {entry.tokens:,}"
            )
        self._starts = np.array([batch.first_token for batch in batches], np.int64)
        self._rows = np.array([batch.first_row for batch in batches], np.int64)

    def pieces(self, start: int, stop: int) -> Iterator[Piece]:
        """Yield the pieces that make up tokens ``[start, stop)`` of the shard, in order."""
        if start >= stop:
            return
        first = int(np.searchsorted(self._starts, start, "right")) - 1
        for batch in itertools.islice(self.batches, first, None):
            if batch.first_token >= stop:
                return
            yield Piece(
                batch, max(0, start - batch.first_token), min(len(batch.ids), stop - batch.first_token)
            )

    def batch_of_row(self, row: int) -> Batch:
        """Return the batch that holds document ``row``."""
        return self.batches[int(np.searchsorted(self._rows, row, "right")) - 1]

    def _check_schema(self, schema: pa.Schema, identity: TokenizerIdentity) -> None:
        expected = shard_schema(identity, self.entry.path, loss_spans="loss_spans" in schema.names)
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

    def _damaged(self, problem: str, batch: int | None = None) -> ArtefactError:
        field = None if batch is None else f"record batch {batch}"
        return ArtefactError(problem, file=self.url, field=field, remedy=REMEDY)

"""Columns of lists ``input_ids``: Parquet, and the ``.arrow`` files of Hugging Face's datasets; what Levanter reads as prebuilt.

Of the other columns ``id`` or ``document_id`` names the document, and one of ``assistant_masks``, ``loss_mask`` (lists of 0 and
1) and ``labels`` (-100 where there is no loss) says which tokens carry loss.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.tokenize.exchange.token_file import TokenDocument, TokenFile, damaged, located

IDS = "input_ids"
NAMES = ("document_id", "id")
LOSS = ("assistant_masks", "loss_mask", "labels")
IGNORED = -100
"""Label of a token that carries no loss."""
ROWS = 256
"""Rows read at a time."""
GROUP_TOKENS = 2**20
"""Tokens of a row group that is written, about."""


def find_columns(inputs: Sequence[str]) -> list[ColumnFile]:
    """Return the files at paths, globs, brace ranges and folders.

    Raises:
      InputError: there is none, or one is damaged or lacks the column.
    """
    return [ColumnFile(url) for url in located(inputs, (".parquet", ".arrow"))]


class ColumnFile(TokenFile):
    """One Parquet or Arrow file.

    Raises:
      InputError: it is damaged, or has no list of integers ``input_ids``.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.files = (url,)
        with _honest(url), storage.open_binary(url) as stream:
            schema = self._open(stream)[0]
        if IDS not in schema.names:
            raise InputError(
                f"no column {IDS}; there are {', '.join(schema.names) or 'none'}",
                file=url,
                field=IDS,
                remedy="Name the column of ids so",
            )
        self._name = next((name for name in NAMES if name in schema.names), None)
        self._loss = next((name for name in LOSS if name in schema.names), None)
        self.has_loss = self._loss is not None
        for name in filter(None, (IDS, self._loss)):
            kind = schema.field(name).type
            listed = (
                pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
            )
            if not listed or not (
                pa.types.is_integer(kind.value_type) or pa.types.is_boolean(kind.value_type)
            ):
                raise InputError(
                    "a column of lists of integers is needed",
                    file=url,
                    field=name,
                    value=str(kind),
                    remedy="Write it again",
                )

    def documents(self, first: int = 0, stop: int | None = None) -> Iterator[TokenDocument]:
        """Yield the rows ``[first, stop)``."""
        row = 0
        with _honest(self.url), storage.open_binary(self.url) as stream:
            for batch in self._batches(stream, first):
                if isinstance(batch, int):
                    row += batch
                    continue
                low = max(first - row, 0)
                high = batch.num_rows if stop is None else min(batch.num_rows, stop - row)
                if low < high:
                    yield from self._rows(batch.slice(low, high - low), row + low)
                row += batch.num_rows
                if stop is not None and row >= stop:
                    return

    def _rows(self, batch: pa.RecordBatch, row: int) -> Iterator[TokenDocument]:
        ids, offsets = self._lists(batch, IDS, row)
        masks = None
        if self._loss is not None:
            values, others = self._lists(batch, self._loss, row)
            lengths, found = np.diff(offsets), np.diff(others)
            if (lengths != found).any():
                at = int((lengths != found).argmax())
                raise damaged(
                    self.url,
                    f"{found[at]:,} values for {lengths[at]:,} tokens",
                    f"row {row + at}, {self._loss}",
                )
            masks = values != (IGNORED if self._loss == "labels" else 0)
        names = [None] * batch.num_rows if self._name is None else batch.column(self._name).to_pylist()
        bounds = offsets.tolist()
        for number, (start, end) in enumerate(itertools.pairwise(bounds)):
            name = names[number]
            mask = None if masks is None else masks[start:end]
            yield TokenDocument(None if name is None else str(name), ids[start:end], mask)

    def _lists(self, batch: pa.RecordBatch, name: str, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of a column of lists, and where each row's begin."""
        column = batch.column(name)
        values = column.flatten()
        if column.null_count or values.null_count:
            nulls = [number for number, item in enumerate(column.to_pylist()) if item is None or None in item]
            raise damaged(self.url, "a null among the tokens", f"row {row + nulls[0]}, {name}")
        lengths = pa.compute.list_value_length(column).to_numpy(zero_copy_only=False)
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return values.to_numpy(zero_copy_only=False), offsets

    def _open(self, stream: Any) -> tuple[pa.Schema, Any]:
        head = stream.read(6)
        stream.seek(0)
        if self.url.endswith(".parquet"):
            file = pyarrow.parquet.ParquetFile(stream, pre_buffer=False)
            return file.schema_arrow, file
        reader = pa.ipc.open_file(stream) if head == b"ARROW1" else pa.ipc.open_stream(stream)
        return reader.schema, reader

    def _batches(self, stream: Any, first: int) -> Iterator[pa.RecordBatch | int]:
        """Yield the batches, or the rows of one where all of it lies before ``first``."""
        _, file = self._open(stream)
        wanted = [name for name in (IDS, self._name, self._loss) if name is not None]
        if isinstance(file, pyarrow.parquet.ParquetFile):
            row = 0
            for group in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if row + rows <= first:
                    yield rows
                else:
                    yield from file.iter_batches(
                        batch_size=ROWS, row_groups=[group], columns=wanted, use_threads=False
                    )
                row += rows
            return
        batches = (
            (file.get_batch(number) for number in range(file.num_record_batches))
            if isinstance(file, pa.ipc.RecordBatchFileReader)
            else iter(file)
        )
        for batch in batches:
            batch = batch.select(wanted)
            batch.validate(full=True)  # offsets of a foreign file may point anywhere
            for start in range(0, batch.num_rows, ROWS):
                yield batch.slice(start, ROWS)


class ParquetWriter:
    """Writes ``document_id``, ``input_ids`` (int32) and, for supervised data, ``assistant_masks`` (int8).

    Args:
      url: the file.
      vocabulary_size: must fit in 31 bits.
      loss: whether masks are written.
    """

    def __init__(self, url: str, vocabulary_size: int, *, loss: bool) -> None:
        if vocabulary_size > 2**31:
            raise SpecError("the vocabulary is too large for 32 bits with a sign", value=vocabulary_size)
        self.files = (url,)
        fields = [pa.field("document_id", pa.string()), pa.field(IDS, pa.list_(pa.int32()))]
        self._schema = pa.schema(fields + [pa.field(LOSS[0], pa.list_(pa.int8()))] * loss)

    def write(self, batches: Iterator[tuple[list[str], np.ndarray, np.ndarray, np.ndarray | None]]) -> None:
        """Write all documents.

        Args:
          batches: document ids, ids unsigned [tokens], offsets int64 [documents + 1], mask bool [tokens] or ``None``.
        """
        with (
            storage.atomic_write(self.files[0]) as stream,
            pyarrow.parquet.ParquetWriter(stream, self._schema, compression="zstd") as writer,
        ):
            for names, ids, offsets, mask in batches:
                bounds = pa.array(offsets.astype(np.int32))
                columns = [
                    pa.array(names, pa.string()),
                    pa.ListArray.from_arrays(bounds, pa.array(ids.astype(np.int32))),
                ]
                if mask is not None:
                    columns.append(pa.ListArray.from_arrays(bounds, pa.array(mask.astype(np.int8))))
                writer.write_batch(pa.record_batch(columns, schema=self._schema))


@contextlib.contextmanager
def _honest(url: str) -> Iterator[None]:
    """Say of a file that it is damaged, whatever Arrow makes of it."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        raise damaged(
            url, "the file is truncated or damaged", value=str(error).split("\n")[0][:200]
        ) from None

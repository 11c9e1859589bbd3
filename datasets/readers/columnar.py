"""Rows of Parquet files, of Arrow IPC files and of Arrow IPC streams, a batch at a time.

Source: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import IO, Any

from tootsie.datasets.errors import InputError
from tootsie.datasets.readers.record import Limits, Record

ROWS = 256
"""Most rows that are turned into Python objects at a time."""


def read_parquet(
    stream: IO[bytes], name: str, limits: Limits, columns: Sequence[str] | None = None
) -> Iterator[Record]:
    """Yield the rows of a Parquet file (seekable).

    Args:
      stream: the file.
      name: its name, for messages.
      limits: what it may cost.
      columns: the columns to read, all by default.

    Raises:
      InputError: it is truncated, damaged, or a row group is over the limit.
    """
    import pyarrow.parquet

    with _honest(name):
        file = pyarrow.parquet.ParquetFile(_Bounded(stream, name, limits), pre_buffer=False)
        metadata = file.metadata
        number = 0
        for group in range(metadata.num_row_groups):
            summary = metadata.row_group(group)
            rows, unpacked = summary.num_rows, summary.total_byte_size
            if rows and unpacked // rows > limits.record_bytes:
                raise InputError(
                    f"row group {group} announces {unpacked:,} bytes in {rows:,} rows, "
                    f"the limit of a row is {limits.record_bytes:,}",
                    file=name,
                    remedy="Do not trust it, or write it again with smaller values",
                )
            size = max(1, min(ROWS, limits.record_bytes // max(1, unpacked // max(1, rows))))
            seen = 0
            for batch in file.iter_batches(
                batch_size=size,
                row_groups=[group],
                columns=None if columns is None else list(columns),
                use_threads=False,
            ):
                seen += batch.num_rows
                if batch.nbytes > 16 * limits.record_bytes:  # a long value, stored once and repeated
                    raise InputError(
                        f"{batch.num_rows:,} rows of {batch.nbytes:,} bytes",
                        file=name,
                        remedy="Do not trust it, or write it again with smaller values",
                    )
                for fields in batch.to_pylist():
                    yield Record(name, number, fields)
                    number += 1
            if seen != rows:
                raise InputError(f"row group {group} has {seen:,} rows, the footer says {rows:,}", file=name)


def read_arrow_file(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Record]:
    """Yield the rows of an Arrow IPC file (seekable).

    Raises:
      InputError: it is truncated or damaged.
    """
    import pyarrow.ipc

    with _honest(name):
        file = pyarrow.ipc.open_file(_Bounded(stream, name, limits))
        batches = (file.get_batch(index) for index in range(file.num_record_batches))
        yield from _rows(batches, name)


def read_arrow_stream(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Record]:
    """Yield the rows of an Arrow IPC stream.

    Raises:
      InputError: it is truncated or damaged.
    """
    import pyarrow.ipc

    with _honest(name):
        yield from _rows(iter(pyarrow.ipc.open_stream(_Bounded(stream, name, limits))), name)


def _rows(batches: Iterator[Any], name: str) -> Iterator[Record]:
    number = 0
    for batch in batches:
        batch.validate(full=True)  # offsets of an untrusted file may point anywhere
        for start in range(0, batch.num_rows, ROWS):
            for fields in batch.slice(start, ROWS).to_pylist():
                yield Record(name, number, fields)
                number += 1


def count_rows(stream: IO[bytes], name: str, tokens_column: str | None = None) -> tuple[int, int]:
    """Return the rows of an Arrow IPC file (seekable), and how many items its column of lists has in all.

    Raises:
      InputError: it is truncated or damaged.
    """
    import pyarrow.compute
    import pyarrow.ipc

    rows = items = 0
    with _honest(name):
        file = pyarrow.ipc.open_file(stream)
        for index in range(file.num_record_batches):
            batch = file.get_batch(index)
            batch.validate(full=True)
            rows += batch.num_rows
            if tokens_column is not None:
                items += (
                    pyarrow.compute.sum(pyarrow.compute.list_value_length(batch[tokens_column])).as_py() or 0
                )
    return rows, items


def count_parquet(stream: IO[bytes], name: str) -> int:
    """Return the rows of a Parquet file (seekable), as its footer says.

    Raises:
      InputError: it is truncated or damaged.
    """
    import pyarrow.parquet

    with _honest(name):
        return int(pyarrow.parquet.ParquetFile(stream, pre_buffer=False).metadata.num_rows)


class _Bounded(io.RawIOBase):
    """A stream of which no single read, whose length the file itself states, is larger than memory allows."""

    def __init__(self, stream: IO[bytes], name: str, limits: Limits) -> None:
        self._stream = stream
        self._name = name
        self._limit = 16 * limits.record_bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def read(self, size: int = -1) -> bytes:
        if size > self._limit:
            raise InputError(
                f"a block of {size:,} bytes, the limit is {self._limit:,}",
                file=self._name,
                remedy="Do not trust it, or write it again in smaller batches",
            )
        return self._stream.read(size)


@contextlib.contextmanager
def _honest(name: str) -> Iterator[None]:
    """Say of a file that it is damaged, whatever Arrow makes of it."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, MemoryError, UnicodeDecodeError) as error:
        raise InputError(
            "the file is truncated or damaged",
            file=name,
            value=str(error).split("\n")[0][:200],
            remedy="Fetch it again and compare its checksum",
        ) from None

"""OLMo's and dolma's token files: ``NAME.npy``, ids one after another without any header, and ``NAME.csv.gz``, a line a document.

A line has the first token and the end of a document (exclusive), and from dolma also its id, the file it came from and the
line there. The width of the ids stands nowhere: it must be known.

Source: dolma, ``tokenizer/memmap_writer.py``; OLMo-core, "Data loading".
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.tokenize.exchange.token_file import TokenDocument, TokenFile, damaged, located
from tootsie.tokenize.identity import dtype_of

CHUNK = 2**20
"""Tokens looked through at a time for the end of a document."""
FIELD_BYTES = 2**20
"""Longest field of a line."""


def find_olmo(inputs: Sequence[str], dtype: str, split_at: int | None) -> list[OlmoFile]:
    """Return the files at paths, globs, brace ranges and folders.

    Args:
      inputs: where they are.
      dtype: ``uint16`` or ``uint32``.
      split_at: the EOS that ends documents in files without a ``.csv.gz``; ``None``: such a file is an error.

    Raises:
      InputError: there is none, or it has no document boundaries.
    """
    return [OlmoFile(url, dtype, split_at) for url in located(inputs, (".npy",))]


class OlmoFile(TokenFile):
    """One file of ids; see :func:`find_olmo`."""

    def __init__(self, url: str, dtype: str, split_at: int | None) -> None:
        self.url = url
        self.dtype = np.dtype(dtype).newbyteorder("<")
        table = url.removesuffix(".npy") + ".csv.gz"
        self._table = table if storage.exists(table) else None
        self._split_at = split_at
        self.files = (url, table) if self._table else (url,)
        if self._table is None and split_at is None:
            raise InputError(
                "no table of documents beside it",
                file=table,
                remedy="Copy it too, or say that EOS ends the documents: --split-at-eos",
            )
        with storage.open_binary(url) as stream:
            if stream.read(6) == b"\x93NUMPY":
                raise InputError(
                    "a NumPy file with a header; OLMo's have none",
                    file=url,
                    remedy="Write its data alone: numpy.load(...).tofile(...)",
                )
        size = storage.size(url)
        if size % self.dtype.itemsize:
            raise damaged(url, f"its {size:,} bytes are no whole number of {dtype} ids", "--dtype", dtype)
        self._tokens = size // self.dtype.itemsize

    def documents(self, first: int = 0, stop: int | None = None) -> Iterator[TokenDocument]:
        """Yield documents as the table says, or up to each EOS."""
        if self._table is None:
            yield from self._split(first, stop)
            return
        at = row = 0
        with storage.open_binary(self.url) as stream:
            for row, (start, end, name) in enumerate(self._lines(self._table), start=1):
                if start != at or end < start or end > self._tokens:
                    raise damaged(
                        self._table,
                        f"documents must follow one another within {self._tokens:,} tokens (the last ended at {at:,})",
                        f"row {row - 1}",
                        (start, end),
                    )
                at = end
                if row - 1 < first:
                    continue
                if stop is not None and row > stop:
                    return
                yield TokenDocument(name, self._read(stream, start, end), None)
        if at != self._tokens:
            raise damaged(
                self._table,
                f"the documents end at token {at:,}, the file has {self._tokens:,} of {self.dtype.name}",
                f"row {row - 1}",
                at,
            )

    def _lines(self, url: str) -> Iterator[tuple[int, int, str | None]]:
        with storage.open_decompressed(url) as stream, io.TextIOWrapper(stream, "utf-8", newline="") as text:
            number = 0
            try:
                for line in csv.reader(_bounded(text, url)):
                    start, end = int(line[0]), int(line[1])
                    yield start, end, (line[2] if len(line) > 2 and line[2] else None)
                    number += 1
            except (ValueError, IndexError, csv.Error) as error:
                raise damaged(
                    url, "not a line of start, end and id", f"row {number}", str(error)[:100]
                ) from None

    def _split(self, first: int, stop: int | None) -> Iterator[TokenDocument]:
        row = 0
        held: list[np.ndarray] = []
        with storage.open_binary(self.url) as stream:
            for start in range(0, self._tokens, CHUNK):
                ids = self._read(stream, start, min(start + CHUNK, self._tokens))
                at = 0
                for end in (np.flatnonzero(ids == self._split_at) + 1).tolist():
                    if row >= first:
                        yield TokenDocument(None, np.concatenate([*held, ids[at:end]]), None)
                    held, at = [], end
                    row += 1
                    if stop is not None and row >= stop:
                        return
                if at < len(ids):
                    held.append(ids[at:])
        if held and row >= first:
            yield TokenDocument(None, np.concatenate(held), None)

    def _read(self, stream: IO[bytes], start: int, end: int) -> np.ndarray:
        size, position = (end - start) * self.dtype.itemsize, start * self.dtype.itemsize
        if stream.tell() != position:
            stream.seek(position)
        content = stream.read(size)
        if len(content) != size:
            raise damaged(
                self.url, "the file ends early", f"token {start + len(content) // self.dtype.itemsize}"
            )
        return np.frombuffer(content, self.dtype)


class OlmoWriter:
    """Writes ids and the table of documents, columns as dolma's: start, end, id, source, place there.

    Args:
      prefix: the path without ``.npy``.
      vocabulary_size: decides the width where none is given.
      dtype: the width.
      source: what stands in the fourth column.

    Raises:
      SpecError: the ids do not fit the width.
    """

    def __init__(self, prefix: str, vocabulary_size: int, dtype: str | None, source: str) -> None:
        dtype = dtype or dtype_of(vocabulary_size)
        if vocabulary_size > np.iinfo(dtype).max + 1:
            raise SpecError(
                f"ids of a vocabulary of {vocabulary_size:,} do not fit",
                field="--dtype",
                value=dtype,
                remedy="Use --dtype uint32, and say so to OLMo",
            )
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.files = (prefix + ".npy", prefix + ".csv.gz")
        self._source = source

    def write(self, batches: Iterator[tuple[list[str], np.ndarray, np.ndarray]]) -> None:
        """Write all documents.

        Args:
          batches: document ids, ids unsigned [tokens], offsets int64 [documents + 1].
        """
        start = row = 0
        with (
            storage.atomic_write(self.files[0]) as stream,
            storage.atomic_write(self.files[1]) as packed,
            gzip.GzipFile("", "wb", 6, packed, mtime=0) as table,
            io.TextIOWrapper(table, "utf-8", newline="") as text,
        ):
            lines = csv.writer(text, lineterminator="\n")
            for names, ids, offsets in batches:
                stream.write(ids.astype(self.dtype).tobytes())
                bounds = (offsets + start).tolist()
                for name, low, high in zip(names, bounds[:-1], bounds[1:], strict=True):
                    lines.writerow((low, high, name, self._source, row))
                    row += 1
                start = bounds[-1]


def _bounded(text: io.TextIOWrapper, url: str) -> Iterator[str]:
    """Yield lines, none longer than memory allows."""
    while line := text.readline(FIELD_BYTES):
        if len(line) == FIELD_BYTES:
            raise damaged(url, f"a line of more than {FIELD_BYTES:,} characters")
        yield line

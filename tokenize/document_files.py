"""Files of documents: JSON lines, compressed or not, and Parquet; counted once, then read slice by slice, in order.

A line is a JSON object with the strings ``id`` and ``text`` (Dolma's format); in Parquet those are columns. Blank lines count for
nothing. Text is taken in blocks of whole lines, so that lines which are not wanted are counted, not cut out, and memory is
that of one block or of one line, whichever is longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.compression import by_name
from tootsie.datasets.document import CLUSTER
from tootsie.datasets.errors import InputError, shorten
from tootsie.datasets.json_text import parse_json
from tootsie.datasets.readers.columnar import read_parquet
from tootsie.datasets.readers.record import LIMITS
from tootsie.tokenize.identity import without_surrogates

SUFFIXES = (".jsonl", ".json", ".ndjson")
"""Names of document files, before the suffix of a compression."""
PARQUET = ".parquet"
"""Name of a Parquet file."""
MAX_URL = 8192
"""Characters of a URL; a longer one is left out."""
BLOCK_BYTES = 2**20
"""Bytes read at a time."""
_LINE_FEED, _BRACE = b"\n{"


@dataclass(frozen=True)
class DocumentFile:
    """One file of documents, checked."""

    url: str
    """Where it lies."""
    documents: int
    """Lines, or rows."""
    weight: int
    """About the bytes of text in it: what shards are balanced by."""
    state: str = field(default="", compare=False)
    """What the file system said before it was read (:func:`tootsie.datasets.storage.state`); empty: not known."""


class TextRecord(NamedTuple):
    """One document to tokenize."""

    id: str
    text: str
    surrogates: int
    """Lone surrogates that were replaced in it."""
    url: str | None = None
    """Where it comes from, if the record says so: ``metadata.url``, or else ``url``."""
    cluster: str | None = None
    """What it shares with its near-duplicates, if the record says so; see :data:`tootsie.datasets.document.CLUSTER`."""


class _Record(BaseModel):
    """What tokenizing needs of a document; other fields are left alone."""

    id: str = Field(min_length=1)
    text: str
    metadata: Any = None
    url: Any = None

    def where(self) -> str | None:
        """Return its URL, if there is one."""
        metadata = self.metadata
        found = metadata.get("url") or self.url if isinstance(metadata, dict) else self.url
        return found if isinstance(found, str) and 0 < len(found) <= MAX_URL else None

    def cluster(self) -> str | None:
        """Return the cluster of near-duplicates that it is in, if there is one."""
        found = self.metadata.get(CLUSTER) if isinstance(self.metadata, dict) else None
        return found if isinstance(found, str) and found else None


class _Block(NamedTuple):
    """Whole lines of a file."""

    content: bytes
    """Ends with a line feed, but for the last block of a file whose last line has none."""
    lines: int
    """Lines that are not blank."""
    plain: bool
    """Whether each line begins with ``{`` and ends with a bare line feed: none is blank then."""

    def listed(self) -> list[bytes]:
        """Return the lines that are not blank, without their end."""
        lines = self.content.split(b"\n")
        if self.plain:
            del lines[self.lines :]
            return lines
        return [line.rstrip(b"\r") for line in lines if line.strip()]

    @property
    def weight(self) -> int:
        """Bytes of the lines without their ends."""
        if self.plain:
            return len(self.content) - self.lines + (not self.content.endswith(b"\n"))
        return sum(map(len, self.listed()))


def is_document_file(url: str) -> bool:
    """Return whether the name is that of a file this module reads."""
    return url.endswith(PARQUET) or by_name(url)[1].endswith(SUFFIXES)


def survey(url: str) -> DocumentFile:
    """Read a file once and return what is in it; of Parquet, only the footer.

    Raises:
      InputError: it is damaged, or a line is too long.
    """
    if url.endswith(PARQUET):
        return _survey_parquet(url)
    documents = weight = 0
    for block in _blocks(url):
        documents += block.lines
        weight += block.weight
    return DocumentFile(url, documents, weight)


class RecordReader:
    """Reads slices of files; a slice that goes on where an earlier one of the same file ended is not read from the start."""

    def __init__(self) -> None:
        self._url = ""
        self._file: _LineFile | _ParquetFile | None = None

    def read(self, url: str, first: int, stop: int) -> Iterator[TextRecord]:
        """Yield the documents ``[first, stop)`` of a file.

        A lone surrogate, which JSON can spell but UTF-8 cannot hold, becomes U+FFFD.

        Raises:
          InputError: the file is damaged, ends early, or a record is not a document.
        """
        if self._file is None or url != self._url or first < self._file.number:
            self._url = url
            self._file = _ParquetFile(url) if url.endswith(PARQUET) else _LineFile(url)
        file = self._file
        file.skip(first - file.number)
        while file.number < stop:
            record = file.next()
            if record is None:
                raise InputError(
                    f"the file ends after {file.number:,} of {stop:,} documents",
                    file=url,
                    remedy="Was it changed meanwhile? Run again",
                )
            yield record


class _LineFile:
    """The lines of one file, from the start."""

    def __init__(self, url: str) -> None:
        self.number = 0
        """Documents skipped or read so far."""
        self._url = url
        self._blocks = _blocks(url)
        self._lines: Iterator[bytes] = iter(())

    def skip(self, count: int) -> None:
        """Pass over documents, as far as there are any."""
        while count and next(self._lines, None) is not None:
            count -= 1
            self.number += 1
        while count and (block := next(self._blocks, None)) is not None:
            passed = min(count, block.lines)
            self.number += passed
            count -= passed
            if not count:
                self._lines = iter(block.listed()[passed:])

    def next(self) -> TextRecord | None:
        """Return the next document, ``None`` at the end."""
        line = next(self._lines, None)
        while line is None:
            block = next(self._blocks, None)
            if block is None:
                return None
            self._lines = iter(block.listed())
            line = next(self._lines, None)
        self.number += 1
        return parse_record(line, self._url, self.number - 1)


class _ParquetFile:
    """The rows of one Parquet file, from the start."""

    def __init__(self, url: str) -> None:
        self.number = 0
        """Documents skipped or read so far."""
        self._url = url
        self._rows = _rows(url)

    def skip(self, count: int) -> None:
        """Pass over documents, as far as there are any."""
        while count and next(self._rows, None) is not None:
            count -= 1
            self.number += 1

    def next(self) -> TextRecord | None:
        """Return the next document, ``None`` at the end."""
        fields = next(self._rows, None)
        if fields is None:
            return None
        self.number += 1
        try:
            record = _Record.model_validate(fields)
        except ValidationError as error:
            raise _not_a_document(error, self._url, self.number - 1) from None
        return TextRecord(record.id, record.text, 0, record.where(), record.cluster())


def parse_record(line: bytes, url: str, number: int) -> TextRecord:
    """Parse one line.

    Args:
      line: one JSON object with the strings ``id`` and ``text``.
      url: its file, for the error message.
      number: zero-based number of the document within the file, likewise.

    Raises:
      InputError: it is not a document.
    """
    try:
        record = _Record.model_validate_json(line)
        return TextRecord(record.id, record.text, 0, record.where(), record.cluster())
    except ValidationError as error:
        mended = _spelling_surrogates(line)
        if mended is not None:
            return mended
        raise _not_a_document(error, url, number) from None


def _not_a_document(error: ValidationError, url: str, number: int) -> InputError:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    shape = (
        "Each row must have the string columns id and text"
        if url.endswith(PARQUET)
        else "Each line must be a JSON object with the strings id and text"
    )
    return InputError(
        f"the record is not a document: {first['msg'][:1].lower()}{first['msg'][1:]}",
        file=url,
        field=f"record {number}" + (f", {field}" if field else ""),
        value=_shown(first["input"]),
        remedy=shape,
    )


def _spelling_surrogates(line: bytes) -> TextRecord | None:
    """Parse a line whose only fault is that it spells lone surrogates (``\\ud800``), in whatever field; else ``None``."""
    if b"\\u" not in line:
        return None
    try:
        value = parse_json(line)
        (name, in_name), (text, in_text) = without_surrogates(value["id"]), without_surrogates(value["text"])
        record = _Record(id=name, text=text, metadata=value.get("metadata"), url=value.get("url"))
        where, cluster = record.where(), record.cluster()
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return TextRecord(
        record.id,
        record.text,
        in_name + in_text,
        None if where is None else without_surrogates(where)[0],
        None if cluster is None else without_surrogates(cluster)[0],
    )


def _shown(value: object) -> str:
    """Return the faulty part of a record, or its whole line, for a message."""
    return shorten(value[:400].decode(errors="replace") if isinstance(value, bytes) else str(value), 80)


def _blocks(url: str) -> Iterator[_Block]:
    """Yield a file as blocks of whole lines.

    Raises:
      InputError: a line is longer than :data:`tootsie.datasets.storage.MAX_LINE_BYTES`, or the file is damaged.
    """
    with storage.open_decompressed(url) as stream:
        number = 0
        begun: list[bytes] = []
        length = 0
        while chunk := stream.read(BLOCK_BYTES):
            end = chunk.rfind(b"\n") + 1
            if end:
                block = _block(b"".join((*begun, chunk[:end])))
                number += block.lines
                yield block
                begun, length = [], 0
            begun.append(chunk[end:])
            length += len(chunk) - end
            if length > storage.MAX_LINE_BYTES:
                raise InputError(
                    f"the line is longer than {storage.MAX_LINE_BYTES:,} bytes",
                    file=f"{url}:{number + 1}",
                    remedy="Split the record",
                )
        if length:
            yield _block(b"".join(begun))


def _block(content: bytes) -> _Block:
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == _LINE_FEED)
    lines = len(ends) + (not content.endswith(b"\n"))
    starts = np.frombuffer(content, np.uint8)[ends[: lines - 1] + 1]
    plain = content.startswith(b"{") and b"\r" not in content and bool((starts == _BRACE).all())
    if not plain:
        lines = sum(1 for line in content.split(b"\n") if line.strip())
    return _Block(content, lines, plain)


def _survey_parquet(url: str) -> DocumentFile:
    import pyarrow
    import pyarrow.parquet

    try:
        with storage.open_binary(url) as stream:
            metadata = pyarrow.parquet.ParquetFile(stream, pre_buffer=False).metadata
            names = metadata.schema.to_arrow_schema().names
            text = 0
            for group in range(metadata.num_row_groups):
                columns = metadata.row_group(group)
                for index in range(columns.num_columns):
                    column = columns.column(index)
                    if column.path_in_schema == "text":
                        text += column.total_uncompressed_size
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InputError(
            "the file is truncated or damaged",
            file=url,
            value=str(error).split("\n")[0][:200],
            remedy="Fetch it again and compare its checksum",
        ) from None
    missing = next((name for name in ("id", "text") if name not in names), None)
    if missing is not None:
        raise InputError(
            f"the file has no column {missing}",
            file=url,
            value=", ".join(names)[:200],
            remedy="The string columns id and text are needed; rename them, or make a corpus of it first",
        )
    return DocumentFile(url, metadata.num_rows, text + metadata.num_rows)


def _rows(url: str) -> Iterator[dict[str, Any]]:
    """Yield the columns ``id`` and ``text`` of each row, and its URL and cluster where there is one."""
    with storage.open_binary(url) as stream:
        columns = ("id", "text", "url", "metadata.url", f"metadata.{CLUSTER}")
        for record in read_parquet(stream, url, LIMITS, columns=columns):
            yield record.fields

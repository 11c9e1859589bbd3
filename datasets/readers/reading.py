"""Records of any known file on any file system: ``read_records(URL)``. Archives and compressions may hold one another."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from tootsie.datasets import compression, storage
from tootsie.datasets.compression import RATIO_FREE, Compression, decompressed
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError, shorten
from tootsie.datasets.readers import columnar, json_records, warc, xml_rows
from tootsie.datasets.readers.archives import MEMBERS
from tootsie.datasets.readers.formats import ARCHIVES, HEAD, NEEDS_SEEK, Format, by_name, detect, long_name
from tootsie.datasets.readers.record import LIMITS, Limits, Record, to_document

UNKNOWN_SIZE = 2**34
"""Bytes that a file is taken to have where its server does not say; only the limit on what it unpacks to follows from it."""
READERS = {
    Format.JSONL: json_records.read_lines,
    Format.JSON: json_records.read_values,
    Format.PARQUET: columnar.read_parquet,
    Format.ARROW_FILE: columnar.read_arrow_file,
    Format.ARROW_STREAM: columnar.read_arrow_stream,
    Format.WARC: warc.read_warc,
    Format.XML: xml_rows.read_rows,
}
"""Every reader takes a stream, its name for messages, and the limits."""


def read_records(url: str, limits: Limits = LIMITS) -> Iterator[Record]:
    """Yield the records of one file, in order, in bounded memory.

    The format is found by content and name: JSON lines, JSON, Parquet, Arrow, WARC, XML rows; tar, ZIP and 7z of these; each
    also compressed (gzip, Zstandard, bzip2, xz). A member of an archive that is none of them is one record with ``path`` and
    ``text`` (``content``, bytes, where it is no UTF-8).

    Raises:
      InputError: no such file, of no known format, truncated, damaged, or over a limit.
      SpecError: its file system needs a package that is not installed; the message names it.
    """
    with storage.open_binary(url) as raw:
        yield from _records(raw, url, _Visit(limits, _size(url)), 0, None)


def read_documents(
    url: str, text_key: str, source: str, id_key: str | None = None, limits: Limits = LIMITS
) -> Iterator[Document]:
    """Yield the records of one file as documents.

    Args:
      url: the file.
      text_key: key or dotted path of the text.
      source: name of the corpus.
      id_key: key or dotted path of the identity; without it the file and the number of the record.
      limits: what the file may cost.

    Raises:
      InputError: see :func:`read_records` and :func:`tootsie.datasets.readers.record.to_document`.
    """
    for record in read_records(url, limits):
        yield to_document(record, text_key, source, id_key)


def _size(url: str) -> int:
    """Return the bytes of a file as stored; of one whose server does not say, what is taken for the most there can be."""
    filesystem, path = storage.url_to_fs(url)
    size = filesystem.size(path)
    return size if isinstance(size, int) else UNKNOWN_SIZE


class _Visit:
    """One file being read, with all that is within it."""

    def __init__(self, limits: Limits, stored: int) -> None:
        self.limits = limits
        self._most = max(RATIO_FREE, limits.ratio * stored)
        self._stored = stored
        self._unpacked = 0

    def unpacked(self, count: int, name: str) -> None:
        """Count bytes that came out of a compression or an archive.

        Raises:
          InputError: they are more than data would give.
        """
        self._unpacked += count
        if self._unpacked > self._most:
            raise InputError(
                f"{self._stored:,} bytes that unpack to more than {self._unpacked:,} are no data",
                file=name,
                remedy="Fetch it again, or do not trust it",
            )


def _records(raw: IO[bytes], name: str, visit: _Visit, depth: int, member: str | None) -> Iterator[Record]:
    """Yield the records of a stream that is not yet decompressed; ``member`` is its name in an archive."""
    if depth > visit.limits.depth:
        raise InputError(
            f"archives and compressions within one another, more than {visit.limits.depth} deep",
            file=name,
            remedy="Unpack it first",
        )
    kind, plain = compression.by_name(long_name(name))
    head, stream = _headed(raw, name, visit if member is not None else None)
    found = compression.by_content(head)
    if kind is not Compression.NONE and found is not kind:
        raise InputError(
            f"by its name this is {kind.value}, its content is {found.value if found.value != 'none' else 'not'}",
            file=name,
            value=shorten(head[:40].decode("latin-1"), 80) if head else "an empty file",
            remedy="Fetch it again (a page of an error may have been stored), or rename it",
        )
    if found is not Compression.NONE and (kind is found or by_name(plain) is None):
        with decompressed(stream, found, name) as content:
            yield from _plain(content, name, plain, visit, depth, member, packed=True)
        return
    yield from _plain(stream, name, plain, visit, depth, member, packed=False)


def _plain(
    raw: IO[bytes], name: str, plain: str, visit: _Visit, depth: int, member: str | None, *, packed: bool
) -> Iterator[Record]:
    """Yield the records of a stream that is decompressed, unless it is so twice."""
    limits = visit.limits
    head, content = _headed(raw, name, visit if packed else None)
    if compression.by_content(head) is not Compression.NONE and by_name(plain) is None:
        yield from _records(content, plain, visit, depth + 1, member)
        return
    try:
        form = detect(head, plain)
    except InputError as error:
        raise InputError(
            error.problem, file=name, field=error.field, value=error.value, remedy=error.remedy
        ) from None
    if form is Format.OTHER:
        if member is None:
            raise InputError(
                "a format that is not known",
                file=name,
                value=shorten(head[:40].decode("latin-1"), 80) if head else "an empty file",
                remedy="Known are jsonl, json, parquet, arrow, warc, xml, tar, zip and 7z, also compressed",
            )
        yield _whole_file(content, name, member, limits)
        return
    with contextlib.ExitStack() as stack:
        source: IO[bytes] = content
        if form in NEEDS_SEEK and not content.seekable():
            source = stack.enter_context(_spooled(content, name, limits))
        if form not in ARCHIVES:
            yield from READERS[form](source, name, limits)
            return
        for inner, inside in MEMBERS[form.value](source, name, limits):
            yield from _records(inside, f"{name}/{inner}", visit, depth + 1, inner)


def _headed(raw: IO[bytes], name: str, visit: _Visit | None) -> tuple[bytes, io.BufferedReader]:
    """Return the first bytes of a stream, and the stream from its beginning, counted where ``visit`` is given."""
    head = b""
    while len(head) < HEAD and (chunk := raw.read(HEAD - len(head))):
        head += chunk
    # What streams over HTTP says that it can seek and then cannot.
    with contextlib.suppress(OSError, ValueError):
        if raw.seekable():
            raw.seek(0)
            within = _Raw(b"", raw, name, visit)
            return head, raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(within, 2**17)
    return head, io.BufferedReader(_Raw(head, raw, name, visit), 2**17)


class _Raw(io.RawIOBase):
    """What was read of a stream already, and the rest of it; whatever a file system or archive gave that reads."""

    def __init__(self, head: bytes, stream: Any, name: str, visit: _Visit | None) -> None:
        self._head = head
        self._forward = bool(head)
        self._stream = stream
        self._name = name
        self._visit = visit

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return not self._forward and bool(self._stream.seekable())

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        chunk, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        chunk = chunk or self._stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        if self._visit is not None:
            self._visit.unpacked(len(chunk), self._name)
        return len(chunk)


def _whole_file(stream: IO[bytes], name: str, member: str, limits: Limits) -> Record:
    content = stream.read(limits.record_bytes + 1)
    if len(content) > limits.record_bytes:
        raise InputError(f"a member of more than {limits.record_bytes:,} bytes", file=name)
    try:
        return Record(name, 0, {"path": member, "text": content.decode()})
    except UnicodeDecodeError:
        return Record(name, 0, {"path": member, "content": content})


@contextlib.contextmanager
def _spooled(stream: IO[bytes], name: str, limits: Limits) -> Iterator[IO[bytes]]:
    """Copy a stream to a nameless temporary file, which the system takes back however the process ends."""
    with tempfile.TemporaryFile(prefix="tootsie-read-") as file:
        size = 0
        while chunk := stream.read(2**20):
            size += len(chunk)
            if size > limits.spooled_bytes:
                raise InputError(
                    f"a member of more than {limits.spooled_bytes:,} bytes that must be read from its end",
                    file=name,
                    remedy="Unpack the archive first",
                )
            file.write(chunk)
        file.seek(0)
        yield file

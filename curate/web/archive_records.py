"""The records of crawls: WARC, WET and WAT (ISO 28500) and ARC (Internet Archive, 1996), compressed or not.

What is damaged is a record of its own kind, and reading goes on behind it wherever the next record can be found: in a crawl of
thousands of files some are cut off. Source of ARC: https://archive.org/web/researcher/ArcFileFormat.php
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from tootsie.curate.web.gzip_members import GzipMembers
from tootsie.datasets import compression, storage
from tootsie.datasets.compression import Compression
from tootsie.datasets.errors import InputError
from tootsie.datasets.readers import warc

MAX_RATIO = 2000
"""Unpacked over stored bytes, beyond 256 MiB."""
MAX_LINE = 2**16
"""Bytes of the first line of a record."""
MAX_SEARCH = 2**30
"""Bytes behind a damaged record in which the next one is looked for."""
MAX_FAULTS = 10_000
"""Damaged places of a compressed file that are passed over on the way to the next record."""
_VERSION = re.compile(rb"WARC/\d+\.\d+\s*\Z")
_ARC_LINE = re.compile(rb"(\S+) (\S+) (\d{8,17}) (\S*)(?: .*)? (\d{1,15})\s*\Z")
_STEP = 2**20


@dataclass(frozen=True)
class ArchiveRecord:
    """One record of a crawl."""

    number: int
    """Zero-based, within the file."""
    kind: str
    """``WARC-Type``; ``response`` or ``filedesc`` of ARC; ``damaged``."""
    headers: dict[str, str] = field(default_factory=dict)
    """Named fields in lower case: ``warc-target-uri``, ``warc-date`` … of ARC too."""
    size: int = 0
    """Bytes of the block."""
    block: bytes | None = b""
    """As stored, HTTP header included; ``None`` where it is over the limit."""
    problem: str = ""
    """What is wrong with a damaged one."""


@dataclass(frozen=True)
class Payload:
    """What a server answered."""

    status: int | None
    http: dict[str, str]
    content: bytes | None
    """Without transfer and content coding; ``None`` where it is over the limit."""
    problem: str = ""
    """Why it cannot be read."""
    cut: bool = False
    """Whether its transfer or content coding ends before its end."""


def read_archive(url: str, limit: int) -> Iterator[ArchiveRecord]:
    """Yield the records of one file, in order, one in memory at a time.

    Args:
      url: the file.
      limit: bytes of a block beyond which it is passed over.

    Raises:
      InputError: the file is of another kind.
    """
    with storage.open_binary(url) as raw:
        head = raw.read(8)
        raw.seek(0)
        kind = compression.by_content(head)
        if kind is Compression.NONE:
            buffered = io.BufferedReader(raw) if isinstance(raw, io.RawIOBase) else raw
            yield from _records(CrawlStream(buffered), url, limit)
            return
        if kind is Compression.GZIP:
            members = GzipMembers(raw, MAX_RATIO)
            stream = CrawlStream(io.BufferedReader(members, 2**17), members.content_begins)
            yield from _records(stream, url, limit)
            return
        with compression.decompressed(raw, kind, url, MAX_RATIO) as unpacked:
            yield from _records(CrawlStream(unpacked), url, limit)


class CrawlStream:
    """The content of a crawl file; of gzip, it knows where members begin.

    Most crawls have one member for each record. A member that begins with another record, before the present one is to end by its
    ``Content-Length``, proves that length wrong; without that, the records up to there would be taken for a part of its page.
    """

    def __init__(self, stream: IO[bytes], begins: list[int] | None = None) -> None:
        """Read from a stream.

        Args:
          stream: the content.
          begins: where the content of each member begins; whoever reads the stream adds to it.
        """
        self._stream = stream
        self._begins = [] if begins is None else begins
        self._at = 0
        self._back = b""

    def readline(self, limit: int) -> bytes:
        """Return a line, or so many bytes of it."""
        if not self._back:
            line = self._stream.readline(limit)
        else:
            end = self._back.find(b"\n") + 1 or len(self._back)
            line, self._back = self._back[: min(end, limit)], self._back[min(end, limit) :]
            if not line.endswith(b"\n") and len(line) < limit:
                line += self._stream.readline(limit - len(line))
        self._at += len(line)
        return line

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer only at the end."""
        content, self._back = self._back[:size], self._back[size:]
        if len(content) < size:
            content += self._stream.read(size - len(content))
        self._at += len(content)
        return content

    def record_within(self, content: bytes) -> int:
        """Return where in what was read last a member begins with a record, -1 if none does."""
        first = self._at - len(content)
        while self._begins and self._begins[0] < self._at:
            place = self._begins[0] - first
            if place >= 0 and content.startswith(b"WARC/", place):
                return place
            del self._begins[0]
        return -1

    def give_back(self, content: bytes) -> None:
        """Have what was read last read again."""
        self._back = content + self._back
        self._at -= len(content)


def _records(stream: CrawlStream, url: str, limit: int) -> Iterator[ArchiveRecord]:
    number = 0
    line = b""
    while True:
        try:
            line = line or _next_line(stream)
            if not line:
                return
            if number == 0 and not _VERSION.match(line) and not line.startswith(b"filedesc:"):
                raise InputError(
                    "neither WARC nor ARC",
                    file=url,
                    value=line[:40].decode("latin-1"),
                    remedy="A record begins with its version, such as WARC/1.0; an ARC file with filedesc:",
                )
            record, line = _record(stream, line, url, number, limit)
        except InputError as error:
            if number == 0 and error.problem == "neither WARC nor ARC":
                raise
            yield ArchiveRecord(number, "damaged", problem=str(error.problem))
            number += 1
            line = _resync(stream)
            if not line:
                return
            continue
        yield record
        number += 1


def _record(
    stream: CrawlStream, line: bytes, url: str, number: int, limit: int
) -> tuple[ArchiveRecord, bytes]:
    """Return the record that begins with a line; and the next line, where that had to be read."""
    where = f"record {number}"
    if _VERSION.match(line):
        headers = warc.read_headers(stream, url, where)
        stated = headers.get("content-length", "")
        if not re.fullmatch(r"\d{1,18}", stated):
            raise InputError("no length")
        size = int(stated)
        kind = headers.get("warc-type", "").lower() or "unknown"
    elif match := _ARC_LINE.match(line):
        target, address, date, content_type, length = match.groups()
        headers = {
            "warc-target-uri": target.decode("utf-8", "replace"),
            "warc-ip-address": address.decode("utf-8", "replace"),
            "warc-date": date.decode(),
            "content-type": content_type.decode("utf-8", "replace"),
        }
        size, kind = int(length), "filedesc" if target.startswith(b"filedesc:") else "response"
    else:
        raise InputError("no record begins here: the one before has a wrong length, or bytes are missing")
    block = _block(stream, size, limit)
    return ArchiveRecord(number, kind, headers, size, block), b""


def _next_line(stream: CrawlStream) -> bytes:
    line = stream.readline(MAX_LINE)
    while line in (b"\r\n", b"\n"):
        line = stream.readline(MAX_LINE)
    return line


def _resync(stream: CrawlStream) -> bytes:
    """Return the first line of the next record, nothing where there is none."""
    passed = faults = 0
    while passed < MAX_SEARCH and faults < MAX_FAULTS:
        try:
            line = stream.readline(MAX_LINE)
        except InputError:  # of the compression: it goes on behind that, or is at its end
            faults += 1
            continue
        if not line or _VERSION.match(line) or _ARC_LINE.match(line):
            return line
        passed += len(line)
    return b""


def _block(stream: CrawlStream, size: int, limit: int) -> bytes | None:
    """Return the block; pass over it and return ``None`` where it is over the limit."""
    parts: list[bytes] = []
    left = size
    while left:
        chunk = stream.read(min(left, _STEP))
        if not chunk:
            raise InputError(f"the file ends {left:,} bytes before the end of a record of {size:,}")
        if (place := stream.record_within(chunk)) >= 0:
            stream.give_back(chunk[place:])
            raise InputError(f"another begins {left - place:,} bytes before the end of a record of {size:,}")
        left -= len(chunk)
        if size <= limit:
            parts.append(chunk)
    return b"".join(parts) if size <= limit else None


_CODINGS = {"gzip", "x-gzip", "deflate"}
_PACKED = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|\x28\xb5\x2f\xfd")
"""How gzip, zlib and Zstandard begin."""
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""What text begins with that has such bytes (the marks of UTF-32 begin or end with these)."""


def payload_of(record: ArchiveRecord, limit: int) -> Payload:
    """Return what the server answered, of a record with an HTTP response; the block of another as it is."""
    block = record.block
    if block is None or not block.startswith(b"HTTP/"):
        return Payload(None, {}, block)
    head, body = warc.split_http(block)
    first, _, rest = head.partition(b"\n")
    words = first.split(maxsplit=2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else None
    http = warc.parse_headers(rest)
    content, cut = warc.decode_body(body, http, limit)
    codings = {one.strip() for one in http.get("content-encoding", "").lower().split(",")} - {"", "identity"}
    problem = ""
    # Crawlers store bodies decoded under a header that still tells how they came.
    if codings and content is not None and _is_coded(content, known=codings <= _CODINGS):
        problem = f"content coding {', '.join(sorted(codings))}"
    return Payload(status, http, content, problem, cut)


def _is_coded(content: bytes, *, known: bool) -> bool:
    """Return whether a body is still as it was sent: damaged, or in a coding that is not among those that are ``known`` here."""
    if _PACKED.match(content):
        return True
    return not known and not content.startswith(_WIDE) and _NO_TEXT.search(content[:4096]) is not None


def header_metadata(headers: dict[str, str]) -> dict[str, Any]:
    """Return what the header of a record says that a document keeps: ``url``, ``crawled``, ``truncated``."""
    url = headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    found = {
        "url": url,
        "crawled": iso_date(headers.get("warc-date", "")),
        "truncated": headers.get("warc-truncated"),
    }
    return {name: value for name, value in found.items() if value}


def iso_date(date: str) -> str | None:
    """Return a date of WARC or ARC (``20240102030405``) in ISO 8601, ``None`` where it is none."""
    if match := re.fullmatch(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)\d*)?", date):
        year, month, day, hour, minute, second = match.groups(default="00")
        return f"{year}-{month}-{day}T{hour}:{minute}:{second}Z"
    return date if re.fullmatch(r"\d{4}-\d{2}-\d{2}(T[0-9:.]+Z?)?", date) else None

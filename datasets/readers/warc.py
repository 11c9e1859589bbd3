"""Records of WARC files (crawls; WET and WAT too): named fields, HTTP response, payload. Strict about lengths and ends.

Source: ISO 28500:2017, WARC/1.1, https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from typing import IO, Any, Protocol

from tootsie.datasets.errors import InputError, shorten
from tootsie.datasets.readers.record import Limits, Record

MAX_HEADER = 2**20
"""Bytes of the named fields of one record, or of one HTTP header."""
_VERSION = re.compile(rb"WARC/\d+\.\d+\s*\Z")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"\s*(text/|application/(?:json|xml|xhtml|[\w.+-]*\+(?:xml|json)|warc-fields|javascript))"
)
_STEP = 2**20

Headers = dict[str, str]


class Lines(Protocol):
    """What lines are read from."""

    def readline(self, limit: int, /) -> bytes:
        """Return the next line, or so many bytes of it."""
        ...


def read_warc(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Record]:
    """Yield every record, with the fields

    ``type``, ``url``, ``date``, ``id`` and ``warc`` (all named fields, in lower case, repeated ones joined by commas);
    ``status`` and ``http`` (header) of an HTTP response; ``content_type``; ``length`` (bytes of the block); ``content``: the
    payload without the HTTP header, decoded where it is text, else bytes. It is ``None`` where it is over the limit.

    Raises:
      InputError: a record is cut off, has no length, or something else stands between two of them.
    """
    number = 0
    while True:
        line = stream.readline(_STEP)
        while line in (b"\r\n", b"\n"):
            line = stream.readline(_STEP)
        if not line:
            return
        where = f"record {number}"
        if not _VERSION.match(line):
            raise InputError(
                "a WARC record begins with its version, such as WARC/1.0",
                file=name,
                field=where,
                value=shorten(line.decode("utf-8", "replace").strip(), 80),
                remedy="The record before it has a wrong length, or the file is damaged: fetch it again",
            )
        warc = read_headers(stream, name, where)
        stated = warc.get("content-length", "")
        if not re.fullmatch(r"\d{1,18}", stated):
            raise InputError(
                "no length",
                file=name,
                field=f"{where}, Content-Length",
                value=stated,
                remedy="Fetch it again",
            )
        length = int(stated)
        block = _block(stream, length, limits.record_bytes, name, where)
        yield Record(name, number, _fields(warc, length, block, limits.record_bytes))
        number += 1


def read_headers(stream: Lines, name: str, where: str) -> Headers:
    """Return the named fields up to the empty line."""
    content = bytearray()
    while True:
        line = stream.readline(_STEP)
        if not line.endswith(b"\n") or len(content) > MAX_HEADER:
            raise InputError(
                "the header has no end" if line else "the file ends within a header",
                file=name,
                field=where,
                remedy="Fetch it again and compare its checksum",
            )
        if line in (b"\r\n", b"\n"):
            return parse_headers(bytes(content))
        content += line


def parse_headers(content: bytes) -> Headers:
    """Return the header lines of a record or of HTTP; a line that begins with white space continues the one before."""
    found: Headers = {}
    last = ""
    for line in content.decode("utf-8", "replace").splitlines():
        if line[:1] in (" ", "\t") and last:  # a folded line
            found[last] += " " + line.strip()
            continue
        key, colon, value = line.partition(":")
        if not colon:
            continue
        last = key.strip().lower()
        found[last] = f"{found[last]}, {value.strip()}" if last in found else value.strip()
    return found


def _block(stream: IO[bytes], length: int, limit: int, name: str, where: str) -> bytes | None:
    """Return the block; pass over it and return ``None`` where it is over the limit."""
    kept: list[bytes] | None = [] if length <= limit else None
    left = length
    while left:
        chunk = stream.read(min(left, _STEP))
        if not chunk:
            raise InputError(
                f"the file ends {left:,} bytes before the end of a record of {length:,}",
                file=name,
                field=where,
                remedy="Fetch it again and compare its checksum",
            )
        left -= len(chunk)
        if kept is not None:
            kept.append(chunk)
    return None if kept is None else b"".join(kept)


def _fields(warc: Headers, length: int, block: bytes | None, limit: int) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "type": warc.get("warc-type"),
        "url": warc.get("warc-target-uri", "").removeprefix("<").removesuffix(">") or None,
        "date": warc.get("warc-date"),
        "id": warc.get("warc-record-id"),
        "length": length,
    }
    content_type = warc.get("content-type", "")
    if block is not None and block.startswith(b"HTTP/"):
        head, block = split_http(block)
        status = head.split(b"\n", 1)[0].split(maxsplit=2)
        http = parse_headers(head.split(b"\n", 1)[1] if b"\n" in head else b"")
        fields["status"] = int(status[1]) if len(status) > 1 and status[1].isdigit() else None
        fields["http"] = http
        content_type = http.get("content-type", "")
        block = decode_payload(block, http, limit)
    fields["content_type"] = content_type or None
    fields["content"] = None if block is None else _as_text(block, content_type)
    fields["warc"] = warc
    return fields


def split_http(block: bytes) -> tuple[bytes, bytes]:
    """Return head and body of an HTTP message; a block without an empty line is all head."""
    for mark in (b"\r\n\r\n", b"\n\n"):
        at = block.find(mark, 0, MAX_HEADER)
        if at >= 0:
            return block[:at], block[at + len(mark) :]
    return block[:MAX_HEADER], b""


def decode_payload(block: bytes, http: Headers, limit: int) -> bytes | None:
    """Return the payload without transfer and content encodings; as it stands where they are not what the header says."""
    return decode_body(block, http, limit)[0]


def decode_body(block: bytes, http: Headers, limit: int) -> tuple[bytes | None, bool]:
    """Return the payload as :func:`decode_payload` does, and whether one of its encodings ends before its end."""
    cut = False
    if "chunked" in http.get("transfer-encoding", "").lower():
        block, cut = _dechunked(block)
    for encoding in reversed([one.strip() for one in http.get("content-encoding", "").lower().split(",")]):
        windows = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}.get(encoding, ())
        for bits in windows:
            try:
                unpacked, whole = _inflated(block, bits, limit)
            except zlib.error:
                continue
            if len(unpacked) > limit:
                return None, cut
            block, cut = unpacked, cut or not whole
            break
    return block, cut


def _inflated(block: bytes, bits: int, limit: int) -> tuple[bytes, bool]:
    """Return what a body unpacks to, some bytes over the limit where it is more, and whether it is whole.

    A body may have several members of gzip, one after another.
    """
    pieces: list[bytes] = []
    left = limit + 1
    while True:
        inflate = zlib.decompressobj(bits)
        pieces.append(inflate.decompress(block, left))
        left -= len(pieces[-1])
        block = inflate.unused_data
        if left <= 0 or not inflate.eof or not block.startswith(b"\x1f\x8b\x08"):
            return b"".join(pieces), inflate.eof


def _dechunked(block: bytes) -> tuple[bytes, bool]:
    """Return the chunks of a body joined, or the body itself where it has none (crawlers store both); whether it is cut off."""
    pieces: list[bytes] = []
    at = 0
    while True:
        end = block.find(b"\r\n", at, at + 1024)
        size = block[at:end].split(b";")[0].strip() if end >= 0 else b""
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,15}", size):
            return (b"".join(pieces), True) if pieces and at >= len(block) else (block, False)
        length = int(size, 16)
        if length == 0:
            return b"".join(pieces), False
        pieces.append(block[end + 2 : end + 2 + length])
        at = end + 2 + length + 2


def _as_text(content: bytes, content_type: str) -> str | bytes:
    """Decode what is text: by the charset of its type, else of its page, else UTF-8; faults become U+FFFD."""
    if not _TEXTUAL.match(content_type.lower()):
        return content
    stated = _CHARSET.search(content_type)
    meta = None if stated else _META_CHARSET.search(content[:4096])
    charset = stated[1] if stated else meta[1].decode() if meta else "utf-8"
    try:
        codec = codecs.lookup(charset)
        if not codec._is_text_encoding:
            raise LookupError
        return content.decode(codec.name, "replace")
    except (LookupError, UnicodeError, ValueError):
        return content.decode("utf-8", "replace")

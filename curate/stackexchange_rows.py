"""Rows of a StackExchange table, read one after another; a damaged row costs itself and nothing after it.

A table is XML: ``<posts>``, one ``<row Name="value" …/>`` a line, ``</posts>``. As ``<`` cannot stand inside a value, the file
is cut before each ``<row``, and Expat parses what lies between, about a megabyte at a time; where that fails, row by row. Expat
never sees the beginning of the file, so there is no DTD, no entity and no expansion. Memory is that of the longest row, time
is linear in the file.

XML 1.0 (fifth edition) decides what is damaged: control characters and references to them (``&#x1F;``), a raw ``&`` or ``<``,
bytes that are not UTF-8, a missing quote. Nothing is guessed or mended,
and what stands between rows is damage as well.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO
from xml.parsers import expat

from tootsie.datasets.errors import InputError

CHUNK = 2**20
"""Bytes read at a time."""
MAX_PROLOG = 2**20
"""Bytes before the first row; more is not a dump."""
EXCERPT_BYTES = 8000
"""Bytes of a damaged row that are kept."""

_ROW = re.compile(rb"<row(?=[\s/>])")
_ENTITY = re.compile(rb"<!ENTITY\s+(?:%\s+)?([^\s\"'<>]{1,80})")
_END = re.compile(rb"</([A-Za-z_][\w:.-]*)\s*>\s*\Z")
_PROLOG = re.compile(
    rb"\A\s*(?:<\?[^>]*\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>\s*)*"
    rb"(?:<[A-Za-z_][\w:.-]*(?:\s[^<>]*)?/?>\s*)?\Z",
    re.DOTALL,
)
_EMPTY_ROOT = re.compile(rb"<[A-Za-z_][^<>]*/>\s*\Z")
_DECLARED = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_ID = re.compile(rb"\sId\s*=\s*[\"'](-?[0-9]{1,18})[\"']")
_TAIL = 1024

Row = dict[str, str]


@dataclass(frozen=True)
class Damage:
    """What stands in the place of a row that could not be read, or of the end of a file that has none."""

    detail: str
    """What is wrong, and where: bytes from the beginning of the file (of its UTF-8 form)."""
    excerpt: bytes
    """The beginning of the row."""
    truncated: bool = False
    """The file ends before its last tag."""
    too_long: int = 0
    """Bytes of a row that is over the limit."""

    @property
    def identity(self) -> str | None:
        """The row's ``Id``, where its beginning tells."""
        match = _ID.search(self.excerpt)
        return match[1].decode() if match else None


def read_rows(stream: IO[bytes], name: str, max_row_bytes: int = 2**26) -> Iterator[Row | Damage]:
    """Yield the attributes of each ``<row>`` in order, or the :class:`Damage` in its place.

    Takes what real dumps have: a byte-order mark or none, UTF-8 or UTF-16, a declaration or none, any root element, a
    DOCTYPE that names a DTD (which is not fetched), CR LF, attributes in any order.

    Args:
      stream: the table, uncompressed.
      name: of the file, for messages.
      max_row_bytes: longest row, as it is stored (in UTF-8).

    Raises:
      InputError: it declares entities, has an unknown encoding, or no row near its beginning.
    """
    chunks = _utf8(stream, name)
    held, offset, ended = bytearray(), 0, False
    while not (first := _ROW.search(held)):
        chunk = next(chunks, b"")
        if not chunk:
            ended = True
            break
        held += chunk
        if len(held) > MAX_PROLOG + CHUNK:
            raise InputError(
                f"no row in the first {len(held):,} bytes", file=name, remedy="Is this a StackExchange dump?"
            )
    if entity := _ENTITY.search(held, 0, first.start() if first else len(held)):
        raise InputError(
            "the file declares XML entities, as no data dump does",
            file=name,
            field="<!ENTITY>",
            value=entity[1].decode("utf-8", "replace"),
            remedy="Do not trust it; fetch it from its origin",
        )
    end = _END.search(held[-_TAIL:]) if ended else None
    if ended and not (end or _EMPTY_ROOT.search(held[-_TAIL:])):
        yield Damage("the file ends without its last tag", bytes(held[:EXCERPT_BYTES]), truncated=True)
        return
    prolog = bytes(held[: first.start() if first else len(held) - len(end[0] if end else b"")])
    if not _PROLOG.match(prolog):
        yield Damage("byte 0: data before the first row", prolog[:EXCERPT_BYTES])
    if ended:
        return
    assert first is not None
    offset = first.start()
    del held[:offset]
    yield from _rows(held, chunks, offset, max_row_bytes)


def _rows(held: bytearray, chunks: Iterator[bytes], offset: int, limit: int) -> Iterator[Row | Damage]:
    """Yield the rows of ``held``, which begins with one, and of the ``chunks`` after it."""
    searched = 1
    skipped = 0  # bytes of an overlong row that are no longer held
    excerpt = b""
    while True:
        cut = _last_row(held, searched)
        if cut > 0 and skipped:
            start = _ROW.search(held, searched)
            assert start is not None
            yield _too_long(excerpt, skipped + start.start(), offset, limit)
            offset += skipped + start.start()
            del held[: start.start()]
            skipped, searched = 0, 1
            continue
        if cut > 0:
            yield from _batch(bytes(held[:cut]), offset, limit)
            offset += cut
            del held[:cut]
        elif len(held) > max(limit, _TAIL):
            excerpt = excerpt if skipped else bytes(held[:EXCERPT_BYTES])
            skipped += len(held) - _TAIL
            del held[:-_TAIL]
        searched = max(0 if skipped else 1, len(held) - 4)
        chunk = next(chunks, b"")
        if not chunk:
            break
        held += chunk
    end = _END.search(held[-_TAIL:])
    whole = end is not None and end[1] != b"row"
    if skipped:
        yield _too_long(excerpt, skipped + len(held), offset, limit)
        rest = b""
    else:
        rest = bytes(held[: len(held) - (len(end[0]) if whole and end else 0)])
    if whole:
        yield from _batch(rest, offset, limit)
        return
    # What is cut off may be the last tag only, and the last row whole.
    row_end = max(rest.rfind(tag) + len(tag) if tag in rest else 0 for tag in (b"/>", b"</row>"))
    last = list(_batch(rest[:row_end], offset, limit)) if row_end else []
    if any(isinstance(row, Damage) for row in last):
        last, row_end = [], 0
    yield from last
    detail = f"the file ends at byte {offset + skipped + len(held):,}, without its last tag"
    yield Damage(detail, rest[row_end:].strip()[:EXCERPT_BYTES], truncated=True)


def _last_row(held: bytearray, start: int) -> int:
    """Return where the last row begins, at or after ``start``; -1 where none does."""
    end = len(held)
    while (found := held.rfind(b"<row", start, end)) >= 0:
        if _ROW.match(held, found):
            return found
        end = found + 3
    return -1


def _batch(content: bytes, offset: int, limit: int) -> Iterator[Row | Damage]:
    """Yield the rows of ``content``, which begins with one and ends between two."""
    if len(content) <= limit:
        try:
            rows, strays = _parse(content)
        except _MalformedError:
            pass
        else:
            if not strays:
                yield from rows
                return
    starts = [match.start() for match in _ROW.finditer(content)]
    for start, end in zip(starts, [*starts[1:], len(content)], strict=True):
        piece = content[start:end]
        if len(piece.rstrip()) > limit:
            yield _too_long(piece[:EXCERPT_BYTES], len(piece), offset + start, limit)
            continue
        try:
            rows, strays = _parse(piece)
        except _MalformedError as error:
            detail = f"byte {offset + start + error.position:,}: {error}"
            yield Damage(detail, piece[:EXCERPT_BYTES])
            continue
        yield from rows
        if strays:
            where = strays[0]
            yield Damage(
                f"byte {offset + start + where:,}: data outside of a row", piece[where:][:EXCERPT_BYTES]
            )


class _MalformedError(Exception):
    """Not well-formed: why, and at which byte."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem)
        self.position = position


def _parse(content: bytes) -> tuple[list[Row], list[int]]:
    """Return the rows, and where there is data outside of them: text, or another element with attributes."""
    rows: list[Row] = []
    strays: list[int] = []
    parser = expat.ParserCreate("utf-8")
    before = b"<table>"

    def start(tag: str, attributes: Row) -> None:
        if tag == "row":
            rows.append(attributes)
        elif attributes:
            strays.append(parser.CurrentByteIndex - len(before))

    def text(characters: str) -> None:
        if not characters.isspace():
            strays.append(parser.CurrentByteIndex - len(before))

    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    try:
        for part in (before, content):
            parser.Parse(part, False)
        parser.Parse(b"</table>", True)
    except expat.ExpatError as error:
        position = min(max(parser.ErrorByteIndex - len(before), 0), len(content))
        raise _MalformedError(expat.ErrorString(error.code) or "not well-formed", position) from None
    finally:
        # They know the parser, which knows them: else it, and its buffer of a megabyte, would wait for the collector.
        parser.StartElementHandler = parser.CharacterDataHandler = None
    return rows, strays


def _too_long(excerpt: bytes, length: int, offset: int, limit: int) -> Damage:
    detail = f"byte {offset:,}: a row of {length:,} bytes, the limit is {limit:,} (--max-document-bytes)"
    return Damage(detail, excerpt, too_long=length)


def _utf8(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the content as UTF-8 without its byte-order mark, whatever the file is written in."""
    head = stream.read(CHUNK)
    encoding = _encoding(head, name)
    if encoding is None:
        yield head.removeprefix(codecs.BOM_UTF8)
        while chunk := stream.read(CHUNK):
            yield chunk
        return
    # What is no text in that encoding becomes a character that XML forbids: the row is damaged, not altered in silence.
    codecs.register_error("tootsie.damaged", lambda error: ("\x01", error.end))  # type: ignore[attr-defined]
    decoder = codecs.getincrementaldecoder(encoding)("tootsie.damaged")
    chunk = head
    while chunk:
        if text := decoder.decode(chunk).removeprefix("\ufeff" if chunk is head else ""):
            yield text.encode("utf-8", "replace")
        chunk = stream.read(CHUNK)
    if text := decoder.decode(b"", True):
        yield text.encode("utf-8", "replace")


def _encoding(head: bytes, name: str) -> str | None:
    """Return the codec of a file, ``None`` for UTF-8."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(b"<\0"):
        return "utf-16-le"
    if head.startswith(b"\0<"):
        return "utf-16-be"
    declared = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8))
    if declared is None:
        return None
    encoding = declared[1].decode().lower()
    # A declaration that can be read byte by byte is not UTF-16, whatever it says.
    if encoding in ("utf-8", "utf8", "us-ascii", "ascii") or encoding.startswith(
        ("utf-16", "utf16", "ucs-2")
    ):
        return None
    try:
        if "a".encode(encoding) == b"a":
            return codecs.lookup(encoding).name
    except (LookupError, UnicodeError):
        pass
    raise InputError("an encoding that cannot be read", file=name, field="encoding", value=encoding)

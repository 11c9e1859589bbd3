"""Rows of an XML dump: the elements below the root, their attributes as fields. Event by event, without entities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO
from xml.parsers import expat

from tootsie.datasets.errors import InputError
from tootsie.datasets.readers.record import Limits, Record

CHUNK = 2**16
"""Bytes parsed at a time, at least."""


def read_rows(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Record]:
    """Yield the attributes of each element directly below the root, in order.

    Raises:
      InputError: not well-formed, cut off, with entities of its own, a row over the limit, or elements with content of
        their own (rows of attributes have none).
    """
    rows: list[dict[str, str]] = []
    depth = number = 0
    parser = expat.ParserCreate()

    def fail(problem: str, remedy: str, value: object = None) -> InputError:
        where = f"byte {max(parser.CurrentByteIndex, 0):,}, record {number + len(rows)}"
        return InputError(problem, file=name, field=where, value=value, remedy=remedy)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth == 2:
            rows.append(attributes)
        elif depth > 2:
            raise fail(
                "an element within a row", "Only rows of attributes are read, as StackExchange's are", tag
            )

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def text(characters: str) -> None:
        if not characters.isspace():
            raise fail("text outside of attributes", "Only rows of attributes are read", characters[:40])

    def entity(entity_name: str, *_: object) -> None:
        raise fail(
            "the file declares XML entities, as no data dump does",
            "Do not trust it; fetch it again",
            entity_name,
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, entity
    read = pending = 0
    try:
        while True:
            # Expat before 2.6 begins an unfinished tag again with each piece: doubling them keeps the time linear.
            chunk = stream.read(max(CHUNK, pending))
            read += len(chunk)
            try:
                parser.Parse(chunk, not chunk)
            except expat.ExpatError as error:
                reason = expat.ErrorString(error.code) or "not well-formed"
                raise fail(
                    f"not well-formed XML: {reason} (line {error.lineno:,})",
                    "Was the file cut off? Fetch it again and compare its checksum",
                ) from None
            except (LookupError, ValueError) as error:
                raise fail("an encoding that cannot be read", "Convert it to UTF-8", str(error)) from None
            for attributes in rows:
                yield Record(name, number, attributes)
                number += 1
            rows.clear()
            if not chunk:
                return
            pending = read - max(parser.CurrentByteIndex, 0)
            if pending > limits.record_bytes + CHUNK:
                raise fail(f"a row of more than {limits.record_bytes:,} bytes", "Is this a data dump?")
    finally:
        # They know the parser, which knows them: else it would wait for the collector.
        parser.StartElementHandler = parser.EndElementHandler = None
        parser.CharacterDataHandler = parser.EntityDeclHandler = None

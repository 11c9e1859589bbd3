"""Records of JSON: lines (``.jsonl``), and values one after another or in one array (``.json``), streamed."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from tootsie.datasets.errors import InputError, shorten
from tootsie.datasets.json_text import parse_json
from tootsie.datasets.readers.record import Limits, Record

CHUNK = 2**20
"""Bytes read at a time."""
_SPACE = re.compile(r"[ \t\r\n]*")
_MARGIN = 32
"""Characters at the end of what is there within which a fault may only mean that more is to come."""


def read_lines(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Record]:
    """Yield the object of each line; blank lines are left out and not numbered.

    Raises:
      InputError: a line is no JSON object or over the limit; the message has file, line and record.
    """
    number = line_number = 0
    while line := stream.readline(limits.record_bytes + 1):
        line_number += 1
        where = f"{name}:{line_number}"
        if len(line) > limits.record_bytes:
            raise InputError(
                f"the line is longer than {limits.record_bytes:,} bytes",
                file=where,
                field=f"record {number}",
                remedy="Split the record; or is this file no lines of JSON?",
            )
        if line_number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except ValueError as error:
            raise InputError(
                f"the line is not JSON: {error}",
                file=where,
                field=f"record {number}",
                value=shorten(line[:400].decode("utf-8", "replace").strip(), 80),
                remedy="Each line must be one JSON object; was the file cut off or edited?",
            ) from None
        yield Record(name, number, _object(value, where, number))
        number += 1


def read_values(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Record]:
    """Yield the objects of a JSON text: the elements of one array, one object, or objects one after another.

    The text is parsed as it is read: memory is that of the largest element.

    Raises:
      InputError: it is no JSON, ends early, or an element is no object or over the limit.
    """
    text = _Text(stream, name, limits)
    number = 0
    first = text.peek()
    if not first:
        return
    if first != "[":
        while text.peek():
            yield Record(name, number, _object(text.value(number), name, number))
            number += 1
        return
    text.take()
    if text.peek() == "]":
        text.take()
    else:
        while True:
            yield Record(name, number, _object(text.value(number), name, number))
            number += 1
            separator = text.take()
            if separator == "]":
                break
            if separator != ",":
                what = "a comma or the end of the array is missing" if separator else "the array has no end"
                raise text.error(what, number, separator or None)
    if rest := text.peek():
        raise text.error("there is more after the end of the array", number, rest)


def _object(value: Any, where: str, number: int) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise InputError(
        f"the record is no JSON object but {_kind(value)}",
        file=where,
        field=f"record {number}",
        value=shorten(str(value), 80),
        remedy='Each record must be an object such as {"text": "…"}',
    )


def _kind(value: Any) -> str:
    return {list: "an array", str: "a string", bool: "a truth value"}.get(
        type(value), "null" if value is None else "a number"
    )


class _Text:
    """The text of a stream, a window of it at a time."""

    def __init__(self, stream: IO[bytes], name: str, limits: Limits) -> None:
        self._stream = stream
        self._name = name
        self._limit = limits.record_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._parser = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._ended = False

    def error(self, problem: str, number: int, value: object = None) -> InputError:
        return InputError(
            problem,
            file=self._name,
            field=f"record {number}",
            value=value,
            remedy="Was the file cut off or edited? Fetch it again",
        )

    def _more(self, count: int) -> bool:
        """Read up to ``count`` bytes more; return whether there were any."""
        if self._ended:
            return False
        content = self._stream.read(count)
        self._ended = not content
        try:
            fresh = self._decoder.decode(content, final=self._ended)
        except UnicodeDecodeError as error:
            raise InputError(
                "the text is not UTF-8", file=self._name, value=str(error), remedy="Convert it to UTF-8"
            ) from None
        self._text = self._text[self._at :] + fresh
        self._at = 0
        return not self._ended

    def peek(self) -> str:
        """Return the next character that is no space, '' at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(CHUNK) and self._at >= len(self._text):
                return ""

    def take(self) -> str:
        """Return the next character that is no space, and go past it."""
        character = self.peek()
        self._at += len(character)
        return character

    def value(self, number: int) -> Any:
        """Parse the next value; what is there doubles until it is whole."""
        self.peek()
        while True:
            try:
                value, end = self._parser.raw_decode(self._text, self._at)
                # A number may go on where the window ends.
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            except RecursionError:
                raise self.error("the record is nested too deep", number) from None
            except json.JSONDecodeError as error:
                certain = not error.msg.startswith("Unterminated") and error.pos < len(self._text) - _MARGIN
                if certain or self._ended:
                    excerpt = self._text[error.pos : error.pos + 40]
                    what = f"not JSON: {error.msg}" if excerpt or certain else "the file ends within a record"
                    raise self.error(what, number, excerpt or None) from None
            except ValueError as error:  # a number of thousands of digits
                raise self.error(f"not JSON: {error}", number) from None
            if len(self._text) - self._at > self._limit:
                raise self.error(f"the record is longer than {self._limit:,} bytes; split it", number)
            self._more(max(CHUNK, len(self._text) - self._at))

"""Parse ``ledger.json``, one shard after the other, so that a hundred thousand of them are never objects at the same time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tootsie.tokenize.shard_table import ShardTable

SHARDS = "shards"
_SPACE = re.compile(r"[ \t\n\r]*")


def parse_ledger(content: bytes) -> dict[str, Any]:
    """Return the fields of a JSON object; a list ``shards`` becomes a :class:`ShardTable`.

    Raises:
      ValueError: it is no JSON object, or nested too deep.
      ValidationError: a shard is not valid; its number comes first in the location.
    """
    try:
        return _Parser(content.decode()).fields()
    except RecursionError:
        raise ValueError("nested too deep") from None


class _Parser:
    """What is left of a text from a position on."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._decode = json.JSONDecoder().raw_decode

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._take("{")
        more = self._next() != "}"
        while more:
            key = self._value()
            if not isinstance(key, str):
                raise ValueError(f"a name is expected at {self._at}")
            self._take(":")
            if key == SHARDS and self._next() == "[":
                found[key] = ShardTable.of(self._items())
            else:
                found[key] = self._value()
            more = self._next() == ","
            if more:
                self._take(",")
        self._take("}")
        if self._next():
            raise ValueError(f"something follows at {self._at}")
        return found

    def _items(self) -> Iterator[Any]:
        """Yield the items of a list, each before the next is parsed."""
        self._take("[")
        more = self._next() != "]"
        while more:
            yield self._value()
            more = self._next() == ","
            if more:
                self._take(",")
        self._take("]")

    def _value(self) -> Any:
        self._next()
        value, self._at = self._decode(self._text, self._at)
        return value

    def _next(self) -> str:
        """Return the next character that is no white space; "" at the end."""
        space = _SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()
        return self._text[self._at : self._at + 1]

    def _take(self, character: str) -> None:
        if self._next() != character:
            raise ValueError(f"{character} is expected at {self._at}")
        self._at += 1

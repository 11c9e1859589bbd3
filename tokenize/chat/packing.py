"""Whole conversations into rows of one length: best fit among a bounded number of open rows, in the order they come.

A conversation goes into the open row with the least room that still holds it (the oldest of these), else into a new one;
when too many are open, the fullest is closed. So the rows depend on the conversations and their order alone, memory is
bounded, and no conversation is cut.
Source: bounded-space best fit (Csirik and Johnson 2001, "Bounded space on-line bin packing: best is better than first").
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

OPEN_TOKENS = 2**22
"""Tokens that open rows hold at most, together; but eight rows may always be open."""
OPEN_ROWS = 1024
"""Rows open at a time, at most."""


class Sized(Protocol):
    """What is packed."""

    @property
    def tokens(self) -> int:
        """Its length."""


Item = TypeVar("Item", bound=Sized)


@dataclass
class Row(Generic[Item]):
    """One row, or several in a row for one item that is longer."""

    items: list[Item] = field(default_factory=list)
    """In the order they came."""
    padding: int = 0
    """Tokens left over at its end."""


class Packer(Generic[Item]):
    """Packs a stream of items.

    Args:
      length: tokens of a row.
      open_rows: rows open at a time; by default as many as :data:`OPEN_TOKENS` and :data:`OPEN_ROWS` allow.
    """

    def __init__(self, length: int, open_rows: int | None = None) -> None:
        self.length = length
        self._limit = open_rows or max(8, min(OPEN_ROWS, OPEN_TOKENS // length))
        self._open: list[tuple[int, int]] = []  # (room, number), sorted
        self._rows: dict[int, Row[Item]] = {}
        self._number = 0

    def add(self, item: Item) -> Iterator[Row[Item]]:
        """Place an item; yield the rows that are closed by it.

        An item longer than a row gets rows of its own, one after another; its last is not shared.
        """
        size = item.tokens
        if size >= self.length:
            yield Row([item], -size % self.length)
            return
        at = bisect.bisect_left(self._open, (size, -1))
        if at < len(self._open):
            room, number = self._open.pop(at)
        else:
            room, number = self.length, self._number
            self._rows[number] = Row()
            self._number += 1
        self._rows[number].items.append(item)
        if room == size:
            yield self._close(number, 0)
            return
        bisect.insort(self._open, (room - size, number))
        if len(self._open) > self._limit:
            room, number = self._open.pop(0)
            yield self._close(number, room)

    def rest(self) -> Iterator[Row[Item]]:
        """Close and yield the rows that are still open, in the order they were opened."""
        for number, room in sorted((number, room) for room, number in self._open):
            yield self._close(number, room)
        self._open.clear()

    def _close(self, number: int, room: int) -> Row[Item]:
        row = self._rows.pop(number)
        row.padding = room
        return row

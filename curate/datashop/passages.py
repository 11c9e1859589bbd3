"""Divide a text into passages between paragraphs, nothing lost: the passages in order are the text."""

from __future__ import annotations

from typing import NamedTuple


class Passage(NamedTuple):
    """A part of a text."""

    start: int
    stop: int
    """In characters of the text."""


def divide(text: str, limit: int) -> list[Passage]:
    """Return passages of at most ``limit`` characters, ended at a blank line, else a line, a sentence or a space, else anywhere.

    No passage divides a fence of code that fits into one. Linear in the text.
    """
    found: list[Passage] = []
    start = 0
    while len(text) - start > limit:
        stop = _end(text, start, start + limit)
        found.append(Passage(start, stop))
        start = stop
    if start < len(text):
        found.append(Passage(start, len(text)))
    return found


def _end(text: str, start: int, limit: int) -> int:
    least = start + (limit - start) // 2
    for mark in ("\n\n", "\n", ". ", " "):
        place = text.rfind(mark, least, limit)
        if place >= 0:
            end = place + len(mark)
            fence = text.rfind("\n```", start, end)
            if mark != "\n\n" or fence <= least or text.count("\n```", start, end) % 2 == 0:
                return end
            return fence + 1
    return limit


def excerpt(text: str, limit: int) -> str:
    """Return the first passage of a text."""
    return text if len(text) <= limit else text[: _end(text, 0, limit)]

"""Divide a text into passages between paragraphs, nothing lost: the passages in order are the text."""

from __future__ import annotations

import re
from typing import NamedTuple

_SENTENCE_END = re.compile(
    r"(?<=[.!?…])(?<![\s(][A-Z]\.)(?<![\s(](?:Dr|Mr|Ms|St|vs|cf)\.)(?<![\s(]Mrs\.)[\"”’)*_]*\s+(?=[^\sa-z.,;:)\]])|(?<=[。！？])\s*(?=.)",
    re.DOTALL,
)
_NOT_PROSE = re.compile(r"#|\||>|<|\$\$|```|~~~|!\[|[-+*] |[0-9]+[.)] |\t| {4}|:|(?:-{3}|\*{3}|_{3})")
_PARAGRAPH = re.compile(r"(?:[^\n]+\n?)+")
SHORTEST_PROSE = 100
"""Characters of the shortest paragraph that counts as prose."""
LEAST_LETTERS = 0.8
"""Share of letters and spaces in prose."""


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


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with single spaces; initials and titles end none, other abbreviations may."""
    found = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        found.append(" ".join(text[start:end].split()))
        start = end
    found.append(" ".join(text[start:].split()))
    return [sentence for sentence in found if sentence]


def divide_prose(text: str, limit: int) -> list[Passage]:
    """Return the paragraphs that are prose: two sentences or more, hardly anything but words, outside of fences.

    One that is longer than ``limit`` characters is divided; its parts need be prose too. Linear in the text.
    """
    found: list[Passage] = []
    fenced = False
    for match in _PARAGRAPH.finditer(text):
        paragraph = match[0]
        fences = len(re.findall(r"^ {0,3}(?:```|~~~)", paragraph, re.MULTILINE))
        inside, fenced = fenced or fences > 0, fenced ^ (fences % 2 == 1)
        if inside or _NOT_PROSE.match(paragraph):
            continue
        for part in divide(paragraph, limit):
            words = paragraph[part.start : part.stop]
            letters = sum(character.isalpha() or character.isspace() for character in words)
            if (
                len(words) >= SHORTEST_PROSE
                and letters >= LEAST_LETTERS * len(words)
                and len(sentences(words)) > 1
            ):
                found.append(Passage(match.start() + part.start, match.start() + part.stop))
    return found


def excerpt(text: str, limit: int) -> str:
    """Return the first passage of a text."""
    return text if len(text) <= limit else text[: _end(text, 0, limit)]

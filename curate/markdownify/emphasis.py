"""Emphasis: which characters say it. Decided for a whole paragraph, when all that stands about each element is known.

While a paragraph is collected, the edges of ``em``, ``strong`` and ``del`` are lone surrogates, which no page can contain
(:mod:`.decoding` replaces them). :func:`resolve` writes each element with ``*`` or ``_`` (``~~`` for ``del``) so that a
reader finds the same elements, and as HTML where no character would: CommonMark does not close ``**a:**b``.

Source: CommonMark 0.31 §6.2 (delimiter runs, rules 1 to 12), GFM §6.5.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from typing import Any

EDGES = {"em": ("\ud800", "\ud801"), "strong": ("\ud802", "\ud803"), "del": ("\ud804", "\ud805")}
"""What opens and closes each kind until it is resolved."""
_EDGE = re.compile("([\ud800-\ud805])")
_KINDS = {edge: kind for kind, edges in EDGES.items() for edge in edges}
_OPENING = frozenset(opening for opening, _ in EDGES.values())
_LENGTHS = {"em": 1, "strong": 2, "del": 2}
_REPEATED = re.compile("(?<=[\\w.,; ])(?:\ud801\ud800|\ud803\ud802|\ud805\ud804)")
_MARKS = {"em": "*", "strong": "**", "del": "~~"}
_STARS = [(*EDGES[kind], mark) for kind, mark in _MARKS.items()]
_SPACE, _PUNCTUATION, _OTHER = 1, 2, 4


def _marked(kind: str) -> Callable[[Any, str], str]:
    opening, closing = EDGES[kind]

    def wrap(serializer: Any, inner: str) -> str:
        serializer.flow.emphatic = True
        return f"{opening}{inner}{closing}"

    return wrap


WRAP = {kind: _marked(kind) for kind in EDGES}
"""What gives the Markdown of each kind until it is resolved, from the serializer and the content."""


class _Element:
    """One emphasis of a paragraph."""

    __slots__ = ("character", "close", "kind", "open", "parent")

    def __init__(self, kind: str, parent: _Element | None, opening: int) -> None:
        self.kind = kind
        self.parent = parent
        self.open = opening
        """Index of its opening edge among all edges."""
        self.close = opening
        self.character = ""
        """What it is written with; empty for HTML."""


def join_adjacent(text: str) -> str:
    """Join elements of one kind that touch (``<b>a</b><b>b</b>``): they look like one.

    Those that a bracket or a code span ends stay apart: with what follows it could be read as something else.
    """
    if "\ud801\ud800" in text or "\ud803\ud802" in text or "\ud805\ud804" in text:
        return _REPEATED.sub("", text)
    return text


def resolve(text: str, delimiters: str = "*_", *, join: bool = False) -> str:
    """Return the inline Markdown ``text`` with its edges written out, with the first of ``delimiters`` where it can be.

    ``join`` joins adjacent elements of a kind first. Linear in the length of ``text``.
    """
    if delimiters[0] == "*":
        simple = _in_stars(text)
        if simple is not None:
            return simple
    pieces = _EDGE.split(text)
    simple = _apart(pieces, delimiters)
    if simple is not None:
        return simple
    if join:
        pieces = _EDGE.split(join_adjacent(text))
    texts, edges = pieces[::2], pieces[1::2]
    elements: list[_Element] = []
    owner: list[_Element] = []
    current: _Element | None = None
    for index, edge in enumerate(edges):
        if edge in _OPENING:
            current = _Element(_KINDS[edge], current, index)
            elements.append(current)
            owner.append(current)
        else:
            assert current is not None
            current.close = index
            owner.append(current)
            current = current.parent
    sides = list(zip(_before(texts, edges), _after(texts, edges), strict=True))
    open_runs: dict[tuple[str, str], int] = {}
    written = [texts[0]]
    for index, element in enumerate(owner):
        if element.open == index:
            element.character = _choose(element, delimiters, texts, owner, sides, open_runs)
            key = (element.kind, element.character)
            open_runs[key] = open_runs.get(key, 0) + 1
        else:
            open_runs[element.kind, element.character] -= 1
        if element.character:
            written.append(element.character * _LENGTHS[element.kind])
        else:
            written.append(f"<{element.kind}>" if element.open == index else f"</{element.kind}>")
        written.append(texts[index + 1])
    return "".join(written)


def alone(kind: str, text: str, delimiters: str) -> str:
    """Return the Markdown of an emphasis around ``text`` that is all of a paragraph; see :func:`resolve`."""
    opening, closing = EDGES[kind]
    if delimiters[0] == "*" and text[0].isalnum() and text[-1].isalnum():
        return f"{_MARKS[kind]}{text}{_MARKS[kind]}"
    return resolve(f"{opening}{text}{closing}", delimiters)


def _apart(pieces: list[str], delimiters: str) -> str | None:
    """Return a paragraph whose elements neither touch nor lie in each other, ``None`` where some do.

    Args:
      pieces: texts and edges in turn.
      delimiters: as of :func:`resolve`.
    """
    last = len(pieces) - 1
    written = pieces[:]
    for index in range(1, last, 4):
        inner, after = pieces[index + 1], pieces[index + 3]
        if pieces[index + 2] in _OPENING or not inner or not (after or index + 3 == last):
            return None
        kind = _KINDS[pieces[index]]
        before = _class(pieces[index - 1][-1]) if pieces[index - 1] else _SPACE
        opens = before, _class(inner[0])
        closes = _class(inner[-1]), _class(after[0]) if after else _SPACE
        for character in "~" if kind == "del" else delimiters:
            if _abilities(character, *opens)[0] and _abilities(character, *closes)[1]:
                written[index] = written[index + 2] = character * _LENGTHS[kind]
                break
        else:
            written[index], written[index + 2] = f"<{kind}>", f"</{kind}>"
    return "".join(written)


def _in_stars(text: str) -> str | None:
    """Return ``text`` with all its edges written as asterisks and tildes where a reader finds the same; else ``None``.

    It is looked for where no two edges touch and no element is within one of its kind: then each edge is read by what
    stands on its two sides alone, and right wherever a word begins or ends inside it.
    """
    written = text
    for opening, closing, mark in _STARS:
        if opening not in text:
            continue
        pieces = text.split(opening)
        for index in range(1, len(pieces)):
            inner, found, after = pieces[index].partition(closing)
            if not (found and inner) or (after[0] in _KINDS if after else index + 1 < len(pieces)):
                return None
            first, last = inner[0], inner[-1]
            if not (first.isalnum() and last.isalnum()):
                if first in _KINDS or last in _KINDS:
                    return None
                before = _class(pieces[index - 1][-1]) if pieces[index - 1] else _SPACE
                opens = _abilities(mark[0], before, _class(first))[0]
                if not (
                    opens and _abilities(mark[0], _class(last), _class(after[0]) if after else _SPACE)[1]
                ):
                    return None
        written = written.replace(opening, mark).replace(closing, mark)
    return written


def _before(texts: list[str], edges: list[str]) -> list[int]:
    """Return what stands before each edge. cmark-gfm looks through ``~`` at what is behind."""
    found: list[int] = []
    for index in range(len(edges)):
        if texts[index]:
            found.append(_class(texts[index][-1]))
        elif not index:
            found.append(_SPACE)
        else:
            found.append(_PUNCTUATION | (found[-1] if edges[index - 1] in EDGES["del"] else 0))
    return found


def _after(texts: list[str], edges: list[str]) -> list[int]:
    """Return what stands after each edge, likewise."""
    found: list[int] = []
    for index in reversed(range(len(edges))):
        if texts[index + 1]:
            found.append(_class(texts[index + 1][0]))
        elif index + 1 == len(edges):
            found.append(_SPACE)
        else:
            found.append(_PUNCTUATION | (found[-1] if edges[index + 1] in EDGES["del"] else 0))
    return found[::-1]


def _choose(
    element: _Element,
    delimiters: str,
    texts: list[str],
    owner: list[_Element],
    sides: list[tuple[int, int]],
    open_runs: dict[tuple[str, str], int],
) -> str:
    """Return the character for an element whose surroundings up to its opening edge are chosen; empty for HTML."""
    first, last, parent = element.open, element.close, element.parent
    before = owner[first - 1] if first and not texts[first] else None
    after = owner[last + 1] if last + 1 < len(owner) and not texts[last + 1] else None
    whole = parent is not None and before is parent and after is parent
    for character in "~" if element.kind == "del" else delimiters:
        opens, _, may_close = _abilities(character, *sides[first])
        _, closes, _ = _abilities(character, *sides[last])
        if not (opens and closes):
            continue
        # ***x*** is read as an em about a strong: the one case in which two runs may touch.
        if not (
            whole
            and parent is not None
            and parent.kind == "em"
            and element.kind == "strong"
            and parent.character == character
        ):
            if before is not None and before.character == character:
                continue
            if after is not None and after is parent and after.character == character:
                continue
        # A run that could also close would close the outer element of its kind. Those of the other kind are safe from
        # it: the lengths, 1 and 2, add up to a multiple of 3.
        if open_runs.get((element.kind, character)) and (may_close or character == "~"):
            continue
        return character
    return ""


@functools.lru_cache(maxsize=4096)
def _class(character: str) -> int:
    """Return what the specification takes a character for; several where its versions or the readers differ."""
    if character in " \t\n":
        return _SPACE
    category = unicodedata.category(character)
    if category == "Zs":
        return _SPACE
    if character.isspace():
        return _SPACE | _OTHER
    if category[0] == "P" or (category[0] == "S" and character.isascii()):
        return _PUNCTUATION
    return _PUNCTUATION | _OTHER if category[0] == "S" else _OTHER


@functools.lru_cache(maxsize=256)
def _abilities(character: str, before: int, after: int) -> tuple[bool, bool, bool]:
    """Return whether a run between such characters surely opens, surely closes, and may close."""
    opens, closes = [], []
    for left in (_SPACE, _PUNCTUATION, _OTHER):
        for right in (_SPACE, _PUNCTUATION, _OTHER):
            if left & before and right & after:
                left_flanking = right != _SPACE and (right != _PUNCTUATION or left != _OTHER)
                right_flanking = left != _SPACE and (left != _PUNCTUATION or right != _OTHER)
                intraword = character == "_"
                opens.append(left_flanking and (not intraword or not right_flanking or left == _PUNCTUATION))
                closes.append(
                    right_flanking and (not intraword or not left_flanking or right == _PUNCTUATION)
                )
    return all(opens), all(closes), any(closes)

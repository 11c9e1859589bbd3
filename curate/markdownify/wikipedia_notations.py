"""Rules for what MediaWiki shows as pictures of a notation: hieroglyphs, chess diagrams, music. The notation becomes the text.

Source: the WikiHiero and Score extensions, the template *Chess diagram* of the large Wikipedias.
"""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify.inlines import code_span
from tootsie.curate.markdownify.listings import add_code_block
from tootsie.curate.markdownify.serializer import PASS, SKIP, Handler, Node, Serializer

_SQUARE = re.compile(r"([a-h])([1-8]) (black|white) (king|queen|rook|bishop|knight|pawn)\Z")
_LETTERS = {"king": "k", "queen": "q", "rook": "r", "bishop": "b", "knight": "n", "pawn": "p"}
_EMPTY = re.compile(r"1+")


def _alternatives(node: Node) -> list[str]:
    return [(image.attributes.get("alt") or "").strip() for image in node.css("img")]


def _hieroglyphs(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``.mw-hiero-outer``: the signs by their codes in Gardiner's list, as inline code."""
    codes = " ".join(alt for alt in _alternatives(node) if alt)
    if not codes:
        return PASS
    serializer.counters["hieroglyphs"] += 1
    serializer.inline(code_span(codes))
    return SKIP


def _chess_board(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A chess diagram: the position in Forsyth–Edwards notation, as inline code."""
    squares = [["1"] * 8 for _ in range(8)]
    found = False
    for alt in _alternatives(node):
        match = _SQUARE.match(alt)
        if match:
            found = True
            letter = _LETTERS[match[4]]
            squares[8 - int(match[2])]["abcdefgh".index(match[1])] = (
                letter.upper() if match[3] == "white" else letter
            )
    if not found:
        return PASS
    serializer.counters["chess_diagrams"] += 1
    ranks = (_EMPTY.sub(lambda run: str(len(run[0])), "".join(rank)) for rank in squares)
    serializer.inline(code_span("/".join(ranks)))
    return SKIP


def _score(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``.mw-ext-score``: the source of the music, LilyPond's or ABC, as a block of code."""
    source = next((alt for alt in _alternatives(node) if alt), "")
    if not source:
        return PASS
    serializer.counters["scores"] += 1
    add_code_block(serializer, source, "abc" if re.match(r"[A-Z]:", source) else "lilypond")
    return SKIP


NOTATION_CLASSES: dict[str, Handler] = {
    "mw-hiero-outer": _hieroglyphs,
    "mw-hiero-table": _hieroglyphs,
    "chess-board": _chess_board,
    "mw-ext-score": _score,
}

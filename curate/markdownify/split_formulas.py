r"""Formulas in text that inline elements have torn apart: put together again before the page is walked.

A Markdown processor that knew no formulas made emphasis of ``\bar{x}_{i} + \bar{y}_{j}`` or of ``f^* g^*``, line breaks and links
of other pieces. MathJax itself reads a formula across ``<br>``.
"""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify import formulas

_SOURCES = {"em": "_", "i": "_", "strong": "__", "b": "__", "br": "", "wbr": "", "a": ""}
_OPENER = re.compile(r"\\\\|\\\$|\$\$?|\\\[|\\\(|\\begin\{[A-Za-z]+\*?\}")
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{3,}[,;:]? +(?:[A-Za-z]+[,;:]? +)*[A-Za-z]{3,}")
_TEX = re.compile(r"\\[A-Za-z{}|,;!]|[_^=<>+]")
_TEXT = re.compile(r"\\(?:text\w*|mbox|textrm|operatorname)\s*\{[^{}]*\}")
MAX_LENGTH = 4000
"""Characters of the longest formula that is looked for across elements."""
MAX_NODES = 32
"""Text nodes and elements that it may consist of."""
MAX_ATTEMPTS = 4
"""Closing delimiters that are tried."""


def join_split_formulas(root: Any) -> int:
    """Join formulas whose delimiters stand in different text nodes of one element; return how many; linear."""
    joined = 0
    for node in [node for node in root.css("em, i, strong, b, br, a") if node.prev is not None]:
        before = node.prev
        if before is None or before.tag != "-text" or node.parent is None:
            continue
        text = before.text_content or ""
        start = _unclosed(text)
        if start < 0:
            continue
        ahead = _ahead(before, text, start)
        if ahead is None:
            continue
        whole, end, consumed = ahead
        # What follows the formula stays apart: a text that grew with each would be read again for each.
        for gone in consumed[:-1]:
            gone.remove()
        if end < len(whole):
            consumed[-1].replace_with(whole[end:])
        else:
            consumed[-1].remove()
        before.replace_with(whole[:end])
        joined += 1
    return joined


def _unclosed(text: str) -> int:
    """Return where the delimiter stands that ``text`` opens and does not close, -1 when there is none."""
    if "$" not in text and "\\" not in text:
        return -1
    pieces = formulas.split_text(text, strict=False)
    kind, last = pieces[-1]
    if kind != "text":
        return -1
    openers = [match for match in _OPENER.finditer(last) if match[0] not in ("\\\\", "\\$")]
    return len(text) - len(last) + openers[0].start() if openers else -1


def _ahead(before: Any, text: str, start: int) -> tuple[str, int, list[Any]] | None:
    """Return the text with its formula whole, where that ends, and the nodes behind it that have become part of it."""
    source, bare = [text], [text]
    length = len(text) - start
    consumed: list[Any] = []
    closer = _closer(text, start)
    attempts = 0
    node = before.next
    while node is not None and length < MAX_LENGTH and len(consumed) < MAX_NODES:
        piece = _source_of(node, source[-1])
        if piece is None:
            return None
        consumed.append(node)
        source.append(piece)
        bare.append(piece if node.tag == "-text" else piece.strip("_*"))
        length += len(piece)
        if node.tag == "-text" and closer in piece:
            attempts += 1
            whole = "".join(source)
            formula = _first_formula(whole[start:])
            if formula:
                if not _is_formula(_first_formula("".join(bare)[start:])):
                    return None
                if closer.startswith("\\end"):  # part of its own formula
                    return whole, start + len(formula), consumed
                return whole, start + len(formula) + 2 * len(closer), consumed
            if attempts == MAX_ATTEMPTS:
                return None
        node = node.next
    return None


def _closer(text: str, start: int) -> str:
    opener = _OPENER.match(text, start)
    token = opener[0] if opener else "$"
    return {"$$": "$$", "$": "$", "\\[": "\\]", "\\(": "\\)"}.get(token, token.replace("\\begin", "\\end"))


def _first_formula(text: str) -> str:
    """Return the formula that ``text`` begins with, empty when there is none."""
    kind, content = formulas.split_text(text, strict=False)[0]
    return "" if kind == "text" else content


def _source_of(node: Any, before: str) -> str | None:
    """Return the Markdown that a node was made from, ``None`` where it cannot be part of a formula."""
    if node.tag == "-text":
        return node.text_content or ""
    mark = _SOURCES.get(node.tag)
    if mark is None:
        return None
    child = node.first_child
    while child is not None:
        if child.tag != "-text":
            return None
        child = child.next
    if before.endswith("^"):
        mark = mark.replace("_", "*")
    return f"{mark}{node.text(deep=True) or ''}{mark}" if node.tag not in ("br", "wbr") else "\n"


def _is_formula(tex: str) -> bool:
    """Return whether text between delimiters reads as TeX and not as prose between two amounts of money."""
    outside = _TEXT.sub("", tex)
    return _TEX.search(outside) is not None and _PROSE.search(outside) is None

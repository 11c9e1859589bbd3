"""The main content of a page, as HTML of the page itself: trafilatura decides what it is, the page keeps how it is written.

Trafilatura returns a tree of its own that has lost formulas, spans of table cells and languages of code. So only its decision
is taken: the words of its extract are found in the page (:mod:`.word_alignment`), and what has none of them is cut out of the
page. Formulas, code and tables stay where the text around them does.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tootsie.curate.web.word_alignment import aligned, words_of

MIN_FOUND = 0.6
"""Share of an extract's words that have to be found in the page; below it (the text was in a script, say) the extract stands."""
BLOCK_SHARE = 0.6
"""Share of a paragraph's words from which all of it stays."""
TABLE_SHARE = 0.5
"""Share of a table's words from which all of it stays, as a grid."""
MAX_LINKED = 0.5
"""Share of a table's words in links from which it is navigation."""
_FORMULA_TAGS = ("math", "mjx-container", "annotation-xml")
_FORMULA_CLASSES = frozenset(
    (
        *("katex", "katex-display", "mathjax", "mathjax_display", "mathjax_preview"),
        *("mwe-math-element", "tex2jax_process", "ltx_math", "ltx_equation"),
    )
)
_MAYBE_FORMULAS = ", ".join(
    (
        *_FORMULA_TAGS,
        'script[type^="math/" i]',
        *(
            f'[class*="{name}" i]'
            for name in ("katex", "mathjax", "mwe-math", "tex2jax", "ltx_math", "ltx_equation")
        ),
    )
)
_PARAGRAPHS = frozenset(
    ("p", "li", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "figcaption", "td", "th", "summary")
)
_CONTAINERS = frozenset(
    (
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "center",
            "details",
            "div",
            "dl",
            "fieldset",
            "figure",
            "footer",
        ),
        *("form", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul"),
        *("h1", "h2", "h3", "h4", "h5", "h6"),
    )
)
_FRAMES = frozenset(("nav", "aside", "footer", "form", "header", "button", "menu", "select"))
"""Elements around the content of a page, from which no formula, table or code is taken that the extract does not have."""
_PARTS = frozenset(("table", "article", "section", "nav", "form", "h1", "h2"))
"""What makes a table that it is in one that places the parts of a page."""
_UNSEEN = frozenset(("script", "style", "template", "noscript", "title", "head", "#comment"))
_ALWAYS = frozenset(("br", "hr", "wbr", "col", "colgroup"))


class Preset(StrEnum):
    """What is done where trafilatura is in doubt."""

    PRECISION = "precision"
    """Less text, less of the frame."""
    BALANCED = "balanced"
    RECALL = "recall"
    """More text, more of the frame."""


@dataclass(frozen=True)
class MainContent:
    """What was found on a page."""

    html: str
    """The page with all else cut out, or the extract where it could not be found in the page."""
    in_page: bool
    """Whether it is of the page."""
    words: int
    """Of trafilatura's extract."""
    found: int
    """Words of it that were found in the page."""


def main_content(page: str, preset: Preset = Preset.BALANCED) -> MainContent | None:
    """Return the main content of a page, ``None`` where there is none.

    Args:
      page: HTML, decoded.
      preset: what is done in doubt.
    """
    document = _extracted(page, preset)
    if document is None:
        return None
    extract = [words for text in document.body.itertext() if (words := words_of(text))]
    total = sum(map(len, extract))
    tree = LexborHTMLParser(page)
    body = tree.body
    if body is None or not total:
        return None
    outline = _Outline(body)
    taken, found = aligned(outline.words, extract)
    if found < MIN_FOUND * total:
        return MainContent(_own_html(document), False, total, found)
    _Cut(outline, taken).run()
    return MainContent(tree.html or "", True, total, found)


def _extracted(page: str, preset: Preset) -> Any:
    """Return trafilatura's document of a page, with the options of its own evaluation."""
    from trafilatura import bare_extraction

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what it discards is counted here
    document: Any = bare_extraction(
        page,
        include_comments=False,
        include_tables=True,
        include_formatting=True,
        favor_precision=preset is Preset.PRECISION,
        favor_recall=preset is Preset.RECALL,
        output_format="xml",  # the tree is the same; of "python" it would be written as a text, too
    )
    return None if document is None or document.body is None else document


def plain_text(page: str, preset: Preset = Preset.BALANCED) -> str:
    """Return the main content of a page as trafilatura writes it, as datatrove does; nothing where there is none.

    Args:
      page: HTML, decoded.
      preset: what is done in doubt.
    """
    from trafilatura import extract

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    text = extract(
        page,
        include_comments=False,
        favor_precision=preset is Preset.PRECISION,
        favor_recall=preset is Preset.RECALL,
    )
    return text or ""


def _own_html(document: Any) -> str:
    from trafilatura.htmlprocessing import build_html_output

    return str(build_html_output(document))


@dataclass(slots=True)
class _Element:
    """An element or text of the page, with the range of words in it."""

    node: LexborNode
    tag: str
    parent: int
    start: int
    end: int = 0
    last: int = 0
    """Number behind that of the last element in it."""
    formula: bool = False
    framed: bool = False
    """Whether it lies in an element around the content."""
    linked: int = 0
    """Words of it in links."""


@dataclass
class _Outline:
    """A page in document order."""

    body: LexborNode
    items: list[_Element] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    prose: bytearray = field(default_factory=bytearray)
    """For each word, whether it is outside of formulas, of which extractors make anything."""

    def __post_init__(self) -> None:
        items, words, prose = self.items, self.words, self.prose
        formulas = {node.mem_id for node in self.body.css(_MAYBE_FORMULAS) if _is_formula(node)}
        items.append(_Element(self.body, "body", -1, 0))
        node, open_items, number = self.body.first_child, [0], 0
        while open_items:
            if node is None:
                done = items[open_items.pop()]
                done.end, done.last = len(words), len(items)
                if done.tag == "a":
                    done.linked = done.end - done.start
                if done.parent >= 0:
                    number = done.parent
                    items[number].linked += done.linked
                    node = done.node.next
                continue
            tag, above, start = node.tag or "", items[number], len(words)
            text = (node.text_content or "") if tag == "-text" else ""
            if tag == "-text" and not text.strip():  # stays wherever what it is in does
                node = node.next
                continue
            formula = above.formula or (bool(formulas) and node.mem_id in formulas)
            framed = above.framed or tag in _FRAMES
            item = _Element(node, tag, number, start, start, len(items) + 1, formula, framed)
            items.append(item)
            if text:
                found = words_of(text)
                words += found
                prose += (b"\0" if formula else b"\1") * len(found)
                item.end = len(words)
            elif tag not in _UNSEEN and (child := node.first_child) is not None:
                number = len(items) - 1
                open_items.append(number)
                node = child
                continue
            node = node.next


def _is_formula(node: LexborNode) -> bool:
    """Return whether an element that :data:`_MAYBE_FORMULAS` finds is the outermost of a formula, or in one."""
    tag = node.tag or ""
    if tag in _FORMULA_TAGS or tag == "script":
        return True
    return not _FORMULA_CLASSES.isdisjoint((node.attributes.get("class") or "").lower().split())


class _Cut:
    """Cuts out of a page what is not main content."""

    def __init__(self, outline: _Outline, taken: bytearray) -> None:
        self._outline = outline
        prose = outline.prose
        self._words = list(accumulate(prose, initial=0))
        self._sums = list(
            accumulate((one & other for one, other in zip(taken, prose, strict=True)), initial=0)
        )
        self._tags = [item.tag for item in outline.items]
        self._blocks = self._before(_CONTAINERS)
        self._parts = self._before(_PARTS)
        self._headings = self._before(frozenset(("th", "caption")))
        self._objects = [
            before + inside
            for before, inside in zip(
                self._before(frozenset(("pre", "table"))),
                accumulate((item.formula for item in outline.items), initial=0),
                strict=True,
            )
        ]
        self._holders: list[int] = []
        for number, item in enumerate(outline.items):
            held = self._count(item) > 0 or item.parent < 0
            self._holders.append(number if held else self._holders[item.parent])
        self._first = taken.find(1)
        self._last = taken.rfind(1)
        self._stays = bytearray(len(outline.items))
        """1: what is in it is decided one by one; 2: all of it stays."""

    def run(self) -> None:
        """Decide, then cut."""
        items = self._outline.items
        number = 0
        while number < len(items):
            decision = self._decide(number)
            self._stays[number] = decision
            if decision == 2:
                for inner in range(number, items[number].last):
                    self._stays[inner] = 2
            number = items[number].last if decision != 1 else number + 1
        self._keep_title()
        number = 0
        while number < len(items):
            if self._stays[number] == 1:
                number += 1
                continue
            if not self._stays[number]:
                items[number].node.decompose()
            number = items[number].last

    def _before(self, tags: frozenset[str]) -> list[int]:
        """Return how many such elements stand before each element."""
        return list(accumulate(map(tags.__contains__, self._tags), initial=0))

    def _holds(self, number: int, before: list[int]) -> bool:
        return before[self._outline.items[number].last] > before[number + 1]

    def _count(self, item: _Element) -> int:
        return self._words[item.end] - self._words[item.start]

    def _taken(self, item: _Element) -> int:
        return self._sums[item.end] - self._sums[item.start]

    def _decide(self, number: int) -> int:
        item = self._outline.items[number]
        tag, words, taken = item.tag, self._count(item), self._taken(item)
        if item.parent < 0 or tag in _ALWAYS:
            return 1 if item.parent < 0 else 2
        if item.formula:
            return 2 if self._amid(item) else 0
        if tag == "-text":
            if not words:
                return 2
            return 2 if 2 * taken >= words else 0
        if tag in _UNSEEN:
            return 0
        if tag in ("pre", "code", "samp", "kbd"):
            return 2 if taken or self._amid(item) else 0
        if tag == "table":
            return self._decide_table(number, words, taken)
        if (
            taken
            and tag in _PARAGRAPHS
            and taken >= BLOCK_SHARE * words
            and not self._holds(number, self._blocks)
        ):
            return 2
        if taken:
            return 1
        if words:
            return 1 if self._has_object(number) else 0
        if tag == "img":
            return 2 if self._beside_text(item) else 0
        return 1 if self._amid(item) or self._has_object(number) else 0

    def _decide_table(self, number: int, words: int, taken: int) -> int:
        item = self._outline.items[number]
        if self._holds(number, self._parts):
            return 1 if taken or self._has_object(number) else 0
        if taken:
            return 2 if taken >= TABLE_SHARE * words else 1
        if not words:
            return 2 if self._amid(item) else 0
        headed = self._holds(number, self._headings)
        return 2 if headed and item.linked <= MAX_LINKED * words and self._amid(item) else 0

    def _has_object(self, number: int) -> bool:
        """Return whether a formula, code or a table is in an element that stands amid the content."""
        if not self._amid(self._outline.items[number]):
            return False
        return self._holds(number, self._objects)

    def _amid(self, item: _Element) -> bool:
        """Return whether an element stands between words of the content, or behind them in an element that has some."""
        if item.framed or self._first < 0:
            return False
        if self._first < item.start <= self._last or (item.start <= self._first and item.end > self._last):
            return True
        return self._beside_text(item)

    def _beside_text(self, item: _Element) -> bool:
        """Return whether most of the words around it are of the content: those of the nearest element that has some."""
        holder = self._outline.items[self._holders[item.parent]]
        return not item.framed and self._taken(holder) * 2 > self._count(holder)

    def _keep_title(self) -> None:
        """Keep the heading of the page, where it has one and that is before the content."""
        items = self._outline.items
        titles = [number for number, item in enumerate(items) if item.tag == "h1" and item.end > item.start]
        if len(titles) != 1 or self._stays[titles[0]] or items[titles[0]].start > self._first:
            return
        (number,) = titles
        for inner in range(number, items[number].last):
            self._stays[inner] = 2
        number = items[number].parent
        while number >= 0 and not self._stays[number]:
            self._stays[number] = 1
            number = items[number].parent

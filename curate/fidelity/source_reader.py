"""The walk over a page's tree that collects what the page holds; the rules for each tag and class are given to it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.fidelity import mathjax, omissions
from tootsie.curate.fidelity.facts import (
    CODE,
    MATH,
    Facts,
    Formula,
    bare,
    collapse,
    normal_code,
    normal_tex,
    words,
)
from tootsie.curate.fidelity.table_grid import Cell
from tootsie.curate.markdownify.options import Dollars, Options

Node = Any
"""A ``selectolax.lexbor.LexborNode``."""
Leave = Callable[[], object]
Walk = tuple[bool, Leave | None]
"""Whether the walk goes on below the element, and what is done when it leaves it."""

BLOCKS = frozenset(
    ("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "dir", "div",
     "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup",
     "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol", "option", "p", "pre", "search", "section", "summary",
     "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "xmp")
)  # fmt: skip
"""Elements that part words."""
_NOT_SHOWN = re.compile(r"display:none|visibility:hidden", re.IGNORECASE)
_INLINE = re.compile(r"display\s*:\s*inline\s*(?:[;!]|$)", re.IGNORECASE)
_NAME = re.compile(r"[\w-]+")


class Element(NamedTuple):
    """An element that the walk enters."""

    node: Node
    tag: str
    attributes: dict[str, str | None]
    names: list[str]
    """Its classes."""


Rule = Callable[["SourceReader", Element], Walk | None]
"""What an element is; ``None`` where the rule does not apply after all."""


class SourceTable:
    """A table under way."""

    def __init__(self, layout: bool) -> None:
        self.rows: list[list[Cell]] = []
        self.foot: set[int] = set()
        """Rows of ``tfoot``, which stand last wherever they are written."""
        self.layout = layout
        """It only arranges things: its content stands for itself."""
        self.nested = False


class SourceReader:
    """State of one walk."""

    def __init__(
        self,
        parser: LexborHTMLParser,
        html: str,
        options: Options,
        tags: Mapping[str, Rule],
        classes: Mapping[str, Rule],
    ) -> None:
        self.root: Node = parser.root
        self.options = options
        self.facts = Facts()
        self.out: list[str] = []
        """The running text in pieces, or that of the note under way."""
        self.buffers: list[list[str]] = []
        """The texts around the note or equation under way."""
        self.lists: list[list[Any]] = []
        """Open lists: whether ordered, and the number of the next item."""
        self.items: list[list[Any]] = []
        """Open items: where their text begins, where their first list does, and their list."""
        self.tables: list[SourceTable] = []
        self.equation: list[int] = []
        """For an equation under way, the number of formulas before it."""
        self.sections: list[tuple[int, str, int, int]] = []
        """Level, text, and the pieces of the running text before and behind each heading."""
        self.solid: list[int] = []
        """Where in the running text something stands that is no text: displayed formulas, code, images."""
        self.kept_notes: frozenset[str] = frozenset()
        """MediaWiki: ids of the entries of reference lists that stay as footnotes."""
        self._tags, self._classes = tags, classes
        self._left_out: dict[int, str] = {}
        for omission in omissions.of(options):
            # A class that the page does not spell is not there; names of tags come in either case, and unwritten.
            possible = [
                one for one in omission.selectors if one[0] != "." or max(_NAME.findall(one), key=len) in html
            ]
            for node in parser.css(", ".join(possible)) if possible else ():
                self._left_out.setdefault(node.mem_id, omission.reason)

    def leave_out(self, nodes: Iterable[int], reason: str) -> None:
        """Expect nothing of the elements with these ``mem_id``."""
        for node in nodes:
            self._left_out.setdefault(node, reason)

    def walk(self) -> None:
        """Read all that lies below the root; no recursion."""
        node = self.root
        leaves: list[Leave | None] = []
        while node is not None:
            tag = node.tag
            child = None
            leave: Leave | None = None
            if tag == "-text":
                self.text(node.text_content or "")
            elif node.is_element_node:
                descend, leave = self._enter(
                    Element(node, tag, node.attributes, (node.attributes.get("class") or "").split())
                )
                child = node.first_child if descend else None
                if child is None and leave is not None:
                    leave()
            if child is not None:
                leaves.append(leave)
                node = child
                continue
            while leaves and node.next is None:
                node = node.parent
                leave = leaves.pop()
                if leave is not None:
                    leave()
            node = node.next if leaves else None

    def _enter(self, element: Element) -> Walk:
        reason = self._left_out.get(element.node.mem_id)
        if reason is None and "style" in element.attributes and _is_hidden(element):
            reason = "hidden"
        if reason is not None:
            if count := len(words(element.node.text(deep=True) or "")):
                self.facts.left_out[reason] = self.facts.left_out.get(reason, 0) + count
            return False, None
        parts = element.tag in BLOCKS and not _INLINE.search(element.attributes.get("style") or "")
        if parts:
            self.out.append(" ")
        for name in element.names:
            rule = self._classes.get(name)
            result = rule(self, element) if rule is not None else None
            if result is not None:
                return result
        rule = self._tags.get(element.tag)
        result = rule(self, element) if rule is not None else None
        return (True, self.space if parts else None) if result is None else result

    @property
    def in_cell(self) -> bool:
        """Whether the walk is in a cell, where Markdown has neither lists nor blocks of code."""
        return any(not table.layout for table in self.tables)

    # -- what rules add

    def space(self) -> None:
        """Part two words."""
        self.out.append(" ")

    def text(self, text: str) -> None:
        """Add running text; MathJax's delimiters make formulas where the policy says so."""
        if self.options.dollars is Dollars.NONE or self.equation:
            self.out.append(text)
            return
        for kind, piece in mathjax.split(text, strict=self.options.dollars is Dollars.STRICT):
            if kind == "text":
                self.out.append(piece.replace("\\$", "$"))
            else:
                self.formula(piece, kind == "display")

    def formula(self, tex: str, display: bool) -> None:
        """Add a formula."""
        tex = normal_tex(tex)
        if tex:
            self.facts.formulas.append(Formula(tex, display))
            self.solid.append(len(self.out))
            self.out.append(" " if display else f"{MATH[0]}{tex}{MATH[1]}")

    def code_span(self, raw: str) -> None:
        """Add inline code."""
        text = collapse(raw)
        if text:
            self.facts.code_spans.append(text)
            self.out += [" " * raw[:1].isspace(), f"{CODE[0]}{text}{CODE[1]}", " " * raw[-1:].isspace()]

    def code_block(self, text: str, language: str) -> None:
        """Add a block of code; in a table, which holds no blocks, each line is inline code."""
        text = normal_code(text)
        if not text.strip():
            return
        self.solid.append(len(self.out))
        self.out.append(" ")
        if not self.in_cell:
            self.facts.code_blocks.append((text, language))
            return
        for line in text.split("\n"):
            self.code_span(f" {line} ")

    def open_heading(self, level: int) -> Walk:
        """Read a heading; 0 is a level that the profile chooses."""
        start = len(self.out)

        def leave() -> None:
            text = "".join(self.out[start:])
            self.out.append(" ")
            if not (self.in_cell or self.buffers) and bare(text):
                self.sections.append((level, text, start, len(self.out)))

        return True, leave

    def open_note(self) -> Walk:
        """Read what follows as the text of a note, out of the running text."""
        self.buffers.append(self.out)
        self.out = []

        def leave() -> None:
            text = "".join(self.out)
            self.out = self.buffers.pop()
            self.facts.text.append(text)
            if bare(text):
                self.facts.notes.append(bare(text))

        return True, leave

    # -- the end

    def finish(self) -> Facts:
        """Return the facts, once the walk is over."""
        self.facts.headings = [(level, bare(text)) for level, text, _, _ in self.sections]
        self.facts.text.insert(0, "".join(self.out))
        return self.facts

    def leave_out_empty_sections(self) -> None:
        """Take out headings below which nothing stays once boxes and lists are gone."""
        filled: set[int] = set()
        opened: list[int] = []
        ends = [*(start for _, _, start, _ in self.sections[1:]), len(self.out)][: len(self.sections)]
        for index, ((level, _, _, end), following) in enumerate(zip(self.sections, ends, strict=True)):
            while opened and self.sections[opened[-1]][0] >= level:
                opened.pop()
            opened.append(index)
            place = bisect.bisect_left(self.solid, end)
            if bare("".join(self.out[end:following])) or (
                place < len(self.solid) and self.solid[place] <= following
            ):
                for outer in reversed(opened):
                    if outer in filled:
                        break
                    filled.add(outer)
        counts = self.facts.left_out
        for index, (level, text, start, end) in enumerate(self.sections):
            if index not in filled and level != 1:
                self.out[start:end] = [" "] * (end - start)
                counts["sections left empty"] = counts.get("sections left empty", 0) + len(words(text))
        self.sections = [one for index, one in enumerate(self.sections) if index in filled or one[0] == 1]


def _is_hidden(element: Element) -> bool:
    """Return whether an element's own style hides it for good: not MediaWiki's folded sections and tables, nor its MathML."""
    if not _NOT_SHOWN.search(re.sub(r"\s", "", element.attributes["style"] or "")):
        return False
    names = element.attributes.get("class") or ""
    folded = "data-mw-section-id" in element.attributes or (
        element.tag == "table" and ("wikitable" in names or "infobox" in names)
    )
    return not (folded or "mwe-math-mathml" in names or element.tag == "math")

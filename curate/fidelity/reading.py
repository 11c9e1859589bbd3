"""What a Markdown document holds, read by a CommonMark parser with tables, footnotes and formulas.

Source: CommonMark 0.31 and GFM's tables and strikethrough by markdown-it-py, footnotes by mdit-py-plugins, formulas by
:mod:`.math_syntax`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from tootsie.curate.fidelity import source
from tootsie.curate.fidelity.facts import (
    CODE,
    MATH,
    Facts,
    Formula,
    Table,
    bare,
    clean,
    collapse,
    normal_code,
    normal_tex,
)
from tootsie.curate.fidelity.math_syntax import add_math
from tootsie.curate.fidelity.table_grid import Cell, grid_of
from tootsie.curate.markdownify.options import Options

_CODE_TAG = re.compile(r"<(/?)code\b", re.IGNORECASE)
_BREAK_TAG = re.compile(r"<br\b", re.IGNORECASE)
_TAG = re.compile(r"\\tag\*?\{((?:[^{}]|\{[^{}]*\})*)\}")
_CELL_MARK = re.compile(r"^\s*(?:-|\d{1,9}\.)\s+")
MAX_NESTING = 200
"""Levels of lists and quotations that the parser follows."""
_FRAGMENT = Options.of("web", dollars="all")


def make_parser() -> MarkdownIt:
    """Return the parser: CommonMark with GFM's tables and strikethrough, footnotes and formulas; links as they are written."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    footnote_plugin(parser, inline=False)
    add_math(parser)
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


PARSER = make_parser()


def read_markdown(markdown: str) -> Facts:
    """Return what a Markdown document holds."""
    reader = _Reader()
    for token in PARSER.parse(clean(markdown)):
        reader.block(token)
    reader.facts.text.insert(0, "".join(reader.out))
    return reader.facts


class _Reader:
    def __init__(self) -> None:
        self.facts = Facts()
        self.out: list[str] = []
        self.page: list[str] = []
        self.lists: list[list[Any]] = []
        self.items: list[list[Any]] = []
        self.heading = 0
        self.rows: list[list[Cell]] | None = None
        self.links: list[tuple[str, int, int]] = []
        self.code_start = -1

    # -- blocks

    def block(self, token: Token) -> None:
        self.out.append(" ")
        kind = token.type
        if kind == "inline":
            if self.rows is None:
                self.inline(token.children or [])
            else:
                self.cell(token)
        elif kind in ("fence", "code_block"):
            text = normal_code(token.content)
            if text.strip():
                self.facts.code_blocks.append(
                    (text, token.info.strip().split(" ")[0].lower() if token.info.strip() else "")
                )
        elif kind == "html_block":
            self.html_block(token.content)
        else:
            handler = _BLOCK_RULES.get(kind)
            if handler is not None:
                handler(self, token)

    def heading_open(self, token: Token) -> None:
        self.heading = len(self.out)

    def heading_close(self, token: Token) -> None:
        text = bare("".join(self.out[self.heading :]))
        if text:
            self.facts.headings.append((int(token.tag[1]), text))

    def list_open(self, token: Token) -> None:
        if self.items and self.items[-1][1] is None:
            self.items[-1][1] = len(self.out)
        ordered = token.type.startswith("ordered")
        self.lists.append([ordered, int(token.attrs.get("start", 1)) if ordered else 1])

    def list_close(self, token: Token) -> None:
        self.lists.pop()

    def item_open(self, token: Token) -> None:
        self.items.append([len(self.out), None])

    def item_close(self, token: Token) -> None:
        start, end = self.items.pop()
        ordered, number = self.lists[-1]
        if bare("".join(self.out[start:])):
            self.facts.items.append(f"{number}." * ordered + bare("".join(self.out[start:end])))
        self.lists[-1][1] += 1

    def note_open(self, token: Token) -> None:
        self.page, self.out = self.out, []

    def note_close(self, token: Token) -> None:
        text = "".join(self.out)
        self.out, self.page = self.page, []
        self.facts.text.append(text)
        if bare(text):
            self.facts.notes.append(bare(text))

    def html_block(self, content: str) -> None:
        """A table (or anything else) in HTML: read as HTML, with ``$…$`` as formulas."""
        inner = source.read_source(content, _FRAGMENT)
        facts = self.facts
        facts.tables += inner.tables
        facts.formulas += inner.formulas
        facts.code_blocks += inner.code_blocks
        facts.code_spans += inner.code_spans
        facts.items += inner.items
        facts.links += inner.links
        facts.images += inner.images
        self.out.extend(inner.text)

    # -- tables

    def table_open(self, token: Token) -> None:
        self.rows = []

    def table_close(self, token: Token) -> None:
        grid = grid_of(self.rows or [])
        self.rows = None
        if grid:
            self.facts.tables.append(Table(grid, spans=False))

    def row_open(self, token: Token) -> None:
        assert self.rows is not None
        self.rows.append([])

    def cell(self, token: Token) -> None:
        """A cell's content; marks of lists, which stand between ``<br>`` in a cell, are no text."""
        assert self.rows is not None
        start = len(self.out)
        line: list[Token] = []
        for child in [*(token.children or []), None]:
            if child is not None and not (child.type == "html_inline" and _BREAK_TAG.match(child.content)):
                line.append(child)
                continue
            if line and line[0].type == "text" and (match := _CELL_MARK.match(line[0].content)):
                line[0].content = line[0].content[match.end() :]
            self.inline(line)
            self.out.append(" ")
            line = []
        self.rows[-1].append(Cell(bare("".join(self.out[start:]))))

    # -- lines

    def inline(self, children: list[Token]) -> None:
        for token in children:
            kind = token.type
            if kind in ("text", "text_special"):
                self.out.append(token.content)
            elif kind == "code_inline":
                self.code(token.content)
            elif kind in ("math_inline", "math_display"):
                self.formula(token.content, kind == "math_display")
            elif kind in ("softbreak", "hardbreak"):
                self.out.append(" ")
            elif kind == "html_inline":
                self.html_inline(token.content)
            elif kind == "link_open":
                self.links.append(
                    (bare(str(token.attrs.get("href", ""))), len(self.out), len(self.facts.images))
                )
            elif kind == "link_close":
                href, start, pictures = self.links.pop()
                text = bare("".join(self.out[start:]))
                if text or len(self.facts.images) > pictures:
                    self.facts.links.append((href, text))
            elif kind == "image":
                self.facts.images.append(bare(str(token.attrs.get("src", ""))))

    def formula(self, tex: str, display: bool) -> None:
        for number in _TAG.findall(tex) if "\\tag" in tex else ():
            self.facts.equation_numbers.append(bare(number))
        tex = normal_tex(_TAG.sub("", tex) if "\\tag" in tex else tex)
        if tex:
            self.facts.formulas.append(Formula(tex, display))
            self.out.append(" " if display else f"{MATH[0]}{tex}{MATH[1]}")

    def code(self, text: str) -> None:
        text = collapse(text)
        self.facts.code_spans.append(text)
        self.out.append(f"{CODE[0]}{text}{CODE[1]}")

    def html_inline(self, tag: str) -> None:
        if _BREAK_TAG.match(tag):
            self.out.append(" ")
        elif match := _CODE_TAG.match(tag):
            if not match[1]:
                self.code_start = len(self.out)
            elif self.code_start >= 0:
                text = html.unescape("".join(self.out[self.code_start :]))
                del self.out[self.code_start :]
                self.code_start = -1
                self.code(text)


_BLOCK_RULES: dict[str, Callable[[_Reader, Token], None]] = {
    "heading_open": _Reader.heading_open,
    "heading_close": _Reader.heading_close,
    "bullet_list_open": _Reader.list_open,
    "ordered_list_open": _Reader.list_open,
    "bullet_list_close": _Reader.list_close,
    "ordered_list_close": _Reader.list_close,
    "list_item_open": _Reader.item_open,
    "list_item_close": _Reader.item_close,
    "footnote_open": _Reader.note_open,
    "footnote_close": _Reader.note_close,
    "table_open": _Reader.table_open,
    "table_close": _Reader.table_close,
    "tr_open": _Reader.row_open,
}

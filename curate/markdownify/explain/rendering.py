"""Markdown as a reader sees it: HTML by markdown-it, formulas as MathML.

The output of both libraries is parsed again and only what :mod:`.sanitizing` lists is taken.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from latex2mathml.converter import convert as mathml_of
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify.explain.sanitizing import safe_html

MAX_FORMULA = 4_000
"""Characters of the longest formula that is set; longer ones are shown as they are."""
MAX_FORMULAS = 5_000
# What the library has no word for, in words that it has.
_ROWS = re.compile(r"\\(begin|end)\{(?:aligned|gathered|gather\*?|eqnarray\*?|multline\*?|flalign\*?)\}")
_SILENT = re.compile(r"\\(?:nolimits|par)(?![A-Za-z])|(?<=\\begin\{array\})\[[a-z]?\]")
_NOTE = re.compile(r"\[\^([^\]\s]{1,40})\]")
_UNKNOWN = re.compile(r">[^<>]*(?:\\|\$)|>&amp;<")
"""A command or an alignment mark that the library did not understand and wrote as text."""


@dataclass(frozen=True)
class Rendered:
    """Markdown as HTML."""

    html: str
    """Harmless HTML; blocks carry ``data-lines="first-end"``, their lines in the Markdown, counted from 0."""
    formulas: int
    """Formulas in it."""
    not_set: int
    """Formulas that are shown as their TeX: too long, too many, or beyond the library."""
    whole: bool
    """Whether all of the Markdown is in it."""


class _Typesetter:
    """Turns TeX into MathML and counts."""

    def __init__(self) -> None:
        self.formulas = 0
        self.not_set = 0

    def set(self, tex: str, display: bool) -> str:
        """Return a formula as MathML, as code where that cannot be."""
        self.formulas += 1
        if len(tex) <= MAX_FORMULA and self.formulas <= MAX_FORMULAS:
            try:
                known = _SILENT.sub("", _ROWS.sub(r"\\\1{align*}", tex))
                mathml = mathml_of(known, display="block" if display else "inline")
                if not _UNKNOWN.search(mathml):
                    return mathml
            except Exception:  # a library that fails in many ways on what it does not know
                pass
        self.not_set += 1
        return f"<code>{html.escape(tex)}</code>"


def render(markdown: str, limit: int) -> Rendered:
    """Return ``markdown`` as HTML of ``limit`` characters, about."""
    typesetter = _Typesetter()
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.inline.ruler.after("escape", "formula", _inline_formula)
    parser.block.ruler.before(
        "fence", "formula", _display_formula, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("link", "note", _note_mark)
    parser.block.ruler.before("reference", "note", _note, {"alt": ["paragraph", "reference"]})

    def formula(renderer: RendererHTML, tokens: list[Token], index: int, options: object, env: object) -> str:
        token = tokens[index]
        display = token.markup == "$$"
        mathml = typesetter.set(token.content, display)
        lines = f' data-lines="{token.map[0]}-{token.map[1]}"' if token.map else ""
        return f"<div{lines}>{mathml}</div>\n" if lines else mathml

    parser.add_render_rule("formula", formula)
    cut = markdown[:limit]
    # Looking for the ends of formulas may take so many steps in all, lest many unclosed ones cost quadratic time.
    tokens = parser.parse(cut, {"steps": 10_000 + 20 * len(cut)})
    for token in tokens:
        if token.map and (token.nesting == 1 or token.type in ("fence", "code_block", "hr")):
            token.attrSet("data-lines", f"{token.map[0]}-{token.map[1]}")
    body = LexborHTMLParser(parser.renderer.render(tokens, parser.options, {})).body
    if body is None:
        return Rendered("", typesetter.formulas, typesetter.not_set, True)
    page, whole = safe_html(body, 16 * limit)
    return Rendered(page, typesetter.formulas, typesetter.not_set, whole and len(cut) == len(markdown))


def _inline_formula(state: StateInline, silent: bool) -> bool:
    """``$…$``, and ``$$…$$`` within a line or cell."""
    if state.src[state.pos] != "$":
        return False
    mark = "$$" if state.src.startswith("$$", state.pos) else "$"
    begin = state.pos + len(mark)
    limit = min(state.posMax, begin + 8 * MAX_FORMULA, begin + state.env["steps"])
    end = _closing(state.src, mark, begin, limit)
    state.env["steps"] -= (limit if end < 0 else end) - begin
    if end < 0:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = state.src[begin:end]
        token.markup = mark
    state.pos = end + len(mark)
    return True


def _note_mark(state: StateInline, silent: bool) -> bool:
    """``[^label]``: raised."""
    match = _NOTE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("sup_open", "sup", 1)
        state.push("text", "", 0).content = match.group(1)
        state.push("sup_close", "sup", -1)
    state.pos = match.end()
    return True


def _note(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """``[^label]: text``, and what is indented by four below it."""
    begin = state.bMarks[start_line] + state.tShift[start_line]
    match = _NOTE.match(state.src, begin, state.eMarks[start_line])
    if match is None or not state.src.startswith(":", match.end()):
        return False
    if silent:
        return True
    before = state.bMarks[start_line], state.tShift[start_line], state.sCount[start_line], state.blkIndent
    text = state.skipSpaces(match.end() + 1)
    state.bMarks[start_line], state.tShift[start_line] = match.end() + 1, text - match.end() - 1
    state.blkIndent += 4
    state.sCount[start_line] = state.blkIndent
    opening = state.push("note_open", "div", 1)
    state.push("inline", "", 0).content = match.group()
    state.tokens[-1].children = []
    state.md.block.tokenize(state, start_line, end_line)
    state.push("note_close", "div", -1)
    state.bMarks[start_line], state.tShift[start_line], state.sCount[start_line], state.blkIndent = before
    opening.map = [start_line, state.line]
    return True


def _closing(source: str, mark: str, begin: int, limit: int) -> int:
    """Return where the next unescaped ``mark`` outside braces stands, -1 where there is none within a formula's length."""
    position = begin
    depth = 0
    while position < limit:
        character = source[position]
        if character == "\\":
            position += 1
        elif character in "{}":
            depth += 1 if character == "{" else -1
        elif character == "$" and depth <= 0 and source.startswith(mark, position) and position > begin:
            return position
        position += 1
    return -1


def _display_formula(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """``$$`` at the start of a line, to the line that ends in it."""
    begin = state.bMarks[start_line] + state.tShift[start_line]
    if state.is_code_block(start_line) or not state.src.startswith("$$", begin):
        return False
    line = start_line
    while line < end_line and not state.isEmpty(line):
        end = state.skipSpacesBack(state.eMarks[line], begin)
        text = state.src[state.bMarks[line] + state.tShift[line] : end].rstrip(".,;: ")
        if text.endswith("$$") and (line > start_line or len(text) > 3):
            break
        line += 1
    else:
        return False
    if silent:
        return True
    lines = state.getLines(start_line, line + 1, state.blkIndent, False).strip()
    content, _, rest = lines[2:].rpartition("$$")
    token = state.push("formula", "math", 0)
    token.content = content
    token.markup = "$$"
    token.map = [start_line, line + 1]
    if rest.strip():
        token = state.push("paragraph_open", "p", 1)
        token.map = [start_line, line + 1]
        inline = state.push("inline", "", 0)
        inline.content = rest.strip()
        inline.map = [start_line, line + 1]
        inline.children = []
        state.push("paragraph_close", "p", -1)
    state.line = line + 1
    return True

r"""Formulas in Markdown, as rules for a CommonMark parser: ``$…$`` in a line, ``$$…$$`` in a line or as a block.

A formula ends at the first delimiter outside braces, as KaTeX's and MathJax's readers have it: ``$\mbox{if $x$}$`` is one.
What CommonMark reads first stays first: fenced code, code spans, the cells of a table.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_STEP = re.compile(r"\\.|\$\$|[{}$]", re.DOTALL)
MAX_FORMULA = 20_000
"""Characters after which the search for the end is given up."""
MAX_FAILURES = 50
"""Searches in vain, per paragraph, after which dollar signs are text: so time stays linear."""


def add_math(parser: MarkdownIt) -> None:
    """Teach ``parser`` formulas: tokens ``math_inline`` and ``math_display`` with the TeX as content."""
    parser.inline.ruler.before("escape", "math", _inline)
    parser.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def closing(text: str, position: int, mark: str) -> int:
    """Return where ``mark`` closes the formula that starts at ``position``, -1 when it does not."""
    depth = 0
    for match in _STEP.finditer(text, position, min(len(text), position + MAX_FORMULA)):
        step = match[0]
        if step == "{":
            depth += 1
        elif step == "}":
            depth -= 1
        elif step[0] == "$" and depth <= 0:
            if step == mark:
                return match.start()
            if mark == "$":
                return match.start() if step == "$" else -1
    return -1


def _inline(state: StateInline, silent: bool) -> bool:
    start = state.pos
    if state.src[start] != "$":
        return False
    mark = "$$" if state.src.startswith("$$", start) else "$"
    begin = start + len(mark)
    failures = state.env.setdefault("math", {"of": "", "count": 0})
    if failures["of"] is not state.src:
        failures["of"], failures["count"] = state.src, 0
    end = closing(state.src, begin, mark) if failures["count"] < MAX_FAILURES else -1
    failures["count"] += end < 0
    if end < 0 or not state.src[begin:end].strip():
        if not silent:
            state.pending += mark
        state.pos = begin
        return True
    if not silent:
        token = state.push("math_display" if mark == "$$" else "math_inline", "math", 0)
        token.content = state.src[begin:end]
    state.pos = end + len(mark)
    return True


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block that begins with ``$$`` goes on to the line with its end: lines of TeX may look like lists or headings."""
    if state.is_code_block(start):
        return False
    first = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("$$", first):
        return False
    line = start
    position = first + 2
    while line < end and not (line > start and state.isEmpty(line)):
        if state.sCount[line] < state.blkIndent:
            return False
        close = state.src.find("$$", position, state.eMarks[line])
        if close >= 0:
            break
        line += 1
        if line < end:
            position = state.bMarks[line]
    else:
        return False
    if silent:
        return True
    state.line = line + 1
    token = state.push("paragraph_open", "p", 1)
    token.map = [start, state.line]
    token = state.push("inline", "", 0)
    token.content = state.getLines(start, line + 1, state.blkIndent, False).strip()
    token.map = [start, state.line]
    token.children = []
    state.push("paragraph_close", "p", -1)
    return True

"""Wrapping of paragraphs at a width, without breaking what a line break would change."""

from __future__ import annotations

import re

from tootsie.curate.markdownify.escaping import escape_line_start

# Bounded, so that a mark without its partner costs a constant.
# What stays on one line: formulas, code spans, HTML and autolinks, the target of a link; then any other run without a space.
_WORD = re.compile(
    r"(?:\\."
    r"|\$\$[^$]{0,4096}\$\$|\$[^$]{0,4096}\$"
    r"|(?>(`++)(?:(?!\1).){0,4096}?(?<!`)\1(?!`))|`++"
    r"|<[^<>]*>"
    r"|\]\((?:<[^<>]*>|[^()\s]*)(?:\s+\"(?:\\.|[^\"\\])*\")?\)"
    r"|[^ ])+"
)


def wrap_paragraph(text: str, width: int) -> str:
    """Break ``text`` (one paragraph, single spaces) into lines of at most ``width`` characters where it has spaces.

    A word longer than that stands alone. No line is broken before a word that would open a block there.

    >>> wrap_paragraph("one two three", 8)
    'one two\\nthree'
    """
    lines: list[str] = []
    line = ""
    for match in _WORD.finditer(text):
        word = match.group()
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= width or escape_line_start(word) != word:
            line += " " + word
        else:
            lines.append(line)
            line = word
    return "\n".join([*lines, line]) if line else text

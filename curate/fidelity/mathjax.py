r"""Formulas that stand in the text of a page between MathJax's delimiters.

Source: MathJax 2.7 ``extensions/tex2jax.js``: ``$…$``, ``\(…\)``, ``$$…$$``, ``\[…\]``, ``\begin{…}…\end{…}``; ``\$`` is a dollar
sign; a closing delimiter counts outside braces only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_OPEN = re.compile(r"\\\\|\\\$|\$\$|\$|\\\[|\\\(|\\begin\{([A-Za-z]+\*?)\}")
_LOADED = re.compile(r"<script\b[^>]*(?:mathjax|auto-render)|<script\b[^>]*>[^<]*\bMathJax\b", re.IGNORECASE)
_CLOSERS = {"$$": r"\$\$", "$": r"\$", "\\[": r"\\\]", "\\(": r"\\\)"}
MAX_FORMULA = 20_000
"""Characters after which the search for a closing delimiter is given up."""
MAX_FAILURES = 50
"""Searches in vain, per delimiter and text, after which it opens nothing more: so time stays linear."""


def is_loaded(html: str) -> bool:
    """Return whether a page loads or configures MathJax, or KaTeX's auto-render."""
    return _LOADED.search(html) is not None


def split(text: str, *, strict: bool = False) -> Iterator[tuple[str, str]]:
    """Yield ``("text" | "inline" | "display", content)`` pieces of ``text`` in order.

    ``strict`` asks of ``$…$`` what Pandoc does: no blank at its edges, no digit behind.
    """
    if "$" not in text and "\\" not in text:
        yield "text", text
        return
    start = position = 0
    failures: Counter[str] = Counter()
    while match := _OPEN.search(text, position):
        position = match.end()
        opening = match[0]
        if opening in ("\\\\", "\\$") or failures[opening] > MAX_FAILURES:
            continue
        name = match[1]
        closer = rf"\\end\{{{re.escape(name)}\}}" if name else _CLOSERS[opening]
        end = _find(text, position, closer)
        if end is None:
            failures[opening] += 1
            continue
        inside, after = end
        content = text[match.start() : after] if name else text[position:inside]
        if not content.strip():
            continue
        if strict and opening == "$" and (content != content.strip() or text[after : after + 1].isdigit()):
            continue
        if match.start() > start:
            yield "text", text[start : match.start()]
        yield ("inline" if opening in ("$", "\\(") else "display"), content
        start = position = after
    if start < len(text):
        yield "text", text[start:]


def _find(text: str, position: int, closer: str) -> tuple[int, int] | None:
    """Return where the first ``closer`` outside braces begins and ends, ``None`` when there is none."""
    depth = 0
    for match in re.compile(rf"({closer})|\\.|[{{}}]", re.DOTALL).finditer(
        text, position, position + MAX_FORMULA
    ):
        if match[1]:
            if depth == 0:
                return match.start(), match.end()
        elif match[0] == "{":
            depth += 1
        elif match[0] == "}" and depth:
            depth -= 1
    return None

"""The text and the language of a block of code, as a page declares them."""

from __future__ import annotations

import re
from typing import Any

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:lang-|language-|highlight-source-|highlight-text-|mw-highlight-lang-|highlight-|brush:\s*|sourceCode\s+)([\w+#./-]+)"
)
_NO_LANGUAGE = frozenset(
    (
        "none",
        "default",
        "text",
        "plain",
        "plaintext",
        "nohighlight",
        "notranslate",
        "prettyprint",
        "override",
        "source",
    )
)
_LINE_NUMBERS = frozenset(("linenos", "lineno", "linenodiv", "line-numbers-rows", "gutter", "lnt", "ln"))
_LINES = frozenset(("div", "p", "li", "tr"))


def verbatim(node: Any, skip: str = "") -> str:
    """Return the text below ``node`` with ``<br>`` and lines of markup as line breaks.

    Args:
      node: the element.
      skip: class of elements to leave out, besides the usual ones of line numbers.
    """
    parts: list[str] = []
    stack = [node]
    current = node.first_child
    while current is not None:
        tag = current.tag
        child = None
        if tag == "-text":
            parts.append(current.text_content or "")
        elif tag == "br":
            parts.append("\n")
        elif current.is_element_node and tag not in ("script", "style"):
            names = (current.attributes.get("class") or "").split()
            if _LINE_NUMBERS.isdisjoint(names) and not (skip and skip in names):
                child = current.first_child
                _end_line(parts, tag)
        if child is not None:
            stack.append(current)
            current = child
            continue
        while current.next is None:
            if len(stack) == 1:
                return "".join(parts)
            current = stack.pop()
            if current.next is not None:
                _end_line(parts, current.tag)
        current = current.next
    return "".join(parts)


def _end_line(parts: list[str], tag: str) -> None:
    if tag in _LINES and parts and not parts[-1].endswith("\n"):
        parts.append("\n")


def language_of(node: Any, attributes: dict[str, str | None]) -> str:
    """Return the language that a ``pre``, the ``code`` in it or the two boxes around it declare; empty when none does."""
    places = [attributes]
    inner = node.css_first("code")
    if inner is not None and inner.parent.mem_id == node.mem_id:
        places.insert(0, inner.attributes)
    outer = node.parent
    for _ in range(2):
        if outer is None or outer.tag != "div":
            break
        places.append(outer.attributes)
        outer = outer.parent
    for place in places:
        declared = place.get("data-lang") or place.get("data-language")
        if declared is None:
            match = _LANGUAGE.search(place.get("class") or "")
            declared = match[1] if match else None
        if declared is not None and declared.strip().lower() not in _NO_LANGUAGE:
            return declared.strip().lower()
    return ""

"""Code blocks: verbatim text, the declared language, a fence longer than any inside."""

from __future__ import annotations

import functools
import re
from typing import Any

from tootsie.curate.markdownify.inlines import code_span, is_hidden
from tootsie.curate.markdownify.serializer import SKIP, Node, Serializer

_FENCE_RUNS = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
_LANGUAGE_CLASS = re.compile(
    r"(?:^|\s)(?:(?:language-|lang-)(?=(\S+))"
    r"|(?:highlight-source-|highlight-text-|highlight-|mw-highlight-lang-|brush:\s*|sourceCode\s+)(?=([\w+#./-]+)))"
)
_NOT_LANGUAGES = frozenset(
    [
        "default",
        "none",
        "text",
        "plain",
        "plaintext",
        "nohighlight",
        "notranslate",
        "source",
        "line-numbers",
        "override",
        "prettyprint",
    ]
)
_MAX_REMEMBERED = 1000
"""Characters of a ``class`` whose language is remembered."""
_NUMBER_CLASSES = frozenset(("linenos", "lineno", "linenodiv", "line-numbers-rows", "gutter", "lnt", "ln"))
_BLOCK_LINES = frozenset(("div", "p", "li", "tr"))
_NOT_PLAIN = ", ".join(
    [
        "br",
        "script",
        "style",
        "template",
        *sorted(_BLOCK_LINES),
        *(f".{name}" for name in sorted(_NUMBER_CLASSES)),
    ]
)
"""Selects what is not shown as its text alone."""


def language_of(node: Node, attributes: dict[str, Any]) -> str:
    """Return the language that a ``pre``, its ``code`` or its two nearest ancestors declare; empty when none does."""
    candidates = [attributes]
    inner = node.first_child
    while inner is not None:
        if inner.tag == "code":
            candidates.insert(0, inner.attributes)
            break
        inner = inner.next
    outer = node.parent
    for _ in range(2):
        if outer is not None and outer.tag == "div":
            candidates.append(outer.attributes)
            outer = outer.parent
    for candidate in candidates:
        for key in ("data-lang", "data-language"):
            if candidate.get(key):
                return _info(candidate[key])
        names = candidate.get("class")
        if names:
            language = _of_class(names) if len(names) < _MAX_REMEMBERED else _of_class.__wrapped__(names)
            if language:
                return language
    return ""


@functools.lru_cache(maxsize=1000)
def _of_class(names: str) -> str:
    match = _LANGUAGE_CLASS.search(names)
    return _info(match.group(1) or match.group(2)) if match else ""


def _info(name: str) -> str:
    name = name.strip().lower()
    if name in _NOT_LANGUAGES:
        return ""
    return {"python3": "python", "py3": "python", "ipython3": "python"}.get(name, re.sub(r"[\s`]", "", name))


def verbatim(node: Node) -> str:
    """Return the text below ``node`` as it would be shown in a ``pre``: line breaks kept, line numbers left out."""
    only = node.first_child
    if only is not None and only.tag == "code" and "class" not in only.attributes and only.next is None:
        only = only.first_child
    if only is not None and only.text_content is not None and only.next is None:
        return only.text_content or ""
    if node.css_first(_NOT_PLAIN) is None:
        return node.text(deep=True) or ""
    parts: list[str] = []
    current = node.first_child
    depth = 0
    lined: list[bool] = []
    while current is not None:
        tag = current.tag
        child = None
        if tag == "-text":
            parts.append(current.text_content or "")
        elif tag == "br":
            parts.append("\n")
        elif tag in ("script", "style", "template"):
            pass
        elif current.is_element_node:
            classes = current.attributes.get("class")
            if not (classes and _NUMBER_CLASSES.intersection(classes.split())):
                child = current.first_child
                starts_line = tag in _BLOCK_LINES
                if starts_line and parts and not parts[-1].endswith("\n"):
                    parts.append("\n")
        if child is not None:
            lined.append(current.tag in _BLOCK_LINES)
            depth += 1
            current = child
            continue
        while current.next is None:
            if depth == 0:
                return "".join(parts)
            current = current.parent
            depth -= 1
            if lined.pop() and parts and not parts[-1].endswith("\n") and current.next is not None:
                parts.append("\n")
        current = current.next
    return "".join(parts)


def fence(text: str, language: str) -> str:
    """Return ``text`` as a fenced code block."""
    marks = "```"
    if marks in text:
        marks = "`" * max(3, 1 + max(map(len, _FENCE_RUNS.findall(text)), default=2))
    return f"{marks}{language}\n{text}\n{marks}" if text else f"{marks}{language}\n{marks}"


def _trimmed(text: str, exact: bool) -> str:
    """Leave out blank lines at the end; all but the one that ``</pre>`` stands on, if ``exact``."""
    end = len(text.rstrip(" \t" if exact else " \t\n"))
    if exact:
        return text[: max(end - 1, 0)] if not end or text[end - 1] == "\n" else text
    newline = text.find("\n", end)
    return text[: newline if newline >= 0 else len(text)]


def add_code_block(serializer: Serializer, text: str, language: str, *, trim: bool = True) -> None:
    """Add code as a block; in a table cell or a heading, as code spans. ``trim`` removes blank lines at the end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    exact = serializer.options.exact
    if trim:
        text = _trimmed(text, exact)
    if not exact and not text.strip():
        return
    serializer.counters["code_blocks"] += 1
    language = language or serializer.options.code_language
    if language:
        serializer.counters["code_languages"] += 1
    if serializer.flow.in_cell or serializer.flow.kind == "line":
        spans = [code_span(line.rstrip()) for line in text.split("\n") if line.strip()]
        serializer.block("<br>".join(spans) if serializer.flow.in_cell else " ".join(spans))
        return
    serializer.block(fence(text, language))


def pre(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<pre>``."""
    if attributes and is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    add_code_block(serializer, verbatim(node), language_of(node, attributes))
    return SKIP

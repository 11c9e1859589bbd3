"""A guard before the parser: pages whose nesting would cost more than linear time are flattened first.

HTML5's tree construction searches its stack of open elements at every block (quadratic in the depth), and re-opens every
unclosed formatting element in every paragraph (a page of a few hundred kB can ask for gigabytes of nodes).
A page below the limits passes untouched; above, it is rewritten with explicit end tags and without the elements that
lie too deep. Their text stays.
"""

from __future__ import annotations

import itertools
import re

_VOID = frozenset(
    ("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param",
     "source", "track", "wbr")
)  # fmt: skip
_FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
_RAW = frozenset(
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext"]
)
_BREAKOUT = frozenset(
    ("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed",
     "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta",
     "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table",
     "tt", "u", "ul", "var")
)  # fmt: skip
_INTEGRATION = frozenset(
    ("mi", "mo", "mn", "ms", "mtext", "annotation-xml", "foreignobject", "desc", "title")
)  # fmt: skip
_CLOSES = {  # an end tag implied by the start of one of these
    "p": frozenset(
        [
            "address",
            "article",
            "aside",
            "blockquote",
            "center",
            "details",
            "dialog",
            "dir",
            "div",
            "dl",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
            "hr",
            "main",
            "menu",
            "nav",
            "ol",
            "p",
            "pre",
            "section",
            "table",
            "ul",
            "li",
            "dd",
            "dt",
            "td",
            "th",
            "tr",
        ]
    ),
    "li": frozenset(["li"]),
    "dt": frozenset(["dt", "dd"]),
    "dd": frozenset(["dt", "dd"]),
    "option": frozenset(["option", "optgroup"]),
    "td": frozenset(["td", "th", "tr", "tbody", "thead", "tfoot"]),
    "th": frozenset(["td", "th", "tr", "tbody", "thead", "tfoot"]),
    "tr": frozenset(["tr", "tbody", "thead", "tfoot"]),
    "rt": frozenset(["rt", "rp"]),
    "rp": frozenset(["rt", "rp"]),
}
_VOID_PATTERN = "|".join(sorted(_VOID, key=len, reverse=True))
_DEPTH_TAGS = re.compile(rf"<(?!(?:{_VOID_PATTERN})\b)([/a-zA-Z])", re.IGNORECASE)
_FORMAT_TAGS = re.compile(rf"<(/?)(?:{'|'.join(sorted(_FORMATTING))})(?=[\s/>])", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)|<!--")
_QUOTED = re.compile(r"[^>\"']*(?:\"[^\"]*\"|'[^']*'|>)")
MAX_UNCLOSED = 64
"""Formatting elements left open at one point of an untouched page."""
MAX_REOPENED = 8
"""Formatting elements that may lie in each other in a rewritten page."""
MAX_ATTRIBUTES = 300
"""Attributes of one tag; parsers compare each with all before it."""
_QUOTED_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'")
_WHITE = re.compile(r"[\s/]+")


def is_deep(html: str, max_depth: int) -> bool:
    """Return whether ``html`` may nest deeper than ``max_depth`` or leave many formatting elements open; linear."""
    if len(html) > 4 * MAX_ATTRIBUTES and _has_long_tag(html):
        return True
    if html.count("<") - html.count("</") <= MAX_UNCLOSED:
        return False
    depth = peak = 0
    for mark in _DEPTH_TAGS.findall(html):
        if mark != "/":
            depth += 1
            if depth > peak:
                peak = depth
        elif depth:
            depth -= 1
    if peak > max_depth:
        return True
    unclosed = itertools.accumulate(
        (-1 if slash else 1 for slash in _FORMAT_TAGS.findall(html)), lambda a, b: max(a + b, 0)
    )
    return max(unclosed, default=0) > MAX_UNCLOSED


def _has_long_tag(html: str) -> bool:
    for chunk in html.split(">"):
        if len(chunk) > 4 * MAX_ATTRIBUTES:
            start = chunk.find("<")
            if start >= 0 and len(chunk) - start > 4 * MAX_ATTRIBUTES:
                bare = _QUOTED_VALUE.sub(" ", chunk[start:])
                if len(_WHITE.findall(bare)) > MAX_ATTRIBUTES:
                    return True
    return False


def flatten(html: str, max_depth: int) -> tuple[str, int]:
    """Rewrite ``html`` with balanced tags, at most ``max_depth`` deep.

    Returns:
      The page, and how many start tags were left out.
    """
    out: list[str] = []
    stack: list[str] = []
    open_count: dict[str, int] = {}
    skipped: dict[str, int] = {}
    dropped = position = formatting = 0
    lower = html.lower() if len(html.lower()) == len(html) else html
    respect_quotes = True
    while True:
        match = _TAG.search(html, position)
        if match is None:
            break
        out.append(html[position : match.start()])
        position = match.end()
        name = match.group(2)
        if name is None:  # a comment: left out
            end = html.find("-->", position)
            position = len(html) if end < 0 else end + 3
            continue
        name = name.lower()
        end = _tag_end(html, position) if respect_quotes else html.find(">", position)
        if end < 0:  # a quotation mark or tag never closed: from here on take each ">" as an end
            respect_quotes = False
            end = html.find(">", position)
            if end < 0:
                out.append(html[match.start() :].replace("<", "&lt;"))
                position = len(html)
                break
        position = end + 1
        tag = html[match.start() : position]
        if (
            len(tag) > 4 * MAX_ATTRIBUTES
            and len(_WHITE.findall(_QUOTED_VALUE.sub(" ", tag))) > MAX_ATTRIBUTES
        ):
            tag = f"<{match.group(1)}{name}>"
        if match.group(1):
            if skipped.get(name):
                skipped[name] -= 1
            elif open_count.get(name):
                while True:
                    top = stack.pop()
                    open_count[top] -= 1
                    formatting -= top in _FORMATTING
                    out.append(f"</{top}>")
                    if top == name:
                        break
            continue
        if name in _VOID or tag.endswith("/>"):
            out.append(tag)
            continue
        if name in _RAW:
            end = lower.find(f"</{name}", position)
            end = len(html) if end < 0 else end
            out.append(f"{tag}{html[position:end]}</{name}>")
            position = end
            continue
        if name in _BREAKOUT and (open_count.get("math") or open_count.get("svg")):
            # HTML ends foreign content at such a tag, unless an integration point lies between.
            while (
                stack
                and not _INTEGRATION.intersection(stack[-1:])
                and (open_count.get("math") or open_count.get("svg"))
            ):
                top = stack.pop()
                open_count[top] -= 1
                formatting -= top in _FORMATTING
                out.append(f"</{top}>")
            skipped.clear()
        while stack and name in _CLOSES.get(stack[-1], ()):
            top = stack.pop()
            open_count[top] -= 1
            out.append(f"</{top}>")
        if len(stack) >= max_depth or (name in _FORMATTING and formatting >= MAX_REOPENED):
            skipped[name] = skipped.get(name, 0) + 1
            dropped += 1
            continue
        stack.append(name)
        formatting += name in _FORMATTING
        open_count[name] = open_count.get(name, 0) + 1
        out.append(tag)
    out.append(html[position:])
    out.extend(f"</{name}>" for name in reversed(stack))
    return "".join(out), dropped


def _tag_end(html: str, position: int) -> int:
    """Return the index of the ``>`` that ends the tag, outside quotation marks; -1 where there is none."""
    while True:
        match = _QUOTED.match(html, position)
        if match is None:
            return -1
        if html[match.end() - 1] == ">":
            return match.end() - 1
        position = match.end()

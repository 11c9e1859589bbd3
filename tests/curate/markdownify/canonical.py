"""Two pages are the same when a reader sees the same: their elements, attributes and text in one canonical form.

White space is collapsed where HTML collapses it and left out at the edges of blocks. ``b`` is ``strong``, ``i`` is ``em``,
``s`` and ``strike`` are ``del``, ``align`` is ``text-align``. Comments and processing instructions are nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

NAMES = {"b": "strong", "i": "em", "s": "del", "strike": "del"}
BLOCKS = frozenset(
    [
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "blockquote",
        "pre",
        "hr",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "div",
        "section",
        "body",
        "dl",
        "dt",
        "dd",
    ]
)
Event = tuple[str, ...]
"""``("text", characters)``, ``("<", name, attribute, value, …)``, ``(">", name)`` or ``("|",)``, where a paragraph was."""


def canonical(html: str, *, loose: bool = False) -> list[Event]:
    """Return the canonical form of a page.

    Args:
      html: a page or what stands in its body.
      loose: leave out what a reader may not see: whether an item's text is a paragraph, ``thead`` and ``tbody``, line
        breaks at the end of code.
    """
    body = LexborHTMLParser(f"<!DOCTYPE html><body>{html}").body
    assert body is not None
    events = list(_merged(_events(body, False, loose)))
    result: list[Event] = []
    for index, event in enumerate(events):
        following = events[index + 1] if index + 1 < len(events) else (">", "body")
        if event[0] != "text":
            result.append(event)
            continue
        text = event[1]
        if not result or _is_edge(result[-1]):
            text = text.lstrip(" ")
        if _is_edge(following):
            text = text.rstrip(" ")
        text = text.replace("\0s", " ").replace("\0n", "\n").replace("\0t", "\t")
        if loose and following == (">", "code"):
            text = text.rstrip("\n")
        if text:
            result.append(("text", text))
    if not loose:
        return result
    return [event for index, event in enumerate(result) if event != ("|",) or _parts(result, index)]


def _events(node: Any, preformatted: bool, loose: bool) -> Iterator[Event]:
    child = node.first_child
    while child is not None:
        tag = child.tag
        if tag == "-text":
            text = child.text_content or ""
            yield (
                "text",
                text.replace(" ", "\0s").replace("\n", "\0n").replace("\t", "\0t") if preformatted else text,
            )
        elif child.is_element_node:
            name = NAMES.get(tag, tag)
            unseen = loose and (name in ("thead", "tbody") or (name == "p" and node.tag == "li"))
            yield ("|",) if unseen else ("<", name, *_attributes(child))
            yield from _events(child, preformatted or name == "pre", loose)
            yield ("|",) if unseen else (">", name)
        child = child.next


def _attributes(node: Any) -> list[str]:
    found = {name: value or "" for name, value in node.attributes.items()}
    if "align" in found:
        found["style"] = f"text-align:{found.pop('align')}"
    return [part for pair in sorted(found.items()) for part in pair]


def _merged(events: Iterator[Event]) -> Iterator[Event]:
    texts: list[str] = []
    for event in events:
        if event[0] == "text":
            texts.append(event[1])
            continue
        if texts:
            yield ("text", re.sub(r"[ \t\n\r\f]+", " ", "".join(texts)))
            texts.clear()
        yield event
    if texts:
        yield ("text", re.sub(r"[ \t\n\r\f]+", " ", "".join(texts)))


def _is_edge(event: Event) -> bool:
    return event[0] == "|" or (event[0] != "text" and (event[1] in BLOCKS or event[1] == "br"))


def _parts(events: list[Event], index: int) -> bool:
    """Return whether the edge of a paragraph parts two pieces of text; blocks do so themselves."""
    if index == 0 or index + 1 == len(events):
        return False
    before, after = events[index - 1], events[index + 1]
    return not (_is_edge(before) or (_is_edge(after) and after != ("|",)))

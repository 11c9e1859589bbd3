"""Inline elements around nothing but plain text are written at once, without an open element: most links of a manual are such."""

from __future__ import annotations

import re

from tootsie.curate.markdownify.escaping import (
    collapse,
    destination,
    escape_suspect,
    is_suspect,
    title_suffix,
)
from tootsie.curate.markdownify.serializer import Node, Serializer

_SUSPECT_IN_CODE = frozenset("`\\]")
_AUTOLINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x20]*\Z")
_NOT_FIRST = frozenset(" .,;:")
"""What is no part of a paragraph yet: a space, and punctuation that may belong to a formula above."""


def plain_content(serializer: Serializer, node: Node, kind: str) -> str | None:
    """Return the Markdown of what an inline element holds, where that is text which is written as it stands.

    Args:
      serializer: the conversion.
      node: the element. Its text may stand in ``span`` elements and a ``code`` around nothing else that no rule is about.
      kind: the kind of inline element that it is.

    Returns:
      ``None`` where the element must be opened and closed instead.
    """
    child = node.first_child
    if child is None or not serializer.direct or serializer.gap is not None:
        return None
    inlines = serializer.flow.inlines
    if inlines and (len(inlines) > 1 or inlines[0].kind == kind):
        return None
    text: str | None = child.text_content
    in_code = False
    while text is None:
        if child.next is not None:
            return None
        tag = child.tag
        if tag == "code" and not in_code:
            in_code = True
        elif tag != "span":
            return None
        attributes = None if in_code and tag == "span" else child.attributes
        if attributes:
            names = attributes.get("class")
            if names is None or len(attributes) > 1 or serializer.classes.of(names):
                return None
        child = child.first_child
        if child is None:
            return None
        text = child.text_content
    if child.next is not None:
        return None
    if not in_code:
        return plain_text(serializer, text, kind == "a" or (inlines != [] and inlines[0].kind == "a"))
    if (
        not text
        or not text.isprintable()
        or text[0] == " "
        or text[-1] == " "
        or "  " in text
        or not _SUSPECT_IN_CODE.isdisjoint(text)
    ):
        return None
    serializer.counters["code_spans"] += 1
    return f"`{text}`"


def plain_link(serializer: Serializer, node: Node, href: str, title: str | None) -> str | None:
    """Return the Markdown of a link, ``None`` where its content is none of :func:`plain_content`."""
    inner = plain_content(serializer, node, "a")
    if inner is None:
        return None
    serializer.counters["links"] += 1
    if title:
        return f"[{inner}]({destination(href)}{title_suffix(title)})"
    if inner[0] == href[:1] and is_autolink(inner, href):
        return f"<{href}>"
    return f"[{inner}]({destination(href)})"


def is_autolink(inner: str, href: str) -> bool:
    """Return whether a link whose content is ``inner`` can be written as ``<href>``; seldom so unless both begin alike."""
    return inner.replace("\\", "") == href and _AUTOLINK.match(href) is not None


def plain_text(serializer: Serializer, text: str, in_link: bool) -> str | None:
    """Return the Markdown of a text that is all of an element; ``None`` where it depends on what is around the element."""
    if text.isalnum():
        return text
    if not text.isprintable():
        text = collapse(text)
    if not text or text[0] in _NOT_FIRST or text[-1] == " " or "  " in text or not text.isprintable():
        return None
    if not is_suspect(text):
        return text
    if serializer.rewrites and ("$" in text or "\\" in text):  # perhaps a formula
        return None
    return escape_suspect(text, in_link)

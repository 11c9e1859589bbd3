"""Inline elements around nothing but plain text are written at once, without an open element: most links of a manual are such."""

from __future__ import annotations

from tootsie.curate.markdownify.escaping import is_suspect
from tootsie.curate.markdownify.serializer import Node, Serializer

_SUSPECT_IN_CODE = frozenset("`\\]")
_NOT_FIRST = frozenset(" .,;:")
"""What is no part of a paragraph yet: a space, and punctuation that may belong to a formula above."""


def plain_content(serializer: Serializer, node: Node, kind: str) -> str | None:
    """Return the Markdown of what an inline element holds, where that is text which is written as it stands.

    Args:
      serializer: the conversion.
      node: the element. Its text may stand in one ``span`` or ``code`` (and a ``span`` in it) whose classes no rule is about.
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
    text = child.text_content
    if text is not None:
        return text if child.next is None and _is_plain(text) else None
    tag = child.tag
    if (tag != "code" and tag != "span") or child.next is not None:
        return None
    attributes = child.attributes
    if attributes:
        names = attributes.get("class")
        if names is None or len(attributes) > 1:
            return None
        rules = serializer.classes.met.get(names)
        if rules is None:
            rules = serializer.classes.of(names)
        if rules:
            return None
    child = child.first_child
    if child is None:
        return None
    text = child.text_content
    if tag == "span":
        return text if text is not None and child.next is None and _is_plain(text) else None
    if text is None:
        if child.tag != "span" or child.next is not None:
            return None
        child = child.first_child
        if child is None:
            return None
        text = child.text_content
    if (
        not text
        or child.next is not None
        or not text.isprintable()
        or text[0] == " "
        or text[-1] == " "
        or "  " in text
        or not _SUSPECT_IN_CODE.isdisjoint(text)
    ):
        return None
    serializer.counters["code_spans"] += 1
    return f"`{text}`"


def _is_plain(text: str) -> bool:
    """Return whether ``text`` is written as it stands, whatever is around it."""
    return text.isalnum() or (
        text.isprintable()
        and text != ""
        and text[0] not in _NOT_FIRST
        and text[-1] != " "
        and "  " not in text
        and not is_suspect(text)
    )

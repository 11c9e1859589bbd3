"""Items and cells around one text, link or emphasis are written at once, without a flow: most of a menu or an index are such."""

from __future__ import annotations

from tootsie.curate.markdownify.emphasis import alone
from tootsie.curate.markdownify.inlines import EMPHASIS, link, lone_link
from tootsie.curate.markdownify.plain_content import plain_content, plain_text
from tootsie.curate.markdownify.serializer import HTML_SPACE, Node, Serializer


def plain_block(serializer: Serializer, node: Node) -> tuple[str, bool] | None:
    """Return the one line of Markdown that an item or a cell holds, where that is written as it stands.

    Args:
      serializer: the conversion.
      node: the element; its start is dealt with, and no paragraph is under way. White space may stand at its edges.

    Returns:
      The line, and whether it is a paragraph of its own; ``None`` where the element must be opened and closed instead.
    """
    child = node.first_child
    if child is None or not serializer.direct or serializer.gap is not None:
        return None
    text: str | None = child.text_content
    following = child.next
    if text is not None:
        if following is None:
            text = plain_text(serializer, text, False)
            return None if text is None else (text, False)
        if text.strip(HTML_SPACE):
            return None
        child, following = following, following.next
    if following is not None:
        text = following.text_content
        if text is None or text.strip(HTML_SPACE) or following.next is not None:
            return None
    if not child.is_element_node:
        return None
    handler = serializer.handler_of(child)
    if handler is not link and handler not in EMPHASIS:
        # No profile has a rule for paragraphs.
        inner = plain_block(serializer, child) if child.tag == "p" and not child.attributes else None
        return None if inner is None else (inner[0], True)
    attributes = child.attributes
    names = attributes.get("class")
    if names and serializer.classes.of(names):
        return None
    if handler is link:
        text = lone_link(serializer, child, attributes)
    else:
        text = _lone_emphasis(serializer, child, EMPHASIS[handler])
    return None if text is None else (text, False)


def _lone_emphasis(serializer: Serializer, node: Node, kind: str) -> str | None:
    """Return the Markdown of emphasis that is all of a block, ``None`` where what it holds is not plain."""
    text = plain_content(serializer, node, kind)
    if text is None:
        return None
    serializer.counters["emphasis"] += 1
    return alone(kind, text, serializer.delimiters)

"""Elements that a rule leaves out and that the page never closes: what follows their own content is the page's again.

HTML gives all that follows up to the end of the element around to an element without an end tag: a navigation box would
take the rest of the article with it. Such an element ends its parent, and the page has more start tags of its name than
end tags. Its own content ends where a paragraph, heading or section begins behind it.
"""

from __future__ import annotations

from typing import Any

from tootsie.curate.markdownify.serializer import SKIP, Node, Serializer

_NEED_END = frozenset(
    ("div", "section", "nav", "aside", "header", "footer", "span", "ul", "ol", "dl", "table", "center", "article", "figure")
)  # fmt: skip
"""Elements whose end tag may not be left out."""
_PROSE = frozenset(
    ("p", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "main", "blockquote", "pre", "figure")
)
"""Elements that begin something new behind a box or a pointer."""
_BLOCKS = _PROSE | {"div", "ul", "ol", "dl", "table", "center", "hr"}
_LEVELS = 4
"""How deep in a block prose is looked for."""
_WHOLE = frozenset(
    ("div", "table", "tbody", "tr", "td", "ul", "ol", "li", "dl", "dd", "center", "nav", "span")
)
"""Elements in whose last descendants the page may go on."""


def skip(serializer: Serializer, node: Node) -> Any:
    """Leave an element out, but for what follows its own content where the page does not close it.

    Returns:
      ``SKIP``. The walk goes on at :attr:`.Serializer.resume`.
    """
    if node.next is None:
        following = end_of_own(serializer, node)
        if following is not None:
            serializer.counters["contents_recovered"] += 1
            serializer.flush()
            serializer.resume = following
    return SKIP


def end_of_own(serializer: Serializer, node: Node) -> Node | None:
    """Return where the page goes on in an element that is not closed, ``None`` where it is, or where nothing shows that."""
    tag = node.tag
    if node.next is not None or tag not in _NEED_END:
        return None
    inner = node
    while inner is not None:
        following = _behind_own(inner, strict=inner is not node)
        if following is not None:  # seldom so: only then is the page looked through
            return following if _lacks_ends(serializer, tag) else None
        last = inner.last_child
        while last is not None and not last.is_element_node:
            last = last.prev
        inner = last if last is not None and last.tag in _WHOLE else None
    return None


def _lacks_ends(serializer: Serializer, tag: str) -> bool:
    """Return whether a page has more start tags of a name than end tags; counted once."""
    known = serializer.lacking_ends.get(tag)
    if known is None:
        source = serializer.original
        starts = source.count(f"<{tag}") + source.count(f"<{tag.upper()}")
        ends = source.count(f"</{tag}") + source.count(f"</{tag.upper()}")
        known = serializer.lacking_ends[tag] = starts > ends
    return known


def _behind_own(node: Node, *, strict: bool) -> Node | None:
    """Return the child of ``node`` that begins something new.

    Own content is a run of text and inline elements, or else the first block, and what follows it up to a paragraph, heading
    or section, or (unless ``strict``) up to a block that holds one.
    """
    own = inline = False
    blocks: list[Node] = []
    child = node.first_child
    while child is not None:
        text = child.text_content
        if text is not None:
            inline = inline or not (own or text.isspace())
            own = own or not text.isspace()
        elif child.is_element_node:
            tag = child.tag
            if own and (tag in _PROSE or (inline and not strict and tag in _BLOCKS)):
                found: Node = child
                return found
            inline = inline or not (own or tag in _BLOCKS)
            if own and tag in _BLOCKS:
                blocks.append(child)
            own = True
        child = child.next
    return None if strict else next(filter(_holds_prose, blocks), None)


def _holds_prose(block: Node) -> bool:
    """Return whether a block holds a paragraph, heading or section, in a few first blocks of each other at most."""
    for _ in range(_LEVELS):
        first = None
        child = block.first_child
        while child is not None:
            tag = child.tag
            if tag in _PROSE:
                return True
            if first is None and tag in _BLOCKS:
                first = child
            child = child.next
        if first is None:
            return False
        block = first
    return False

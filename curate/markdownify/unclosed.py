"""Pages whose end is lost to what does not end: a comment, a script, a quotation mark, an element whose content is not read,
emphasis that a rule may leave out.

HTML5 gives all that follows to such a thing; to a reader it is text of the page. They are told by the last word of the
source: it must be the last of the tree, in no element that is not read, and in no emphasis of a class with rules that is
opened again in each block and behind it. Where it is not, :func:`.nesting.flatten` may rewrite the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tootsie.curate.markdownify.inlines import is_hidden
from tootsie.curate.markdownify.nesting import COMMENT_END, FORMATTING, NOT_READ, RAW

_NO_TEXT = re.compile(r"<[^<>]*>|&#?\w+;")
_TAIL = 2000
"""Characters at the end of a page among which its last word is looked for."""
_SHORT_END = 30
"""Characters among which it is looked for first."""
_STEPS = 1000
"""Nodes at the end of a tree among which its last text is looked for."""


def loses_its_end(
    html: str,
    root: Any,
    rules_of: Callable[[str], list[Callable[..., Any]]] = lambda names: [],
    original: str | None = None,
) -> bool:
    """Return whether the end of a page may be part of something that does not end.

    Args:
      html: its source.
      root: what that was parsed to.
      rules_of: gives the rules of a profile for a value of ``class``.
      original: what the page was before it was rewritten, where it was.
    """
    comment = html.rfind("<!--")
    if comment >= 0 and COMMENT_END.search(html, comment + 2) is None:
        return True
    leaf = _last_text(root)
    text = (leaf.text_content or "") if leaf is not None else ""
    # The usual end of a short page is told at once: its last word and </p>.
    word = (_word_before_paragraph_end(html, text) if original is None else None) or last_word(
        original or html
    )
    if word is None:
        return False
    if word not in text:
        return True
    outer = leaf.parent
    page = root.mem_id
    while outer is not None and outer.mem_id != page:
        tag, attributes = outer.tag, outer.attributes
        if (
            (tag in NOT_READ or (attributes and is_hidden(attributes)))
            and html.count(f"<{tag}") > html.count(f"</{tag}")
            # What looks like tags in a script is none: it has ended where an end tag follows.
            and (tag not in RAW or html.find(f"</{tag}", html.rfind(word)) < 0)
        ):
            return True
        opened_again = outer.prev is None or outer.prev.tag != "-text"
        if tag in FORMATTING and opened_again and rules_of(attributes.get("class") or ""):
            tags = re.findall(rf"<(/?){tag}[\s/>]", original or html, re.IGNORECASE)
            if 2 * tags.count("") > len(tags):
                return True
        outer = outer.parent
    return False


def _word_before_paragraph_end(html: str, text: str) -> str | None:
    """Return the last word of ``text`` where a page ends with that and ``</p>``, else ``None``."""
    tail = html[-_SHORT_END:].rstrip()
    if not tail.endswith("</p>"):
        return None
    words = text[-_SHORT_END:].rstrip()
    last = words.rfind(" ")
    # Not what comes next to no space: more of the same word might stand before it.
    if last < 0 or not tail.endswith(words[last:], 0, -4) or ">" in words[last:] or "&" in words[last:]:
        return None
    return words[last + 1 :]


def last_word(html: str) -> str | None:
    """Return what stands after the last white space outside tags, ``None`` where the end of the page is tags alone."""
    tail = html[-_TAIL:]
    last = end = start = len(html) - len(tail) + len(tail.rstrip())
    while html[end - 1 : end] == ">":
        behind, start = start, html.rfind("<", 0, end)
        if start < 0 or html.find(">", start, end) < end - 1:
            if html.startswith(("</script", "</style"), behind) or not html.endswith("-->", 0, end):
                break
            start = html.rfind("<!--", 0, end)
            if start < 0 or html.find("-->", start + 2, end) < end - 3:
                break
        if start < last - _TAIL:
            return None
        first = max(start - _TAIL, 0)
        end = first + len(html[first:start].rstrip())
    first = max(end - _TAIL, 0)
    before = html.rfind(">", first, end)
    words = html[max(before + 1, first) : end].rsplit(None, 1)
    # The usual cases, far faster than what follows: it stands after white space, or right after a tag.
    if (
        words
        and "&" not in words[-1]
        and (
            len(words) > 1
            or (before >= 0 and html.rfind("<", first, before) > html.rfind(">", first, before))
        )
    ):
        return words[-1]
    tail = html[first:end]
    if first and tail.find("<", 0, tail.find(">") + 1) < 0:  # begins within a tag
        tail = tail[tail.find(">") + 1 :]
    words = _NO_TEXT.sub(" ", tail).split()
    return words[-1] if words else None


def _last_text(root: Any) -> Any:
    """Return the last text node with more than white space, ``None`` when it is not near the end."""
    node = root
    for _ in range(_STEPS):
        inner = node.last_child
        if inner is not None:
            node = inner
            continue
        if node.tag == "-text" and (node.text_content or "").strip():
            return node
        while node.prev is None:
            node = node.parent
            if node is None or node.mem_id == root.mem_id:
                return None
        node = node.prev
    return None

"""Raised remarks that ask a wiki's editors for something (``[citation needed]``), told by what they link to.

Their classes differ from one Wikipedia to the next; that they lead to a page about the project, in brackets, does not.
"""

from __future__ import annotations

import re
from typing import Any

_PROJECT_PAGE = re.compile(r"(?:\./|/wiki/|https?://[\w.-]+/wiki/)[^/:#?]+:[^_%# ](?!.*#cite_)")
"""An address with a namespace, and no space behind its colon as titles of works have."""
_DEPTH = 4
"""How deep a remark's only text may lie: ``<i><a><span>citation needed``."""


def asks_editors(node: Any) -> bool:
    """Return whether a raised remark in brackets links to pages about the project alone: ``[citation needed]``, in any language.

    Titles of such pages have a namespace (``./Wikipedie:Ověřitelnost``), and no space behind its colon as those of works have.
    Only children, and what stands alone within them, are looked at.
    """
    texts: list[str] = []
    linked = False
    child = node.first_child
    while child is not None:
        inner = child
        for _ in range(_DEPTH):
            if inner.tag == "a":
                if not _PROJECT_PAGE.match(inner.attributes.get("href") or ""):
                    return False
                linked = True
            if inner.first_child is None:
                break
            inner = inner.first_child
            if inner.next is not None:
                return False
        if inner.tag == "-text":
            texts.append(inner.text_content or "")
        elif inner.tag not in ("link", "style", "span", "-comment"):
            return False
        child = child.next
    text = "".join(texts).strip()
    return linked and text.startswith("[") and text.endswith("]")

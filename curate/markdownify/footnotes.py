"""Footnotes: ``[^n]`` where they are mentioned, their texts at the end of the document.

Web pages write them as links to items of a list: those that cmark-gfm, markdown-it, Pandoc, kramdown, Sphinx and the
plugins of WordPress make are recognised by where the link leads.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

_PLACES = (
    ".footnotes li[id], .footnote li[id], [role='doc-endnotes'] li[id], aside.footnote[id], li.footnote[id]"
)
_LISTS = ".footnotes, .footnote, [role='doc-endnotes']"
"""What there is wherever one of them is; far less to look for."""
_ARROWS = "↩↑⏎^"


class Footnotes:
    """The footnotes of one document, in the order in which they are mentioned."""

    def __init__(self) -> None:
        self._notes: dict[str, tuple[str, str | None]] = {}
        self._targets: frozenset[str] | None = None
        self._entries: frozenset[str] | None = None
        self.pairs: dict[int, str] | None = None
        """LaTeXML: the note to which each mark and text belongs that stand apart, once :mod:`.latexml_notes` has paired them."""

    def __contains__(self, key: str) -> bool:
        return key in self._notes

    def mention(self, key: str) -> str:
        """Return the label of the footnote ``key``, numbering it at its first mention."""
        if key not in self._notes:
            self._notes[key] = (str(len(self._notes) + 1), None)
        return self._notes[key][0]

    def define(self, key: str, text: str) -> None:
        """Give the footnote ``key`` its text: blocks, separated by blank lines."""
        self._notes[key] = (self.mention(key), text)

    def lacks_text(self, key: str) -> bool:
        """Return whether the footnote was mentioned and not yet defined."""
        return key in self._notes and self._notes[key][1] is None

    def blocks(self) -> list[str]:
        """Return the definitions as Markdown."""
        return [
            f"[^{label}]: " + text.replace("\n", "\n    ").replace("\n    \n", "\n\n")
            for label, text in self._notes.values()
            if text is not None
        ]

    def entry(self, root: Any, href: str) -> str | None:
        """Return the id of the entry of MediaWiki's reference lists that a mark leads to, ``None`` where the page has none.

        Args:
          root: the page's root node, searched at the first mark.
          href: the link of the mark, an absolute one in pages of the mobile site.
        """
        if self._entries is None:
            nodes = root.css("li[id^='cite_note']") if root is not None else []
            self._entries = frozenset(node.attributes.get("id") or "" for node in nodes)
        key = href.partition("#")[2]
        return next((one for one in (key, unquote(key)) if one in self._entries), None)

    def target(self, root: Any, href: str) -> str | None:
        """Return the id of the footnote that a link of a web page leads to, ``None`` where it leads elsewhere.

        Args:
          root: the page's root node, searched at the first such link.
          href: a link within the page, ``#…``.
        """
        if self._targets is None:
            nodes = root.css(_PLACES) if root is not None and root.css_first(_LISTS) is not None else []
            self._targets = frozenset(node.attributes.get("id") or "" for node in nodes) - {""}
        if not self._targets:
            return None
        key = href[1:]
        if key not in self._targets and "%" in key:
            key = unquote(key)
        return key if key in self._targets else None

    def is_text(self, key: str | None) -> bool:
        """Return whether the element with this id is the text of a footnote that a link of a web page mentioned."""
        return key in self._notes and self._targets is not None and key in self._targets


def is_back_link(text: str, classes: str | None) -> bool:
    """Return whether a link within a footnote only leads back to where it is mentioned."""
    return text[:1] in _ARROWS or "back" in (classes or "") or "reverse" in (classes or "")

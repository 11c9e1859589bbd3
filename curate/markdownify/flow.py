"""Where Markdown is collected while the page is walked.

A :class:`Flow` is a place where blocks are collected: the page, a list item, a quotation, a table cell, a footnote. In it
runs of inline content are collected in ``parts``; an :class:`Inline` is an open ``<em>``, ``<a>`` … whose content will be
wrapped when it ends. A block that starts inside open inline elements closes them before and opens them again after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_IN_LINE = frozenset(("item", "list", "quote", "line"))
"""Flows that become one line where the flow around them does."""


class Inline:
    """An open inline element."""

    __slots__ = ("kind", "parts", "wrap")

    def __init__(self, kind: str, wrap: Callable[[Any, str], str]) -> None:
        self.kind = kind
        self.parts: list[str] = []
        self.wrap = wrap
        """Gives the Markdown of the element from the serializer and that of its content."""


class Flow:
    """A place where blocks are collected."""

    __slots__ = (
        "blocks", "emphatic", "in_cell", "indent", "inlines", "kind", "list_end", "loose", "parent", "parts", "state",
    )  # fmt: skip

    def __init__(self, kind: str, parent: Flow | None, state: Any = None) -> None:
        self.kind = kind
        """``page``, ``item``, ``list``, ``quote``, ``cell`` (of a GFM table), ``box`` (cell of an HTML table), ``line`` (heading,
        caption, term), ``table`` or ``note``."""
        self.parent = parent
        self.in_cell: bool = kind == "cell" or (parent is not None and parent.in_cell and kind in _IN_LINE)
        """Whether all that is written here ends up in one line of a GFM table."""
        self.blocks: list[str] = []
        self.emphatic = False
        """Whether the paragraph under way has emphasis."""
        self.parts: list[str] = []
        self.inlines: list[Inline] = []
        self.loose = False
        """Whether an item has paragraphs of its own."""
        self.state = state
        """What the handlers of lists and tables keep here."""
        self.list_end: tuple[int, str] = (-1, "")
        """How many blocks there were when the last list ended, and its kind and marker."""
        self.indent: int = parent.indent if parent else 0
        """Number of lists and quotations around."""

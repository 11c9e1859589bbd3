"""Which rules of a profile an element is under, by its classes and its tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MAX_REMEMBERED = 1000
"""Values of ``class`` that are remembered, and characters of the longest."""

KNOWN_TAGS = 256
"""Lexbor's numbers below are the same on each page: those of the elements of HTML. Others are those of one page."""


class ClassRules(dict[str, Callable[..., Any]]):
    """The rules of a profile by class. Remembers those of each value of ``class``: pages of a kind share most."""

    __slots__ = ("met",)

    def __init__(self, rules: dict[str, Callable[..., Any]]) -> None:
        super().__init__(rules)
        self.met: dict[str, list[Callable[..., Any]]] = {}

    def of(self, names: str) -> list[Callable[..., Any]]:
        """Return the rules of a value of ``class``."""
        known = self.met.get(names)
        return self._find(names) if known is None else known

    def _find(self, names: str) -> list[Callable[..., Any]]:
        rules = [self[name] for name in names.split() if name in self]
        if len(names) < _MAX_REMEMBERED:
            if len(self.met) >= _MAX_REMEMBERED:
                self.met.clear()
            self.met[names] = rules
        return rules


class TagHandlers(dict[str, Callable[..., Any]]):
    """The handlers by tag. Remembers those of Lexbor's numbers for tags: a name must be made of bytes at each look."""

    __slots__ = ("met",)

    def __init__(self, handlers: dict[str, Callable[..., Any]]) -> None:
        super().__init__(handlers)
        self.met: dict[int, Callable[..., Any] | None] = {}

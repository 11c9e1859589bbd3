"""A serializer that notes which rule applied at which element, what was left out and what was written in its place."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tootsie.curate.markdownify.flow import Flow
from tootsie.curate.markdownify.options import Limits, Options
from tootsie.curate.markdownify.rules import RULES, Effect
from tootsie.curate.markdownify.serializer import PASS, SKIP, Handler, Leave, Node, Serializer
from tootsie.curate.markdownify.styling import StyledSerializer

UNNAMED = "unnamed"
"""Stands for a rule where text was left out and no rule said so: a fault of the converter."""
_LOSES = (Effect.DROPPED, Effect.ASIDE)


class _Tally(Counter[str]):
    """Counters that tell the tracer which rule applied."""

    tracer: Tracer

    def __setitem__(self, name: str, value: int) -> None:
        grown = value > self.get(name, 0)
        super().__setitem__(name, value)
        if grown:
            self.tracer.applied(name)


class Tracer(Serializer):
    """Notes what the handlers do; the handlers are those of any conversion, and so is the Markdown."""

    def __init__(
        self,
        options: Options,
        limits: Limits,
        tags: dict[str, Handler],
        classes: dict[str, Handler],
        max_events: int,
    ) -> None:
        super().__init__(
            options,
            limits,
            {name: _traced(handler) for name, handler in tags.items()},
            {name: _traced(handler) for name, handler in classes.items()},
        )
        self.max_events = max_events
        self.applications: list[tuple[int, str]] = []
        """``(mem_id of the element, rule)`` in the order of application; -1 for the page as a whole."""
        self.omitted = 0
        """Applications beyond ``max_events``."""
        self.dropped: dict[int, str] = {}
        """``mem_id`` of an element that was left out, to the rule that did."""
        self.written: dict[int, list[str]] = {}
        """``mem_id`` of an element that its handler dealt with at once, to the Markdown that it wrote."""
        self.flows: set[int] = set()
        """``mem_id`` of the elements that are collected on their own: notes, cells, headings."""
        tally = _Tally()
        tally.tracer = self
        self.counters = tally
        self._node_id = -1
        self._entering = False
        self._writes: list[str] = []
        self._rules = 0
        self._losing: str | None = None
        """The rule by which the handler that is running leaves text out."""

    def applied(self, name: str) -> None:
        """Note that a rule applied at the element under way."""
        self._rules += 1
        if len(self.applications) < self.max_events:
            self.applications.append((self._node_id, name))
        else:
            self.omitted += 1
        if name in RULES and RULES[name].effect in _LOSES:
            self._losing = name

    def enter(self, handler: Handler, node: Node, attributes: dict[str, Any]) -> Any:
        """Run a handler and note what it leaves out and what it writes."""
        outer, self._node_id = self._node_id, node.mem_id
        self._entering, self._writes, self._losing = True, [], None
        rules = self._rules
        result = handler(self, node, attributes)
        if result is SKIP and self.resume is None:
            self.written[self._node_id] = self._writes
            if self._losing is not None:
                self.dropped[self._node_id] = self._losing
            elif not self._writes and rules == self._rules:
                self.dropped[self._node_id] = UNNAMED
        elif result is not PASS and result is not SKIP:
            result = self._leaving(result, self._node_id, outer)
            outer = self._node_id  # until it is left, its text is that of this element
        self._entering = False
        self._node_id = outer
        return result

    def _leaving(self, leave: Leave | None, node_id: int, outer: int) -> Leave:
        def left(serializer: Serializer) -> None:
            self._node_id = node_id
            if leave is not None:
                leave(serializer)
            self._node_id = outer

        return left

    def push(self, kind: str, state: Any = None) -> Flow:
        """Open a flow; see :meth:`.Serializer.push`."""
        if self._entering:
            self.flows.add(self._node_id)
        return super().push(kind, state)

    def prose(self, text: str) -> None:
        """Add text without formulas; see :meth:`.Serializer.prose`."""
        if self._entering and text.strip():
            self._writes.append(text)
        super().prose(text)

    def inline(self, markdown: str) -> None:
        """Add finished inline Markdown; see :meth:`.Serializer.inline`."""
        if self._entering:
            self._writes.append(markdown)
        super().inline(markdown)

    def block(self, text: str) -> None:
        """Add a finished block; see :meth:`.Serializer.block`."""
        if self._entering:
            self._writes.append(text)
        super().block(text)


class StyledTracer(Tracer, StyledSerializer):
    """A tracer of Markdown in another style than the default."""

    def handlers(self, tags: dict[str, Handler], options: Options) -> dict[str, Handler]:
        """Return the handlers by tag; see :meth:`.StyledSerializer.handlers`."""
        styled = super().handlers(tags, options)
        return {
            name: handler if handler is tags.get(name) else _traced(handler)
            for name, handler in styled.items()
        }


def _traced(handler: Handler) -> Handler:
    def apply(serializer: Any, node: Node, attributes: dict[str, Any]) -> Any:
        return serializer.enter(handler, node, attributes)

    return apply

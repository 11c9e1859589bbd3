"""What each rule did to one page: the conversion repeated by a serializer that notes every rule and all that it drops.

Ordinary conversions pay nothing for it: the tracer wraps the handlers it is given and counts by a counter of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tootsie.curate.markdownify.conversion import DEFAULT_LIMITS, Conversion, convert_by
from tootsie.curate.markdownify.options import Limits, Options, Profile
from tootsie.curate.markdownify.rules import NOT_SHOWN, RULES, Effect
from tootsie.curate.markdownify.serializer import SKIP, Handler, Leave, Node, Serializer
from tootsie.curate.markdownify.source_tree import SourceTree

UNNAMED = "unnamed"
"""Stands for a rule where text was left out and no rule said so: a fault of the converter."""
_LOSES = (Effect.DROPPED, Effect.ASIDE)


@dataclass(frozen=True)
class TraceLimits:
    """Bounds of a trace."""

    max_events: int = 100_000
    """Applications of rules that are kept; the rest is only counted."""
    max_text: int = 10_000
    """Characters of one dropped text."""
    max_excerpt: int = 80
    """Characters of the excerpt of an element."""


@dataclass(frozen=True)
class Event:
    """One application of a rule."""

    rule: str
    """Its name, a key of :data:`.RULES`."""
    effect: Effect
    element: int
    """Number of the element in document order (:class:`.SourceTree`); -1 for the page as a whole."""
    path: str
    """Where the element stands, as a selector of its last ancestors."""
    excerpt: str
    """How the text of the element begins."""
    dropped: str
    """The text that this rule left out or set aside; empty where it left nothing out."""


@dataclass(frozen=True)
class Trace:
    """A conversion and what each rule did in it."""

    conversion: Conversion
    events: tuple[Event, ...]
    """In document order."""
    omitted: int
    """Applications beyond ``max_events``."""
    tree: SourceTree

    @property
    def dropped(self) -> list[tuple[str, str]]:
        """``(rule, text)`` for all text a reader of the page sees and the Markdown does not hold, in document order."""
        return [
            (event.rule, event.dropped)
            for event in self.events
            if event.dropped and event.rule not in NOT_SHOWN
        ]


def trace(
    html: str | bytes,
    *,
    profile: str | Profile = Profile.WEB,
    limits: Limits = DEFAULT_LIMITS,
    trace_limits: TraceLimits | None = None,
    charset: str | None = None,
    **options: Any,
) -> Trace:
    """Convert one page and tell what each rule did. Arguments and errors are those of :func:`.convert`.

    Time and memory are linear in the length of the page; the result depends on the arguments only.
    """
    bounds = trace_limits or TraceLimits()

    def engine(
        settings: Options, limits: Limits, tags: dict[str, Handler], classes: dict[str, Handler]
    ) -> Tracer:
        return Tracer(settings, limits, tags, classes, bounds.max_events)

    conversion, tracer = convert_by(engine, html, profile, limits, charset, options)
    tree = SourceTree.of(tracer.root)
    events = [
        Event(
            rule=name,
            effect=RULES[name].effect if name in RULES else Effect.DROPPED,
            element=number,
            path=tree.path(number),
            excerpt=tree.text(number, bounds.max_excerpt) if number >= 0 else "",
            dropped=tree.text(number, bounds.max_text) if drops else "",
        )
        for number, name, drops in tracer.applications(tree)
    ]
    return Trace(conversion, tuple(events), tracer.omitted, tree)


def dropped_text(
    html: str | bytes, *, profile: str | Profile = Profile.WEB, **options: Any
) -> list[tuple[str, str]]:
    """Return ``(rule, text)`` for all visible text of a page that its Markdown does not hold, in document order.

    Arguments are those of :func:`.convert`. Scripts, styles and the page's ``<title>`` are not visible text. One text is cut
    after ``TraceLimits.max_text`` characters.

    >>> dropped_text("<p>Save <button>Now</button></p>")
    [('forms_dropped', 'Now')]
    """
    return trace(html, profile=profile, **options).dropped


class _Tally(Counter[str]):
    """Counters that tell the tracer which rule applied."""

    tracer: Tracer

    def __setitem__(self, name: str, value: int) -> None:
        grown = value > self.get(name, 0)
        super().__setitem__(name, value)
        if grown:
            self.tracer.applied(name)


class Tracer(Serializer):
    """A serializer that notes which rule applied at which element."""

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
        self.omitted = 0
        self.node_id = -1
        """``mem_id`` of the element whose handler is running."""
        self.writes = 0
        """How often something was written; tells an element skipped in silence from one that was written at once."""
        self._losing: str | None = None
        """The rule by which the handler that is running leaves text out."""
        self._applied: list[tuple[int, str]] = []
        self._drops: dict[int, str] = {}
        """``mem_id`` of an element that was left out, to the rule that did."""
        tally = _Tally()
        tally.tracer = self
        self.counters = tally

    def applied(self, name: str) -> None:
        """Note that a rule applied at the element under way."""
        if len(self._applied) < self.max_events:
            self._applied.append((self.node_id, name))
        else:
            self.omitted += 1
        if name in RULES and RULES[name].effect in _LOSES:
            self._losing = name

    def enter(self, handler: Handler, node: Node, attributes: dict[str, Any]) -> Any:
        """Run a handler and note what it leaves out."""
        outer, self.node_id = self.node_id, node.mem_id
        count, omitted, writes = len(self._applied), self.omitted, self.writes
        self._losing = None
        result = handler(self, node, attributes)
        if result is SKIP:
            if self._losing is not None:
                self._drops[self.node_id] = self._losing
            elif writes == self.writes and count == len(self._applied) and omitted == self.omitted:
                self._drops[self.node_id] = UNNAMED
        elif callable(result):
            result = self._leaving(result, self.node_id)
        self.node_id = outer
        return result

    def _leaving(self, leave: Leave, node_id: int) -> Leave:
        def left(serializer: Serializer) -> None:
            outer, self.node_id = self.node_id, node_id
            leave(serializer)
            self.node_id = outer

        return left

    def applications(self, tree: SourceTree) -> list[tuple[int, str, bool]]:
        """Return ``(element, rule, whether it dropped the element)`` in document order."""
        noted = [(tree.numbers.get(node_id, -1), name) for node_id, name in self._applied]
        drops = {
            tree.numbers[node_id]: name for node_id, name in self._drops.items() if node_id in tree.numbers
        }
        found = [(number, name, drops.get(number) == name) for number, name in noted]
        known = {number for number, _, dropped in found if dropped}
        found += [
            (number, name, True)
            for number, name in drops.items()
            if number not in known and tree.text(number, 1)
        ]
        return sorted(found, key=lambda entry: entry[0])

    def text(self, text: str | None) -> None:  # noqa: D102
        self.writes += bool(text and text.strip())
        super().text(text)

    def inline(self, markdown: str) -> None:  # noqa: D102
        self.writes += 1
        super().inline(markdown)

    def block(self, text: str) -> None:  # noqa: D102
        self.writes += 1
        super().block(text)


def _traced(handler: Handler) -> Handler:
    def apply(serializer: Any, node: Node, attributes: dict[str, Any]) -> Any:
        return serializer.enter(handler, node, attributes)

    return apply

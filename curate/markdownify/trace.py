"""What each rule did to one page: the conversion repeated by a serializer that notes every rule and all that it drops.

Ordinary conversions pay nothing for it: the tracer wraps the handlers it is given and counts by a counter of its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from tootsie.curate.markdownify.conversion import (
    DEFAULT_LIMITS,
    DEFAULT_STYLE,
    Conversion,
    convert_by,
    settings_of,
)
from tootsie.curate.markdownify.options import Limits, Options, Profile
from tootsie.curate.markdownify.provenance import Provenance, left_out
from tootsie.curate.markdownify.rules import LOST_BY, NOT_SHOWN, RULES, Effect, rules_of
from tootsie.curate.markdownify.serializer import Handler
from tootsie.curate.markdownify.source_tree import SourceTree, cut
from tootsie.curate.markdownify.tracer import UNNAMED, StyledTracer, Tracer

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
    max_characters: int = 2**22
    """Words of a page with more text are not followed into the Markdown: no spans, and only whole elements count as dropped."""


@dataclass(frozen=True)
class Event:
    """One application of a rule."""

    rule: str
    """Its name, a key of :data:`.RULES`."""
    effect: Effect
    """What it did here; a rule that keeps text may yet drop some of it."""
    element: int
    """Number of the element in document order (:class:`.SourceTree`); -1 for the page as a whole."""
    path: str
    """Where the element stands, as a selector of its last ancestors."""
    excerpt: str
    """How the text of the element begins."""
    dropped: str
    """The text that this rule left out or set aside; empty where it left nothing out."""
    span: tuple[int, int]
    """Start and end in the Markdown of what the element became; empty where nothing of it is left."""


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
    kind = Tracer if settings_of(profile, options).style == DEFAULT_STYLE else StyledTracer

    def engine(
        settings: Options, limits: Limits, tags: dict[str, Handler], classes: dict[str, Handler]
    ) -> Tracer:
        return kind(settings, limits, tags, classes, bounds.max_events)

    conversion, tracer = convert_by(engine, html, profile, limits, charset, options)
    tree = SourceTree.of(tracer.root)
    events = _Events(tree, tracer, conversion, bounds).all()
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


class _Events:
    """The events of a trace, made from what the tracer noted."""

    def __init__(self, tree: SourceTree, tracer: Tracer, conversion: Conversion, bounds: TraceLimits) -> None:
        self.tree = tree
        self.bounds = bounds
        numbers = tree.numbers
        self.applied = [(numbers.get(node_id, -1), name) for node_id, name in tracer.applications]
        self.drops = {numbers[key]: name for key, name in tracer.dropped.items() if key in numbers}
        self.written = {numbers[key]: parts for key, parts in tracer.written.items() if key in numbers}
        self.known = rules_of(tracer.options.profile)
        self.rules: dict[int, list[str]] = defaultdict(list)
        for number, name in self.applied:
            self.rules[number].append(name)
        short = sum(map(len, tree.texts)) <= bounds.max_characters
        apart = {numbers[key] for key in tracer.flows if key in numbers}
        self.provenance = Provenance(tree, self.written, apart, conversion.markdown) if short else None

    def all(self) -> list[Event]:
        """Return every event in document order."""
        events = []
        told: set[int] = set()
        for number, name in self.applied:
            drops = self.drops.get(number) == name and number not in told
            events.append(
                self._event(number, name, self.tree.text(number, self.bounds.max_text) if drops else "")
            )
            if drops:
                told.add(number)
        for number, name in self.drops.items():
            if number not in told and (text := self.tree.text(number, self.bounds.max_text)):
                events.append(self._event(number, name, text))
        events += self._lost_in_place() + self._lost_later()
        return sorted(events, key=lambda event: event.element)

    def _event(self, number: int, rule: str, dropped: str) -> Event:
        return Event(
            rule=rule,
            effect=_effect(rule),
            element=number,
            path=self.tree.path(number),
            excerpt=self.tree.text(number, self.bounds.max_excerpt) if number >= 0 else "",
            dropped=dropped,
            span=self.provenance.span(number) if self.provenance and number >= 0 else (0, 0),
        )

    def _lost_in_place(self) -> list[Event]:
        """What a handler left out of an element that it wrote at once."""
        events = []
        for number, parts in self.written.items():
            rules = self.rules[number]
            if number in self.drops or not parts or _is_said_otherwise(parts, rules):
                continue
            if missing := left_out(self.tree, number, parts):
                events.append(self._loss(number, rules[-1] if rules else UNNAMED, missing))
        return events

    def _lost_later(self) -> list[Event]:
        """What was read and went with the list, the cell or the heading it stood in."""
        if self.provenance is None:
            return []
        events: list[Event] = []
        for lost in self.provenance.lost():
            number, rule = self._owner(lost.element)
            last = events[-1] if events else None
            if last is not None and (last.element, last.rule) == (number, rule):
                joined = cut(f"{last.dropped} {lost.text}", self.bounds.max_text)
                events[-1] = replace(last, dropped=joined)
            else:
                events.append(self._loss(number, rule, lost.text))
        return events

    def _owner(self, number: int) -> tuple[int, str]:
        """Return the rule that answers for text lost in an element: the nearest that drops, else the nearest."""
        nearest: tuple[int, str] | None = None
        for outer in self.tree.ancestors(number):
            for name in self.rules.get(outer, ()):
                later = LOST_BY.get(name, name)
                if later in self.known and RULES[later].effect in _LOSES:
                    return outer, later
                if nearest is None and _effect(name) is Effect.KEPT:
                    nearest = outer, name
        return nearest or (number, UNNAMED)

    def _loss(self, number: int, rule: str, text: str) -> Event:
        event = self._event(number, rule, cut(text, self.bounds.max_text))
        return event if event.effect in _LOSES else replace(event, effect=Effect.DROPPED)


def _effect(rule: str) -> Effect:
    """Return the effect of a rule; one that only a user's converter counts keeps the text."""
    if rule in RULES:
        return RULES[rule].effect
    return Effect.DROPPED if rule == UNNAMED else Effect.KEPT


def _is_said_otherwise(parts: list[str], rules: list[str]) -> bool:
    """Return whether Markdown expresses an element by other words than its own: as a formula, as the mark of a note."""
    return all(part.startswith("[^") for part in parts) or (
        bool(rules) and all(_effect(name) is Effect.REWRITTEN for name in rules)
    )

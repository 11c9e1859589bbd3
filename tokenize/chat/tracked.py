"""Text that knows where each of its characters comes from: the template or a message, and whether a model is to say it.

A template may glue its own text and that of a message together before it writes them (``'<|im_start|>' + role + …``). Only where
the template itself spells a special token does it mean one; the same letters inside a message are ordinary text. So
the origin travels with the characters through every operation that a template has.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from typing import Any, SupportsIndex

from jinja2.runtime import Undefined

TEMPLATE = 1
"""The character stands in the template."""
GENERATED = 2
"""The character is inside a ``{% generation %}`` block."""

Run = tuple[int, int]
"""``(end, flags)``: characters up to ``end`` (exclusive) have these flags."""


class Tracked(str):
    """A string with flags for each run of its characters. A plain ``str`` counts as the template's.

    Every operation either keeps the flags of each character or, where it can't tell, takes the result for a message's.
    """

    __slots__ = ("runs",)
    runs: tuple[Run, ...]

    def __new__(cls, text: str = "", runs: tuple[Run, ...] | None = None) -> Tracked:
        """Return ``text`` with the flags of its runs; without them, a message's text."""
        made = super().__new__(cls, text)
        made.runs = runs if runs is not None else _uniform(len(text), 0)
        return made

    def __str__(self) -> str:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Tracked, (str.__str__(self), self.runs)

    def __getitem__(self, key: SupportsIndex | slice) -> Tracked:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._cut(start, max(start, stop))
            text = str.__getitem__(self, key)
            return Tracked(text, _uniform(len(text), self._least()))
        index = key.__index__()
        text = str.__getitem__(self, index)
        position = index if index >= 0 else index + len(self)
        return Tracked(text, ((1, self._flags_at(position)),))

    def __iter__(self) -> Iterator[Tracked]:
        return (self[position] for position in range(len(self)))

    def __add__(self, other: str) -> Tracked:
        return concatenate((self, other))

    def __radd__(self, other: str) -> Tracked:
        return concatenate((other, self))

    def strip(self, chars: str | None = None, /) -> Tracked:
        """As ``str.strip``."""
        start = len(self) - len(str.lstrip(self, chars))
        return self._cut(start, max(start, len(str.rstrip(self, chars))))

    def lstrip(self, chars: str | None = None, /) -> Tracked:
        """As ``str.lstrip``."""
        return self._cut(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> Tracked:
        """As ``str.rstrip``."""
        return self._cut(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> Tracked:
        """As ``str.removeprefix``."""
        return self._cut(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> Tracked:
        """As ``str.removesuffix``."""
        return self._cut(0, len(str.removesuffix(self, suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[Tracked]:  # type: ignore[override]
        """As ``str.split``."""
        return self._located(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[Tracked]:  # type: ignore[override]
        """As ``str.rsplit``."""
        return self._located(str.rsplit(self, sep, maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> list[Tracked]:  # type: ignore[override]
        """As ``str.splitlines``."""
        lines, at = [], 0
        for line in str.splitlines(self, keepends=True):
            bare = line if keepends else str.splitlines(line)[0]
            lines.append(self._cut(at, at + len(bare)))
            at += len(line)
        return lines

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Tracked:
        """As ``str.replace``."""
        if not old:
            text = str.replace(self, old, new, count)
            return Tracked(text, _uniform(len(text), self._least() & tracked(new)._least()))
        return concatenate(_between(self.split(old, count), new))

    def join(self, parts: Iterable[str], /) -> Tracked:
        """As ``str.join``."""
        return concatenate(_between(parts, self))

    def upper(self) -> Tracked:
        """As ``str.upper``."""
        return self._changed(str.upper(self))

    def lower(self) -> Tracked:
        """As ``str.lower``."""
        return self._changed(str.lower(self))

    def title(self) -> Tracked:
        """As ``str.title``."""
        return self._changed(str.title(self))

    def capitalize(self) -> Tracked:
        """As ``str.capitalize``."""
        return self._changed(str.capitalize(self))

    def generated(self) -> Tracked:
        """Return the same text, all of it inside a generation block."""
        return Tracked(str.__str__(self), tuple((end, flags | GENERATED) for end, flags in self.runs))

    def _cut(self, start: int, stop: int) -> Tracked:
        if start == 0 and stop == len(self):
            return self
        text = str.__getitem__(self, slice(start, stop))
        runs = []
        for end, flags in self.runs[self._run_at(start) :]:
            runs.append((min(end, stop) - start, flags))
            if end >= stop:
                break
        return Tracked(text, tuple(runs) if text else ())

    def _located(self, parts: list[str], sep: str | None) -> list[Tracked]:
        """Return the parts, which lie in the text in this order, ``sep`` (or white space) between them."""
        found, at = [], 0
        for part in parts:
            if sep is None:
                at = str.find(self, part, at)
            found.append(self._cut(at, at + len(part)))
            at += len(part) + len(sep or "")
        return found

    def _changed(self, text: str) -> Tracked:
        """Return a changed text; if the flags are not the same throughout, the least that holds for all."""
        return Tracked(text, _uniform(len(text), self._least()))

    def _least(self) -> int:
        least = TEMPLATE | GENERATED
        for _, flags in self.runs:
            least &= flags
        return least

    def _run_at(self, position: int) -> int:
        return bisect.bisect_right(self.runs, (position, TEMPLATE | GENERATED))

    def _flags_at(self, position: int) -> int:
        return self.runs[self._run_at(position)][1]


def tracked(text: str) -> Tracked:
    """Return ``text`` with flags; a plain ``str`` is the template's."""
    if isinstance(text, Tracked):
        return text
    return Tracked(text, _uniform(len(text), TEMPLATE))


def concatenate(parts: Iterable[str]) -> Tracked:
    """Return the parts one after another, each character with its flags."""
    texts: list[str] = []
    runs: list[Run] = []
    at = 0
    for part in parts:
        if not part:
            continue
        texts.append(part)
        # What is plain is the template's; see :func:`tracked`, whose object would be thrown away at once.
        for end, flags in part.runs if isinstance(part, Tracked) else ((len(part), TEMPLATE),):
            if runs and runs[-1][1] == flags:
                runs.pop()
            runs.append((at + end, flags))
        at += len(part)
    return Tracked("".join(texts), tuple(runs))


def plain_text(value: Any) -> Tracked | str:
    """Return what is written for a value; of anything but text, a message's text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Undefined):
        str(value)  # raises where the kind of undefined says so
        return ""
    return Tracked(str(value) if isinstance(value, bool | int | float | None) else repr(value))


def _between(parts: Iterable[str], separator: str) -> Iterator[str]:
    for number, part in enumerate(parts):
        if number:
            yield separator
        yield part


def _uniform(length: int, flags: int) -> tuple[Run, ...]:
    return ((length, flags),) if length else ()

"""Families of questions whose worked answers are computed when the dump is built.

Each module holds a few families; a family is a function that takes a seeded generator and yields source text in the
form of ``threads.py``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from threads import Thread, parse

Family = Callable[[random.Random], Iterator[str]]


def families() -> list[Family]:
    """All families, in a fixed order."""
    return []


def threads() -> list[Thread]:
    """The threads of all families; each family has its own generator, so that one does not stir another."""
    made = []
    for family in families():
        rng = random.Random(f"sampleoverflow:{family.__name__}")
        for text in family(rng):
            for thread in parse(text, family.__name__):
                thread.origin = "computed"
                made.append(thread)
    return made

"""Families of questions whose worked answers are computed when the dump is built.

Each module of this folder holds a few families; a family is a function that takes a seeded generator and yields source
text in the form of ``threads.py``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from computed import algebra, bits, calculus, chance, handiwork, numbers, programs, queries
from threads import Thread, parse

Family = Callable[[random.Random], Iterator[str]]

FAMILIES: list[Family] = [
    numbers.modular_inverses, numbers.remainders, numbers.last_digits, numbers.coins,
    algebra.systems, algebra.quadratics, calculus.recurrences, calculus.integrals, algebra.bases,
    chance.dice, chance.samples, chance.loans,
    bits.encodings, bits.subnets, programs.dates, bits.masks, programs.searches, programs.distances,
    queries.patterns, queries.tables_and_queries,
    handiwork.doughs, handiwork.gears, handiwork.rooms, handiwork.ovens,
]  # fmt: skip


def threads() -> list[Thread]:
    """The threads of all families; each family has its own generator, so that one does not stir another."""
    made = []
    for family in FAMILIES:
        rng = random.Random(f"sampleoverflow:{family.__name__}")
        for text in family(rng):
            for thread in parse(text, family.__name__):
                thread.origin = "computed"
                made.append(thread)
    return made

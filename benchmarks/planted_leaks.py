"""Evaluation sets of invented problems, and documents that leak them in several dresses among documents that do not.

The questions are made as such sets are: school problems over a few templates (so that much of their wording recurs), multiple
choice, and short programs; each with an answer that is worked out in words.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NAMES = [
    "Ada",
    "Bela",
    "Carl",
    "Dora",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivan",
    "Jo",
    "Kim",
    "Lea",
    "Max",
    "Nora",
    "Otis",
    "Pia",
    "Quin",
    "Rosa",
    "Sam",
    "Tess",
    "Uma",
    "Vic",
    "Wanda",
]
THINGS = [
    "apples",
    "marbles",
    "stamps",
    "ribbons",
    "pencils",
    "bottles",
    "tickets",
    "candles",
    "shells",
    "books",
    "cards",
    "lanterns",
    "buttons",
    "kites",
]
PLACES = [
    "market",
    "harbour",
    "library",
    "museum",
    "garden",
    "station",
    "bakery",
    "workshop",
    "school",
    "theatre",
    "mill",
    "chapel",
    "orchard",
]
VERBS = [
    "buys",
    "finds",
    "loses",
    "gives",
    "sells",
    "paints",
    "counts",
    "borrows",
    "trades",
    "packs",
    "hides",
    "carries",
]


@dataclass(frozen=True)
class Item:
    """A question with its answer."""

    id: str
    question: str
    answer: str

    def record(self) -> dict[str, Any]:
        return {"id": self.id, "question": self.question, "answer": self.answer}


@dataclass(frozen=True)
class Leak:
    """A document, and the item that it leaks."""

    id: str
    text: str
    dress: str
    item: str

    def record(self) -> dict[str, Any]:
        return {"id": self.id, "text": self.text, "source": "leaks", "metadata": {"dress": self.dress}}


def problems(count: int, seed: int = 0) -> list[Item]:
    """Return worded problems, no two alike."""
    chance = random.Random(seed)
    items = []
    for number in range(count):
        one, other = chance.sample(NAMES, 2)
        thing, second = chance.sample(THINGS, 2)
        place, verb = chance.choice(PLACES), chance.choice(VERBS)
        a, b, c = chance.randint(11, 99), chance.randint(2, 9), chance.randint(100, 4999)
        question = (
            f"{one} {verb} {a} {thing} at the {place} and puts {b} of them into each box. {other}, who came {c:,} steps to "
            f"get there, {chance.choice(VERBS)} {chance.randint(3, 60)} {second} before noon. How many {thing} are left over "
            f"when {one} has filled as many boxes as possible, and how many {second} does {other} need to match them?"
        )
        answer = (
            f"{one} fills {a // b} boxes of {b} {thing}, which takes {a // b * b} of the {a}. That leaves {a % b} {thing} over. "
            f"{other} started with the {second} from the {place} and so needs {chance.randint(1, 500)} more of them. "
            f"The answer is {a % b} and {number * 37 % 911}."
        )
        items.append(Item(f"problem-{number}", question, answer))
    return items


DRESSES: dict[str, Callable[[random.Random, Item], str]] = {
    "verbatim": lambda chance, item: f"{item.question}\n{item.answer}",
    "question only": lambda chance, item: item.question,
    "answer only": lambda chance, item: item.answer,
    "whitespace": lambda chance, item: "".join(
        chance.choice((" ", "\n", "\u00a0", "\u2003", "  \t")) if letter == " " else letter
        for letter in item.question
    ),
    "reformatted": lambda chance, item: _reformatted(chance, item),
    "shouted": lambda chance, item: item.question.upper().replace(",", " ,").replace(".", " !"),
}


def _reformatted(chance: random.Random, item: Item) -> str:
    sentences = item.question.split(". ")
    words = " ".join(sentences).split(" ")
    for place in range(0, len(words), 9):
        words[place] = f"**{words[place]}**"
    lines = [" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]
    return (
        f"### Problem {chance.randint(1, 99)}\n\n"
        + "\n".join(f"> {line}" for line in lines)
        + f"\n\n*Solution.* {item.answer}"
    )


WORDS = [
    "over",
    "under",
    "stone",
    "river",
    "garden",
    "little",
    "often",
    "where",
    "nobody",
    "quiet",
    "large",
    "window",
    "about",
    "seven",
    "letter",
    "morning",
]
"""Of text that leaks nothing."""


def around(chance: random.Random) -> str:
    """Return 20 to 200 words that leak nothing, to stand around a leak."""
    return " ".join(chance.choices(WORDS, k=chance.randint(20, 200))).capitalize() + "."


def leaking_documents(items: list[Item], around: Callable[[random.Random], str], seed: int = 0) -> list[Leak]:
    """Return one document for each item and dress, with other text around the leak.

    Args:
      items: that are leaked.
      around: returns text that leaks nothing.
      seed: of the choices.
    """
    chance = random.Random(seed)
    return [
        Leak(
            f"{dress}/{item.id}",
            f"{around(chance)}\n\n{make(chance, item)}\n\n{around(chance)}",
            dress,
            item.id,
        )
        for item in items
        for dress, make in DRESSES.items()
    ]

"""Seeded choice of words, so that computed articles on like things do not read alike."""

from __future__ import annotations

import random
from collections.abc import Sequence

SMALL = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]  # fmt: skip
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


class Voice:
    """The choices of one article, seeded by its title."""

    def __init__(self, title: str) -> None:
        self.random = random.Random(f"sample {title}")

    def say(self, *forms: str) -> str:
        """One of several ways to say the same."""
        return self.random.choice(forms)

    def order(self, paragraphs: Sequence[str], keep: int | None = None) -> list[str]:
        """The paragraphs in some order; with ``keep``, only so many of them."""
        found = [paragraph for paragraph in paragraphs if paragraph]
        self.random.shuffle(found)
        return found[:keep]


def in_words(number: int) -> str:
    """An integer from 0 to 999,999 in English words."""
    if number < 20:
        return SMALL[number]
    if number < 100:
        return TENS[number // 10 - 2] + (f"-{SMALL[number % 10]}" if number % 10 else "")
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    head, rest = divmod(number, size)
    tail = f" and {in_words(rest)}" if 0 < rest < 100 else f" {in_words(rest)}" if rest else ""
    return f"{in_words(head)} {name}{tail}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th …"""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(items: Sequence[str], word: str = "and") -> str:
    """``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + f" {word} " + items[-1]


def table(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], style: str = "text-align:right"
) -> str:
    """A plain wikitable."""
    out = [f'{{| class="wikitable" style="{style}"', f"|+ {caption}", "! " + " !! ".join(header)]
    out += ["|-\n| " + " || ".join(row) for row in rows]
    return "\n".join(out) + "\n|}"

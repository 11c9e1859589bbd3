"""Varied wording: every place where a family has a choice of sentences takes all of them in turn.

``Wording.say`` is called in the same order for each thread of a family. The n-th call of a thread remembers which of its
alternatives were used in the threads before, and takes one that was not, so that neighbours never open alike. A title
follows the question it belongs to.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from fractions import Fraction

THANKS = [
    "Thanks, that was the step I was missing.", "Exactly what I needed.", "Why didn't anybody tell me that at school?",
    "I had the very same problem last year.", "Nice. I'll print this out.",
    "Could you say a word about where this fails?", "I checked it; it is right.",
    "This deserves more votes.", "The second paragraph did it for me.", "I'd never have thought of that.",
    "For the record: I get the same result.", "Small typo fixed, I hope you don't mind.",
    "How long did it take you to find this out?", "Good answer. The table is what makes it clear.",
    "That's the first explanation I could follow.", "And I was too proud to ask.",
    "I came here for something else and stayed.", "You just saved my weekend.", "+1 for showing the check.",
    "I teach this, and I'm going to steal your wording.", "So simple, once one has seen it!",
    "Somebody should write this into the manual.", "Please accept the answer if it solved your problem.",
    "There is an older question about this, but this answer is better.", "Works. Thank you!", "Very clear.",
    "I prefer the other answer, but this one is shorter.", "My old book takes two pages for it.",
]  # fmt: skip
"""Comments that fit everywhere."""


class Wording:
    """Chooses among alternatives without repeating itself."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._call = 0
        self._opening = 0
        self._seed = rng.random()
        self._left: dict[tuple[int, int], list[int]] = {}
        self._orders: dict[tuple[int, int], random.Random] = {}
        self._thanks: list[str] = []

    def _choose(self, count: int) -> int:
        """An index below ``count`` that this place of the thread has not had for the longest time."""
        self._call += 1
        place = (self._call, count)
        left = self._left.setdefault(place, [])
        if not left:
            order = self._orders.setdefault(place, random.Random(f"{self._seed}:{place}"))
            left.extend(order.sample(range(count), count))
        return left.pop()

    def say(self, *options: str) -> str:
        """One of ``options``; the alternatives at this place of the thread are used up before one comes again."""
        return options[self._choose(len(options))]

    def opening(self, *questions: str) -> str:
        """One of ``questions``, remembered for the title."""
        self._opening = self._choose(len(questions))
        return questions[self._opening]

    def title(self, *titles: str) -> str:
        """The title that stands where the chosen question stood in ``opening``."""
        return titles[self._opening]

    def thread(self, title: str, tags: Sequence[str], question: str, *answers: str) -> str:
        """Source text of a thread; scores, acceptance and comments are drawn, later answers are sometimes left out."""
        rng = self.rng
        self._call = 0
        best = rng.randrange(3, 28)
        replies = [capitalised(answer) for answer in answers]
        kept = [answer for i, answer in enumerate(replies) if i == 0 or rng.random() < 0.85]
        accepted = rng.choice([0, 0, 0, 0, len(kept) - 1, None])
        parts = [
            f"@question tags={','.join(tags)} {max(1, best - rng.randrange(-4, 12))}\n{title}\n\n{question.strip()}\n"
        ]
        parts += self._comments(0.25)
        for i, answer in enumerate(kept):
            score = max(0, best - 5 * i - rng.randrange(4))
            flags = " accepted" if i == accepted else ""
            flags += " edited" if rng.random() < 0.2 else ""
            parts.append(f"@answer {score}{flags}\n{answer.strip()}\n")
            parts += self._comments(0.35)
        return "\n".join(parts)

    def _comments(self, chance: float) -> list[str]:
        out = []
        while self.rng.random() < chance:
            if not self._thanks:
                self._thanks = self.rng.sample(THANKS, len(THANKS))
            out.append(f"@comment {self.rng.choice([0, 0, 1, 2, 5])}\n{self._thanks.pop()}\n")
            chance /= 2
        return out


def capitalised(text: str) -> str:
    """Begin each sentence of the prose with a capital, whichever lead-in came before it; fences are left alone."""
    pieces = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.compile(r"(?<=[a-z]{2}[.!?] )[a-z](?=[a-z]* )")
    return "".join(
        piece if i % 2 else prose.sub(lambda m: m[0].upper(), piece) for i, piece in enumerate(pieces)
    )


def frac(value: Fraction | int) -> str:
    """A rational number in TeX."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def signed(value: Fraction | int, first: bool = False) -> str:
    """A number with the sign that joins it to what stands before it: ``+ 3``, ``- 3``."""
    if first:
        return frac(value)
    return f"- {frac(-value)}" if value < 0 else f"+ {frac(value)}"


def polynomial(coefficients: Sequence[Fraction | int], name: str = "x") -> str:
    """TeX of a polynomial from its coefficients, the highest first."""
    out = ""
    for index, value in enumerate(coefficients):
        power = len(coefficients) - 1 - index
        if not value:
            continue
        variable = (
            ""
            if power == 0
            else name
            if power == 1
            else f"{name}^{{{power}}}"
            if power > 9
            else f"{name}^{power}"
        )
        size = abs(Fraction(value))
        shown = "" if size == 1 and variable else frac(size)
        joint = ("-" if value < 0 else "") if not out else (" - " if value < 0 else " + ")
        out += joint + shown + variable
    return out or "0"


def fence(language: str, code: str, output: bool = True) -> str:
    """A fence that the build runs, with room for its output."""
    return f"```{language} run\n{code.strip()}\n```" + ("\n\n```output\n```" if output else "")


def table(header: Sequence[str], rows: Sequence[Sequence[object]], align: str) -> str:
    """A table; ``align`` has one of ``l``, ``c``, ``r`` per column."""
    marks = {"l": ":--", "c": ":-:", "r": "--:"}
    lines = [header, [marks[side] for side in align], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)

"""In what two corpora are written differently, the largest difference first, and what that does to a loss.

A model's loss on an evaluation set is also a loss on how the set is written. Texts that all end in a space, where those of the
training do not, cost the loss of one token each that has nothing to do with their content.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from tootsie.datasets.errors import SpecError
from tootsie.datasets.format_profile import FORMAT

MIN_DIFFERENCE = 0.05
"""Difference of two shares of documents that is told …"""
MIN_DEVIATIONS = 4.0
"""… if chance makes it that large less often than once in ten thousand times: in standard deviations."""
MIN_RATIO = 2.0
"""Ratio of two lengths that is told …"""
MIN_DOCUMENTS = 30
"""… where both corpora have so many documents."""
_GROUPS = {
    "ends": "end in: {}",
    "starts": "begin with: {}",
    "last_characters": "last character: {}",
    "languages": "language: {}",
    "shares": "have: {}",
}
_ADVICE = {
    "end in: space": "A last token that the other corpus does not have, and its loss. Strip the end of both, or of neither.",
    "end in: line break": "Documents of one end in a line break, a token that those of the other do not have.",
    "end in: two line breaks or more": "Documents of one end in empty lines, tokens that those of the other do not have.",
    "have: trailing whitespace": "The last token of a document is white space in one of them.",
    "have: leading whitespace": "The first token of a document is white space in one of them.",
    "have: Markdown": "One is Markdown and the other is not: headings, links and tables are tokens of their own.",
    "have: formulas": "Formulas are between dollars in one of them only, or one has none.",
    "have: carriage returns": "Lines end as on Windows in one of them: a token more for each line.",
    "have: trailing whitespace on lines": "Lines end in white space in one of them.",
}


class Difference(NamedTuple):
    """One thing that is written differently."""

    what: str
    first: float
    """Share of the first corpus's documents; a length where ``kind`` is ``length``."""
    second: float
    deviations: float
    """How many standard deviations the difference is; infinite for a length."""
    kind: str
    """``share`` or ``length``."""
    advice: str = ""


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """Return in what two profiles differ, the largest difference first.

    Args:
      first: of :func:`.format_profile.profile`.
      second: likewise.

    Raises:
      SpecError: one of them is none, or of no document.
    """
    for one in (first, second):
        if one.get("format") != FORMAT or not one.get("documents"):
            raise SpecError("no profile of documents", field="profile", value=one.get("format"))
    found: list[Difference] = []
    counts = first["documents"], second["documents"]
    for group, words in _GROUPS.items():
        if group == "languages" and not (first[group] and second[group]):
            continue
        for name in sorted({*first[group], *second[group]}):
            if name == "others":
                continue
            shares = first[group].get(name, 0.0), second[group].get(name, 0.0)
            deviations = _deviations(shares, counts)
            if abs(shares[0] - shares[1]) >= MIN_DIFFERENCE and deviations >= MIN_DEVIATIONS:
                what = words.format(name)
                found.append(
                    Difference(what, shares[0], shares[1], deviations, "share", _ADVICE.get(what, ""))
                )
    found.sort(key=lambda one: (-abs(one.first - one.second), one.what))
    for name in first["lengths"] if min(counts) >= MIN_DOCUMENTS else ():
        middle = first["lengths"][name].get("p50", 0), second["lengths"][name].get("p50", 0)
        if max(middle) >= MIN_RATIO * max(min(middle), 1):
            found.append(
                Difference(f"median of {name}", float(middle[0]), float(middle[1]), math.inf, "length")
            )
    return found


def _deviations(shares: tuple[float, float], counts: tuple[int, int]) -> float:
    """Return how unlikely the difference of two shares is: the statistic of the test of two proportions."""
    (one, other), (number, numbers) = shares, counts
    pooled = (one * number + other * numbers) / (number + numbers)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / number + 1 / numbers))
    return abs(one - other) / spread if spread else 0.0

"""Lengths with their unit: ``80000 steps``, ``1.34T tokens``, ``1200 sequences``, ``2 epochs of wikipedia``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

FACTORS = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "B": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
"""Suffixes of numbers; G and B are both 10⁹."""
LARGEST = 10**18

_PATTERN = re.compile(
    r"(?P<number>[0-9][0-9_]*(\.[0-9]+)?)\s*(?P<factor>[KMGT]i|[kKMGBT])?\s+(?P<unit>[A-Za-z]+)"
    r"(\s+of\s+(?P<dataset>\S+))?"
)
_EXAMPLES = "Write for example '80000 steps', '1.34T tokens', '1200 sequences' or '2 epochs of wikipedia'"


class Unit(StrEnum):
    """What a duration counts."""

    STEPS = "steps"
    """Updates of the weights; how many sequences that is depends on the batch size."""
    SEQUENCES = "sequences"
    """Rows of ``sequence_length`` tokens."""
    TOKENS = "tokens"
    """Tokens drawn."""
    EPOCHS = "epochs"
    """Passes over one dataset; needs ``of <dataset>``."""


@dataclass(frozen=True)
class Duration:
    """An exact amount of one unit; ``str()`` gives it back as it was written."""

    amount: Fraction
    """Positive; a whole number except for epochs."""
    unit: Unit
    """What it counts."""
    dataset: str | None
    """Whose epochs."""
    resolution: Fraction
    """Value of one unit in the last digit written: 10¹⁰ for ``1.34T``."""
    text: str
    """As written, for messages."""

    def __str__(self) -> str:
        return self.text


def parse_duration(value: Any) -> Duration:
    """Read a duration. Numbers may have underscores, a decimal part and a suffix (:data:`FACTORS`).

    Raises:
      ValueError: a bare number, an unknown unit, a fraction of a step, sequence or token, zero, or anything else.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"a bare number has no unit: is {value} in steps, sequences or tokens? {_EXAMPLES}")
    if not isinstance(value, str):
        raise ValueError(f"not a duration. {_EXAMPLES}")
    text = value.strip()
    if re.fullmatch(r"[0-9][0-9_.]*\s*([KMGT]i|[kKMGBT])?", text):
        raise ValueError(f"a bare number has no unit: is {text} in steps, sequences or tokens? {_EXAMPLES}")
    match = _PATTERN.fullmatch(text)
    if match is None or len(text) > 200:
        raise ValueError(f"not a duration. {_EXAMPLES}")
    name = match["unit"].lower()
    name = name if name.endswith("s") else name + "s"
    if name not in set(Unit):
        raise ValueError(f"unknown unit {match['unit']!r}. {_EXAMPLES}")
    unit = Unit(name)
    number = match["number"].replace("_", "")
    decimals = len(number.partition(".")[2])
    resolution = Fraction(FACTORS[match["factor"] or ""], 10**decimals)
    amount = Fraction(number) * FACTORS[match["factor"] or ""]
    if not 0 < amount <= LARGEST:
        raise ValueError(f"a duration lies above 0 and is at most {LARGEST:.0e} {unit.value}")
    if unit is Unit.EPOCHS and match["dataset"] is None:
        raise ValueError("epochs of which dataset? Write for example '2 epochs of wikipedia'")
    if unit is not Unit.EPOCHS:
        if match["dataset"] is not None:
            raise ValueError(f"only epochs are 'of' a dataset, not {unit.value}")
        if amount.denominator != 1:
            raise ValueError(f"{text!r} is not a whole number of {unit.value}")
    return Duration(amount, unit, match["dataset"], resolution, text)

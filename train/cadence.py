"""Durations with a unit, and "every so often" as a pure function of where the run stands.

A number without a unit is refused: Marin's run once took samples for steps.
"""

from __future__ import annotations

import enum
import re
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, PlainSerializer


class Progress(NamedTuple):
    """Where a run stands, in each unit."""

    steps: int  # Updates done.
    sequences: int  # Rows drawn: the plan's position.
    tokens: int  # Tokens drawn, sequences × sequence length.


class Unit(enum.StrEnum):
    """What a duration counts."""

    STEPS = "steps"
    """Updates of the weights."""
    SEQUENCES = "sequences"
    """Rows of ``sequence_length`` tokens."""
    TOKENS = "tokens"
    """Tokens drawn, scored or not."""


class Duration(NamedTuple):
    """An amount with its unit."""

    amount: int  # Positive.
    unit: Unit  # What it counts.

    def __str__(self) -> str:
        return f"{self.amount} {self.unit.value}"


_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "G": 10**9, "T": 10**12}
_FACTORS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_DURATION = re.compile(r"^\s*([0-9][0-9_,]*)(\.[0-9]+)?\s*(k|M|B|G|T|Ki|Mi|Gi|Ti)?\s+([a-z]+)\s*$")


def parse_duration(text: Any) -> Duration:
    """Read ``"50 steps"``, ``"1,000 sequences"`` or ``"1.34T tokens"``.

    Raises:
      ValueError: a bare number, an unknown unit or factor, or an amount that is not a positive whole number.
    """
    if isinstance(text, Duration):
        return text
    if isinstance(text, (int, float)):
        raise ValueError(f"{text} has no unit; write for example '{text} steps'")
    match = _DURATION.match(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write for example '50 steps' or '1.5M tokens'")
    unit = match[4] if match[4].endswith("s") else match[4] + "s"
    if unit not in set(Unit):
        raise ValueError(f"{match[4]!r} is not a unit; use steps, sequences or tokens")
    whole, fraction = re.sub("[_,]", "", match[1]), (match[2] or ".0")[1:]
    scaled = int(whole + fraction) * _FACTORS[match[3] or ""]
    amount, rest = divmod(scaled, 10 ** len(fraction))
    if rest or amount < 1:
        raise ValueError(f"{text!r} is not a positive whole number of {unit}")
    return Duration(amount, Unit(unit))


def is_due(every: Duration, before: Progress, after: Progress) -> bool:
    """Return whether a multiple of ``every`` was reached between two points of a run.

    Depends on nothing but the two points, so a resumed run does the same things at the same steps.
    """
    was, now = (getattr(progress, every.unit.value) for progress in (before, after))
    return now // every.amount > was // every.amount


def parse_tokens(text: Any) -> Duration:
    """Read a duration that must be in tokens.

    Raises:
      ValueError: it is in another unit, or not a duration.
    """
    duration = parse_duration(text)
    if duration.unit is not Unit.TOKENS:
        raise ValueError("this amount is in tokens; write for example '64 tokens'")
    return duration


DurationField = Annotated[Duration, BeforeValidator(parse_duration), PlainSerializer(str, return_type=str)]
"""A pydantic field that reads and writes durations as text."""

TokensField = Annotated[Duration, BeforeValidator(parse_tokens), PlainSerializer(str, return_type=str)]
"""A :data:`DurationField` whose unit is tokens."""

"""Durations and what is due when."""

from __future__ import annotations

import itertools

import pytest

from tootsie.train.cadence import Duration, Progress, Unit, is_due, parse_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 steps", Duration(50, Unit.STEPS)),
        ("1 step", Duration(1, Unit.STEPS)),
        ("1,000 sequences", Duration(1000, Unit.SEQUENCES)),
        ("1.34T tokens", Duration(1_340_000_000_000, Unit.TOKENS)),
        ("4Mi tokens", Duration(2**22, Unit.TOKENS)),
        ("80_000 steps", Duration(80_000, Unit.STEPS)),
    ],
)
def test_durations_are_read_and_written(text: str, expected: Duration) -> None:
    assert parse_duration(text) == expected
    assert parse_duration(str(expected)) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (50, "50 has no unit; write for example '50 steps'"),
        ("50", "not a duration"),
        ("50 parsecs", "'parsecs' is not a unit; use steps, sequences or tokens"),
        ("0 steps", "not a positive whole number of steps"),
        ("1.5 steps", "not a positive whole number of steps"),
        ("-3 steps", "not a duration"),
    ],
)
def test_what_is_no_duration_is_refused_with_what_would_be(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(value)


def test_due_when_a_multiple_is_reached_whatever_the_stride() -> None:
    every = parse_duration("100 tokens")
    points = [Progress(step, 0, tokens) for step, tokens in enumerate([0, 60, 120, 180, 300, 390, 400])]
    due = [after.tokens for before, after in itertools.pairwise(points) if is_due(every, before, after)]
    assert due == [120, 300, 400]

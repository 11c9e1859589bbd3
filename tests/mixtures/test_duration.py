"""Lengths with their unit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tootsie.mixtures.duration import Unit, parse_duration


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("80000 steps", 80_000, Unit.STEPS),
        ("80_000 steps", 80_000, Unit.STEPS),
        ("1 step", 1, Unit.STEPS),
        ("1.34T tokens", 1_340_000_000_000, Unit.TOKENS),
        ("1.34 T tokens", 1_340_000_000_000, Unit.TOKENS),
        ("6.25B tokens", 6_250_000_000, Unit.TOKENS),
        ("6.25G tokens", 6_250_000_000, Unit.TOKENS),
        ("4Mi tokens", 4 * 2**20, Unit.TOKENS),
        ("0.1k steps", 100, Unit.STEPS),
        ("1200 Sequences", 1200, Unit.SEQUENCES),
    ],
)
def test_units_and_suffixes(text: str, amount: int, unit: Unit) -> None:
    duration = parse_duration(text)
    assert (duration.amount, duration.unit, str(duration)) == (amount, unit, text)


def test_epochs_name_their_dataset() -> None:
    duration = parse_duration("0.95 epochs of dclm/baseline-1.0")
    assert (duration.amount, duration.dataset) == (Fraction(95, 100), "dclm/baseline-1.0")


def test_exact_where_floats_are_not() -> None:
    assert parse_duration("0.123456789012T tokens").amount == 123_456_789_012
    assert parse_duration("999_999_999_999_999_999 tokens").amount == 999_999_999_999_999_999


def test_resolution_is_the_last_digit_written() -> None:
    assert parse_duration("1.34T tokens").resolution == 10**10
    assert parse_duration("12_345 tokens").resolution == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "a bare number has no unit: is 5 in steps, sequences or tokens"),
        (1e6, "a bare number has no unit"),
        ("5", "a bare number has no unit"),
        ("5T", "a bare number has no unit"),
        ("5 sheep", "unknown unit 'sheep'"),
        ("0 steps", "lies above 0"),
        ("-3 steps", "not a duration"),
        ("1.5 steps", "not a whole number of steps"),
        ("0.0001k tokens", "not a whole number of tokens"),
        ("2 epochs", "epochs of which dataset"),
        ("2 steps of wikipedia", "only epochs are 'of' a dataset"),
        ("nan tokens", "not a duration"),
        ("1e3 tokens", "not a duration"),
        ("99999999T tokens", "at most 1e[+]18"),
        (None, "not a duration"),
        (True, "not a duration"),
        (["1 step"], "not a duration"),
        ("1 step" * 1000, "not a duration"),
    ],
)
def test_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(value)

"""Whole numbers from exact quotas."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.mixtures.apportionment import largest_remainder


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=40).filter(any), st.integers(0, 2**62))
def test_adds_up_and_stays_next_to_the_quota(weights: list[int], total: int) -> None:
    quotas = [Fraction(weight * total, sum(weights)) for weight in weights]
    result = largest_remainder(quotas, total)
    assert sum(result) == total
    assert all(abs(count - quota) < 1 for count, quota in zip(result, quotas, strict=True))


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=40).filter(any), st.integers(40, 10**9))
def test_a_minimum_holds(weights: list[int], total: int) -> None:
    quotas = [Fraction(weight * total, sum(weights)) for weight in weights]
    result = largest_remainder(quotas, total, [1] * len(weights))
    assert sum(result) == total
    assert min(result) >= 1


def test_the_largest_fractions_get_the_rest() -> None:
    assert largest_remainder([Fraction(5, 10), Fraction(17, 10), Fraction(8, 10)], 3) == [0, 2, 1]


def test_ties_go_to_the_earlier() -> None:
    assert largest_remainder([Fraction(1, 2)] * 4, 2) == [1, 1, 0, 0]


def test_a_negative_quota_is_lifted() -> None:
    assert largest_remainder([Fraction(-3), Fraction(13)], 10, [1, 1]) == [1, 9]


def test_what_does_not_add_up_is_refused() -> None:
    with pytest.raises(ValueError, match="add up to 2, not to 3"):
        largest_remainder([Fraction(1), Fraction(1)], 3)
    with pytest.raises(ValueError, match="more than 1"):
        largest_remainder([Fraction(1), Fraction(0)], 1, [1, 1])

"""What a mixture asks for, and what a phase draws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.mixtures.plan import WEIGHT_TOTAL
from tootsie.mixtures.shares import asked_shares, phase_sequences
from tootsie.mixtures.spec import DatasetSpec, MixtureSpec


@pytest.fixture
def share_of(measured: Callable[..., Any]) -> Callable[..., dict[str, Fraction]]:
    def share_of(mixture: dict, oversample: dict[str, object] | None = None) -> dict[str, Fraction]:
        ledgers = {
            "a": measured("a", 3000, documents=10, size=9000),
            "b": measured("b", 1000, documents=40, size=3000),
            "c": measured("c", 500, documents=50, size=1000),
        }
        datasets = {
            name: DatasetSpec.model_validate({"cache": name, "oversample": (oversample or {}).get(name, 1)})
            for name in ledgers
        }
        asked = asked_shares(MixtureSpec.model_validate(mixture), datasets, ledgers)
        assert sum(asked.values()) == WEIGHT_TOTAL
        return {
            name: Fraction(weight, WEIGHT_TOTAL).limit_denominator(10**6) for name, weight in asked.items()
        }

    return share_of


@pytest.mark.parametrize(
    ("by", "expected"), [("tokens", (3, 1, 4)), ("bytes", (3, 1, 4)), ("documents", (1, 4, 5))]
)
def test_by_what_the_ledger_measured(share_of: Any, by: str, expected: tuple[int, int, int]) -> None:
    first, second, total = expected
    shares = share_of({"groups": {"g": {"by": by, "datasets": ["a", "b"]}}})
    assert shares == {"a": Fraction(first, total), "b": Fraction(second, total)}


def test_oversampling_multiplies(share_of: Any) -> None:
    group = {"datasets": {"a": None, "b": {"oversample": 3}}}
    assert share_of({"groups": {"g": group}}) == {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    assert share_of({"groups": {"g": group}}, {"b": 2})["b"] == Fraction(6, 9)


def test_written_weights(share_of: Any) -> None:
    group = {"by": "weight", "datasets": {"a": {"weight": "1/3"}, "b": {"weight": "2/3", "oversample": 2}}}
    assert share_of({"groups": {"g": group}}) == {"a": Fraction(1, 5), "b": Fraction(4, 5)}


def test_groups_have_their_share(share_of: Any) -> None:
    mixture = {
        "groups": {"g": {"share": "60%", "datasets": ["a", "b"]}, "h": {"share": 0.4, "datasets": ["c"]}}
    }
    assert share_of(mixture) == {"a": Fraction(9, 20), "b": Fraction(3, 20), "c": Fraction(2, 5)}


def test_without_shares_groups_are_pooled(share_of: Any) -> None:
    mixture = {"groups": {"g": {"datasets": ["a", "b"]}, "h": {"datasets": ["c"]}}}
    assert share_of(mixture) == {"a": Fraction(6, 9), "b": Fraction(2, 9), "c": Fraction(1, 9)}


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=12), st.integers(12, 10**6))
def test_a_phase_rounds_to_neighbours(weights: list[int], length: int) -> None:
    total = sum(weights)
    asked = {str(i): weight * WEIGHT_TOTAL // total for i, weight in enumerate(weights)}
    asked["0"] += WEIGHT_TOTAL - sum(asked.values())
    counts = phase_sequences(asked, length, {})
    assert sum(counts.values()) == length
    if min(asked.values()) * length >= WEIGHT_TOTAL:
        for name, count in counts.items():
            assert abs(count - Fraction(asked[name] * length, WEIGHT_TOTAL)) < 1
    assert min(counts.values()) >= 1


def test_what_rounding_left_over_is_made_up_for() -> None:
    asked = {"a": WEIGHT_TOTAL // 2, "b": WEIGHT_TOTAL // 2}
    first = phase_sequences(asked, 3, {})
    assert first == {"a": 2, "b": 1}
    assert phase_sequences(asked, 3, {"a": Fraction(-1, 2), "b": Fraction(1, 2)}) == {"a": 1, "b": 2}


def test_rounding_does_not_add_up_over_a_hundred_phases(make_plan: Callable[..., Any]) -> None:
    plan = make_plan([(1, 10, {"a": 1, "b": 1, "c": 1}) for _ in range(100)])
    last = plan.phases[-1]
    for name, count in last.carried.items():
        assert abs(count - 330) <= 1, name

"""What a mixture asks for, and what a phase draws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.mixtures.plan_parts import WEIGHT_TOTAL
from tootsie.mixtures.shares import asked_shares, phase_sequences
from tootsie.mixtures.spec import Spec


@pytest.fixture
def share_of(measured: Callable[..., Any]) -> Callable[..., dict[str, Fraction]]:
    def share_of(
        mixture: dict, oversample: dict[str, object] | None = None, **others: dict
    ) -> dict[str, Fraction]:
        ledgers = {
            "a": measured("a", 3000, documents=10, size=9000),
            "b": measured("b", 1000, documents=40, size=3000),
            "c": measured("c", 500, documents=50, size=1000),
        }
        spec = Spec.model_validate(
            {
                "name": "run",
                "seed": 0,
                "sequence_length": 10,
                "datasets": {
                    name: {"cache": name, "oversample": (oversample or {}).get(name, 1)} for name in ledgers
                },
                "mixtures": {"m": mixture, **others},
                "phases": [{"name": "one", "mixture": "m", "for": "1 step"}],
            }
        )
        asked = asked_shares("m", spec, ledgers)
        assert sum(asked.values()) == WEIGHT_TOTAL
        return {
            name: Fraction(weight, WEIGHT_TOTAL).limit_denominator(10**6) for name, weight in asked.items()
        }

    return share_of


A = {"groups": {"all": {"datasets": ["a"]}}}
BC = {"groups": {"all": {"datasets": ["b", "c"]}}}


def test_mixtures_are_combined_by_name(share_of: Any) -> None:
    """A dataset in several of them gets the sum."""
    combined = {"combine": {"first": "0.7", "second": "0.3"}}
    assert share_of(combined, first=A, second=BC) == {
        "a": Fraction(7, 10),
        "b": Fraction(1, 5),
        "c": Fraction(1, 10),
    }
    again = {"combine": {"outer": "1/2", "first": "1/2"}}
    assert share_of(again, outer=combined, first=A, second=BC)["a"] == Fraction(17, 20)


def test_a_mixture_extends_another(share_of: Any) -> None:
    base = {"groups": {"x": {"share": "0.7", "datasets": ["a"]}, "y": {"share": "0.3", "datasets": ["b"]}}}
    changed = {"extends": "base", "groups": {"y": {"share": "0.3", "datasets": ["b", "c"]}}}
    assert share_of(changed, base=base) == {"a": Fraction(7, 10), "b": Fraction(1, 5), "c": Fraction(1, 10)}
    fewer = {"extends": "base", "groups": {"y": None, "x": {"share": 1, "datasets": ["a"]}}}
    assert share_of(fewer, base=base) == {"a": Fraction(1)}
    parts = {"extends": "mix", "combine": {"second": "0.5", "first": "0.5"}}
    mix = {"combine": {"first": "0.9", "second": "0.1"}}
    assert share_of(parts, mix=mix, first=A, second=BC)["a"] == Fraction(1, 2)


def test_floors_lift_and_the_others_give_way(share_of: Any) -> None:
    """3000 : 1000 : 500; lifting c to a quarter pushes b below its own floor of a fifth."""
    group = {"datasets": {"a": None, "b": {"at_least": "0.2"}, "c": {"at_least": "0.25"}}}
    assert share_of({"groups": {"g": group}}) == {
        "a": Fraction(11, 20),
        "b": Fraction(1, 5),
        "c": Fraction(1, 4),
    }
    untouched = {"datasets": {"a": None, "b": {"at_least": "0.2"}}}
    assert share_of({"groups": {"g": untouched}}) == {"a": Fraction(3, 4), "b": Fraction(1, 4)}


def test_floors_that_leave_nothing_are_refused(share_of: Any) -> None:
    group = {"datasets": {"a": None, "b": {"at_least": "0.6"}, "c": {"at_least": "0.4"}}}
    with pytest.raises(ValueError, match="leave nothing for the others"):
        share_of({"groups": {"g": group}})


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

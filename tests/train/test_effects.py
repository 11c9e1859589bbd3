"""Paired differences and their intervals, against tables and brute force."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from tootsie.train.effects import MACRO, effects, markdown, student_quantile


@pytest.mark.parametrize(
    ("confidence", "freedom", "wanted"),
    [
        (0.95, 1, 12.7062), (0.95, 2, 4.30265), (0.95, 3, 3.18245), (0.95, 4, 2.77645), (0.95, 9, 2.26216),
        (0.95, 10, 2.22814), (0.99, 2, 9.92484), (0.99, 7, 3.49948), (0.5, 1, 1.0), (0.95, 1000, 1.96234),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_the_tables(confidence: float, freedom: int, wanted: float) -> None:
    assert student_quantile(confidence, freedom) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(("confidence", "freedom"), [(0.0, 3), (1.0, 3), (0.95, 0)])
def test_quantiles_of_nothing_are_refused(confidence: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="confidence must lie between"):
        student_quantile(confidence, freedom)


def test_differences_are_paired_by_seed() -> None:
    """What a seed does to both arms cancels; unpaired, the interval would be a hundred times as wide."""
    scores = {
        "control": {1: {"web": 1.0, "code": 2.0}, 2: {"web": 3.0, "code": 2.5}, 3: {"web": 2.0, "code": 9.0}},
        "new": {3: {"web": 1.89, "code": 9.0}, 1: {"web": 0.9, "code": 2.1}, 2: {"web": 2.91, "code": 2.4}},
    }
    web, code, mean = effects(scores, "control", 0.95)
    assert (web.candidate, web.dataset, web.control) == ("new", "web", 2.0)
    assert web.differences == pytest.approx((-0.1, -0.09, -0.11))
    assert web.mean == pytest.approx(-0.1)
    assert web.half_width == pytest.approx(4.30265 * 0.01 / math.sqrt(3), rel=1e-4)
    assert (web.verdict, code.verdict) == ("better", "not told apart")
    assert (mean.dataset, mean.mean) == (MACRO, pytest.approx(-0.05))
    assert (
        effects({"control": scores["new"], "new": scores["control"]}, "control", 0.95)[0].verdict == "worse"
    )


def test_one_seed_has_no_interval() -> None:
    scores = {"control": {0: {"web": 1.0}}, "new": {0: {"web": 0.5}}}
    (effect,) = effects(scores, "control", 0.95)
    assert (effect.half_width, effect.verdict) == (None, "one seed")
    page = markdown("trial", [effect], [0], 0.95, ["said"])
    assert "| new | web | 1.0000 | -0.5000 | – | one seed |" in page
    assert "One seed says nothing about chance" in page


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    choose = random.Random(0)
    held, trials = 0, 2000
    for _ in range(trials):
        scores = {
            "control": {seed: {"web": 0.0} for seed in range(4)},
            "new": {seed: {"web": choose.gauss(0.3, 1.0)} for seed in range(4)},
        }
        (effect,) = effects(scores, "control", 0.9)
        assert effect.half_width is not None
        held += abs(effect.mean - 0.3) <= effect.half_width
    assert held / trials == pytest.approx(0.9, abs=3 * math.sqrt(0.9 * 0.1 / trials))


def test_the_record_holds_what_the_table_says() -> None:
    scores = {
        arm: {seed: {"web": value + seed} for seed in (0, 1)} for arm, value in (("a", 1.0), ("b", 1.5))
    }
    (effect,) = effects(scores, "a", 0.95)
    record = effect.record()
    assert record["low"] == pytest.approx(effect.mean - (effect.half_width or 0))
    assert record["differences"] == [0.5, 0.5]
    assert statistics.fmean(record["differences"]) == record["mean"]
    assert "about 0.05 exclude zero" in markdown("trial", [effect], [0, 1], 0.95, [])

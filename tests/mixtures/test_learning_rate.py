"""Segments of the schedule."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from tootsie.mixtures.learning_rate import LearningRate, Shape, describe_rate


def segment(
    shape: str = "constant", start: float = 1e-3, end: float | None = None, **fields: object
) -> LearningRate:
    return LearningRate(shape=shape, start=start, end=start if end is None else end, **fields)  # type: ignore[arg-type]


def test_constant() -> None:
    assert {segment().at(step, 10) for step in range(10)} == {1e-3}


@pytest.mark.parametrize("shape", [shape for shape in Shape if shape is not Shape.CONSTANT])
def test_decays_run_from_start_to_end(shape: Shape) -> None:
    rate = segment(shape, 1e-3, 1e-5)
    values = [rate.at(step, 100) for step in range(101)]
    assert values[0] == pytest.approx(1e-3)
    assert values[100] == 1e-5
    assert values == sorted(values, reverse=True)


def test_formulas_at_the_middle() -> None:
    def middle(shape: Shape) -> float:
        return segment(shape, 1.0, 0.1).at(50, 100)

    assert middle(Shape.LINEAR) == pytest.approx(0.55)
    assert middle(Shape.COSINE) == pytest.approx(0.55)
    assert middle(Shape.INVERSE) == pytest.approx(1 / 5.5)
    assert middle(Shape.INVERSE_SQRT) == pytest.approx(1 / math.sqrt(50.5))
    assert middle(Shape.ONE_MINUS_SQRT) == pytest.approx(1 - 0.9 * math.sqrt(0.5))


def test_warmup_from_zero_wastes_no_step_and_reaches_the_start() -> None:
    rate = segment(warmup_steps=4)
    assert [rate.at(step, 10) for step in range(5)] == pytest.approx([2e-4, 4e-4, 6e-4, 8e-4, 1e-3])


def test_a_rewarm_goes_on_from_the_rate_before() -> None:
    rate = segment(warmup_steps=4, warmup_from=1e-4)
    assert [rate.at(step, 10) for step in (0, 2, 4)] == pytest.approx([1e-4, 5.5e-4, 1e-3])


def test_stable_then_decay() -> None:
    rate = segment("linear", 1e-3, 0.0, warmup_steps=2, decay_steps=4)
    assert [rate.at(step, 10) for step in (2, 5, 6, 8, 10)] == pytest.approx([1e-3, 1e-3, 1e-3, 5e-4, 0])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"end": 1e-4}, "a constant rate cannot go"),
        ({"shape": "inverse", "end": 0.0}, "cannot reach 0"),
        ({"start": 0.0}, "greater than 0"),
        ({"start": float("nan")}, "finite|greater"),
    ],
)
def test_refused(fields: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        segment(**fields)


def test_in_words() -> None:
    rate = segment("linear", 1e-3, 1e-4, warmup_steps=20, decay_steps=200)
    assert describe_rate(rate) == "linear 0.001 → 0.0001 over the last 200 steps, after 20 steps from 0"
    assert describe_rate(segment()) == "constant 0.001"

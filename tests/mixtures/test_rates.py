"""Segments of the learning rate as a spec states them: cycles, scaling with the batch, continuity."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.plan import Plan

HEAD = """\
name: run
seed: 1
sequence_length: 100
datasets: {web: {cache: web}}
mixtures: {base: {groups: {all: {datasets: [web]}}}}
phases:
"""


def one(rate: str, steps: int = 660) -> str:
    return (
        HEAD
        + f"  - {{name: one, mixture: base, for: {steps} steps, batch_size: 10, learning_rate: {rate}}}\n"
    )


WSD_S = (
    "{shape: inverse, from: 1e-3, to: 1e-4, warmup: 1 step, cycles: "
    "[{every: 10 steps, decay: 1 step, until: 200 steps}, {every: 20 steps, decay: 2 steps}]}"
)


def test_cycles_change_their_length(compiled: Callable[..., Plan]) -> None:
    """WSD-S as in the 8B run, a thousandth of its length: 10/1 to step 200, then 20/2."""
    plan = compiled(one(WSD_S), web=10**7)
    rates = [plan.learning_rate(step) for step in range(660)]
    assert rates[1] == rates[8] == rates[10] == 1e-3
    # The last step of a cycle of ten is all its decay: x = 0, still the peak; of twenty, x = 0 and 1/2.
    assert rates[9] == 1e-3
    assert rates[218] == 1e-3
    assert rates[219] == pytest.approx(1e-3 / (1 + 9 / 2))
    assert rates[220] == 1e-3
    assert rates[659] == rates[219]
    assert plan.phases[0].settings.learning_rate.final(660) == 1e-4


def test_the_next_phase_goes_on_from_the_minimum(compiled: Callable[..., Plan]) -> None:
    plan = compiled(one(WSD_S) + "  - {name: two, for: 10 steps}\n", web=10**7)
    assert plan.learning_rate(660) == 1e-4
    plan = compiled(one(WSD_S, 655) + "  - {name: two, for: 10 steps}\n", web=10**7)
    assert plan.learning_rate(655) == 1e-3


def test_scaled_with_the_batch(compiled: Callable[..., Plan]) -> None:
    """The rate before the decay is scaled, not the minimum that the cycle has just reached."""
    second = "  - {{name: two, for: 10 steps, batch_size: 30, learning_rate: {{scale: {}}}}}\n"
    plan = compiled(one(WSD_S) + second.format("sqrt"), web=10**7)
    assert plan.learning_rate(660) == pytest.approx(1e-3 * math.sqrt(3))
    assert any("scaled from 0.001 at 10 sequences" in note for note in plan.notes)
    assert compiled(one(WSD_S) + second.format("linear"), web=10**7).learning_rate(660) == pytest.approx(3e-3)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (
            "{shape: inverse, from: 1e-3, to: 1e-4, cycles: [{every: 10 steps, decay: 11 steps}]}",
            "longer than its cycle",
        ),
        ("{from: 1e-3, cycles: [{every: 10 steps, decay: 1 step}]}", "cycles need a shape that decays"),
        (
            "{shape: linear, from: 1e-3, to: 0, decay: 3 steps, cycles: [{every: 10 steps, decay: 1 step}]}",
            "decay' of their own",
        ),
        (
            "{shape: linear, from: 1e-3, to: 0, cycles: [{every: 10 steps, decay: 1 step, until: 25 steps}, {every: 5 steps, decay: 1 step}]}",
            "no whole cycles of 10 steps.*for example at step 20",
        ),
        (
            "{shape: linear, from: 1e-3, to: 0, cycles: [{every: 10 steps, decay: 1 step, until: 20 steps}]}",
            "Leave 'until' out",
        ),
        (
            "{shape: linear, from: 1e-3, to: 0, warmup: 9500 sequences, cycles: [{every: 10 steps, decay: 1 step}]}",
            "warm-up",
        ),
        (
            "{shape: linear, from: 1e-3, to: 0, cycles: [{every: 1 epoch of web, decay: 1 step}]}",
            "cannot be in epochs",
        ),
        ("{scale: sqrt}", "no phase before to scale"),
        ("{scale: sqrt, from: 1e-3}", "not both"),
    ],
)
def test_rates_that_cannot_be(compiled: Callable[..., Plan], rate: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        compiled(one(rate), web=10**7)

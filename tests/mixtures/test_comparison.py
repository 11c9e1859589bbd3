"""Branches keep the past; amendments are accepted exactly when they do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.mixtures.comparison import compare, first_difference, require_same_past
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan

BASE = """\
name: run
seed: 1
sequence_length: 100
datasets: {web: {cache: web}, wiki: {cache: wiki}, math: {cache: math, max_epochs: 9}}
mixtures:
  base: {groups: {all: {by: weight, datasets: {web: {weight: 30}, wiki: {weight: 7}, math: {weight: 2}}}}}
phases:
  - {name: one, mixture: base, for: 100 steps, batch_size: 5, learning_rate: {from: 1e-3, warmup: 10 steps}, ema_beta: 0.9}
  - {name: two, for: 100 steps, batch_size: 7, learning_rate: {shape: linear, to: 1e-4}}
"""
BRANCH = """\
name: branch
branch: {plan: plan.json, at: AT}
mixtures:
  dessert: {groups: {all: {by: weight, datasets: {wiki: {weight: 1}, math: {weight: 1}}}}}
phases:
  - {name: three, mixture: dessert, for: 50 steps, learning_rate: {shape: linear, to: 0}}
"""
SIZES = {"web": 40_000, "wiki": 30_000, "math": 20_000}


@pytest.fixture
def branched(tmp_path: Path, compiled: Callable[..., Plan]) -> Callable[..., tuple[Plan, Plan]]:
    def branched(at: str, change: tuple[str, str] = ("", "")) -> tuple[Plan, Plan]:
        base = compiled(BASE, **SIZES)
        base.save(str(tmp_path / "plan.json"))
        (tmp_path / "branch.yaml").write_text(BRANCH.replace("AT", at).replace(*change))
        return base, compile_file(str(tmp_path / "branch.yaml"))

    return branched


@pytest.mark.parametrize(
    ("at", "step", "position"),
    [
        ("end of one", 100, 500),
        ("150 steps", 150, 850),
        ("850 sequences", 150, 850),
        ("85k tokens", 150, 850),
        ("33 steps", 33, 165),
    ],
)
def test_a_branch_keeps_the_past(branched: Callable[..., Any], at: str, step: int, position: int) -> None:
    base, branch = branched(at)
    assert branch.branch.step == step
    assert branch.branch.hash == base.hash
    assert branch.phases[-1].start == position
    assert branch.phases[-1].batch_size == (5 if step <= 100 else 7)
    assert branch.phases[-1].settings.ema_beta == 0.9
    for one, other in zip(
        Order(base).draw(np.arange(position)), Order(branch).draw(np.arange(position)), strict=True
    ):
        assert one.tolist() == other.tolist()
    assert [base.learning_rate(s) for s in range(step)] == [branch.learning_rate(s) for s in range(step)]
    # The rate goes on from where the base would have been.
    assert branch.learning_rate(step) == pytest.approx(base.learning_rate(step))
    require_same_past(base, branch, step)
    if step < base.total_steps:
        assert first_difference(base, branch) is not None
        with pytest.raises(ArtefactError, match="the plans part at sequence"):
            require_same_past(base, branch, base.total_steps)


def test_a_branch_of_a_branch(branched: Callable[..., Any], tmp_path: Path) -> None:
    _, branch = branched("150 steps")
    branch.save(str(tmp_path / "branch.json"))
    text = BRANCH.replace("plan: plan.json, at: AT", "plan: branch.json, at: 170 steps").replace(
        "name: three", "name: four"
    )
    (tmp_path / "again.yaml").write_text(text)
    again = compile_file(str(tmp_path / "again.yaml"))
    require_same_past(branch, again, 170)
    assert again.total_steps == 220
    assert Plan.model_validate(again.model_dump()) == again


@pytest.mark.parametrize(
    ("at", "change", "message"),
    [
        ("end of zero", ("", ""), "the plan has no phase 'zero'; it has one, two"),
        ("201 steps", ("", ""), "the plan has 200 steps"),
        ("851 sequences", ("", ""), "within a step"),
        ("1 epoch of web", ("", ""), "cannot be in epochs"),
        ("sometime", ("", ""), "not a duration"),
        (
            "end of one",
            ("name: branch", "name: branch\nseed: 2"),
            "seed: the plan that it branches off has seed 1",
        ),
        ("end of one", ("name: three", "name: one"), "has a phase of this name"),
        ("end of one", ("plan: plan.json", "plan: other.json"), "no such plan"),
        ("end of one", ("mixture: dessert", "mixture: desert"), "Did you mean 'dessert'"),
    ],
)
def test_branches_that_cannot_be(
    branched: Callable[..., Any], at: str, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        branched(at, change)


def test_caps_hold_over_the_whole_run(branched: Callable[..., Any]) -> None:
    """The cap of the base counts what the base has drawn."""
    with pytest.raises(SpecError, match="the dataset has been seen"):
        branched("end of two", ("for: 50 steps", "for: 600 steps"))


@pytest.mark.parametrize(
    ("change", "step", "reason"),
    [
        (("weight: 2}", "weight: 3}"), None, "window"),
        (("seed: 1", "seed: 2"), 0, "seed"),
        (("batch_size: 7", "batch_size: 8"), 100, "batch size 7 and 8"),
        (("ema_beta: 0.9", "ema_beta: 0.95"), 0, "ema_beta"),
        (("warmup: 10 steps", "warmup: 11 steps"), 0, "learning rate"),
        (("to: 1e-4", "to: 2e-4"), 101, "learning rate"),
        (("name: two, for: 100", "name: two, for: 120"), None, ""),
        (("sequence_length: 100", "sequence_length: 50"), 0, "sequence_length"),
    ],
)
def test_where_plans_part(
    compiled: Callable[..., Plan], change: tuple[str, str], step: int | None, reason: str
) -> None:
    base, other = compiled(BASE, **SIZES), compiled(BASE.replace(*change), **SIZES)
    assert first_difference(base, base) is None
    difference = first_difference(base, other)
    assert difference is not None
    assert reason in difference.reason
    if step is not None:
        assert difference.step == step
    if difference.step:
        assert first_difference(base, other, difference.step) is None
    assert first_difference(base, other, difference.step + 1) == difference
    assert compare(base, other)["part_at"]["step"] == difference.step


def test_rates_that_differ_in_the_last_digit_are_told_apart(compiled: Callable[..., Plan]) -> None:
    other = BASE.replace("from: 1e-3", "from: 0.0010000000000000002")
    difference = first_difference(compiled(BASE, **SIZES), compiled(other, **SIZES), 50)
    assert difference is not None
    assert difference.reason == "learning rate 9.0909090909090917e-05 and 9.0909090909090931e-05"


def test_a_longer_plan_has_the_same_past(compiled: Callable[..., Plan]) -> None:
    base = compiled(BASE, **SIZES)
    longer = compiled(BASE + "  - {name: three, for: 10 steps}\n", **SIZES)
    require_same_past(base, longer, 200)
    difference = first_difference(base, longer)
    assert difference is not None
    assert (difference.step, difference.position) == (200, 1200)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 80), st.integers(1, 5))
def test_amendments_against_brute_force(
    compiled: Callable[..., Plan], first: int, second: int, until: int, weight: int
) -> None:
    """Accepted exactly when every draw, batch and rate before the step is the same."""
    text = BASE.replace("for: 100 steps, batch_size: 5", f"for: {first + 10} steps, batch_size: 5")
    other = BASE.replace("for: 100 steps, batch_size: 5", f"for: {second + 10} steps, batch_size: 5")
    other = other.replace("weight: 2}", f"weight: {weight}}}")
    one, two = compiled(text, **SIZES), compiled(other, **SIZES)
    until = min(until, one.total_steps, two.total_steps)

    def steps(plan: Plan) -> list[Any]:
        order, result = Order(plan), []
        for step in range(until):
            draws = order.draw(np.arange(*plan.rows_of_step(step)))
            windows = [[plan.datasets[d].name for d in draws.dataset], draws.window.tolist()]
            result.append((plan.learning_rate(step), plan.phase_of_step(step).batch_size, windows))
        return result

    mine, theirs = steps(one), steps(two)
    expected = next((step for step in range(until) if mine[step] != theirs[step]), None)
    found = first_difference(one, two, until)
    assert (found.step if found is not None else None) == expected

"""Shares, epochs and runway of a plan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tootsie.mixtures.forecast import forecast
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan


def test_numbers_are_those_of_the_order(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan([(50, 4, {"a": 5, "b": 1}), (25, 8, {"a": 1, "b": 2})], {"a": 170, "b": 60})
    rows = {(row.phase, row.dataset): row for row in forecast(plan)}
    counts = Order(plan).counts(400)
    assert sum(rows["p0", "a"].sequences for _ in (0,)) == plan.phases[0].sequences["a"]
    assert rows["p1", "a"].epochs_total == counts[0] / 170
    assert rows["p0", "a"].tokens == 8 * rows["p0", "a"].sequences
    assert rows["p0", "a"].ends_at_step is None
    draws = Order(plan).draw(np.arange(400))
    for name, index, phase in (("a", 0, "p1"), ("b", 1, "p1")):
        wraps = int(np.flatnonzero((draws.dataset == index) & (draws.epoch == 1))[0])
        step = next(step for step in range(plan.total_steps) if plan.rows_of_step(step)[1] > wraps)
        ends = rows[phase, name].ends_at_step
        assert ends is not None
        assert abs(ends - step) <= 1


def test_epochs_of_a_phase(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan([(25, 4, {"a": 1})], {"a": 40})
    (row,) = forecast(plan)
    assert (row.share, row.epochs, row.epochs_total) == (1.0, 2.5, 2.5)
    assert row.ends_at_step == 9
    assert row.asked == pytest.approx(1)

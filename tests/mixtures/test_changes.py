"""Every difference between two phases is listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tootsie.mixtures.changes import INHERITED, list_changes
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.settings import PhaseSettings, RopeScaling, RopeSettings


@pytest.fixture
def plan(make_plan: Callable[..., Plan]) -> Plan:
    return make_plan([(10, 4, {"a": 3, "b": 1}), (5, 7, {"b": 1, "c": 1})])


def test_mixture_and_batch(plan: Plan) -> None:
    changes = list_changes(*plan.phases)
    assert [(change.phase, change.field, change.before, change.after) for change in changes] == [
        ("p1", "share.a", 0.75, 0.0),
        ("p1", "share.b", 0.25, 0.5),
        ("p1", "share.c", 0.0, 0.5),
        ("p1", "batch_size", 4, 7),
    ]


def test_nothing(plan: Plan) -> None:
    phase = plan.phases[0]
    assert list_changes(phase, phase.model_copy(update={"name": "next", "start": 40, "end": 80})) == []


@pytest.mark.parametrize("field", INHERITED)
def test_each_setting(plan: Plan, field: str) -> None:
    phase = plan.phases[0]
    value: Any = 0.123
    settings = phase.settings.model_copy(update={field: value})
    (change,) = list_changes(phase, phase.model_copy(update={"settings": settings}))
    assert (change.field, change.before, change.after) == (
        f"settings.{field}",
        getattr(phase.settings, field),
        value,
    )


def test_all_settings_are_compared() -> None:
    assert {*INHERITED, "learning_rate"} == set(PhaseSettings.model_fields)


def test_rope_in_words(plan: Plan) -> None:
    phase = plan.phases[0]
    rope = RopeSettings(theta=500_000, scaling=RopeScaling.LLAMA3)
    (change,) = list_changes(
        phase, phase.model_copy(update={"settings": phase.settings.model_copy(update={"rope": rope})})
    )
    assert (change.before, change.after) == (None, "theta 500000, scaling llama3")

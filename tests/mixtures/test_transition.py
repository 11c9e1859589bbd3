"""Ramps and bridges between mixtures."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL
from tootsie.mixtures.spec import Form
from tootsie.mixtures.transition import blend, progress, split_steps

HEAD = """\
name: run
seed: 1
sequence_length: 100
datasets: {web: {cache: web}, wiki: {cache: wiki}, math: {cache: math}}
mixtures:
  base: {groups: {all: {by: weight, datasets: {web: {weight: 3}, wiki: {weight: 1}}}}}
  rich: {groups: {all: {by: weight, datasets: {wiki: {weight: 1}, math: {weight: 1}}}}}
  both: {combine: {base: 0.5, rich: 0.5}}
phases:
  - {name: one, mixture: base, for: 100 steps, batch_size: 50, learning_rate: 1e-3}
"""
CACHES = {"web": 10**7, "wiki": 10**7, "math": 10**7}


def test_a_linear_ramp(compiled: Callable[..., Plan]) -> None:
    """The shares go over in a straight line, and the whole ramp draws the mean of both mixtures."""
    text = HEAD + "  - {name: two, mixture: rich, for: 300 steps, transition: {over: 100 steps, parts: 10}}\n"
    plan = compiled(text, **CACHES)
    assert [phase.name for phase in plan.phases][1:4] == [
        "two (ramp 1/10)",
        "two (ramp 2/10)",
        "two (ramp 3/10)",
    ]
    ramp = plan.phases[1:11]
    assert [phase.steps for phase in ramp] == [10] * 10
    assert plan.phases[11].name == "two"
    assert plan.phases[11].steps == 200
    web = [phase.asked.get("web", 0) / WEIGHT_TOTAL for phase in ramp]
    assert web == pytest.approx([0.75 * (1 - (number + 0.5) / 10) for number in range(10)])
    assert sum(phase.sequences["math"] for phase in ramp) == 1250
    assert plan.phases[11].asked == {"wiki": WEIGHT_TOTAL // 2, "math": WEIGHT_TOTAL // 2}
    transition = [change for change in plan.changes if change.field == "transition"]
    assert [(change.phase, change.after) for change in transition] == [("two", "linear over 100 steps")]
    assert {change.phase for change in plan.changes} == {"two"}


def test_a_bridge(compiled: Callable[..., Plan]) -> None:
    plan = compiled(
        HEAD
        + "  - {name: two, mixture: rich, for: 300 steps, transition: {over: 40 steps, through: both}}\n",
        **CACHES,
    )
    assert [(phase.name, phase.steps, phase.mixture) for phase in plan.phases[1:]] == [
        ("two (bridge)", 40, "both"),
        ("two", 260, "rich"),
    ]


def test_a_ramp_may_be_the_whole_phase(compiled: Callable[..., Plan]) -> None:
    plan = compiled(
        HEAD
        + "  - {name: two, mixture: rich, for: 7 steps, transition: {over: 7 steps, shape: cosine}}\n"
        + "  - {name: three, for: 7 steps}\n",
        **CACHES,
    )
    assert [phase.steps for phase in plan.phases[1:8]] == [1] * 7
    assert plan.phases[8].mixture == "rich"


def test_the_learning_rate_does_not_mind(compiled: Callable[..., Plan]) -> None:
    """One segment over all parts, as if there were none."""
    rate = "learning_rate: {shape: linear, to: 1e-4, decay: 250 steps}"
    ramped = compiled(
        HEAD + f"  - {{name: two, mixture: rich, for: 300 steps, transition: {{over: 100 steps}}, {rate}}}\n",
        **CACHES,
    )
    hard = compiled(HEAD + f"  - {{name: two, mixture: rich, for: 300 steps, {rate}}}\n", **CACHES)
    assert [ramped.learning_rate(step) for step in range(400)] == [
        hard.learning_rate(step) for step in range(400)
    ]
    after = "  - {name: three, for: 10 steps}\n"
    text = (
        HEAD
        + f"  - {{name: two, mixture: rich, for: 300 steps, transition: {{over: 300 steps}}, {rate}}}\n"
        + after
    )
    assert compiled(text, **CACHES).learning_rate(405) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("phase", "message"),
    [
        (
            "{name: two, for: 9 steps, transition: {over: 5 steps}}",
            "keeps its mixture, so there is nothing to go over to",
        ),
        ("{name: two, mixture: rich, for: 9 steps, transition: {over: 10 steps}}", "longer than the phase"),
        (
            "{name: two, mixture: rich, for: 9 steps, transition: {over: 5 steps, through: bot}}",
            "Did you mean 'both'",
        ),
        (
            "{name: two, mixture: rich, for: 9 steps, transition: {over: 1 epoch of web}}",
            "cannot be in epochs",
        ),
        (
            "{name: two, mixture: rich, for: 1 epoch of math, transition: {over: 5 steps}}",
            "cannot be as long as epochs",
        ),
        ("{name: two, mixture: rich, for: 9 steps, transition: {over: 5 steps, parts: 1}}", "greater than 1"),
    ],
)
def test_transitions_that_cannot_be(compiled: Callable[..., Plan], phase: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        compiled(HEAD + f"  - {phase}\n", **CACHES)


@given(st.integers(1, 500), st.integers(2, 60))
def test_parts_add_up_and_are_alike(steps: int, parts: int) -> None:
    pieces = split_steps(steps, parts)
    assert sum(pieces) == steps
    assert max(pieces) - min(pieces) <= 1
    assert min(pieces) > 0


@given(st.fractions(0, 1))
def test_progress_is_symmetric(done: Fraction) -> None:
    for shape in Form:
        assert 0 <= progress(shape, done) <= 1
        assert abs(progress(shape, done) + progress(shape, 1 - done) - 1) <= Fraction(1, 2**39)


def test_blend_ends_where_it_should() -> None:
    old, new = {"a": WEIGHT_TOTAL}, {"b": WEIGHT_TOTAL}
    assert blend(old, new, Fraction(0)) == old
    assert blend(old, new, Fraction(1)) == new
    assert blend(old, new, Fraction(1, 4)) == {"a": WEIGHT_TOTAL * 3 // 4, "b": WEIGHT_TOTAL // 4}


def test_a_ramp_is_one_stretch_of_the_run(compiled: Callable[..., Plan]) -> None:
    """Its parts end at no boundary, but the ramp as a whole does; so does one that a branch cuts short."""
    two = "  - {name: two, mixture: rich, for: 30 steps, transition: {over: 10 steps, parts: 5}}\n"
    plan = compiled(HEAD + two, **CACHES)
    assert plan.boundaries == {100, 110, 130}
    cut = plan.model_copy(
        update={"phases": (*plan.phases[:3], plan.phases[6].model_copy(update={"name": "other"}))}
    )
    assert cut.boundaries == {100, 104, 130}
    plain = plan.model_copy(update={"phases": plan.phases[:1]})
    assert plain.boundaries == {100}

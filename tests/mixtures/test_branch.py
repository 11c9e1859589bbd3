"""Branching off in the midst of things: within a ramp, at another length, from a plan whose data is or is not at hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.comparison import first_difference, require_same_past
from tootsie.mixtures.compilation import Compiled, compile_in_full
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL
from tootsie.mixtures.preflight.check import preflight
from tootsie.mixtures.preflight.checks import CHECKS

BASE = """\
name: run
seed: 1
sequence_length: 100
datasets: {web: {cache: web}, wiki: {cache: wiki}}
mixtures:
  web: {groups: {all: {by: weight, datasets: {web: {weight: 3}, wiki: {weight: 1}}}}}
  wiki: {groups: {all: {by: weight, datasets: {web: {weight: 1}, wiki: {weight: 3}}}}}
phases:
  - {name: one, mixture: web, for: 10 steps, batch_size: 20, learning_rate: 1e-3}
  - {name: two, mixture: wiki, for: 20 steps, transition: {over: 20 steps, parts: 4}}
"""
# The mixture "web" of the branch is another than that of the plan.
NEW = """\
datasets: {math: {cache: math}}
mixtures:
  web: {groups: {all: {by: weight, datasets: {web: {weight: 1}, math: {weight: 1}}}}}
"""
BRANCH = """\
name: side
branch: {plan: plan.json, at: STEP}
NEWphases:
  - {name: NAME, PHASE}
"""


@pytest.fixture
def branched(tmp_path: Path, write_ledger: Callable[..., None]) -> Callable[..., tuple[Compiled, Compiled]]:
    for name in ("web", "wiki", "math"):
        write_ledger(tmp_path, name, 100_000)

    def branched(at: str, phase: str, base: str = BASE, name: str = "three") -> tuple[Compiled, Compiled]:
        (tmp_path / "spec.yaml").write_text(base)
        before = compile_in_full(str(tmp_path / "spec.yaml"))
        before.plan.save(str(tmp_path / "plan.json"))
        text = BRANCH.replace("STEP", at).replace("NAME", name).replace("PHASE", phase)
        (tmp_path / "side.yaml").write_text(text.replace("NEW", NEW if base == BASE else ""))
        return before, compile_in_full(str(tmp_path / "side.yaml"))

    return branched


def shares(compiled: Compiled, number: int) -> dict[str, float]:
    return {name: weight / WEIGHT_TOTAL for name, weight in compiled.plan.phases[number].asked.items()}


def test_a_ramp_goes_out_from_what_was_drawn(branched: Callable[..., Any]) -> None:
    """From the shares of the plan, not from those that the branch means by the same name."""
    _, side = branched("end of one", "mixture: web, for: 10 steps, transition: {over: 10 steps, parts: 2}")
    assert shares(side, 1) == {"web": 0.6875, "wiki": 0.1875, "math": 0.125}
    assert shares(side, 2) == {"web": 0.5625, "wiki": 0.0625, "math": 0.375}


def test_a_phase_that_names_no_mixture_keeps_that_of_the_plan(branched: Callable[..., Any]) -> None:
    _, side = branched("end of one", "for: 10 steps")
    assert shares(side, 1) == {"web": 0.75, "wiki": 0.25}


@pytest.mark.parametrize("step", [11, 15, 17, 20, 29])
def test_a_branch_within_a_ramp(branched: Callable[..., Any], step: int) -> None:
    """The past stays, and the shares go on from those of the part that was cut, in a straight line to the new ones."""
    before, side = branched(
        f"{step} steps", "mixture: web, for: 10 steps, transition: {over: 8 steps, parts: 4}"
    )
    require_same_past(before.plan, side.plan, step)
    assert first_difference(before.plan, side.plan, step + 1 if step < 29 else None) is not None
    position = step * 20
    for one, other in zip(
        Order(before.plan).draw(np.arange(position)), Order(side.plan).draw(np.arange(position)), strict=True
    ):
        assert one.tolist() == other.tolist()
    here = before.plan.phase_of_step(step - 1).asked
    for number, part in enumerate(side.plan.phases[-5:-1]):
        done = (number + 0.5) / 4
        expected = {
            name: (1 - done) * here.get(name, 0) / WEIGHT_TOTAL + done * (0.5 if name != "wiki" else 0)
            for name in ("web", "wiki", "math")
        }
        assert {name: part.asked[name] / WEIGHT_TOTAL for name in expected} == pytest.approx(expected)


def test_the_end_of_a_phase_that_is_all_ramp(branched: Callable[..., Any]) -> None:
    _, side = branched("end of two", "for: 10 steps")
    assert side.plan.branch is not None
    assert side.plan.branch.step == 30
    assert branched("end of two (ramp 2/4)", "for: 10 steps")[1].plan.branch.step == 20


def test_the_name_of_a_phase_of_which_only_the_ramp_is_past(branched: Callable[..., Any]) -> None:
    with pytest.raises(SpecError, match="has a phase of this name"):
        branched("15 steps", "for: 10 steps", name="two")


def test_a_batch_at_another_length_has_to_be_said(branched: Callable[..., Any]) -> None:
    """A plan does not say whether a batch was meant in tokens."""
    longer = "for: 10 steps, sequence_length: 200"
    with pytest.raises(SpecError, match=r"Write 'batch: 2000 tokens' or 'batch_size: 20'"):
        branched("end of one", longer)
    for said, size in (("batch: 2000 tokens", 10), ("batch_size: 20", 20)):
        assert branched("end of one", f"{longer}, {said}")[1].plan.phases[-1].batch_size == size


def test_a_branch_where_the_caches_are_not(branched: Callable[..., Any], tmp_path: Path) -> None:
    before, _ = branched("end of one", "for: 10 steps")
    (tmp_path / "wiki" / "ledger.json").unlink()
    side = compile_in_full(str(tmp_path / "side.yaml"))
    require_same_past(before.plan, side.plan, 10)


CARDS = """\
name: run
seed: 1
sequence_length: 100
tokenizer: llama3
datasets: {flan: {card: dolmino/flan}, arxiv: {card: marin/arxiv_no_problem}}
mixtures: {all: {groups: {all: {datasets: [flan, arxiv]}}}}
phases: [{name: one, mixture: all, for: 10 steps, batch_size: 20, learning_rate: 1e-3}]
"""


def test_the_sizes_of_cards_in_a_branch(branched: Callable[..., Any]) -> None:
    """What is claimed stays a claim, in words, and the tags of the cards hold."""
    _, side = branched("5 steps", "for: 5 steps", CARDS)
    found = [finding for finding in preflight(side, CHECKS) if finding.check == "sizes"]
    assert [finding.subject for finding in found] == ["flan"]
    assert "its size is not measured: 17,000,000,000 tokens" in found[0].message
    assert "tasks" in side.measured["flan"].tags
    assert "markdown" in side.measured["arxiv"].tags

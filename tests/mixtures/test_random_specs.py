"""What the plan guarantees, for random specs: from the text of a spec to single draws, counted one by one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures import order as order_module
from tootsie.mixtures import phase_order
from tootsie.mixtures.branch import drawn_by
from tootsie.mixtures.comparison import first_difference, require_same_past
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.order import Draws, Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL

Spec = dict[str, Any]
SEQUENCE_LENGTH = 100
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@st.composite
def specs(draw: st.DrawFn, datasets: st.SearchStrategy[int]) -> Spec:
    """Weights from 1 down to 10⁻⁹, groups, combined mixtures, ramps, bridges, odd batch sizes; datasets that come and go."""
    names = [f"d{number:03d}" for number in range(draw(datasets))]
    weight = st.builds(lambda digit, power: f"{digit}e-{power}", st.integers(1, 9), st.integers(0, 9))

    def mixture() -> Spec:
        members = names[draw(st.integers(0, len(names) - 1)) :] if len(names) > 1 else names
        return {
            "groups": {
                "all": {"by": "weight", "datasets": {name: {"weight": draw(weight)} for name in members}}
            }
        }

    mixtures = {key: mixture() for key in ("one", "two", "bridge")}
    part = draw(st.integers(1, 99))
    mixtures["both"] = {"combine": {"one": f"{part}%", "two": f"{100 - part}%"}}
    phases: list[Spec] = []
    for number in range(draw(st.integers(1, 3))):
        batch_size = draw(st.integers(1, 37))
        enough = -(-len(names) // batch_size)
        phase: Spec = {"name": f"p{number}", "batch_size": batch_size}
        phase["mixture"] = draw(st.sampled_from(["one", "two", "both"]))
        steps = enough + draw(st.integers(0, 30))
        if number == 0:
            phase["learning_rate"] = 1e-3
        elif draw(st.booleans()):
            parts = draw(st.integers(2, 4))
            over = parts * (enough + draw(st.integers(0, 3)))
            phase["transition"] = draw(
                st.sampled_from(
                    [
                        {"over": f"{over} steps", "parts": parts},
                        {"over": f"{over} steps", "parts": parts, "shape": "cosine"},
                        {"over": f"{over} steps", "through": "bridge"},
                    ]
                )
            )
            steps += over
        phases.append({**phase, "for": f"{steps} steps"})
    sizes = st.fixed_dictionaries(
        {"block": st.integers(1, 9).map(lambda size: f"{size} sequences"), "group": st.integers(1, 5)}
    )
    shuffles = {
        name: draw(st.sampled_from(["full"]) | sizes) for name in names if draw(st.integers(0, 3)) == 0
    }
    everywhere = {"shuffle": draw(sizes)} if draw(st.integers(0, 2)) == 0 else {}
    return {
        "name": "random",
        **everywhere,
        "seed": draw(st.integers(0, 2**63 - 1)),
        "sequence_length": SEQUENCE_LENGTH,
        "datasets": {
            name: {"cache": name, **({"shuffle": shuffles[name]} if name in shuffles else {})}
            for name in names
        },
        "mixtures": mixtures,
        "phases": phases,
    }


def made(compiled: Callable[..., Plan], spec: Spec) -> Plan:
    """Compile it; dataset number n has 1 + 7·n sequences (modulo 50), so that many are repeated."""
    tokens = {name: SEQUENCE_LENGTH * (1 + 7 * int(name[1:]) % 50) + 3 for name in spec["datasets"]}
    return compiled(json.dumps(spec), **tokens)


def check_guarantees(plan: Plan, draws: Draws) -> None:
    """Count every prefix of every phase, exactly; and every pass over every dataset."""
    for phase in plan.phases:
        drawn = draws.dataset[phase.start : phase.end]
        prefix = np.arange(1, len(drawn) + 1)
        for number, dataset in enumerate(plan.datasets):
            planned = phase.sequences.get(dataset.name, 0)
            counts = np.cumsum(drawn == number)
            assert (np.abs(counts * phase.length - planned * prefix) < phase.length).all()
            assert planned or not counts[-1]
    for number, dataset in enumerate(plan.datasets):
        mine = np.flatnonzero(draws.dataset == number)
        passes = np.split(draws.window[mine], np.arange(dataset.windows, len(mine), dataset.windows))
        assert draws.epoch[mine].tolist() == (np.arange(len(mine)) // dataset.windows).tolist()
        for windows in passes[:-1]:
            assert sorted(windows.tolist()) == list(range(dataset.windows))
        assert len(set(passes[-1].tolist())) == len(passes[-1])
        assert len(passes[-1]) == 0 or 0 <= passes[-1].min() <= passes[-1].max() < dataset.windows


@settings(max_examples=25, suppress_health_check=QUIET)
@given(specs(st.integers(1, 12)), st.randoms(use_true_random=False))
def test_guarantees(
    compiled: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch, spec: Spec, rng: Any
) -> None:
    """The bound, the passes; and neither the grouping of positions nor what was asked before matters."""
    plan = made(compiled, spec)
    draws = Order(plan).draw(np.arange(plan.total_sequences))
    check_guarantees(plan, draws)
    order = Order(plan)
    with monkeypatch.context() as changed:
        changed.setattr(order_module, "STRETCH_FROM", rng.choice([2, 10**9]))
        changed.setattr(phase_order, "LEAST_LANE", rng.choice([3, 64]))
        changed.setattr(phase_order, "LANES_FROM", rng.choice([1, 10**9]))
        for _ in range(4):
            first = rng.randrange(plan.total_sequences)
            end = min(plan.total_sequences, first + rng.randrange(1, 400))
            positions = np.arange(first, end)
            if rng.random() < 0.5:
                positions = positions[rng.randrange(len(positions)) :: rng.randrange(1, 9)][::-1].copy()
            for got, want in zip(order.draw(positions), draws, strict=True):
                assert got.tolist() == want[positions].tolist()


@settings(max_examples=3, suppress_health_check=QUIET)
@given(specs(st.sampled_from([150, 300])))
def test_guarantees_of_hundreds_of_datasets(compiled: Callable[..., Plan], spec: Spec) -> None:
    plan = made(compiled, spec)
    check_guarantees(plan, Order(plan).draw(np.arange(plan.total_sequences)))


@settings(max_examples=20, suppress_health_check=QUIET)
@given(specs(st.integers(2, 8)), st.integers(1, 9))
def test_other_datasets_do_not_matter(compiled: Callable[..., Plan], spec: Spec, weight: int) -> None:
    """A dataset that is only named changes no draw; one that is drawn changes when the others come, not what comes of them."""
    plan = made(compiled, spec)
    named = {**spec, "datasets": {"d900": {"cache": "d900"}, **spec["datasets"]}}
    joined = json.loads(json.dumps(named))
    for mixture in joined["mixtures"].values():
        for group in mixture.get("groups", {}).values():
            group["datasets"] = {"d900": {"weight": weight}, **group["datasets"]}
    joined["phases"] = [{**phase, "batch_size": phase["batch_size"] + 1} for phase in joined["phases"]]
    everything = Order(plan).draw(np.arange(plan.total_sequences))
    for other, alike in ((made(compiled, named), True), (made(compiled, joined), False)):
        draws = Order(other).draw(np.arange(other.total_sequences))
        place = {dataset.name: number for number, dataset in enumerate(other.datasets)}
        for number, dataset in enumerate(plan.datasets):
            mine, theirs = everything.dataset == number, draws.dataset == place[dataset.name]
            if alike:
                assert (mine == theirs).all()
            least = min(mine.sum(), theirs.sum())
            for got, want in ((draws.epoch, everything.epoch), (draws.window, everything.window)):
                assert got[theirs][:least].tolist() == want[mine][:least].tolist()


@settings(max_examples=15, suppress_health_check=QUIET)
@given(specs(st.integers(1, 6)), st.data())
def test_branches_keep_the_past_and_the_guarantees(
    compiled: Callable[..., Plan], tmp_path: Path, spec: Spec, data: st.DataObject
) -> None:
    """A branch anywhere, also within a ramp: the same draws before it, all guarantees after it, amendments accepted up to it."""
    base = made(compiled, spec)
    base.save(str(tmp_path / "plan.json"))
    step = data.draw(st.integers(1, base.total_steps))
    weights = {name: {"weight": data.draw(st.integers(1, 10**9))} for name in base.phases[0].asked}
    branch_spec = {
        "name": "branch",
        "branch": {"plan": "plan.json", "at": f"{step} steps"},
        "mixtures": {"new": {"groups": {"all": {"by": "weight", "datasets": weights}}}},
        "phases": [
            {"name": "new", "mixture": "new", "batch_size": data.draw(st.integers(6, 20)), "for": "40 steps"}
        ],
    }
    (tmp_path / "branch.yaml").write_text(json.dumps(branch_spec))
    branch = compile_file(str(tmp_path / "branch.yaml"))
    position = base.total_sequences if step == base.total_steps else base.rows_of_step(step)[0]
    before, after = (Order(plan).draw(np.arange(plan.total_sequences)) for plan in (base, branch))
    names = [[dataset.name for dataset in plan.datasets] for plan in (base, branch)]
    for number in range(position):
        assert names[0][before.dataset[number]] == names[1][after.dataset[number]]
    assert before.epoch[:position].tolist() == after.epoch[:position].tolist()
    assert before.window[:position].tolist() == after.window[:position].tolist()
    check_guarantees(branch, after)
    counted = np.bincount(before.dataset[:position], minlength=len(names[0])).tolist()
    assert drawn_by(base, step) == {
        name: count for name, count in zip(names[0], counted, strict=True) if count
    }
    require_same_past(base, branch, step)
    found = first_difference(base, branch)
    if found is not None and found.step < base.total_steps:
        assert found.step >= step
        with pytest.raises(ArtefactError, match="the plans part at sequence"):
            require_same_past(base, branch, min(base.total_steps, found.step + 1))


@settings(max_examples=20, suppress_health_check=QUIET)
@given(specs(st.integers(2, 9)))
def test_what_a_plan_states_adds_up(compiled: Callable[..., Plan], spec: Spec) -> None:
    """Ramps lie between their mixtures; no share of a phase vanishes; the counts of the phases are the counts drawn."""
    plan = made(compiled, spec)
    for phase in plan.phases:
        assert min(phase.sequences.values()) >= 1
        assert sum(phase.sequences.values()) == phase.length == phase.end - phase.start
        assert sum(phase.asked.values()) == WEIGHT_TOTAL
        assert Order(plan).counts(phase.end).tolist() == [
            phase.carried.get(dataset.name, 0) + phase.sequences.get(dataset.name, 0)
            for dataset in plan.datasets
        ]
        if "(ramp" in phase.name:
            end = (
                next(other for other in plan.phases if other.name == phase.name.split(" (")[0])
                if any(other.name == phase.name.split(" (")[0] for other in plan.phases)
                else None
            )
            start = next(
                other
                for other in reversed(plan.phases[: plan.phases.index(phase)])
                if "(ramp" not in other.name
            )
            for name, share in phase.asked.items():
                bounds = [start.asked.get(name, 0), end.asked.get(name, 0) if end is not None else share]
                assert min(bounds) - 1 <= share <= max(bounds) + 1

"""The order of whole plans: the bound across phases, epochs, independence of everything that must not matter."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures import order as order_module
from tootsie.mixtures import phase_order
from tootsie.mixtures.order import Draws, Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL

NAMES = [f"d{i}" for i in range(8)]


@st.composite
def phase_lists(draw: st.DrawFn) -> list[tuple[int, int, dict[str, int]]]:
    """One to five phases: any batch size, shares from 1 to 10⁻⁹, datasets that come and go."""
    phases = []
    for _ in range(draw(st.integers(1, 5))):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True))
        weights = {name: 10 ** draw(st.integers(0, 9)) * draw(st.integers(1, 9)) for name in names}
        batch_size = draw(st.integers(1, 13))
        steps = draw(st.integers(-(-len(names) // batch_size), 60))
        phases.append((steps, batch_size, weights))
    return phases


def all_draws(plan: Plan) -> Draws:
    return Order(plan).draw(np.arange(plan.total_sequences))


@settings(max_examples=120)
@given(phase_lists())
def test_within_one_sequence_of_the_share_at_every_prefix(
    make_plan: Callable[..., Plan], phases: Any
) -> None:
    """What is bounded, exactly: for every prefix of the whole run, 1 … total, and for every dataset of the plan, drawn or not,

        | sequences drawn in the prefix  −  Σ over phases of share · (positions of the phase in the prefix) |  <  1,

    where *share* is the plan's exact share ``sequences / length`` of that phase (0 where the phase does not name the dataset),
    in integers of 1/2**62. It holds through phase changes and batch changes. Against the share that the spec *asks* for, see
    the test below.
    """
    plan = make_plan(phases)
    draws, order = all_draws(plan), Order(plan)
    position = 0
    drawn = np.zeros(len(plan.datasets), dtype=np.int64)
    quota = [0] * len(plan.datasets)  # In units of 1/2**62 sequences, over all phases.
    for phase in plan.phases:
        weights = [phase.weights.get(dataset.name, 0) for dataset in plan.datasets]
        assert sum(weights) == WEIGHT_TOTAL
        while position < phase.end:
            drawn[draws.dataset[position]] += 1
            position += 1
            quota = [before + weight for before, weight in zip(quota, weights, strict=True)]
            for count, due in zip(drawn.tolist(), quota, strict=True):
                assert abs(count * WEIGHT_TOTAL - due) < WEIGHT_TOTAL, position
            if position % 7 == 0:
                assert order.counts(position).tolist() == drawn.tolist()
        # At the end of a phase the counts are the plan's, exactly.
        for dataset, count in zip(plan.datasets, drawn.tolist(), strict=True):
            assert count == phase.carried.get(dataset.name, 0) + phase.sequences.get(dataset.name, 0)


@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(phase_lists())
def test_near_the_share_asked_too(make_plan: Callable[..., Plan], phases: Any) -> None:
    """Against the shares asked: less than two at every prefix of the run, less than one at the end of every phase.

    That is where each dataset asks for two sequences or more of each phase, and none leaves the mixture.
    """
    names = [name for name in NAMES if name in phases[0][2]]
    grown = []
    for steps, batch_size, weights in phases:
        names += [name for name in weights if name not in names]
        grown.append(
            (steps + 3 * len(names), batch_size, {name: 1 + weights.get(name, 0) % 7 for name in names})
        )
    plan = make_plan(grown)
    for phase in plan.phases:
        assume(min(phase.asked.values()) * phase.length >= 2 * WEIGHT_TOTAL)
    draws = all_draws(plan)
    for index, dataset in enumerate(plan.datasets):
        drawn = np.cumsum(draws.dataset == index)
        share = [
            np.full(phase.length, phase.asked.get(dataset.name, 0) / WEIGHT_TOTAL) for phase in plan.phases
        ]
        distance = np.abs(drawn - np.cumsum(np.concatenate(share)))
        assert distance.max() < 2
        assert max(distance[phase.end - 1] for phase in plan.phases) < 1


def test_shares_of_a_millionth(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan(
        [(1000, 100, {"big": 10**6, "tiny": 1}), (900, 128, {"tiny": 1, "big": 10**6, "new": 5})]
    )
    draws = all_draws(plan)
    for index in range(len(plan.datasets)):
        quota = np.concatenate(
            [
                np.full(phase.end - phase.start, phase.shares.get(plan.datasets[index].name, 0.0))
                for phase in plan.phases
            ]
        ).cumsum()
        assert np.abs(np.cumsum(draws.dataset == index) - quota).max() < 1
    assert {dataset.name for dataset in plan.datasets} == {"big", "tiny", "new"}
    assert set(draws.dataset.tolist()) == {0, 1, 2}


@settings(max_examples=40)
@given(phase_lists())
def test_each_epoch_is_a_permutation(make_plan: Callable[..., Plan], phases: Any) -> None:
    plan = make_plan(phases, {name: 3 + 2 * number for number, name in enumerate(NAMES)})
    draws = all_draws(plan)
    for index, dataset in enumerate(plan.datasets):
        mine = draws.dataset == index
        epochs, windows = draws.epoch[mine], draws.window[mine]
        assert (np.diff(epochs) >= 0).all()
        for epoch in np.unique(epochs):
            part = windows[epochs == epoch]
            assert len(np.unique(part)) == len(part)
            assert part.max() < dataset.windows
            if epoch < epochs[-1]:
                assert len(part) == dataset.windows


def test_epochs_differ(make_plan: Callable[..., Plan]) -> None:
    draws = all_draws(make_plan([(6, 50, {"a": 1})]))
    passes = draws.window.reshape(6, 50)
    assert all(not np.array_equal(a, b) for a, b in itertools.combinations(passes, 2))


@settings(max_examples=40)
@given(phase_lists(), st.randoms(use_true_random=False))
def test_grouping_and_history_do_not_matter(make_plan: Callable[..., Plan], phases: Any, rng: Any) -> None:
    plan = make_plan(phases)
    expected = all_draws(plan)
    positions = list(range(plan.total_sequences))
    rng.shuffle(positions)
    order, at = Order(plan), 0
    while at < len(positions):
        size = rng.randint(1, 40)
        part = np.array(positions[at : at + size])
        for got, want in zip(order.draw(part), expected, strict=True):
            assert np.array_equal(got, want[part])
        at += size


def test_neither_lanes_nor_single_positions_matter(
    make_plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan([(70, 11, {"a": 5, "b": 3, "c": 1}), (40, 30, {"b": 100, "c": 1})])
    expected = all_draws(plan)
    for size, least in ((1, 1), (7, 3), (64, 10**9)):
        monkeypatch.setattr(phase_order, "LEAST_LANE", size)
        monkeypatch.setattr(phase_order, "LANES_FROM", least)
        for got, want in zip(all_draws(plan), expected, strict=True):
            assert np.array_equal(got, want)
    order = Order(plan)
    for position in (0, 769, 770, 5, 1969):
        one = [int(part[0]) for part in order.draw(np.array([position]))]
        assert one == [int(part[position]) for part in expected]


def test_an_unrelated_dataset_does_not_reshuffle_the_others(make_plan: Callable[..., Plan]) -> None:
    def windows_of(plan: Plan, name: str) -> list[int]:
        draws = all_draws(plan)
        index = [dataset.name for dataset in plan.datasets].index(name)
        return draws.window[draws.dataset == index].tolist()

    few = make_plan([(100, 10, {"a": 2, "b": 1})])
    more = make_plan([(100, 10, {"a": 2, "b": 1, "c": 3})], order=["c", "b", "a"])
    for name in ("a", "b"):
        short = windows_of(more, name)
        assert short == windows_of(few, name)[: len(short)]


def test_the_order_of_the_list_does_not_matter(make_plan: Callable[..., Plan]) -> None:
    phases = [(100, 10, {"a": 2, "b": 1, "c": 1})]
    one, other = make_plan(phases, order=["a", "b", "c"]), make_plan(phases, order=["c", "a", "b"])

    def named(plan: Plan) -> list[tuple[str, int]]:
        draws = all_draws(plan)
        return [(plan.datasets[d].name, w) for d, w in zip(draws.dataset, draws.window.tolist(), strict=True)]

    assert named(one) == named(other)


def test_later_phases_do_not_change_earlier_draws(make_plan: Callable[..., Plan]) -> None:
    first = (50, 7, {"a": 3, "b": 2, "c": 1})
    short, long = make_plan([first]), make_plan([first, (40, 9, {"c": 1, "d": 5})])
    named = [
        [plan.datasets[d].name for d in Order(plan).draw(np.arange(350)).dataset] for plan in (short, long)
    ]
    assert named[0] == named[1]


def test_a_dataset_without_a_share_is_never_drawn(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan([(9, 5, {"a": 1, "b": 1, "c": 1}), (33, 7, {"a": 1, "b": 3}), (5, 9, {"c": 1, "a": 1})])
    draws = all_draws(plan)
    middle = draws.dataset[plan.phases[1].start : plan.phases[1].end]
    assert {plan.datasets[index].name for index in set(middle.tolist())} == {"a", "b"}


def test_a_phase_cut_short_keeps_its_order(make_plan: Callable[..., Plan]) -> None:
    """What a later amendment of a run needs: the past as it was, the next phase from the counts reached."""
    whole = make_plan([(50, 6, {"a": 3, "b": 2, "c": 1})])
    reached = Order(whole).counts(31 * 6)
    carried = {dataset.name: int(count) for dataset, count in zip(whole.datasets, reached, strict=True)}
    phase = whole.phases[0].model_copy(update={"end": 31 * 6, "end_step": 31})
    then = phase.model_copy(
        update={
            "name": "then", "start": 186, "end": 246, "first_step": 31, "end_step": 41, "length": 60,
            "sequences": {"a": 10, "c": 50}, "carried": carried,
        }
    )  # fmt: skip
    cut = Plan.model_validate(whole.model_dump() | {"phases": [phase.model_dump(), then.model_dump()]})
    for got, want in zip(Order(cut).draw(np.arange(186)), Order(whole).draw(np.arange(186)), strict=True):
        assert np.array_equal(got, want)
    assert Order(cut).counts(246).tolist() == [carried["a"] + 10, carried["b"], carried["c"] + 50]
    wrong = then.model_copy(
        update={"carried": {"a": carried["a"] + 1, "b": carried["b"] - 1, "c": carried["c"]}}
    )
    with pytest.raises(ArtefactError, match=r"phases.then.carried: the phase before has drawn"):
        Order(Plan.model_validate(whole.model_dump() | {"phases": [phase.model_dump(), wrong.model_dump()]}))


def test_no_positions(make_plan: Callable[..., Plan]) -> None:
    draws = Order(make_plan([(2, 3, {"a": 1})])).draw(np.array([], dtype=np.int64))
    assert [len(part) for part in draws] == [0, 0, 0]


@pytest.mark.parametrize("position", [-1, 6])
def test_positions_outside_are_refused(make_plan: Callable[..., Plan], position: int) -> None:
    order = Order(make_plan([(2, 3, {"a": 1})]))
    with pytest.raises(IndexError, match=r"\[0, 6\)"):
        order.draw(np.array([position]))
    with pytest.raises(IndexError, match=r"\[0, 6\]"):
        order.counts(position if position < 0 else 7)


def test_golden_order(make_plan: Callable[..., Plan]) -> None:
    """Draws fixed for ever: a change here makes finished runs irreproducible. Change the plan's format instead."""
    plan = make_plan(
        [
            (30, 8, {"web": 900, "arxiv": 90, "wiki": 9, "tiny": 1}),
            (20, 12, {"web": 1, "wiki": 2, "arxiv": 3}),
        ],
        {"web": 5000, "arxiv": 37, "wiki": 50, "tiny": 4},
        seed=2026,
    )
    draws = all_draws(plan)
    for start, dataset, epoch, window in GOLDEN:
        stop = start + len(dataset)
        assert draws.dataset[start:stop].tolist() == dataset
        assert draws.epoch[start:stop].tolist() == epoch
        assert draws.window[start:stop].tolist() == window


GOLDEN: list[tuple[int, list[int], list[int], list[int]]] = [
    (
        0,
        [2, 2, 2, 2, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [
            2620,
            3244,
            4301,
            2216,
            2821,
            576,
            2367,
            17,
            36,
            3448,
            4642,
            3588,
            4938,
            2779,
            3,
            916,
            4617,
            4932,
            137,
            20,
        ],
    ),
    (
        110,
        [2, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [
            2737,
            1261,
            4991,
            1499,
            3738,
            14,
            931,
            4726,
            3791,
            4235,
            3476,
            571,
            2973,
            655,
            26,
            4417,
            3049,
            2591,
            4585,
            3742,
        ],
    ),
    (
        234,
        [2, 2, 2, 2, 2, 3, 0, 3, 0, 2, 3, 0, 0, 3, 0, 2, 3, 0, 0, 3],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [4324, 4986, 3694, 3891, 4562, 1, 33, 46, 7, 2882, 39, 11, 35, 32, 2, 1608, 17, 17, 21, 26],
    ),
    (
        460,
        [3, 2, 0, 3, 0, 0, 3, 2, 0, 3, 0, 0, 3, 2, 0, 3, 0, 0, 2, 3],
        [1, 0, 3, 1, 3, 3, 1, 0, 3, 1, 3, 3, 1, 0, 3, 1, 3, 3, 0, 1],
        [1, 405, 36, 25, 21, 15, 15, 209, 4, 0, 28, 18, 16, 4718, 1, 10, 19, 11, 4408, 44],
    ),
]


def test_reading_on_and_on(make_plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch after batch, with a jump back and one ahead: the same draws, which the reader may write over."""
    monkeypatch.setattr(order_module, "AHEAD", 40)
    plan = make_plan([(30, 11, {"a": 5, "b": 3, "c": 1}), (9, 30, {"b": 100, "c": 1, "d": 7})])
    expected, order = all_draws(plan), Order(plan)
    batches = [(first, first + 7) for first in (*range(0, 350, 7), *range(21, 90, 7), *range(400, 593, 7))]
    for first, end in [*batches, (593, 600), (0, 5), (5, 64)]:
        for got, want in zip(order.draw(np.arange(first, end)), expected, strict=True):
            assert got.tolist() == want[first:end].tolist()
            got[:] = -1

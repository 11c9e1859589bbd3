"""Lanes in lockstep draw what the heap draws, one position after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.mixtures import order as order_module
from tootsie.mixtures import phase_order
from tootsie.mixtures.lockstep import fits
from tootsie.mixtures.order import Order
from tootsie.mixtures.phase_order import PhaseOrder
from tootsie.mixtures.plan import Plan

COUNTS = st.lists(st.sampled_from([1, 1, 2, 3, 30, 31, 60, 400]), min_size=1, max_size=12)


@settings(max_examples=150)
@given(COUNTS, st.integers(1, 17), st.integers(0, 4096))
def test_lanes_draw_what_the_heap_draws(counts: list[int], size: int, split_above: int) -> None:
    before = phase_order.SPLIT_ABOVE, phase_order.LEAST_LANE, phase_order.LANES_FROM
    phase_order.SPLIT_ABOVE = split_above
    try:
        order = PhaseOrder({f"d{i:02d}": count for i, count in enumerate(counts)})
        phase_order.LEAST_LANE, phase_order.LANES_FROM = size, 1
        dataset, unit = order.at(np.arange(order.length))
        expected = order.datasets(0, order.length, [0] * len(counts))
    finally:
        phase_order.SPLIT_ABOVE, phase_order.LEAST_LANE, phase_order.LANES_FROM = before
    assert dataset.tolist() == expected.tolist()
    for member in range(len(counts)):
        units = unit[expected == member]
        assert units.tolist() == list(range(counts[member]))


@pytest.mark.parametrize("scale", [1, 10**6, 10**12])
def test_far_into_long_phases(scale: int) -> None:
    """Numbers that need 64 bits and more: deadlines, and products of counts and positions."""
    counts = {"web": 997 * scale, "code": 89 * scale + 1, "math": 7 * scale, "notes": scale // 1000 + 1}
    order = PhaseOrder(counts)
    assert order.has_lanes
    starts = [0, order.length // 3, order.length // 2 + 11, order.length - 300]
    for start in starts:
        dataset, unit = order.at(np.arange(start, start + 300))
        drawn = order.drawn(start)
        expected = order.datasets(start, start + 300, drawn)
        assert dataset.tolist() == expected.tolist()
        for member in range(len(counts)):
            mine = unit[expected == member]
            assert mine.tolist() == list(range(drawn[member], drawn[member] + len(mine)))


def test_phases_too_long_for_lanes_are_drawn_one_by_one() -> None:
    assert not fits(2**13, 2**49)
    assert not fits(2, 2**50)
    assert fits(1000, 2**49)
    assert not PhaseOrder({"a": 2**62, "b": 3}).has_lanes


def test_a_plan_is_drawn_alike_either_way(
    make_plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan([(300, 11, {"a": 5, "b": 3, "c": 1}), (90, 30, {"b": 100, "c": 1, "d": 7})])
    rng = np.random.default_rng(3)
    several: list[Any] = [np.arange(plan.total_sequences), rng.permutation(plan.total_sequences)]
    for positions in several:
        monkeypatch.setattr(phase_order, "LANES_FROM", 10**9)
        expected = Order(plan).draw(positions)
        for lanes in (2, 1024):
            monkeypatch.setattr(phase_order, "LANES_FROM", 1)
            monkeypatch.setattr(phase_order, "LANES", lanes)
            for got, want in zip(Order(plan).draw(positions), expected, strict=True):
                assert got.tolist() == want.tolist()


@pytest.mark.parametrize("stretch", [17, 64, 10_000])
def test_positions_in_a_row_are_drawn_as_each_on_its_own(
    make_plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch, stretch: int
) -> None:
    """Over the bounds of phases, with datasets that come and go, many passes in a row, and a phase too long for lanes."""
    plan = make_plan(
        [
            (30, 11, {"a": 5, "b": 3, "c": 1}),
            (9, 30, {"b": 100, "c": 1, "d": 7}),
            (40, 7, {"a": 1}),
            (25, 13, {f"e{number}": 10**number for number in range(7)}),
        ],
        windows={"a": 3, "b": 50, "c": 1, "e6": 7},
    )
    everything = np.arange(plan.total_sequences)
    expected = Order(plan).draw(np.random.default_rng(0).permutation(plan.total_sequences))
    back = np.argsort(np.random.default_rng(0).permutation(plan.total_sequences))
    monkeypatch.setattr(order_module, "STRETCH_FROM", 16)
    monkeypatch.setattr(order_module, "STRETCH", stretch)
    for first, end in (
        (0, plan.total_sequences),
        (5, 400),
        (329, 331),
        (321, 345),
        (900, plan.total_sequences),
    ):
        for got, want in zip(Order(plan).draw(everything[first:end]), expected, strict=True):
            assert got.tolist() == want[back][first:end].tolist()
    monkeypatch.setattr(PhaseOrder, "has_lanes", False)
    for got, want in zip(Order(plan).draw(everything), expected, strict=True):
        assert got.tolist() == want[back].tolist()

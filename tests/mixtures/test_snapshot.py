"""The state at many positions against the state at each."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.mixtures import phase_order, snapshot
from tootsie.mixtures.phase_order import PhaseOrder
from tootsie.mixtures.snapshot import LARGEST, drawn_at, quotient

COUNTS = st.one_of(
    st.lists(st.integers(1, 6), min_size=1, max_size=12),
    st.lists(st.sampled_from([1, 1, 2, 3, 30, 31, 60]), min_size=1, max_size=12),
    st.tuples(st.integers(1, 400), st.lists(st.just(1), max_size=20)).map(lambda pair: [pair[0], *pair[1]]),
)


def assert_as_one_by_one(order: PhaseOrder, positions: Iterable[int]) -> None:
    several = np.array(list(positions), dtype=np.int64)
    assert order.drawn_at(several).tolist() == [order.drawn(position) for position in several.tolist()]


def order_of(counts: Iterable[int]) -> PhaseOrder:
    return PhaseOrder({f"d{i:03d}": count for i, count in enumerate(counts)})


@settings(max_examples=150)
@given(COUNTS, st.sampled_from([0, 1, 3, 4096]), st.sampled_from([1, 5, 2**20]))
def test_every_position_of_short_phases(counts: list[int], split_above: int, most_slots: int) -> None:
    before = phase_order.SPLIT_ABOVE, snapshot.MOST_SLOTS
    phase_order.SPLIT_ABOVE, snapshot.MOST_SLOTS = split_above, most_slots
    try:
        order = order_of(counts)
        assert_as_one_by_one(order, range(order.length + 1))
    finally:
        phase_order.SPLIT_ABOVE, snapshot.MOST_SLOTS = before


@pytest.mark.parametrize("length", [10**7, 3 * 10**9, 2**40])
def test_anywhere_in_long_phases(length: int) -> None:
    """Products of counts and positions need more than 64 bits; both classes look far back."""
    counts = [3, 10**4, length // 10**4, length // 10**4, length // 3, length // 5]
    order = order_of([*counts, length - sum(counts)])
    rng = random.Random(2)
    assert_as_one_by_one(order, [0, 1, length - 1, length, *(rng.randrange(length) for _ in range(40))])


def test_no_positions() -> None:
    order = order_of([3, 4])
    assert order.drawn_at(np.array([], dtype=np.int64)).shape == (0, 2)
    assert drawn_at(order._classes[0], np.array([], dtype=np.int64)).shape == (0, 2)


@settings(max_examples=300)
@given(st.integers(0, LARGEST), st.integers(0, LARGEST), st.integers(1, LARGEST))
def test_quotients_are_exact(a: int, b: int, c: int) -> None:
    if a * b // c > LARGEST:
        a = min(a, c)
    whole, rest = quotient(np.array([a, 1]), b, c)
    assert (int(whole[0]), int(rest[0])) == divmod(a * b, c)

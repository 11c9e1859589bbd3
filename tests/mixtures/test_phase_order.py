"""The schedule of a phase against the plain sequential one, and its bound."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.mixtures import phase_order
from tootsie.mixtures.phase_order import PhaseOrder, slow_datasets


def sequential(counts: Sequence[int]) -> list[int]:
    """The definition: two classes, each earliest deadline first from position 0, by comparing everything."""
    length = sum(counts)
    slow = slow_datasets(tuple(counts), length)
    fast_total = sum(count for i, count in enumerate(counts) if i not in slow)
    drawn, result = [0] * len(counts), []
    for k in range(length):
        is_fast = fast_total * (k + 1) // length > fast_total * k // length
        begun = [
            (-(-(drawn[i] + 1) * length // counts[i]), i)
            for i in range(len(counts))
            if (i not in slow) == is_fast and drawn[i] < counts[i] and counts[i] * (k + 1) > drawn[i] * length
        ]
        chosen = min(begun)[1]
        drawn[chosen] += 1
        result.append(chosen)
    return result


def order_of(counts: Sequence[int]) -> PhaseOrder:
    return PhaseOrder({f"d{i:03d}": count for i, count in enumerate(counts)})


def assert_equals_sequential(counts: Sequence[int]) -> None:
    expected = sequential(counts)
    order, length = order_of(counts), sum(counts)
    drawn = np.zeros(len(counts), dtype=np.int64)
    for position in range(length + 1):
        assert order.drawn(position) == drawn.tolist(), position
        # |drawn - quota| < 1, in integers.
        assert (np.abs(drawn * length - np.array(counts) * position) < length).all(), position
        if position < length:
            drawn[expected[position]] += 1
    middle = length // 3
    assert order.datasets(middle, length, order.drawn(middle)).tolist() == expected[middle:]


COUNTS = st.one_of(
    st.lists(st.integers(1, 6), min_size=1, max_size=12),
    st.lists(st.integers(1, 60), min_size=1, max_size=10),
    st.lists(st.sampled_from([1, 1, 2, 3, 30, 31, 60]), min_size=1, max_size=12),
    st.tuples(st.integers(1, 400), st.lists(st.just(1), max_size=20)).map(lambda pair: [pair[0], *pair[1]]),
)


@settings(max_examples=150)
@given(COUNTS)
def test_state_and_draws_equal_the_sequential_schedule(counts: list[int]) -> None:
    assert_equals_sequential(counts)


@settings(max_examples=150)
@given(COUNTS, st.integers(0, 3))
def test_so_they_do_with_two_classes(counts: list[int], split_above: int) -> None:
    before = phase_order.SPLIT_ABOVE
    phase_order.SPLIT_ABOVE = split_above
    try:
        assert_equals_sequential(counts)
    finally:
        phase_order.SPLIT_ABOVE = before


def test_sixty_datasets() -> None:
    rng = random.Random(5)
    assert_equals_sequential([max(1, int(10 ** rng.uniform(0, 2))) for _ in range(60)])


@pytest.mark.parametrize("tiny", [1, 2, 999])
def test_shares_of_a_billionth(tiny: int) -> None:
    """Windows of 10⁹ positions: the state in the middle is reached at once, and holds the bound."""
    length = 3 * 10**9
    counts = [tiny, 3, 3000, 10**6, length // 3]
    counts.append(length - sum(counts))
    order = order_of(counts)
    rng = random.Random(1)
    for position in [0, 1, length - 1, length, *(rng.randrange(length) for _ in range(20))]:
        drawn = order.drawn(position)
        assert sum(drawn) == position
        assert all(abs(d * length - c * position) < length for d, c in zip(drawn, order.counts, strict=True))


def test_the_state_moves_by_one_draw_at_a_time_far_from_the_start() -> None:
    length = 2**40
    counts = [3, 10**4, 10**8, 10**8, length // 3, length // 5]
    counts.append(length - sum(counts))
    order = order_of(counts)
    start = length // 7
    drawn = order.drawn(start)
    for at, dataset in enumerate(order.datasets(start, start + 300, drawn).tolist()):
        drawn[dataset] += 1
        assert order.drawn(start + at + 1) == drawn


def test_similar_rates_are_not_split() -> None:
    assert slow_datasets((100, 200, 300), 600) == frozenset()


def test_rates_far_apart_are_split_where_both_look_backs_are_short() -> None:
    counts = (10**9, 10**9 + 1, 2, 5, 10**6)
    slow = slow_datasets(counts, sum(counts))
    assert slow == {2, 3}


def test_a_lone_dataset_takes_every_position() -> None:
    order = order_of([7])
    assert order.datasets(0, 7, [0]).tolist() == [0] * 7
    assert order.drawn(3) == [3]

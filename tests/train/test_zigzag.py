"""Which tokens each device has: every one once, the same work for all, and back in the order of positions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.train import zigzag


def test_the_example_of_two_devices() -> None:
    assert zigzag.positions(8, 2).tolist() == [[0, 1, 6, 7], [2, 3, 4, 5]]


@pytest.mark.parametrize("shards", [1, 3])
def test_parts_are_taken_joined_and_divided_by_position(shards: int) -> None:
    length = 4 * shards
    row = jnp.arange(2 * length).reshape(2, length, 1)
    wanted = zigzag.positions(length, shards)
    parts = jnp.stack([zigzag.take(row, shards, rank, axis=1) for rank in range(shards)], axis=1)
    np.testing.assert_array_equal(parts[0, :, :, 0], wanted)
    np.testing.assert_array_equal(zigzag.join(parts), row)
    np.testing.assert_array_equal(zigzag.divide(row, shards), parts)
    # Keys up to each query, itself included: as many for one device as for another.
    assert len({int((part + 1).sum()) for part in wanted}) == 1

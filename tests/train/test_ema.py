"""The average: its direction, in closed form."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.train.ema import update_ema


def test_a_step_of_the_weights_fades_as_beta_to_the_k() -> None:
    """With the direction reversed the average would sit on the weights after one update."""
    beta, before, after = 0.995, 2.0, 5.0
    average = {"w": jnp.full((3,), before, jnp.float32)}
    for k in range(1, 301):
        average = update_ema(average, {"w": jnp.full((3,), after, jnp.float32)}, beta)
        if k in (1, 138, 300):
            np.testing.assert_allclose(average["w"], after + beta**k * (before - after), rtol=1e-4)


def test_the_first_update_moves_it_by_one_part_in_two_hundred() -> None:
    average = update_ema({"w": jnp.float32(0)}, {"w": jnp.float32(1)}, 0.995)
    assert float(average["w"]) == pytest.approx(0.005, rel=1e-4)


def test_beta_zero_is_exactly_the_weights_so_switching_on_starts_from_them() -> None:
    weights = {"w": jnp.asarray(np.random.default_rng(0).normal(size=100), jnp.float32)}
    stale = {"w": jnp.full((100,), 1e6, jnp.float32)}
    np.testing.assert_array_equal(update_ema(stale, weights, np.float32(0))["w"], weights["w"])

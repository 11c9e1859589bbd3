"""Rotary positions: relative, length-preserving, scaled as Llama 3.1 does."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from pydantic import ValidationError

from tootsie.train.rope import LLAMA3_SCALING, Llama3Scaling, Rope, frequencies, rotate, rotation_tables


def test_nothing_has_a_default() -> None:
    with pytest.raises(ValidationError, match="scaling"):
        Rope.model_validate({"theta": 10_000})
    with pytest.raises(ValidationError, match="theta"):
        Rope.model_validate({"scaling": None})


def test_the_product_of_query_and_key_depends_on_their_distance_only() -> None:
    rope = Rope(theta=100, scaling=None)
    cosine, sine = rotation_tables(rope, 32, 8)
    rng = np.random.default_rng(0)
    query, key = (np.tile(rng.normal(size=8), (1, 32, 1, 1)).astype(np.float32) for _ in range(2))
    q, k = (np.asarray(rotate(jnp.asarray(x), cosine, sine))[0, :, 0] for x in (query, key))
    products = q @ k.T
    for distance in range(1, 30):
        diagonal = np.diagonal(products, -distance)
        np.testing.assert_allclose(diagonal, diagonal[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), np.linalg.norm(query[0, :, 0], axis=-1), rtol=1e-5)
    np.testing.assert_array_equal(q[0], query[0, 0, 0])


def test_scaling_divides_slow_frequencies_and_keeps_fast_ones() -> None:
    plain = frequencies(Rope(theta=500_000, scaling=None), 128)
    scaled = frequencies(Rope(theta=500_000, scaling=LLAMA3_SCALING), 128)
    wavelength = 2 * np.pi / plain
    np.testing.assert_array_equal(scaled[wavelength < 8192 / 4], plain[wavelength < 8192 / 4])
    np.testing.assert_allclose(scaled[wavelength > 8192], plain[wavelength > 8192] / 8)
    between = (wavelength > 8192 / 4) & (wavelength < 8192)
    assert between.any()
    assert ((scaled < plain) & (scaled > plain / 8))[between].all()
    assert (np.diff(scaled) < 0).all()


def test_frequency_bounds_must_be_in_order() -> None:
    with pytest.raises(ValidationError, match="must be greater"):
        Llama3Scaling(factor=8, low_frequency_factor=4, high_frequency_factor=1, original_length=8192)

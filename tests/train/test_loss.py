"""The loss without stored logits against the one with them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.train.loss import cross_entropy, cross_entropy_full, scored_targets


def case(n: int = 37, d: int = 8, v: int = 50) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    hidden = jnp.asarray(rng.normal(size=(n, d)), jnp.float32)
    head = jnp.asarray(rng.normal(size=(v, d)), jnp.float32)
    targets = jnp.asarray(rng.integers(0, v, n), jnp.int32)
    return hidden, head, targets, jnp.asarray(rng.random(n) < 0.7)


@pytest.mark.parametrize("block", [1, 8, 37, 64])
def test_blocks_give_the_sums_and_gradients_of_the_definition(block: int) -> None:
    hidden, head, targets, scored = case()
    for z_weight in (0.0, 0.03):
        expected = cross_entropy_full(hidden, head, targets, scored, z_weight)
        found = cross_entropy(hidden, head, targets, scored, z_weight, block)
        for name, value in found._asdict().items():
            np.testing.assert_allclose(value, getattr(expected, name), rtol=1e-5, err_msg=name)

        def objective(fn: Any, z_weight: float = z_weight) -> Any:
            weighted = lambda h, w: 3.0 * fn(h, w, targets, scored, z_weight).objective  # noqa: E731
            return jax.jit(jax.grad(weighted, argnums=(0, 1)))

        wanted = objective(cross_entropy_full)(hidden, head)
        blocked = objective(lambda *args: cross_entropy(*args, block))(hidden, head)
        for a, b in zip(blocked, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-5)


def test_large_logits_do_not_overflow() -> None:
    hidden, head, targets, scored = case()
    found = cross_entropy(hidden * 100, head, targets, scored, 1e-4, 8)
    expected = cross_entropy_full(hidden * 100, head, targets, scored, 1e-4)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-5)


def test_bfloat16_activations_give_float32_sums_and_head_gradients() -> None:
    hidden, head, targets, scored = case()
    narrow = hidden.astype(jnp.bfloat16)
    sums, gradients = jax.value_and_grad(
        lambda h, w: cross_entropy(h, w, targets, scored, 1e-4, 8).objective, argnums=(0, 1)
    )(narrow, head)
    assert sums.dtype == jnp.float32
    assert gradients[0].dtype == jnp.bfloat16
    assert gradients[1].dtype == jnp.float32
    np.testing.assert_allclose(
        sums, cross_entropy_full(hidden, head, targets, scored, 1e-4).objective, rtol=0.02
    )


def test_the_gradient_of_confident_predictions_keeps_its_direction_in_bfloat16() -> None:
    """p of a target near 1 is 1 in bfloat16. What is left must not push all logits down together: it was 91 % off."""
    rng = np.random.default_rng(0)
    head = rng.normal(size=(50, 32)).astype(np.float32)
    head /= np.linalg.norm(head, axis=1, keepdims=True)
    targets = rng.integers(0, 50, 64)
    hidden = jnp.asarray(14 * head[targets] + 0.3, jnp.bfloat16)
    head = jnp.asarray(head, jnp.bfloat16).astype(jnp.float32)

    def gradients(hidden: jax.Array) -> Any:
        def objective(h: jax.Array, w: jax.Array) -> jax.Array:
            return cross_entropy(h, w, jnp.asarray(targets), jnp.ones(64, bool), 1e-4, 16).objective

        return jax.grad(objective, argnums=(0, 1))(hidden, head)

    for found, wanted in zip(gradients(hidden), gradients(hidden.astype(jnp.float32)), strict=True):
        distance = jnp.linalg.norm(found.astype(jnp.float32) - wanted) / jnp.linalg.norm(wanted)
        assert distance < 0.01, "no more than the rounding of each value"


def test_sums_add_up_over_any_split_of_the_batch() -> None:
    """Mean of means would weigh a short microbatch like a long one; sums can't."""
    hidden, head, targets, scored = case()
    whole = cross_entropy(hidden, head, targets, scored, 0.1)
    parts = [
        cross_entropy(hidden[a:b], head, targets[a:b], scored[a:b], 0.1)
        for a, b in ((0, 3), (3, 20), (20, 37))
    ]
    for name, value in whole._asdict().items():
        np.testing.assert_allclose(value, sum(getattr(part, name) for part in parts), rtol=1e-5)


def test_no_scored_token_is_no_loss_and_no_gradient() -> None:
    hidden, head, targets, scored = case()
    value, gradient = jax.value_and_grad(
        lambda h: cross_entropy(h, head, targets, jnp.zeros_like(scored), 1e-4, 8).objective
    )(hidden)
    assert float(value) == 0
    assert not np.asarray(gradient).any()


def test_each_position_predicts_the_next_token_where_that_is_scored() -> None:
    tokens = jnp.asarray([[5, 6, 9, 7, 8]], jnp.int32)
    mask = jnp.asarray([[True, True, True, False, True]])
    targets, scored = scored_targets(tokens, mask, bos_id=None)
    assert targets[0, :-1].tolist() == [6, 9, 7, 8]
    assert scored[0].tolist() == [True, True, False, True, False]
    assert scored_targets(tokens, mask, bos_id=9)[1][0].tolist() == [True, False, False, True, False]

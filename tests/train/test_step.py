"""Whole steps across phase changes, against the formulas in numpy: AdamW, decay, clipping, z-loss and average."""

from __future__ import annotations

from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from tootsie.train.architecture import Architecture
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.optimizer import StepSettings, is_decayed
from tootsie.train.step import Rows, make_init, make_update

PHASES = (
    StepSettings(1e-2, 0.1, 0.0, 0.0, np.inf, 0.9, 0.95, 1e-8),
    StepSettings(2e-3, 0.3, 0.02, 0.8, 0.5, 0.8, 0.99, 1e-6),
)
"""What a boundary may change: no average, z-loss or clipping before it, all three after it."""


def rows(step: int, batch: int) -> Rows:
    """Rows of two or three documents; some tokens carry no loss."""
    rng = np.random.default_rng(step)
    tokens = rng.integers(0, 63, (batch, 16)).astype(np.int32)
    segments = 1 + np.cumsum(rng.random((batch, 16)) < 0.1, axis=1).astype(np.int32)
    return Rows(tokens, segments, rng.random((batch, 16)) < 0.9)


def naive_loss(model: hk.Transformed, params: Any, given: Rows, z_weight: float) -> Any:
    """Mean cross-entropy plus z-loss over the tokens that carry loss, the first of each row left out."""
    output = model.apply(params, jnp.asarray(given.tokens), jnp.asarray(given.segment_ids))
    logits = (output.hidden @ output.head.T)[:, :-1]
    log_z = jnp.log(jnp.sum(jnp.exp(logits), axis=-1))
    nll = log_z - jnp.take_along_axis(logits, jnp.asarray(given.tokens)[:, 1:, None], axis=-1)[..., 0]
    mask = jnp.asarray(given.loss_mask)[:, 1:]
    z = z_weight * log_z**2
    return jnp.sum(jnp.where(mask, nll + z, 0)) / jnp.sum(mask), (
        jnp.sum(jnp.where(mask, nll, 0)) / jnp.sum(mask),
        jnp.sum(jnp.where(mask, z, 0)) / jnp.sum(mask),
    )


def test_steps_across_a_boundary_follow_the_formulas(tiny: Architecture) -> None:
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    state = make_init(model, average=True)(jax.random.key(0))
    update = make_update(model, bos_id=None)
    w = {m: {n: np.asarray(a, np.float64) for n, a in leaves.items()} for m, leaves in state.params.items()}
    m1 = jax.tree.map(np.zeros_like, w)
    m2 = jax.tree.map(np.zeros_like, w)
    history = []
    gradient = jax.jit(jax.grad(lambda p, r, z: naive_loss(model, p, r, z), has_aux=True))
    for step in range(1, 7):
        s = PHASES[step > 3]
        given = rows(step, 2 if step <= 3 else 4)
        now = jax.tree.map(np.array, state.params)  # gradients at our weights, the formulas on top of them
        g, (nll, z) = gradient(now, given, s.z_loss)
        state, metrics = update(state, given, StepSettings(*(np.float32(value) for value in s)))
        norm = np.sqrt(sum(np.sum(np.asarray(leaf, np.float64) ** 2) for leaf in jax.tree.leaves(g)))
        clip = min(1.0, s.clip_norm / norm)
        for module, leaves in w.items():
            for name in leaves:
                grad = np.asarray(g[module][name], np.float64) * clip
                m1[module][name] = s.adam_beta1 * m1[module][name] + (1 - s.adam_beta1) * grad
                m2[module][name] = s.adam_beta2 * m2[module][name] + (1 - s.adam_beta2) * grad**2
                # The count of updates goes on over the boundary: nothing is reset.
                mean = m1[module][name] / (1 - s.adam_beta1**step)
                square = m2[module][name] / (1 - s.adam_beta2**step)
                decay = s.weight_decay * leaves[name] if is_decayed(name) else 0.0
                leaves[name] = leaves[name] - s.learning_rate * (
                    mean / (np.sqrt(square) + s.adam_epsilon) + decay
                )
        for found, wanted in zip(jax.tree.leaves(state.params), jax.tree.leaves(w), strict=True):
            np.testing.assert_allclose(found, wanted, atol=3e-5)
        np.testing.assert_allclose(
            [metrics.loss, metrics.z_loss, metrics.grad_norm], [nll, z, norm], rtol=1e-4
        )
        assert (float(metrics.z_loss) > 0) == (step > 3)
        history.append(jax.tree.map(np.array, state.params))
    # Switched on at the boundary, the average starts there: β³·w₃ + Σ (1 − β)·β^(6−k)·w_k.
    beta = PHASES[1].ema_beta
    closed = jax.tree.map(
        lambda a, b, c, d: beta**3 * a + (1 - beta) * (beta**2 * b + beta * c + d), *history[2:6]
    )
    for found, wanted in zip(jax.tree.leaves(state.ema), jax.tree.leaves(closed), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_the_loss_of_a_document_does_not_depend_on_its_neighbours(tiny: Architecture) -> None:
    """Neither through attention nor through the loss: the gradient of one document's loss is the same beside any other."""
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    params = make_init(model, average=False)(jax.random.key(1)).params
    tokens = np.arange(32, dtype=np.int32).reshape(2, 16) % 60
    tokens[1, 8:] = tokens[0, 8:]  # rows that differ in the first document only
    segments = np.repeat([[1] * 8 + [2] * 8], 2, axis=0).astype(np.int32)
    mask = np.zeros((2, 16), bool)
    mask[:, 9:] = True  # only tokens of the second document, predicted from within it

    def of(row: int) -> Any:
        part = Rows(tokens[row : row + 1], segments[:1], mask[:1])
        return jax.jit(jax.value_and_grad(lambda p: naive_loss(model, p, part, 0.1)[0]))(params)

    (loss, gradient), (other_loss, other_gradient) = of(0), of(1)
    assert float(loss) == float(other_loss)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(other_gradient), strict=True):
        np.testing.assert_array_equal(a, b)

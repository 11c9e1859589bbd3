"""One training step: two pure functions, ``init`` and ``update``.

Glossary of shapes:
- B: batch size.
- T: sequence length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

from tootsie.train.ema import update_ema
from tootsie.train.loss import cross_entropy, scored_targets
from tootsie.train.optimizer import StepSettings, adamw, global_norm


class TrainingState(NamedTuple):
    """All that a step changes; nothing random among it."""

    params: Any  # Current weights, float32.
    opt_state: Any  # First and second moments and the count of updates.
    ema: Any  # Averaged weights; None in a run whose plan never averages.


class Rows(NamedTuple):
    """The part of a batch that the compiled step reads."""

    tokens: Any  # int32 [B, T].
    segment_ids: Any  # int32 [B, T]; documents are numbered from 1 within a row.
    loss_mask: Any  # bool [B, T]; which tokens carry loss.


class StepMetrics(NamedTuple):
    """What a step reports, float32 scalars."""

    loss: jax.Array  # Cross-entropy in nats per scored token, z-loss not included.
    z_loss: jax.Array  # Weighted z-loss per scored token.
    grad_norm: jax.Array  # Global norm before clipping.
    param_norm: jax.Array  # Global norm of the weights after the update.
    scored: jax.Array  # Scored tokens.


_ANY_SETTINGS = StepSettings(0.0, 0.0, 0.0, 0.0, 1.0, 0.9, 0.95, 1e-8)


def make_init(model: hk.Transformed, average: bool) -> Callable[[jax.Array], TrainingState]:
    """Return the compiled function from a random key to the state before the first step."""

    @jax.jit
    def init(rng: jax.Array) -> TrainingState:
        tokens = jnp.zeros((1, 8), jnp.int32)
        params = model.init(rng, tokens, tokens)
        # A copy, because the weights and their average must not share a buffer once buffers are donated.
        return TrainingState(
            params, adamw(_ANY_SETTINGS).init(params), jax.tree.map(jnp.copy, params) if average else None
        )

    return init


def make_update(
    model: hk.Transformed, bos_id: int | None
) -> Callable[[TrainingState, Rows, StepSettings], tuple[TrainingState, StepMetrics]]:
    """Return the compiled step. It is compiled again only for another batch shape; the old state is donated."""

    def objective(params: Any, rows: Rows, z_weight: jax.Array) -> tuple[jax.Array, Any]:
        output = model.apply(params, rows.tokens, rows.segment_ids)
        targets, scored = scored_targets(rows.tokens, rows.loss_mask, bos_id)
        D = output.hidden.shape[-1]
        sums = cross_entropy(
            output.hidden.reshape(-1, D), output.head, targets.reshape(-1), scored.reshape(-1), z_weight
        )
        count = jnp.sum(scored)
        return sums.objective / jnp.maximum(count, 1), (sums, count)

    def update(state: TrainingState, rows: Rows, settings: StepSettings) -> tuple[TrainingState, StepMetrics]:
        gradient = jax.grad(objective, has_aux=True)
        gradients, (sums, count) = gradient(state.params, rows, settings.z_loss)
        updates, opt_state = adamw(settings).update(gradients, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        ema = None if state.ema is None else update_ema(state.ema, params, settings.ema_beta)
        per_token = 1 / jnp.maximum(count, 1)
        metrics = StepMetrics(
            loss=sums.nll * per_token,
            z_loss=settings.z_loss * sums.z * per_token,
            grad_norm=global_norm(gradients),
            param_norm=global_norm(params),
            scored=count,
        )
        return TrainingState(params, opt_state, ema), metrics

    return jax.jit(update, donate_argnums=0)


def parameter_total(params: Any) -> int:
    """Return how many numbers a tree of arrays holds."""
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(params))

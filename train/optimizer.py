"""AdamW with its settings given anew at each step, so a phase can change them without a reset or a recompilation."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class StepSettings(NamedTuple):
    """The training settings of one step, float32 scalars (traced, never compiled in)."""

    learning_rate: Any  # Factor on the whole update.
    weight_decay: Any  # Decoupled: learning_rate · weight_decay · w is subtracted.
    z_loss: Any  # Weight of log²Z in the objective.
    ema_beta: Any  # Memory of the weight average; 0 where there is none.
    clip_norm: Any  # Largest global gradient norm; infinity for none.
    adam_beta1: Any  # Memory of the first moment.
    adam_beta2: Any  # Memory of the second moment.
    adam_epsilon: Any  # Added to the root of the second moment.
    loss_limit: Any = math.inf  # Loss above which the update is left out; read only where a guard skips.
    grad_norm_limit: Any = math.inf  # Gradient norm above which it is left out.
    update_clip: Any = math.inf  # Largest RMS of gradient ÷ √second moment, where a guard clips updates.


class Guard(NamedTuple):
    """What is compiled into the step against spikes; see :mod:`tootsie.train.spikes`."""

    skips: bool = False  # Whether an update beyond the limits is left out.
    clips_updates: bool = False  # Whether updates of parameters with gradients out of line are scaled down.


UNGUARDED = Guard()
"""Every update is made as it is."""


UNDECAYED = ("embedding", "norm")
"""Parameters whose name holds one of these words are not decayed."""


def is_decayed(name: str) -> bool:
    """Return whether weight decay applies to the parameter called ``name`` (its last part only)."""
    return not any(word in name for word in UNDECAYED)


def decay_mask(params: Any) -> Any:
    """Return the tree of ``params`` with True where weight decay applies."""
    return {module: {name: is_decayed(name) for name in leaves} for module, leaves in params.items()}


def decay_lists(params: Any) -> dict[str, list[str]]:
    """Return the full names of the parameters ``decayed`` and ``not_decayed``; stored with the run."""
    lists: dict[str, list[str]] = {"decayed": [], "not_decayed": []}
    for module, leaves in sorted(params.items()):
        for name in sorted(leaves):
            lists["decayed" if is_decayed(name) else "not_decayed"].append(f"{module}/{name}")
    return lists


def adamw(settings: StepSettings, guard: Guard = UNGUARDED) -> optax.GradientTransformation:
    """Return clip → Adam moments → decoupled decay → learning rate (Loshchilov & Hutter 2019).

    The state has the same structure for all settings and guards: build it inside the compiled step from traced scalars.
    """
    adam = optax.scale_by_adam(settings.adam_beta1, settings.adam_beta2, settings.adam_epsilon)
    return optax.chain(
        optax.clip_by_global_norm(settings.clip_norm),
        _bounded(adam, settings) if guard.clips_updates else adam,
        optax.add_decayed_weights(settings.weight_decay, mask=decay_mask),
        optax.scale_by_learning_rate(settings.learning_rate),
    )


def _bounded(adam: optax.GradientTransformation, settings: StepSettings) -> optax.GradientTransformation:
    """Divide the direction of each parameter by max(1, RMS ÷ clip), RMS² the mean of g² ÷ v̂ (Wortsman et al. 2023, StableAdamW).

    RMS is about 1 while gradients are as they were, and 1 ÷ √(1 − β₂) at most.
    """

    def update(gradients: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        directions, state = adam.update(gradients, state, params)
        correction = 1 - settings.adam_beta2 ** state.count.astype(jnp.float32)

        def bound(direction: jax.Array, gradient: jax.Array, second: jax.Array) -> jax.Array:
            known = jnp.maximum(second / correction, settings.adam_epsilon**2)
            rms = jnp.sqrt(jnp.mean(jnp.square(gradient) / known))
            return direction / jnp.maximum(1.0, rms / settings.update_clip)

        return jax.tree.map(bound, directions, gradients, state.nu), state

    return optax.GradientTransformation(adam.init, update)


def global_norm(tree: Any) -> jax.Array:
    """Return the square root of the sum of squares of all leaves."""
    return optax.tree.norm(tree)

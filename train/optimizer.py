"""AdamW with its settings given anew at each step, so a phase can change them without a reset or a recompilation."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
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


def adamw(settings: StepSettings) -> optax.GradientTransformation:
    """Return clip → Adam moments → decoupled decay → learning rate (Loshchilov & Hutter 2019).

    The state has the same structure for all settings: build it inside the compiled step from traced scalars.
    """
    return optax.chain(
        optax.clip_by_global_norm(settings.clip_norm),
        optax.scale_by_adam(settings.adam_beta1, settings.adam_beta2, settings.adam_epsilon),
        optax.add_decayed_weights(settings.weight_decay, mask=decay_mask),
        optax.scale_by_learning_rate(settings.learning_rate),
    )


def global_norm(tree: Any) -> jax.Array:
    """Return the square root of the sum of squares of all leaves."""
    return optax.tree.norm(tree)

"""Norms by group of parameters, computed inside the compiled step: what the optimizer does to which part of the model.

Groups are the embedding, the head (where it is not the embedding), the final norm, and each layer.

Glossary of shapes:
- K: kinds of norms, in the order of :data:`KINDS`.
- G: groups, in the order of :func:`group_names`.
- L: layers.
"""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

KINDS = ("gradient", "parameter", "update", "moment1", "moment2")
"""Gradient before clipping, parameter after the step, what the step added to it, and Adam's two moments."""

HEAD_GROUPS = ("head", "embedding")
"""The group that the logits are made with is the first of these that there is."""

_LAYER = re.compile(r"(?:^|/)layer_(\d+)(?:/|$)")
_STACK = re.compile(r"(?:^|/)__layer_stack")


def group_names(params: Any) -> tuple[str, ...]:
    """Return the names of the groups of a parameter tree (arrays or shapes): those outside the layers, then ``layer_0``, …"""
    return tuple(sorted(_squares(params, shapes_only=True), key=_rank))


def group_norms(tree: Any) -> jax.Array:
    """Return the root of the sum of squares of each group, float32 [G]; ``tree`` has the structure of the parameters."""
    squares = _squares(tree)
    return jnp.sqrt(jnp.stack([squares[name] for name in sorted(squares, key=_rank)]))


def step_norms(gradients: Any, params: Any, updates: Any, opt_state: Any) -> jax.Array:
    """Return all norms of one step, float32 [K, G]."""
    moments = (optax.tree.get(opt_state, name) for name in ("mu", "nu"))
    return jnp.stack([group_norms(tree) for tree in (gradients, params, updates, *moments)])


def named_norms(norms: Any, groups: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Return the norms of one step by kind and group, from [K, G]; ``groups`` as :func:`group_names` gives them."""
    rows = np.asarray(norms, np.float64).tolist()
    return {kind: dict(zip(groups, row, strict=True)) for kind, row in zip(KINDS, rows, strict=True)}


def _rank(name: str) -> tuple[int, int, str]:
    layer = _LAYER.search(name)
    outside = ("embedding", "head", "final_norm")
    if layer is None:
        return (0, outside.index(name) if name in outside else len(outside), name)
    return (1, int(layer[1]), name)


def _squares(tree: Any, *, shapes_only: bool = False) -> dict[str, Any]:
    """Sum of squares of each group; with ``shapes_only`` zeros, for their names."""
    total: dict[str, Any] = {}

    def add(group: str, value: Any) -> None:
        total[group] = value if group not in total else total[group] + value

    for module, leaves in tree.items():
        layer, stacked = _LAYER.search(module), _STACK.search(module)
        for name, leaf in leaves.items():
            if stacked:
                each = (
                    [0] * leaf.shape[0]
                    if shapes_only
                    else jnp.sum(jnp.square(leaf.astype(jnp.float32)), axis=tuple(range(1, leaf.ndim)))
                )
                for index in range(leaf.shape[0]):
                    add(f"layer_{index}", each[index])
            else:
                square = 0 if shapes_only else jnp.sum(jnp.square(leaf.astype(jnp.float32)))
                add(name if layer is None else f"layer_{layer[1]}", square)
    return total

"""What the forward pass keeps for the backward pass; the rest is computed again.

Bytes kept for each token and layer, in the compute dtype (D model size, H and K heads of P, F the MLP):

| policy | kept | computed again |
|---|---|---|
| ``none`` | everything | nothing |
| ``projections`` | input and middle 2·D, query, key, value, attention (2H + 2K)·P, gate and up 2·F | no product of matrices |
| ``attention`` | input D, query, key, value, attention (2H + 2K)·P | output projection, gate and up |
| ``block`` | input D | the whole block |
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import jax

from tootsie.train.attention import SAVED


class Remat(enum.StrEnum):
    """How much of a block is computed again in the backward pass."""

    NONE = "none"
    """Nothing: fastest where it fits. Weights of other devices are gathered again all the same."""
    PROJECTIONS = "projections"
    """What costs little: norms, rotation, the gate's product."""
    ATTENTION = "attention"
    """That, the output projection and the two large products of the MLP."""
    BLOCK = "block"
    """All of it: a third more work, least memory."""


GATHERED = "gathered"
"""Name of weights that were gathered from several devices: no policy keeps them, or every device would hold the model."""

KEPT = {
    Remat.PROJECTIONS: ("query", "key", "value", SAVED, "middle", "gate", "up"),
    Remat.ATTENTION: ("query", "key", "value", SAVED),
    Remat.BLOCK: (),
}
"""Names that ``jax.ad_checkpoint.checkpoint_name`` gives in the model."""


def recompute(
    policy: Remat, gathers: bool, wrap: Callable[..., Any], block: Callable[..., Any]
) -> Callable[..., Any]:
    """Return ``block`` with a backward pass that computes again what ``policy`` does not keep.

    Args:
      policy: what to keep.
      gathers: whether weights are gathered from other devices.
      wrap: ``jax.checkpoint`` or, inside a Haiku function, ``haiku.remat``.
      block: the function of one block.
    """
    if policy is not Remat.NONE:
        return wrap(block, policy=jax.checkpoint_policies.save_only_these_names(*KEPT[policy]))
    if gathers:
        return wrap(block, policy=jax.checkpoint_policies.save_anything_except_these_names(GATHERED))
    return block

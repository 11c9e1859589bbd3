"""Exponential moving average of the weights."""

from __future__ import annotations

from typing import Any

import jax


def update_ema(average: Any, weights: Any, beta: jax.Array | float) -> Any:
    """Return ``beta · average + (1 − beta) · weights``, leaf by leaf.

    ``beta`` near 1 is a long memory: after a step of the weights from a to b the average is
    ``b + beta**k · (a − b)``, k updates later. ``beta = 0`` returns the weights exactly; a phase without averaging uses
    that, so an average switched on later starts from the weights of that moment.
    """
    return jax.tree.map(lambda e, w: beta * e + (1 - beta) * w, average, weights)

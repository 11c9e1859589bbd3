"""Exponential moving average of the weights, in the memory of the devices or of the host."""

from __future__ import annotations

from typing import Any

import jax

HOST = "pinned_host"
"""JAX's name of the host's memory that devices read and write by themselves; TPUs, GPUs and CPUs have it."""


def update_ema(average: Any, weights: Any, beta: jax.Array | float) -> Any:
    """Return ``beta · average + (1 − beta) · weights``, leaf by leaf.

    ``beta`` near 1 is a long memory: after a step of the weights from a to b the average is
    ``b + beta**k · (a − b)``, k updates later. ``beta = 0`` returns the weights exactly; a phase without averaging uses
    that, so an average switched on later starts from the weights of that moment.
    """
    return jax.tree.map(lambda e, w: beta * e + (1 - beta) * w, average, weights)


def in_host_memory(average: Any) -> Any:
    """Return the average in the host's memory, split over devices as it was; inside a compiled step or outside.

    Inside, each leaf is fetched, updated and sent back while other work goes on, so devices hold a few leaves of it at a time.
    """
    return jax.device_put(average, jax.memory.Space.Host)


def in_device_memory(average: Any) -> Any:
    """Return the average where it can be computed with; what is there already stays."""
    return jax.device_put(average, jax.memory.Space.Device)

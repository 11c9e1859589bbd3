"""Which tokens of a row each device along ``sequence`` has, and back.

A row is cut into 2·S chunks, and device i takes the chunks i and 2·S − 1 − i:

    S = 2:  chunk     0  1  2  3
            device    0  1  1  0

A query sees the keys up to its own position, so a chunk of queries costs more the later it stands. Those two together see
2·S + 1 chunks of keys, whatever i is: all devices have the same work. (The "zigzag" of ring attention; the head–tail split of
Llama 3's context parallelism, Dubey et al. 2024, section 3.3.2.)

Glossary of shapes:
- T: length of a row. S: devices along ``sequence``. t: tokens of one device, T/S; a chunk is half of them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def positions(length: int, shards: int) -> np.ndarray:
    """Return where in the row the tokens of each device stand, int32 ``[S, t]``."""
    chunks = np.arange(length, dtype=np.int32).reshape(2, shards, -1)
    return np.concatenate([chunks[0], chunks[1, ::-1]], axis=1)


def take(x: Any, shards: int, rank: jax.Array | int, axis: int) -> Any:
    """Return the part of device ``rank``: along ``axis``, T becomes t. Without more than one device it is ``x`` itself."""
    if shards == 1:
        return x
    x = jnp.asarray(x)
    size = x.shape[axis] // (2 * shards)
    starts = (rank * size, (2 * shards - 1 - rank) * size)
    return jnp.concatenate([jax.lax.dynamic_slice_in_dim(x, start, size, axis) for start in starts], axis)


def join(parts: jax.Array) -> jax.Array:
    """Put the parts of all devices in the order of positions: ``[B, S, t, …]`` → ``[B, T, …]``."""
    B, S, t, *rest = parts.shape
    first, second = jnp.split(parts, 2, axis=2)
    return jnp.concatenate([x.reshape(B, S * t // 2, *rest) for x in (first, second[:, ::-1])], axis=1)


def divide(row: jax.Array, shards: int) -> jax.Array:
    """Return the parts of all devices, as :func:`join` takes them: ``[B, T, …]`` → ``[B, S, t, …]``."""
    B, _, *rest = row.shape
    first, second = (x.reshape(B, shards, -1, *rest) for x in jnp.split(row, 2, axis=1))
    return jnp.concatenate([first, second[:, ::-1]], axis=2)

"""Attention of a part of a row's queries to the keys of the whole row, with plain products: for rows divided over devices.

A device has two chunks of the row's queries, as :mod:`tootsie.train.zigzag` says. They are cut into blocks, N to a row, and
taken in pairs: block x and block N − 1 − x. Block x sees the key blocks 0 … x, its partner 0 … N − 1 − x, which makes N + 1
products of two blocks, whichever x it is. So one loop of fixed length serves every device, though which blocks it visits
depends on the device: (N + 1) / 2N of all pairs are computed, a little over a half.

The softmax is taken along (Milakov & Gimelshein 2018): each block's sum is scaled anew where a larger score comes. The backward
pass computes the scores again from the saved log-sums, as in :mod:`tootsie.train.blocked_attention`.

Glossary of shapes:
- B: batch size. T: length of the row. t: queries of this device. P: head size.
- H: query heads. K: key and value heads. G: query heads per key head, H/K.
- n: pairs of blocks. b: tokens of a block. N: blocks of the row, T/b.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float, Int

LARGEST_BLOCK = 256
"""Tokens of a block, if there is such a divisor of a chunk."""
SMALLEST_BLOCK = 64
"""Chunks without a divisor in between are one block."""


def block_size(chunk: int) -> int:
    """Return the tokens of a block: the largest divisor of a chunk that is neither too long nor too short."""
    sizes = [size for size in range(SMALLEST_BLOCK, LARGEST_BLOCK + 1) if chunk % size == 0]
    return max(sizes, default=chunk)


@partial(jax.custom_vjp, nondiff_argnums=(5,))
def paired_attention(
    query: Float[Array, "B t H P"],
    key: Float[Array, "B T K P"],
    value: Float[Array, "B T K P"],
    segment_ids: Int[Array, "B T"],
    rank: Int[Array, ""] | int,
    saved_name: str,
) -> Float[Array, "B t H P"]:
    """Grouped-query attention to earlier tokens of the same document; softmax in float32.

    Args:
      query: of the two chunks of this device; head h uses key head h // G.
      key: of all positions, in their order.
      value: of all positions.
      segment_ids: number of each token's document.
      rank: index of this device along ``sequence``.
      saved_name: given by ``checkpoint_name`` to what the backward pass needs besides the arguments.
    """
    return _forward(query, key, value, segment_ids, rank, saved_name)[0]


def _in_pairs(x: jax.Array, kv_heads: int) -> jax.Array:
    """[B, t, H, P] → [n, 2, B, K, G, b, P]: the r-th block from the start beside the r-th from the end."""
    B, t, H, P = x.shape
    blocks = x.reshape(B, -1, block_size(t // 2), kv_heads, H // kv_heads, P).transpose(1, 0, 3, 4, 2, 5)
    n = blocks.shape[0] // 2
    return jnp.stack([blocks[:n], blocks[: n - 1 : -1]], axis=1)


def _from_pairs(x: jax.Array) -> jax.Array:
    """[n, 2, B, K, G, b, P] → [B, t, H, P]."""
    n, _, B, K, G, b, P = x.shape
    blocks = jnp.concatenate([x[:, 0], x[::-1, 1]])
    return blocks.transpose(1, 0, 4, 2, 3, 5).reshape(B, 2 * n * b, K * G, P)


class _Visits:
    """The products of blocks that one pair needs: a view of keys, values and documents, block by block."""

    def __init__(self, pair: jax.Array, key: jax.Array, value: jax.Array, segment_ids: jax.Array, size: int):
        self.pair, self.size = pair, size  # x, b
        self.key, self.value, self.segment_ids = key, value, segment_ids  # [B, K, T, P] twice, [B, T]
        self.blocks = key.shape[2] // size  # N

    def at(self, step: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return which of the pair's two blocks is to meet which block of keys in this step of N + 1."""
        second = (step > self.pair).astype(jnp.int32)
        return second, step - second * (self.pair + 1)

    def keys(self, block: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Keys and values of a block, [B, K, b, P]."""
        start = block * self.size
        key, value = (jax.lax.dynamic_slice_in_dim(x, start, self.size, 2) for x in (self.key, self.value))
        return key, value

    def scores(self, query: jax.Array, key: jax.Array, second: jax.Array, block: jax.Array) -> jax.Array:
        """Scaled scores of one block of queries with one of keys, float32 ``[B, K, G, b, b]``."""
        own = jnp.where(second == 1, self.blocks - 1 - self.pair, self.pair)
        start, first = own * self.size, block * self.size
        scores = jnp.einsum("bkgtp,bksp->bkgts", query, key, preferred_element_type=jnp.float32)
        offsets = jnp.arange(self.size)
        causal = (start + offsets)[:, None] >= (first + offsets)[None, :]
        ids = [jax.lax.dynamic_slice_in_dim(self.segment_ids, at, self.size, axis=1) for at in (start, first)]
        seen = causal & (ids[0][:, :, None] == ids[1][:, None, :])
        return jnp.where(seen[:, None, None], scores * query.shape[-1] ** -0.5, jnp.finfo(jnp.float32).min)


def _of(pair: jax.Array, which: jax.Array) -> jax.Array:
    return jax.lax.dynamic_index_in_dim(pair, which, keepdims=False)


def _put(pair: jax.Array, block: jax.Array, which: jax.Array) -> jax.Array:
    return jax.lax.dynamic_update_index_in_dim(pair, block, which, 0)


def _heads_first(x: jax.Array) -> jax.Array:
    return x.swapaxes(1, 2)


def _forward(
    query: jax.Array, key: jax.Array, value: jax.Array, segment_ids: jax.Array, rank: Any, saved_name: str
) -> tuple[jax.Array, tuple[Any, ...]]:
    dtype, keys, values = value.dtype, _heads_first(key), _heads_first(value)
    pairs = _in_pairs(query, key.shape[2])
    n, size = pairs.shape[0], pairs.shape[-2]

    def of_pair(given: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        pair, queries = given
        visits = _Visits(pair, keys, values, segment_ids, size)

        def visit(carry: Any, step: jax.Array) -> tuple[Any, None]:
            second, block = visits.at(step)
            key_block, value_block = visits.keys(block)
            scores = visits.scores(_of(queries, second), key_block, second, block)
            top, total, mixed = (_of(x, second) for x in carry)
            higher = jnp.maximum(top, jnp.max(scores, axis=-1, keepdims=True))
            weights, shrink = jnp.exp(scores - higher), jnp.exp(top - higher)
            total = total * shrink + jnp.sum(weights, axis=-1, keepdims=True)
            mixed = mixed * shrink + jnp.einsum(
                "bkgts,bksp->bkgtp", weights.astype(dtype), value_block, preferred_element_type=jnp.float32
            )
            new = (higher, total, mixed)
            return tuple(_put(x, y, second) for x, y in zip(carry, new, strict=True)), None

        # Blocks of keys that a query sees nothing of come before the one that it is in itself, whose first real score
        # scales what they left to zero.
        nothing = jnp.zeros((*queries.shape[:-1], 1), jnp.float32)
        start = (nothing + jnp.finfo(jnp.float32).min, nothing, jnp.zeros(queries.shape, jnp.float32))
        (top, total, mixed), _ = jax.lax.scan(visit, start, jnp.arange(visits.blocks + 1))
        return (mixed / total).astype(dtype), top + jnp.log(total)

    outputs, log_sums = jax.lax.map(of_pair, (rank * n + jnp.arange(n), pairs))
    output = checkpoint_name(_from_pairs(outputs), saved_name)
    log_sums = checkpoint_name(log_sums, saved_name)  # [n, 2, B, K, G, b, 1]
    return output, (query, key, value, segment_ids, rank, output, log_sums)


def _backward(saved_name: str, saved: tuple[Any, ...], gradient: jax.Array) -> tuple[jax.Array | None, ...]:
    query, key, value, segment_ids, rank, output, log_sums = saved
    dtype, K, scale = value.dtype, key.shape[2], query.shape[-1] ** -0.5
    keys, values, pairs = _heads_first(key), _heads_first(value), _in_pairs(query, K)
    n, size = pairs.shape[0], pairs.shape[-2]
    overlap = jnp.sum(gradient.astype(jnp.float32) * output.astype(jnp.float32), axis=-1, keepdims=True)

    def product(equation: str, left: jax.Array, right: jax.Array) -> jax.Array:
        return jnp.einsum(equation, left, right, preferred_element_type=jnp.float32)

    def of_pair(grads: tuple[jax.Array, jax.Array], given: tuple[jax.Array, ...]) -> tuple[Any, jax.Array]:
        pair, queries, gradients, overlaps, log_sum = given
        visits = _Visits(pair, keys, values, segment_ids, size)

        def visit(carry: Any, step: jax.Array) -> tuple[Any, None]:
            grad_key, grad_value, grad_query = carry
            second, block = visits.at(step)
            key_block, value_block = visits.keys(block)
            query_block, grad_block = _of(queries, second), _of(gradients, second)
            scores = visits.scores(query_block, key_block, second, block)
            weights = jnp.exp(scores - _of(log_sum, second))
            grad_weights = product("bkgtp,bksp->bkgts", grad_block, value_block)
            grad_scores = (weights * (grad_weights - _of(overlaps, second))).astype(dtype)

            def add(total: jax.Array, more: jax.Array) -> jax.Array:
                here = jax.lax.dynamic_slice_in_dim(total, block * size, size, axis=2)
                return jax.lax.dynamic_update_slice_in_dim(total, here + more, block * size, axis=2)

            grad_key = add(grad_key, product("bkgts,bkgtp->bksp", grad_scores, query_block))
            grad_value = add(grad_value, product("bkgts,bkgtp->bksp", weights.astype(dtype), grad_block))
            more = _of(grad_query, second) + product("bkgts,bksp->bkgtp", grad_scores, key_block)
            return (grad_key, grad_value, _put(grad_query, more, second)), None

        start = (*grads, jnp.zeros(queries.shape, jnp.float32))
        (*grads_now, grad_query), _ = jax.lax.scan(visit, start, jnp.arange(visits.blocks + 1))
        return tuple(grads_now), grad_query

    given = (rank * n + jnp.arange(n), pairs, _in_pairs(gradient, K), _in_pairs(overlap, K), log_sums)
    start = (jnp.zeros(keys.shape, jnp.float32), jnp.zeros(values.shape, jnp.float32))
    (grad_key, grad_value), grad_query = jax.lax.scan(of_pair, start, given)
    return (
        (_from_pairs(grad_query) * scale).astype(query.dtype),
        (_heads_first(grad_key) * scale).astype(key.dtype),
        _heads_first(grad_value).astype(value.dtype),
        None,
        None,
    )


paired_attention.defvjp(_forward, _backward)

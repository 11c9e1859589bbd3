"""Causal attention by blocks of queries, in plain XLA: no scores above the block diagonal, nothing of [T, T] kept.

Each block of queries looks only at the keys up to its own end, so a little over half of all pairs is computed. The backward pass
computes the scores again from the log-sum-exp of each query (Dao et al. 2022). On two CPU cores forward and backward take about
a third of the time of the plain form: products run over heads-first arrays, and blocks stay in the cache.

Glossary of shapes:
- B: batch size. T: sequence length. P: head size.
- H: query heads. K: key and value heads. G: query heads per key head, H/K.
- t: queries of a block. s: keys up to the end of that block.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float, Int

SMALLEST_BLOCK = 128
"""Queries of a block; 64 and 256 are slower on two CPU cores at T = 512."""
MOST_BLOCKS = 8
"""Blocks of longer rows: each is compiled by itself. Eight visit 56 % of all pairs."""


def query_blocks(length: int) -> list[tuple[int, int]]:
    """Return the bounds of the blocks of queries of a row."""
    size = max(SMALLEST_BLOCK, -(-length // MOST_BLOCKS))
    return [(start, min(start + size, length)) for start in range(0, length, size)]


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def blocked_attention(
    query: Float[Array, "B T H P"],
    key: Float[Array, "B T K P"],
    value: Float[Array, "B T K P"],
    segment_ids: Int[Array, "B T"],
    saved_name: str,
) -> Float[Array, "B T H P"]:
    """Grouped-query attention to earlier tokens of the same document; softmax in float32.

    Args:
      query: head h uses key head h // G.
      key: of all positions.
      value: of all positions.
      segment_ids: number of each token's document.
      saved_name: given by ``checkpoint_name`` to what the backward pass needs besides the arguments.
    """
    return _forward(query, key, value, segment_ids, saved_name)[0]


def _heads_first(x: jax.Array, kv_heads: int) -> jax.Array:
    """[B, T, H, P] → [B, K, G, T, P]."""
    B, T, H, P = x.shape
    return x.reshape(B, T, kv_heads, H // kv_heads, P).transpose(0, 2, 3, 1, 4)


def _heads_last(x: jax.Array) -> jax.Array:
    """[B, K, G, T, P] → [B, T, H, P]."""
    B, K, G, T, P = x.shape
    return x.transpose(0, 3, 1, 2, 4).reshape(B, T, K * G, P)


def _scores(
    query: jax.Array, key: jax.Array, segment_ids: jax.Array, start: int, stop: int
) -> Float[Array, "B K G t s"]:
    scores = jnp.einsum("bkgtp,bksp->bkgts", query, key, preferred_element_type=jnp.float32)
    causal = np.arange(start, stop)[:, None] >= np.arange(stop)[None, :]
    seen = jnp.asarray(causal) & (segment_ids[:, start:stop, None] == segment_ids[:, None, :stop])
    return jnp.where(seen[:, None, None], scores * query.shape[-1] ** -0.5, jnp.finfo(jnp.float32).min)


def _forward(
    query: jax.Array, key: jax.Array, value: jax.Array, segment_ids: jax.Array, saved_name: str
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    K, dtype = key.shape[2], value.dtype
    q, k, v = _heads_first(query, K), _heads_first(key, K)[:, :, 0], _heads_first(value, K)[:, :, 0]
    outputs, log_sums = [], []
    for start, stop in query_blocks(query.shape[1]):
        scores = _scores(q[:, :, :, start:stop], k[:, :, :stop], segment_ids, start, stop)
        top = jnp.max(scores, axis=-1, keepdims=True)
        weights = jnp.exp(scores - top)
        total = jnp.sum(weights, axis=-1, keepdims=True)
        mixed = jnp.einsum(
            "bkgts,bksp->bkgtp", weights.astype(dtype), v[:, :, :stop], preferred_element_type=jnp.float32
        )
        outputs.append((mixed / total).astype(dtype))
        log_sums.append(top + jnp.log(total))
    output = checkpoint_name(_heads_last(jnp.concatenate(outputs, axis=3)), saved_name)
    log_sum = checkpoint_name(jnp.concatenate(log_sums, axis=3), saved_name)  # [B, K, G, T, 1]
    return output, (query, key, value, segment_ids, output, log_sum)


def _backward(
    saved_name: str, saved: tuple[jax.Array, ...], gradient: jax.Array
) -> tuple[jax.Array | None, ...]:
    query, key, value, segment_ids, output, log_sum = saved
    T, K, P, dtype = query.shape[1], key.shape[2], query.shape[-1], value.dtype
    q, k, v = _heads_first(query, K), _heads_first(key, K)[:, :, 0], _heads_first(value, K)[:, :, 0]
    g = _heads_first(gradient, K)
    overlap = jnp.sum(gradient.astype(jnp.float32) * output.astype(jnp.float32), axis=-1, keepdims=True)
    overlap = _heads_first(overlap, K)  # [B, K, G, T, 1]

    def product(equation: str, left: jax.Array, right: jax.Array) -> jax.Array:
        return jnp.einsum(equation, left, right, preferred_element_type=jnp.float32)

    grad_queries = []
    grad_key, grad_value = jnp.zeros(k.shape, jnp.float32), jnp.zeros(v.shape, jnp.float32)
    for start, stop in query_blocks(T):
        here, seen = slice(start, stop), slice(0, stop)
        query_block, grad_block = q[:, :, :, here], g[:, :, :, here]
        scores = _scores(query_block, k[:, :, seen], segment_ids, start, stop)
        weights = jnp.exp(scores - log_sum[:, :, :, here])
        grad_weights = product("bkgtp,bksp->bkgts", grad_block, v[:, :, seen])
        grad_scores = (weights * (grad_weights - overlap[:, :, :, here])).astype(dtype)
        grad_queries.append(product("bkgts,bksp->bkgtp", grad_scores, k[:, :, seen]) * P**-0.5)
        rest = ((0, 0), (0, 0), (0, T - stop), (0, 0))
        grad_key += jnp.pad(product("bkgts,bkgtp->bksp", grad_scores, query_block), rest)
        grad_value += jnp.pad(product("bkgts,bkgtp->bksp", weights.astype(dtype), grad_block), rest)
    grad_query = jnp.concatenate(grad_queries, axis=3)
    return (
        _heads_last(grad_query).astype(query.dtype),
        _heads_last(grad_key[:, :, None] * P**-0.5).astype(key.dtype),
        _heads_last(grad_value[:, :, None]).astype(value.dtype),
        None,
    )


blocked_attention.defvjp(_forward, _backward)

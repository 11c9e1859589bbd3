"""Causal attention within documents: one interface, four ways to compute it.

Glossary of shapes:
- B: batch size. T: sequence length.
- H: query heads.   K: key and value heads.   G: query heads per key head, H/K.
- P: head size.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from tootsie.datasets.errors import SpecError
from tootsie.train.blocked_attention import blocked_attention

SAVED = "attention"
"""Name under which :mod:`tootsie.train.remat` saves the result."""

Attend = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
"""From query [B, T, H, P], key and value [B, T, K, P] to [B, T, H, P]."""


class AttentionBackend(enum.StrEnum):
    """How attention is computed; the values agree to rounding."""

    SPLASH = "splash"
    """Splash attention, a Pallas kernel: TPU. Blocks above the diagonal are not computed; nothing of [T, T] is stored."""
    CUDNN = "cudnn"
    """cuDNN's fused attention: NVIDIA GPU, half precision."""
    XLA = "xla"
    """Blocks of queries, each with the keys up to its end: everywhere. See :mod:`tootsie.train.blocked_attention`."""
    REFERENCE = "reference"
    """Plain products and a softmax, everything in float32: what the others are compared with. Scores are [B, H, T, T]."""


PREFERRED = {"tpu": AttentionBackend.SPLASH, "gpu": AttentionBackend.CUDNN, "cuda": AttentionBackend.CUDNN}
"""What ``auto`` means on each platform; ``xla`` elsewhere."""

_SPLASH_MULTIPLE = 128
_CUDNN_LARGEST_HEAD = 256


def obstacle(
    backend: AttentionBackend, platform: str, length: int, head_size: int, compute_dtype: str
) -> str | None:
    """Return why ``backend`` can't run, in words, or ``None`` where it can.

    Args:
      backend: the one that was asked for.
      platform: of the devices, as JAX names it.
      length: T.
      head_size: P.
      compute_dtype: of query, key and value.
    """
    if backend is AttentionBackend.SPLASH:
        if platform != "tpu":
            return f"splash attention is a TPU kernel, the devices are {platform!r}"
        if length % _SPLASH_MULTIPLE:
            return f"splash attention needs rows of a multiple of {_SPLASH_MULTIPLE} tokens, not {length}"
    if backend is AttentionBackend.CUDNN:
        if platform not in ("gpu", "cuda"):
            return f"cuDNN needs an NVIDIA GPU, the devices are {platform!r}"
        if compute_dtype not in ("bfloat16", "float16"):
            return f"cuDNN attention needs compute_dtype bfloat16, not {compute_dtype}"
        if head_size % 8 or head_size > _CUDNN_LARGEST_HEAD:
            return (
                f"cuDNN attention needs heads of a multiple of 8 up to {_CUDNN_LARGEST_HEAD}, not {head_size}"
            )
    return None


def choose(
    asked: str,
    allow_fallback: bool,
    platform: str,
    length: int,
    head_size: int,
    compute_dtype: str,
    tell: Callable[[str], None],
    file: str | None = None,
) -> AttentionBackend:
    """Return the backend to use and tell which it is.

    Args:
      asked: a backend's name, or ``auto`` for the preferred one of the platform.
      allow_fallback: whether ``xla`` may take the place of one that can't run.
      platform: of the devices.
      length: T.
      head_size: P.
      compute_dtype: of query, key and value.
      tell: takes one line.
      file: the run file, for messages.

    Raises:
      SpecError: the backend can't run and no fallback is allowed; the message says why.
    """
    backend = PREFERRED.get(platform, AttentionBackend.XLA) if asked == "auto" else AttentionBackend(asked)
    reason = obstacle(backend, platform, length, head_size, compute_dtype)
    if reason is None:
        tell(f"attention: {backend.value}")
        return backend
    if not allow_fallback:
        raise SpecError(
            reason,
            file=file,
            field="devices.attention",
            value=asked,
            remedy="Write 'attention: xla', or allow it with 'attention_fallback: true'",
        )
    tell(f"attention: xla, because {reason}")
    return AttentionBackend.XLA


def make_attend(backend: AttentionBackend, segment_ids: Int[Array, "B T"]) -> Attend:
    """Return attention over rows whose documents are numbered by ``segment_ids``; shared by all layers."""
    if backend is AttentionBackend.SPLASH:
        return lambda query, key, value: _splash(query, key, value, segment_ids)
    if backend is AttentionBackend.XLA:
        return lambda query, key, value: blocked_attention(query, key, value, segment_ids, SAVED)
    mask = attention_mask(segment_ids)
    if backend is AttentionBackend.CUDNN:
        return lambda query, key, value: jax.nn.dot_product_attention(
            query, key, value, mask=mask[:, None], implementation="cudnn"
        )

    def reference(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        wide = jnp.float32
        return attend(query.astype(wide), key.astype(wide), value.astype(wide), mask).astype(query.dtype)

    return reference


def attention_mask(segment_ids: Int[Array, "B T"]) -> Bool[Array, "B T T"]:
    """True where a query (row) may look at a key (column): not later, and in the same document."""
    length = segment_ids.shape[1]
    causal = np.tril(np.ones((length, length), dtype=bool))  # [T, T]
    return jnp.asarray(causal) & (segment_ids[:, :, None] == segment_ids[:, None, :])


def attend(
    query: Float[Array, "B T H P"],
    key: Float[Array, "B T K P"],
    value: Float[Array, "B T K P"],
    mask: Bool[Array, "B T T"],
) -> Float[Array, "B T H P"]:
    """Grouped-query attention (Ainslie et al. 2023); head h uses key head h // G; softmax in float32."""
    B, T, H, P = query.shape
    K = key.shape[2]
    grouped = query.reshape(B, T, K, H // K, P)
    scores = jnp.einsum("btkgp,bskp->bkgts", grouped, key, preferred_element_type=jnp.float32)
    scores = jnp.where(mask[:, None, None], scores * P**-0.5, jnp.finfo(jnp.float32).min)  # [B, K, G, T, T]
    weights = jax.nn.softmax(scores, axis=-1).astype(value.dtype)
    return jnp.einsum("bkgts,bskp->btkgp", weights, value).reshape(B, T, H, P)


SPLASH_BLOCK = 512
"""Queries and keys that the kernel works on at a time; of shorter rows, all."""
SPLASH_BACKWARD_KEYS = 1024
"""Keys of the backward kernel: for each such block it writes its own gradient of all queries, and they are added up."""


def splash_block(length: int, at_most: int = SPLASH_BLOCK) -> int:
    """Return the largest multiple of 128 up to ``at_most`` that divides ``length``."""
    sizes = range(at_most, 0, -_SPLASH_MULTIPLE)
    return next(size for size in sizes if length % size == 0)


def visited_share(length: int, backward: bool) -> float:
    """Return which share of all pairs of queries and keys lie in blocks that a kernel visits: over a half."""
    queries = splash_block(length)
    keys = splash_block(length, SPLASH_BACKWARD_KEYS) if backward else queries
    starts = range(0, length, keys)
    return sum(length - start // queries * queries for start in starts) * keys / length**2


@lru_cache(maxsize=16)
def _splash_kernel(heads: int, length: int, interpret: bool) -> Any:
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_kernel as kernel,
    )
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_mask as masks,
    )

    size, backward = splash_block(length), splash_block(length, SPLASH_BACKWARD_KEYS)
    # One backward kernel for all three gradients: scores are computed again once, not twice.
    blocks = kernel.BlockSizes(
        block_q=size,
        block_kv=size,
        block_kv_compute=size,
        block_q_dkv=size,
        block_kv_dkv=backward,
        block_kv_dkv_compute=size,
        use_fused_bwd_kernel=True,
    )
    causal = masks.MultiHeadMask([masks.CausalMask((length, length))] * heads)
    with jax.ensure_compile_time_eval():
        return kernel.make_splash_mha(
            causal,
            block_sizes=blocks,
            head_shards=1,
            q_seq_shards=1,
            residual_checkpoint_name=SAVED,
            interpret=interpret,
        )


def _splash(
    query: jax.Array, key: jax.Array, value: jax.Array, segment_ids: jax.Array, interpret: bool = False
) -> jax.Array:
    """Splash attention, a row at a time; ``interpret`` runs the kernel without a TPU, for tests."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as kernel

    _, T, H, P = query.shape
    run = _splash_kernel(H, T, interpret)
    heads_first = [jnp.swapaxes(x, 1, 2) for x in (query * P**-0.5, key, value)]  # [B, heads, T, P]
    segments = kernel.SegmentIds(q=segment_ids, kv=segment_ids)
    return jnp.swapaxes(jax.vmap(run)(*heads_first, segments), 1, 2).astype(query.dtype)

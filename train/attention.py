"""Causal attention within documents: one interface, four ways to compute it.

Where the tokens of a row are divided over devices, each has the queries of its own tokens and the keys and values of all.

Glossary of shapes:
- B: batch size. T: sequence length. t: tokens of this device (:mod:`tootsie.train.zigzag`); T but where rows are divided.
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
from tootsie.train import zigzag
from tootsie.train.blocked_attention import blocked_attention
from tootsie.train.paired_attention import paired_attention

SAVED = "attention"
"""Name under which :mod:`tootsie.train.remat` saves the result."""

Attend = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
"""From query [B, t, H, P], key and value [B, T, K, P] to [B, t, H, P]."""


class AttentionBackend(enum.StrEnum):
    """How attention is computed; the values agree to rounding."""

    SPLASH = "splash"
    """Splash attention, a Pallas kernel: TPU. Blocks above the diagonal are not computed; nothing of [T, T] is stored."""
    CUDNN = "cudnn"
    """cuDNN's fused attention: NVIDIA GPU, half precision."""
    XLA = "xla"
    """Blocks of queries, each with the keys up to its end: everywhere. See :mod:`tootsie.train.blocked_attention`, and
    :mod:`tootsie.train.paired_attention` where rows are divided."""
    REFERENCE = "reference"
    """Plain products and a softmax, everything in float32: what the others are compared with. Scores are [B, H, T, T]."""


PREFERRED = {"tpu": AttentionBackend.SPLASH, "gpu": AttentionBackend.CUDNN, "cuda": AttentionBackend.CUDNN}
"""What ``auto`` means on each platform; ``xla`` elsewhere."""

_SPLASH_MULTIPLE = 128
_CUDNN_LARGEST_HEAD = 256


def obstacle(
    backend: AttentionBackend,
    platform: str,
    length: int,
    head_size: int,
    compute_dtype: str,
    sequence: int = 1,
) -> str | None:
    """Return why ``backend`` can't run, in words, or ``None`` where it can.

    Args:
      backend: the one that was asked for.
      platform: of the devices, as JAX names it.
      length: T.
      head_size: P.
      compute_dtype: of query, key and value.
      sequence: devices that the tokens of a row are divided over.
    """
    if backend is AttentionBackend.SPLASH:
        if platform != "tpu":
            return f"splash attention is a TPU kernel, the devices are {platform!r}"
        multiple = _SPLASH_MULTIPLE * (1 if sequence == 1 else 2 * sequence)
        if length % multiple:
            over = "" if sequence == 1 else f", where {sequence} devices share them"
            return f"splash attention needs rows of a multiple of {multiple} tokens{over}, not {length}"
    if backend is AttentionBackend.CUDNN:
        if platform not in ("gpu", "cuda"):
            return f"cuDNN needs an NVIDIA GPU, the devices are {platform!r}"
        if sequence > 1:
            return f"cuDNN attention takes whole rows, and 'sequence' divides them over {sequence} devices"
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
    sequence: int = 1,
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
      sequence: devices that the tokens of a row are divided over.

    Raises:
      SpecError: the backend can't run and no fallback is allowed; the message says why.
    """
    backend = PREFERRED.get(platform, AttentionBackend.XLA) if asked == "auto" else AttentionBackend(asked)
    reason = obstacle(backend, platform, length, head_size, compute_dtype, sequence)
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


def make_attend(
    backend: AttentionBackend,
    segment_ids: Int[Array, "B T"],
    sequence: int = 1,
    rank: Int[Array, ""] | int = 0,
) -> Attend:
    """Return attention over rows whose documents are numbered by ``segment_ids``; shared by all layers.

    Args:
      backend: how.
      segment_ids: of the whole rows.
      sequence: devices that the tokens of a row are divided over.
      rank: which of them this one is.
    """
    if backend is AttentionBackend.SPLASH:
        return lambda query, key, value: _splash(query, key, value, segment_ids, sequence, rank)
    if backend is AttentionBackend.XLA:
        if sequence > 1:
            return lambda query, key, value: paired_attention(query, key, value, segment_ids, rank, SAVED)
        return lambda query, key, value: blocked_attention(query, key, value, segment_ids, SAVED)
    mask = zigzag.take(attention_mask(segment_ids), sequence, rank, axis=1)
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
    query: Float[Array, "B t H P"],
    key: Float[Array, "B T K P"],
    value: Float[Array, "B T K P"],
    mask: Bool[Array, "B t T"],
) -> Float[Array, "B t H P"]:
    """Grouped-query attention (Ainslie et al. 2023); head h uses key head h // G; softmax in float32."""
    B, t, H, P = query.shape
    K = key.shape[2]
    grouped = query.reshape(B, t, K, H // K, P)
    scores = jnp.einsum("btkgp,bskp->bkgts", grouped, key, preferred_element_type=jnp.float32)
    scores = jnp.where(mask[:, None, None], scores * P**-0.5, jnp.finfo(jnp.float32).min)  # [B, K, G, t, T]
    weights = jax.nn.softmax(scores, axis=-1).astype(value.dtype)
    return jnp.einsum("bkgts,bskp->btkgp", weights, value).reshape(B, t, H, P)


SPLASH_BLOCK = 512
"""Queries and keys that the kernel works on at a time; of shorter rows, all."""
SPLASH_BACKWARD_KEYS = 1024
"""Keys of the backward kernel: for each such block it writes its own gradient of all queries, and they are added up."""


def splash_block(length: int, at_most: int = SPLASH_BLOCK, multiple: int = _SPLASH_MULTIPLE) -> int:
    """Return the largest multiple of 128, or another number, up to ``at_most`` that divides ``length``."""
    return max(size for size in range(multiple, at_most + 1, multiple) if length % size == 0)


def _splash_blocks(length: int, sequence: int) -> tuple[int, int, int]:
    """Queries of a block, within a chunk of the row where it is divided; keys of a block forward; keys of one backward."""
    queries = splash_block(length if sequence == 1 else length // (2 * sequence))
    keys = splash_block(length)  # those of one backward are worked on so many at a time
    return queries, keys, splash_block(length, SPLASH_BACKWARD_KEYS, keys)


def visited_share(length: int, backward: bool, sequence: int = 1) -> float:
    """Return which share of all pairs of queries and keys lie in blocks that a kernel visits: over a half."""
    queries, forward_keys, backward_keys = _splash_blocks(length, sequence)
    keys = backward_keys if backward else forward_keys
    starts = range(0, length, keys)
    return sum(length - start // queries * queries for start in starts) * keys / length**2


@lru_cache(maxsize=16)
def _splash_kernel(heads: int, length: int, sequence: int, interpret: bool) -> Any:
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_kernel as kernel,
    )
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_mask as masks,
    )

    queries, keys, backward_keys = _splash_blocks(length, sequence)
    # One backward kernel for all three gradients: scores are computed again once, not twice.
    blocks = kernel.BlockSizes(
        block_q=queries,
        block_kv=keys,
        block_kv_compute=keys,
        block_q_dkv=queries,
        block_kv_dkv=backward_keys,
        block_kv_dkv_compute=keys,
        use_fused_bwd_kernel=True,
    )
    causal = masks.CausalMask((length, length))
    if sequence > 1:
        causal.q_sequence = zigzag.positions(length, sequence).reshape(-1)  # the queries of all devices
    with jax.ensure_compile_time_eval():
        return kernel.make_splash_mha(
            masks.MultiHeadMask([causal] * heads),
            block_sizes=blocks,
            head_shards=1,
            q_seq_shards=sequence,
            residual_checkpoint_name=SAVED,
            interpret=interpret,
        )


def _splash(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    segment_ids: jax.Array,
    sequence: int = 1,
    rank: jax.Array | int = 0,
    interpret: bool = False,
) -> jax.Array:
    """Splash attention, a row at a time; ``interpret`` runs the kernel without a TPU, for tests."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as kernel

    _, T, _, P = key.shape
    run = _splash_kernel(query.shape[2], T, sequence, interpret)
    if sequence > 1:  # what the kernel knows of its blocks has one part for each device
        run = jax.tree.map(lambda table: _own_table(table, sequence, rank), run)
    heads_first = [jnp.swapaxes(x, 1, 2) for x in (query * P**-0.5, key, value)]  # [B, heads, t or T, P]
    segments = kernel.SegmentIds(q=zigzag.take(segment_ids, sequence, rank, axis=1), kv=segment_ids)
    return jnp.swapaxes(jax.vmap(run)(*heads_first, segments), 1, 2).astype(query.dtype)


def _own_table(table: jax.Array, sequence: int, rank: jax.Array | int) -> jax.Array:
    """Part of a table of the kernel: [heads, blocks of queries, blocks of keys], or the positions of queries."""
    axis = 1 if table.ndim == 3 else 0
    size = table.shape[axis] // sequence
    return jax.lax.dynamic_slice_in_dim(table, rank * size, size, axis)

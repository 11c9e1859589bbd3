"""A Llama in Haiku: tokens in, hidden states and the output head out.

Glossary of shapes:
- B: batch size.
- T: sequence length.
- D: model size.
- H: query heads.   K: key and value heads.   G: query heads per key head, H/K.
- P: head size.
- F: inner size of the MLP.
- V: vocabulary size.

Parameters are float32 and cast to the compute dtype where they are used; normalisation, rotary positions and softmax are
float32 always. The vocabulary softmax is not here: see :mod:`tootsie.train.loss`.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from tootsie.train.architecture import Architecture
from tootsie.train.rope import Rope, rotate, rotation_tables


class LayerLoop(enum.StrEnum):
    """How the blocks are repeated; the values computed are the same."""

    UNROLLED = "unrolled"
    """A Python loop: one set of parameters per layer. Fastest on a CPU."""
    STACKED = "stacked"
    """``hk.experimental.layer_stack``: parameters stacked over layers, one compiled body. Compiles fast when deep."""


class Execution(NamedTuple):
    """How a model is computed, as opposed to what it is."""

    compute_dtype: str  # "float32" or "bfloat16": dtype of activations and matrix products.
    layer_loop: LayerLoop  # How the blocks are repeated.


class Output(NamedTuple):
    """What the model returns: logits are ``hidden @ head.T``."""

    hidden: jax.Array  # [B, T, D], after the last norm, compute dtype.
    head: jax.Array  # [V, D], float32: the output matrix, the embedding itself when tied.


def rms_norm(x: Float[Array, "... D"], scale: Float[Array, " D"], epsilon: float) -> Float[Array, "... D"]:
    """Divide by the root of the mean square, in float32 (Zhang & Sennrich 2019)."""
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + epsilon)
    return (wide * scale).astype(x.dtype)


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


@dataclasses.dataclass
class Block(hk.Module):
    """One pre-norm block: attention, then the gated MLP, each added to the residual stream."""

    heads: int  # H.
    kv_heads: int  # K.
    head_size: int  # P.
    mlp_size: int  # F.
    rope: Rope  # Rotary settings.
    norm_epsilon: float  # Added to the mean square.
    initializer_scale: float  # Standard deviation of the matrices at the start.
    name: str | None = None  # Optional identifier for the module.

    def __call__(
        self,
        x: Float[Array, "B T D"],
        mask: Bool[Array, "B T T"],
    ) -> Float[Array, "B T D"]:
        """Return the residual stream after this block."""
        B, T, D = x.shape
        H, K, P, F = self.heads, self.kv_heads, self.head_size, self.mlp_size
        cosine, sine = rotation_tables(self.rope, T, P)

        def project(name: str, inputs: jax.Array, outputs: int) -> jax.Array:
            init = hk.initializers.RandomNormal(self.initializer_scale)
            matrix = hk.get_parameter(name, [inputs.shape[-1], outputs], init=init)
            return inputs @ matrix.astype(inputs.dtype)

        def norm(name: str) -> jax.Array:
            return rms_norm(x, hk.get_parameter(name, [D], init=jnp.ones), self.norm_epsilon)

        h = norm("attention_norm")
        query = rotate(project("query", h, H * P).reshape(B, T, H, P), cosine, sine)
        key = rotate(project("key", h, K * P).reshape(B, T, K, P), cosine, sine)
        value = project("value", h, K * P).reshape(B, T, K, P)
        x = x + project("output", attend(query, key, value, mask).reshape(B, T, H * P), D)

        h = norm("mlp_norm")
        gated = jax.nn.silu(project("gate", h, F)) * project("up", h, F)  # SwiGLU (Shazeer 2020)
        return x + project("down", gated, D)


@dataclasses.dataclass
class Llama(hk.Module):
    """The language model without its softmax."""

    architecture: Architecture  # Sizes.
    execution: Execution  # Precision and layer loop.
    name: str | None = None  # Optional identifier for the module.

    def __call__(
        self,
        tokens: Int[Array, "B T"],
        segment_ids: Int[Array, "B T"],
    ) -> Output:
        """Return hidden states for each position, which see only their own document up to there."""
        a = self.architecture
        init = hk.initializers.RandomNormal(a.initializer_scale)
        embedding = hk.get_parameter("embedding", [a.vocabulary_size, a.model_size], init=init)
        x = jnp.take(embedding, tokens, axis=0).astype(self.execution.compute_dtype)  # [B, T, D]
        mask = attention_mask(segment_ids)

        def block(name: str) -> Block:
            return Block(
                a.heads,
                a.kv_heads,
                a.head_size,
                a.mlp_size,
                a.rope,
                a.norm_epsilon,
                a.initializer_scale,
                name=name,
            )

        if self.execution.layer_loop is LayerLoop.STACKED:
            x = hk.experimental.layer_stack(a.layers)(lambda x: block("layer")(x, mask))(x)
        else:
            for index in range(a.layers):
                x = block(f"layer_{index}")(x, mask)

        hidden = rms_norm(x, hk.get_parameter("final_norm", [a.model_size], init=jnp.ones), a.norm_epsilon)
        if a.tied_embeddings:
            return Output(hidden, embedding)
        return Output(hidden, hk.get_parameter("head", [a.vocabulary_size, a.model_size], init=init))


def build(architecture: Architecture, execution: Execution) -> hk.Transformed:
    """Return the pure pair ``init(rng, tokens, segment_ids)`` and ``apply(params, tokens, segment_ids)``."""
    return hk.without_apply_rng(
        hk.transform(lambda tokens, segment_ids: Llama(architecture, execution)(tokens, segment_ids))
    )

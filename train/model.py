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

On several devices the functions run inside ``shard_map``: B, H, K and F are then one device's part, and t is the tokens of a row
that it computes, which elsewhere are all T.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float, Int

from tootsie.train.architecture import Architecture
from tootsie.train.attention import SAVED, Attend, AttentionBackend, make_attend
from tootsie.train.collectives import SINGLE, Layout, enter, gather, gather_tokens, leave, look_up
from tootsie.train.remat import GATHERED, Remat, recompute
from tootsie.train.rope import Rope, rotate, rotation_tables
from tootsie.train.sharding import shard_shape


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
    attention: AttentionBackend = AttentionBackend.XLA  # How attention is computed.
    remat: Remat = Remat.NONE  # What the forward pass keeps for the backward pass.
    layout: Layout = (
        SINGLE  # How parameters are split over devices; if at all, the model runs inside shard_map.
    )


class Output(NamedTuple):
    """What the model returns: logits are ``hidden @ head.T``."""

    hidden: jax.Array  # [B, t, D], after the last norm, compute dtype.
    head: (
        jax.Array
    )  # [V, D] or this device's part of it, float32: the output matrix, the embedding itself when tied.


def rms_norm(x: Float[Array, "... D"], scale: Float[Array, " D"], epsilon: float) -> Float[Array, "... D"]:
    """Divide by the root of the mean square, in float32 (Zhang & Sennrich 2019)."""
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + epsilon)
    return (wide * scale).astype(x.dtype)


def shard(name: str, shape: tuple[int, int], init: hk.initializers.Initializer, layout: Layout) -> jax.Array:
    """Return this device's part of a matrix of the enclosing module, float32; ``shape`` is that of the whole."""
    return hk.get_parameter(name, shard_shape(name, shape, layout.mesh), init=init)


@jax.custom_vjp
def with_gradients_kept(gate: jax.Array, up: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return both as they are; their gradients are computed once and kept for all products that read them.

    Left to itself the TPU compiler computes the gradients of SwiGLU anew inside each of those products, piece by piece, which
    makes them take up to twice as long by its own estimates (``tootsie train precompile``).
    """
    return gate, up


with_gradients_kept.defvjp(
    lambda gate, up: ((gate, up), None), lambda _, gradients: jax.lax.optimization_barrier(gradients)
)


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
    layout: Layout = SINGLE  # How heads and MLP are split over devices; H, K and F are this device's part.
    name: str | None = None  # Optional identifier for the module.

    def __call__(
        self,
        x: Float[Array, "B t D"],
        attend: Attend,
    ) -> Float[Array, "B t D"]:
        """Return the residual stream after this block."""
        B, t, D = x.shape
        H, K, P, F = self.heads, self.kv_heads, self.head_size, self.mlp_size
        layout, init = self.layout, hk.initializers.RandomNormal(self.initializer_scale)
        tables = rotation_tables(self.rope, t * layout.sequence, P)
        cosine, sine = (layout.own_tokens(table, axis=0) for table in tables)

        def project(
            inputs: jax.Array, outputs: dict[str, int], *, shares: str = "outputs"
        ) -> list[jax.Array]:
            """Multiply by the matrix of each name, [B t, outputs]; ``tensor`` shares the outputs of all of them or their inputs.

            The inputs have two dimensions, so that the gradient of a matrix is one product: of three, XLA transposes a
            copy of the outputs' gradient first, which a CPU feels.
            """
            rows, n = inputs.shape[-1], layout.tensor
            inputs = inputs.reshape(B * t, rows)
            split = (rows, n) if shares == "outputs" else (rows * n, 1)
            shards = [
                shard(name, (split[0], width * split[1]), init, layout) for name, width in outputs.items()
            ]
            dtype = inputs.dtype.name

            def whole(part: jax.Array, width: int) -> jax.Array:
                return checkpoint_name(gather(layout, part, (rows, width), dtype), GATHERED)

            widths = list(outputs.values())
            if (
                len(shards) == 1
                or layout.mesh.weight_shards == 1
                or any(part.shape[0] == rows for part in shards)
            ):
                return [inputs @ whole(part, width) for part, width in zip(shards, widths, strict=True)]
            # One gather for all: small ones cost twice, because the TPU compiler makes an all-reduce of them.
            joined = inputs @ whole(jnp.concatenate(shards, axis=1), sum(widths))
            return jnp.split(joined, np.cumsum(widths)[:-1].tolist(), axis=-1)

        def norm(name: str) -> jax.Array:
            return rms_norm(x, hk.get_parameter(name, [D], init=jnp.ones), self.norm_epsilon)

        with jax.named_scope("attention"):  # for profiles: benchmarks/step_shares.py
            h = enter(layout, norm("attention_norm"))
            query, key, value = project(h, {"query": H * P, "key": K * P, "value": K * P})
            query = checkpoint_name(rotate(query.reshape(B, t, H, P), cosine, sine), "query")
            key = checkpoint_name(rotate(key.reshape(B, t, K, P), cosine, sine), "key")
            value = checkpoint_name(value.reshape(B, t, K, P), "value")
            if layout.sequence > 1:  # in one exchange, [B, T, 2K, P]
                both = gather_tokens(layout, jnp.concatenate([key, value], axis=2))
                key, value = jnp.split(checkpoint_name(both, GATHERED), 2, axis=2)
            attention = checkpoint_name(attend(query, key, value), SAVED).reshape(B, t, H * P)
            (output,) = project(attention, {"output": D}, shares="inputs")
            x = checkpoint_name(x + leave(layout, output.reshape(B, t, D)), "middle")

        with jax.named_scope("mlp"):
            h = enter(layout, norm("mlp_norm"))
            (gate,), (up,) = project(h, {"gate": F}), project(h, {"up": F})
            gate, up = with_gradients_kept(checkpoint_name(gate, "gate"), checkpoint_name(up, "up"))
            (down,) = project(jax.nn.silu(gate) * up, {"down": D}, shares="inputs")  # SwiGLU (Shazeer 2020)
            return x + leave(layout, down.reshape(B, t, D))


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
        """Return hidden states for each position, which see only their own document up to there.

        All devices along ``sequence`` are given the same rows; each returns the hidden states of its own tokens.
        """
        a, run = self.architecture, self.execution
        layout = run.layout
        init = hk.initializers.RandomNormal(a.initializer_scale)
        sizes = (a.vocabulary_size, a.model_size)
        embedding = shard("embedding", sizes, init, layout)
        own = layout.own_tokens(tokens, axis=1)
        x = look_up(layout, embedding, own, a.model_size, run.compute_dtype)  # [B, t, D]
        attend = make_attend(run.attention, segment_ids, layout.sequence, layout.sequence_rank())
        gathers = layout.mesh.weight_shards > 1

        def block(name: str) -> Block:
            return Block(
                a.heads // layout.tensor,
                a.kv_heads // layout.tensor,
                a.head_size,
                a.mlp_size // layout.tensor,
                a.rope,
                a.norm_epsilon,
                a.initializer_scale,
                layout,
                name=name,
            )

        if run.layer_loop is LayerLoop.STACKED:
            layer = recompute(run.remat, gathers, hk.remat, lambda x: block("layer")(x, attend))
            x = hk.experimental.layer_stack(a.layers)(lambda x: layer(x))(x)
        else:
            for index in range(a.layers):
                x = recompute(
                    run.remat, gathers, hk.remat, lambda x, i=index: block(f"layer_{i}")(x, attend)
                )(x)

        hidden = rms_norm(x, hk.get_parameter("final_norm", [a.model_size], init=jnp.ones), a.norm_epsilon)
        return Output(hidden, embedding if a.tied_embeddings else shard("head", sizes, init, layout))


def build(architecture: Architecture, execution: Execution) -> hk.Transformed:
    """Return the pure pair ``init(rng, tokens, segment_ids)`` and ``apply(params, tokens, segment_ids)``."""
    return hk.without_apply_rng(
        hk.transform(lambda tokens, segment_ids: Llama(architecture, execution)(tokens, segment_ids))
    )

"""What crosses between devices inside a step, each with the gradient that goes the other way.

The functions run inside ``shard_map`` over the mesh (:mod:`tootsie.train.mesh`), or outside of it on a single device, where
each of them is nothing but the cast it contains. Nothing else in the step communicates, so its traffic can be counted from
here: per layer one gather of the weights forward, one more backward where they are recomputed, one scatter of the gradients;
the same of keys and values where rows are divided.

Glossary of shapes:
- B: rows of this device. T: sequence length. t: tokens of this device. D: model size. V: vocabulary size.
- K: key and value heads of this device. P: head size.
- "shard": this device's part of an array, shorter along the dimensions that are split.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from tootsie.train import zigzag
from tootsie.train.mesh import SEQUENCE, TENSOR, MeshShape


class Layout(NamedTuple):
    """How a model's parameters are split: the part of the mesh that the model must know."""

    fsdp: int = 1  # Devices that a weight is gathered from.
    tensor: int = 1  # Devices that share heads, MLP and vocabulary.
    reduce_dtype: str = "float32"  # Dtype in which the devices' gradients are summed.
    sequence: int = (
        1  # Devices that the tokens of a row are divided over; weights are gathered from them too.
    )

    @property
    def mesh(self) -> MeshShape:
        """The mesh of one copy of the model."""
        return MeshShape(1, self.fsdp, self.tensor, self.sequence)

    def sequence_rank(self) -> jax.Array | int:
        """Index of this device along ``sequence``."""
        return jax.lax.axis_index(SEQUENCE) if self.sequence > 1 else 0

    def own_tokens(self, x: Any, axis: int) -> Any:
        """Return what belongs to this device's tokens, of something that has one entry for each token of the row."""
        return zigzag.take(x, self.sequence, self.sequence_rank(), axis)

    def shard_rank(self) -> jax.Array | int:
        """Index of this device along ``tensor``."""
        return jax.lax.axis_index(TENSOR) if self.tensor > 1 else 0

    def sum_over_tensor(self, x: Any) -> Any:
        """Sum over the devices that share a layer; without a gradient rule of its own."""
        return jax.lax.psum(x, TENSOR) if self.tensor > 1 else x

    def max_over_tensor(self, x: jax.Array) -> jax.Array:
        """Maximum over the devices that share a layer."""
        return jax.lax.pmax(x, TENSOR) if self.tensor > 1 else x

    def gathered(self, shard: jax.Array, length: int, dimension: int, dtype: Any) -> jax.Array:
        """Cast, then gather along ``dimension`` where the shard is shorter there than ``length``; no gradient rule."""
        cast = shard.astype(dtype)
        if shard.shape[dimension] == length:
            return cast
        return jax.lax.all_gather(cast, self.mesh.weight_axes, axis=dimension, tiled=True)

    def scattered(self, gradient: jax.Array, length: int, dimension: int) -> jax.Array:
        """Sum a whole weight's gradient over those it was gathered from; keep this device's part of ``length``, float32."""
        if gradient.shape[dimension] == length:
            return gradient.astype(jnp.float32)
        if dimension == 1:  # the dimension that is split must be the slow one in memory: see scatter_pieces
            return self.scattered(gradient.T, length, 0).T
        gradient = gradient.astype(self.reduce_dtype)
        whole, axes = gradient.shape[1], self.mesh.weight_axes
        parts = []
        for start, stop in scatter_pieces(gradient.shape[0] * gradient.dtype.itemsize, whole):
            part = gradient[:, start : min(stop, whole)]
            if stop > whole:
                part = jnp.pad(part, ((0, 0), (0, stop - whole)))
            parts.append(jax.lax.psum_scatter(part, axes, scatter_dimension=0, tiled=True))
        return jnp.concatenate(parts, axis=1)[:, :whole].astype(jnp.float32)


_LARGEST_SCATTER = 2**26
_SCATTER_MULTIPLE = 1024


def scatter_pieces(line_bytes: int, length: int) -> list[tuple[int, int]]:
    """Return the bounds of the pieces in which a gradient is scattered; the last may reach beyond ``length``.

    The TPU compiler turns a reduce-scatter into an all-reduce, twice the traffic, where it has more than 64 MiB, where its
    length is no multiple of 1024, or where what is split is the fast dimension in memory. (Seen in programs compiled for
    v5e; not documented.)

    Args:
      line_bytes: bytes of the gradient for each index along the length.
      length: of the dimension that is cut.
    """
    if line_bytes * length <= _LARGEST_SCATTER and (
        length % _SCATTER_MULTIPLE == 0 or length < _SCATTER_MULTIPLE
    ):
        return [(0, length)]
    step = max(1, _LARGEST_SCATTER // line_bytes // _SCATTER_MULTIPLE) * _SCATTER_MULTIPLE
    end = -(-length // _SCATTER_MULTIPLE) * _SCATTER_MULTIPLE
    return [(start, min(start + step, end)) for start in range(0, length, step)]


SINGLE = Layout()
"""One device: nothing is split."""


def split_dimension(shard: tuple[int, ...], whole: tuple[int, ...]) -> int:
    """Return the dimension in which a shard is shorter; 0 where none is."""
    return next((i for i, (part, all_) in enumerate(zip(shard, whole, strict=True)) if part != all_), 0)


@partial(jax.custom_vjp, nondiff_argnums=(0, 2, 3))
def gather(layout: Layout, shard: jax.Array, whole: tuple[int, ...], dtype: str) -> jax.Array:
    """Return the whole weight in ``dtype`` from float32 shards; its gradient is summed over devices and split again."""
    dimension = split_dimension(shard.shape, whole)
    return layout.gathered(shard, whole[dimension], dimension, dtype)


def _gather_forward(
    layout: Layout, shard: jax.Array, whole: tuple[int, ...], dtype: str
) -> tuple[jax.Array, tuple[int, ...]]:
    return gather(layout, shard, whole, dtype), shard.shape


def _gather_backward(
    layout: Layout, whole: tuple[int, ...], dtype: str, shape: tuple[int, ...], gradient: jax.Array
) -> tuple[jax.Array]:
    dimension = split_dimension(shape, whole)
    return (layout.scattered(gradient, shape[dimension], dimension),)


gather.defvjp(_gather_forward, _gather_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def gather_tokens(layout: Layout, x: jax.Array) -> jax.Array:
    """Return keys or values of whole rows, [B, T, K, P] in the order of positions, from those of each device, [B, t, K, P].

    The queries of every device have a part in their gradient: it is summed, in ``layout.reduce_dtype``, and divided again.
    """
    return zigzag.join(jax.lax.all_gather(x, SEQUENCE, axis=1))


def _gather_tokens_backward(layout: Layout, _: None, gradient: jax.Array) -> tuple[jax.Array]:
    B, T, K, P = gradient.shape
    parts = zigzag.divide(gradient.astype(layout.reduce_dtype), layout.sequence)  # [B, S, t, K, P]
    parts = parts.swapaxes(0, 1).reshape(layout.sequence, -1, K * P)
    pieces = jnp.array_split(parts, -(-parts.nbytes // _LARGEST_SCATTER), axis=1)
    summed = [jax.lax.psum_scatter(piece, SEQUENCE, scatter_dimension=0) for piece in pieces]
    own = jnp.concatenate(summed).reshape(B, T // layout.sequence, K, P)
    return (own.astype(gradient.dtype),)


gather_tokens.defvjp(lambda layout, x: (gather_tokens(layout, x), None), _gather_tokens_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def enter(layout: Layout, x: jax.Array) -> jax.Array:
    """Pass ``x`` to the devices that share what follows; their gradients are summed (Shoeybi et al. 2019, ``f``)."""
    return x


enter.defvjp(lambda layout, x: (x, None), lambda layout, _, gradient: (layout.sum_over_tensor(gradient),))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def leave(layout: Layout, x: jax.Array) -> jax.Array:
    """Sum the parts that the devices sharing a layer computed; the gradient passes as it is (ibid., ``g``)."""
    return layout.sum_over_tensor(x)


leave.defvjp(lambda layout, x: (leave(layout, x), None), lambda layout, _, gradient: (gradient,))


@partial(jax.custom_vjp, nondiff_argnums=(0, 3, 4))
def look_up(layout: Layout, table: jax.Array, tokens: jax.Array, size: int, dtype: str) -> jax.Array:
    """Return the embeddings of ``tokens`` [B, T] as ``[B, T, size]`` from this device's shard of the table [V, D].

    The gradient of the table is summed in float32: a common token has thousands of terms.
    """
    whole = layout.gathered(table, size, 1, dtype) if table.shape[1] != size else table
    local, inside = own_rows(layout, table.shape[0], tokens)
    found = jnp.take(whole, local, axis=0).astype(dtype)
    if layout.tensor == 1:
        return found
    return layout.sum_over_tensor(jnp.where(inside[..., None], found, 0))


def own_rows(layout: Layout, rows: int, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Row of each token in this device's part of the vocabulary, and whether it is there at all."""
    if layout.tensor == 1:
        return tokens, jnp.ones_like(tokens, bool)
    local = tokens - layout.shard_rank() * rows
    inside = (local >= 0) & (local < rows)
    return jnp.where(inside, local, 0), inside


def _look_up_forward(layout: Layout, table: jax.Array, tokens: jax.Array, size: int, dtype: str) -> Any:
    return look_up(layout, table, tokens, size, dtype), (table, tokens)


def _look_up_backward(layout: Layout, size: int, dtype: str, saved: Any, gradient: jax.Array) -> Any:
    table, tokens = saved
    local, inside = own_rows(layout, table.shape[0], tokens)
    wide = gradient.astype(jnp.float32)
    if layout.tensor > 1:
        wide = jnp.where(inside[..., None], wide, 0)
    whole = jnp.zeros((table.shape[0], size), jnp.float32).at[local].add(wide)
    return layout.scattered(whole, table.shape[1], 1), None


look_up.defvjp(_look_up_forward, _look_up_backward)

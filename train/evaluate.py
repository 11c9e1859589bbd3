"""Held-out loss and bits per byte: all bits ÷ all bytes, once, at the end.

Every token of every document is scored exactly once. A document that does not begin with a beginning-of-sequence token is
given the end-of-sequence token as its context, as in training, so its first token has a price too. Documents longer than
a row are cut; the pieces are priced apart. Averages over batches play no part: rows of uneven length weigh by
their tokens.

Glossary of shapes:
- R: rows of a held-out set.
- B: rows evaluated at once.
- T: row length: what the run file says, or the plan's sequence length; the same in all phases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from tootsie.datasets.errors import ArtefactError
from tootsie.train.loss import cross_entropy
from tootsie.train.mesh import ROW_AXES
from tootsie.train.sharding import ROWS, partition_tree, place_whole, shape_of
from tootsie.train.step import ONE_DEVICE, Split


class HeldOut(NamedTuple):
    """A held-out set packed into rows."""

    name: str  # Name in the run file.
    inputs: np.ndarray  # int32 [R, T]
    targets: np.ndarray  # int32 [R, T]: the token that follows each input.
    segment_ids: np.ndarray  # int32 [R, T]: pieces of documents from 1; 0 is padding.
    documents: int  # Documents packed.
    tokens: int  # Targets, padding left out.
    bytes: int  # UTF-8 bytes of their texts.


class Score(NamedTuple):
    """The price of a held-out set."""

    loss: float  # Nats per token.
    bits_per_byte: float  # All bits ÷ all bytes.
    tokens_scored: int  # Tokens priced.
    bytes: int  # UTF-8 bytes of the texts.


def pack(
    name: str,
    documents: Iterable[Any],
    length: int,
    bos_id: int | None,
    eos_id: int,
    token_limit: int | None = None,
) -> HeldOut:
    """Pack documents into rows of ``length``, in order, several to a row where they fit.

    Args:
      name: of the set.
      documents: each with ``input_ids`` and ``byte_length``, as ``TokenCache.iterate`` gives them.
      length: T.
      bos_id: the id that every document begins with, or ``None`` where documents have no such id.
      eos_id: context of the first token where ``bos_id`` is ``None``.
      token_limit: stop after the document that reaches this many tokens.

    Raises:
      ArtefactError: no document at all.
    """
    rows: list[list[tuple[np.ndarray, np.ndarray]]] = []
    room = count = total = byte_total = 0
    for document in documents:
        ids = np.asarray(document.input_ids, np.int32)
        if bos_id is None:
            ids = np.concatenate([np.array([eos_id], np.int32), ids])
        for start in range(0, len(ids) - 1, length):
            inputs, targets = ids[:-1][start : start + length], ids[1:][start : start + length]
            if len(inputs) > room:
                rows.append([])
                room = length
            rows[-1].append((inputs, targets))
            room -= len(inputs)
        count, total, byte_total = count + 1, total + len(ids) - 1, byte_total + int(document.byte_length)
        if token_limit is not None and total >= token_limit:
            break
    if not total or not byte_total:
        raise ArtefactError("the held-out set has no documents", field=f"evaluation.sets.{name}")
    packed = [np.zeros((len(rows), length), np.int32) for _ in range(3)]
    for row, pieces in enumerate(rows):
        at = 0
        for segment, (inputs, targets) in enumerate(pieces, 1):
            stop = at + len(inputs)
            packed[0][row, at:stop], packed[1][row, at:stop], packed[2][row, at:stop] = (
                inputs,
                targets,
                segment,
            )
            at = stop
    return HeldOut(name, packed[0], packed[1], packed[2], count, total, byte_total)


def make_evaluate(
    model: hk.Transformed, batch_size: int, split: Split = ONE_DEVICE
) -> Callable[[Any, HeldOut], Score]:
    """Return the function from weights and a held-out set to its score; compiled for one shape ``[B, T]``.

    Args:
      model: built with ``split.layout``.
      batch_size: B; rounded up to what the devices share evenly.
      split: devices. Each process feeds its own rows; all get the score.
    """

    def local(params: Any, inputs: jax.Array, targets: jax.Array, segment_ids: jax.Array) -> jax.Array:
        output = model.apply(params, inputs, segment_ids)
        hidden = output.hidden.reshape(-1, output.hidden.shape[-1])
        return cross_entropy(
            hidden,
            output.head,
            targets.reshape(-1),
            segment_ids.reshape(-1) > 0,
            jnp.float32(0),
            split.loss_block,
            split.layout,
        ).nll

    mesh = split.mesh
    if mesh is None:
        nats = jax.jit(local)
    else:
        shares = shape_of(mesh).row_shards
        batch_size = -(-batch_size // shares) * shares

        @jax.jit
        def nats(params: Any, *rows: jax.Array) -> jax.Array:
            return jax.shard_map(
                lambda params, *rows: jax.lax.psum(local(params, *rows), ROW_AXES),
                mesh=mesh,
                in_specs=(partition_tree(params, shape_of(mesh)), ROWS, ROWS, ROWS),
                out_specs=PartitionSpec(),
                check_vma=False,
            )(params, *rows)

    def evaluate(params: Any, held_out: HeldOut) -> Score:
        total = 0.0  # float64: the sums of the batches are float32
        for start in range(0, len(held_out.inputs), batch_size):
            batch = [array[start : start + batch_size] for array in held_out[1:4]]
            padding = ((0, batch_size - len(batch[0])), (0, 0))
            padded = tuple(np.pad(array, padding) for array in batch)
            total += float(nats(params, *place_whole(mesh, padded)))
        return Score(
            loss=total / held_out.tokens,
            bits_per_byte=total / math.log(2) / held_out.bytes,
            tokens_scored=held_out.tokens,
            bytes=held_out.bytes,
        )

    return evaluate

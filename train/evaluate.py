"""Held-out loss and bits per byte: all bits ÷ all bytes, once, at the end.

Every token of every document is scored exactly once. A document that does not begin with a beginning-of-sequence token is
given the end-of-sequence token as its context, as in training, so its first token has a price too. Documents longer than
a row are cut; the pieces are priced apart. Averages over batches play no part: rows of uneven length weigh by
their tokens.

Where documents say which tokens carry loss (conversations), only those are priced; bytes are those of these tokens then.

Glossary of shapes:
- R: rows of a held-out set.
- B: rows evaluated at once.
- T: row length: what the run file says, or the plan's sequence length; the same in all phases.
- t: tokens of a row that one device computes; T but on a mesh with an axis ``sequence``.
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
from tootsie.train.loss import token_nll
from tootsie.train.sharding import ROWS, partition_tree, place_whole, shape_of
from tootsie.train.step import ONE_DEVICE, Split


class HeldOut(NamedTuple):
    """A held-out set packed into rows."""

    name: str  # Name in the run file.
    inputs: np.ndarray  # int32 [R, T]
    targets: np.ndarray  # int32 [R, T]: the token that follows each input.
    segment_ids: np.ndarray  # int32 [R, T]: pieces of documents from 1; 0 is padding.
    documents: int  # Documents packed.
    tokens: int  # Targets that are priced.
    bytes: int  # UTF-8 bytes of their texts; where not all tokens carry loss, of those that do.
    buckets: (
        np.ndarray
    )  # int32 [R, T]: of the target's position within its piece, see :func:`bucket_of`; padding: 0.
    ends: np.ndarray  # bool [R, T]: the last priced token of a document, its terminator where it has one.
    scored: np.ndarray  # bool [R, T]: the targets that are priced; never padding.
    tags: tuple[str, ...] = ()  # Averages that the set is part of.


class Score(NamedTuple):
    """The price of a held-out set."""

    loss: float  # Nats per token.
    bits_per_byte: float  # All bits ÷ all bytes.
    tokens_scored: int  # Tokens priced.
    bytes: int  # UTF-8 bytes of the texts, or of what is priced of them.
    loss_by_position: tuple[
        float | None, ...
    ] = ()  # Nats per token in each bucket of positions; None where it is empty.
    loss_of_last: float = (
        0.0  # Nats per last token of a document: how well it knows where documents end, and after what.
    )


def bucket_of(positions: np.ndarray) -> np.ndarray:
    """Return the bucket of each position from the start of a piece: 0; 1; 2, 3; 4 … 7; 8 … 15; and so on."""
    return np.frexp(positions.astype(np.float64))[1].astype(np.int32)


def pack(
    name: str,
    documents: Iterable[Any],
    length: int,
    bos_id: int | None,
    eos_id: int,
    token_limit: int | None = None,
    token_bytes: Callable[[], np.ndarray] | None = None,
) -> HeldOut:
    """Pack documents into rows of ``length``, in order, several to a row where they fit.

    Args:
      name: of the set.
      documents: each with ``input_ids``, ``byte_length`` and ``loss_mask``, as ``TokenCache.iterate`` gives them. One in which
        nothing carries loss is left out.
      length: T.
      bos_id: the id that every document begins with, or ``None`` where documents have no such id.
      eos_id: context of the first token where ``bos_id`` is ``None``.
      token_limit: stop after the document that reaches this many tokens, priced or not.
      token_bytes: gives int64[V], the bytes of text of each id; asked for where a document has a loss mask.

    Raises:
      ArtefactError: no document at all, or none with a token that carries loss.
    """
    rows: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = []
    room = count = read = total = byte_total = 0
    lengths = None
    for document in documents:
        ids = np.asarray(document.input_ids, np.int32)
        carries = np.ones(len(ids), bool) if document.loss_mask is None else np.asarray(document.loss_mask)
        if bos_id is None:
            ids, carries = np.concatenate([np.array([eos_id], np.int32), ids]), np.append(False, carries)
        carries = carries[1:]
        for start in range(0, len(ids) - 1, length):
            inputs, targets = ids[:-1][start : start + length], ids[1:][start : start + length]
            scored = carries[start : start + length]
            if not scored.any():
                continue
            if len(inputs) > room:
                rows.append([])
                room = length
            # 2 where the document's last priced token is.
            marks = scored.astype(np.int8)
            if not carries[start + length :].any():
                marks[np.flatnonzero(scored)[-1]] = 2
            rows[-1].append((inputs, targets, marks))
            room -= len(inputs)
        size = int(document.byte_length)
        if document.loss_mask is not None:
            assert token_bytes is not None, "the bytes of what carries loss are those of its tokens"
            lengths = token_bytes() if lengths is None else lengths
            size = int(lengths[ids[1:][carries]].sum())
        count, read = count + bool(carries.any()), read + len(ids) - 1
        total, byte_total = total + int(carries.sum()), byte_total + size
        if token_limit is not None and read >= token_limit:
            break
    if not total or not byte_total:
        raise ArtefactError("the held-out set has no documents", field=f"evaluation.sets.{name}")
    packed = [np.zeros((len(rows), length), np.int32) for _ in range(4)]
    marked = np.zeros((len(rows), length), np.int8)
    for row, pieces in enumerate(rows):
        at = 0
        for segment, (inputs, targets, marks) in enumerate(pieces, 1):
            stop = at + len(inputs)
            packed[3][row, at:stop] = bucket_of(np.arange(stop - at))
            marked[row, at:stop] = marks
            packed[0][row, at:stop], packed[1][row, at:stop], packed[2][row, at:stop] = (
                inputs,
                targets,
                segment,
            )
            at = stop
    inputs, targets, segment_ids, buckets = packed
    return HeldOut(
        name, inputs, targets, segment_ids, count, total, byte_total, buckets, marked == 2, marked > 0
    )


def make_evaluate(
    model: hk.Transformed, batch_size: int, split: Split = ONE_DEVICE
) -> Callable[[Any, HeldOut], Score]:
    """Return the function from weights and a held-out set to its score; compiled for one shape ``[B, T]``.

    Args:
      model: built with ``split.layout``.
      batch_size: B; rounded up to what the devices share evenly.
      split: devices. Each process feeds its own rows; all get the score.
    """

    def local(
        params: Any,
        inputs: jax.Array,
        targets: jax.Array,
        segment_ids: jax.Array,
        buckets: jax.Array,
        ends: jax.Array,
        scored: jax.Array,
    ) -> jax.Array:
        """Sums of nats: of the last tokens of documents, then of each bucket of positions."""
        output = model.apply(params, inputs, segment_ids)  # of this device's tokens, [B, t, D]
        targets, buckets, ends, scored = (
            split.layout.own_tokens(x, axis=1) for x in (targets, buckets, ends, scored)
        )
        hidden = output.hidden.reshape(-1, output.hidden.shape[-1])
        nll = token_nll(hidden, output.head, targets.reshape(-1), split.loss_block, split.layout)
        nll = jnp.where(scored.reshape(-1), nll, 0.0)
        last = jnp.sum(jnp.where(ends.reshape(-1), nll, 0.0))
        count = inputs.shape[1].bit_length() + 1
        return jnp.concatenate([last[None], jax.ops.segment_sum(nll, buckets.reshape(-1), count)])

    mesh = split.mesh
    if mesh is None:
        nats = jax.jit(local)
    else:
        shape = shape_of(mesh)
        batch_size = -(-batch_size // shape.row_shards) * shape.row_shards

        @jax.jit
        def nats(params: Any, *rows: jax.Array) -> jax.Array:
            return jax.shard_map(
                lambda params, *rows: jax.lax.psum(local(params, *rows), shape.token_axes),
                mesh=mesh,
                in_specs=(partition_tree(params, shape), *[ROWS] * 6),
                out_specs=PartitionSpec(),
                check_vma=False,
            )(params, *rows)

    def evaluate(params: Any, held_out: HeldOut) -> Score:
        rows = (*held_out[1:4], held_out.buckets, held_out.ends, held_out.scored)
        total: Any = 0.0  # float64: the sums of the batches are float32
        for start in range(0, len(held_out.inputs), batch_size):
            batch = [array[start : start + batch_size] for array in rows]
            padding = ((0, batch_size - len(batch[0])), (0, 0))
            padded = tuple(np.pad(array, padding) for array in batch)
            total = total + np.asarray(nats(params, *place_whole(mesh, padded)), np.float64)
        last, by_position = float(total[0]), total[1:]
        tokens = np.bincount(held_out.buckets[held_out.scored], minlength=len(by_position))
        means = [float(x / n) if n else None for x, n in zip(by_position, tokens, strict=True)]
        return Score(
            loss=float(by_position.sum()) / held_out.tokens,
            bits_per_byte=float(by_position.sum()) / math.log(2) / held_out.bytes,
            tokens_scored=held_out.tokens,
            bytes=held_out.bytes,
            loss_by_position=tuple(means),
            loss_of_last=last / int(held_out.ends.sum()),
        )

    return evaluate

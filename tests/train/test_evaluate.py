"""Bits per byte, against a loop that does the obvious."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.train.architecture import Architecture
from tootsie.train.evaluate import bucket_of, make_evaluate, pack
from tootsie.train.model import Execution, LayerLoop, build


def brute_force_nats(
    model: Any, params: Any, documents: list[Any], length: int, context: int | None
) -> float:
    """Price every document alone, in pieces of ``length``, one position at a time."""
    total = 0.0
    apply = jax.jit(model.apply)
    for document in documents:
        ids = [*([] if context is None else [context]), *document.input_ids.tolist()]
        for start in range(0, len(ids) - 1, length):
            inputs = ids[start : start + length]
            piece = jnp.asarray(
                [inputs + [0] * (length - len(inputs))], jnp.int32
            )  # what follows is not seen
            output = apply(params, piece, jnp.ones_like(piece))
            log_p = jax.nn.log_softmax(output.hidden[0] @ output.head.T, axis=-1)
            for at, target in enumerate(ids[start + 1 : start + length + 1]):
                total -= float(log_p[at, target])
    return total


@pytest.mark.parametrize("context", [63, None])
def test_all_bits_by_all_bytes(tiny: Architecture, documents: list[Any], context: int | None) -> None:
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    tokens = jnp.ones((1, 8), jnp.int32)
    params = jax.tree.map(lambda x: x * 5, model.init(jax.random.key(0), tokens, tokens))
    held_out = pack("held", documents, 8, None if context else 1, 63)
    score = make_evaluate(model, batch_size=3)(params, held_out)
    nats = brute_force_nats(model, params, documents, 8, context)
    size = sum(document.byte_length for document in documents)
    assert score.bits_per_byte == pytest.approx(nats / math.log(2) / size, rel=1e-5)
    assert score.loss == pytest.approx(nats / held_out.tokens, rel=1e-5)
    assert score.bytes == size
    assert score.tokens_scored == sum(
        len(document.input_ids) - (0 if context else 1) for document in documents
    )


def test_every_token_is_scored_once(documents: list[Any]) -> None:
    held_out = pack("held", documents, 8, None, 63)
    scored = held_out.targets[held_out.segment_ids > 0]
    assert sorted(scored.tolist()) == sorted(np.concatenate([d.input_ids for d in documents]).tolist())
    assert held_out.documents == len(documents)
    rows = (held_out.segment_ids > 0).sum(axis=1)
    assert len(rows) < held_out.tokens / 4, "several pieces share a row"


def test_only_tokens_that_carry_loss_are_priced_and_only_their_bytes_count(
    tiny: Architecture, documents: list[Any]
) -> None:
    """The price of masked documents is that of the whole less that of what carries no loss, token by token."""
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    tokens = jnp.ones((1, 8), jnp.int32)
    params = jax.tree.map(lambda x: x * 5, model.init(jax.random.key(0), tokens, tokens))
    first, second = documents[0], documents[1]  # 6 and 7 tokens
    masks = np.array([0, 0, 1, 1, 0, 0], bool), np.zeros(7, bool)
    masked = [Piece(one.input_ids, 99, mask) for one, mask in zip((first, second), masks, strict=True)]
    lengths = np.arange(64) + 100
    held_out = pack("held", masked, 8, None, 63, token_bytes=lambda: lengths)
    assert (held_out.documents, held_out.tokens) == (1, 2), "nothing of the second carries loss"
    assert held_out.bytes == lengths[first.input_ids[2:4]].sum()
    score = make_evaluate(model, batch_size=3)(params, held_out)
    before, after = (
        brute_force_nats(model, params, [Piece(first.input_ids[:count], 1)], 8, 63) for count in (2, 4)
    )
    last = after - brute_force_nats(model, params, [Piece(first.input_ids[:3], 1)], 8, 63)
    assert score.loss == pytest.approx((after - before) / 2, rel=1e-4)
    assert score.bits_per_byte == pytest.approx((after - before) / math.log(2) / held_out.bytes, rel=1e-4)
    assert score.loss_of_last == pytest.approx(last, rel=1e-4)
    assert [bucket for bucket, nats in enumerate(score.loss_by_position) if nats is not None] == [2]
    with pytest.raises(ArtefactError, match="no documents"):
        pack("held", masked[1:], 8, None, 63, token_bytes=lambda: lengths)


def test_a_limit_takes_whole_documents(documents: list[Any]) -> None:
    held_out = pack("held", documents, 8, None, 63, token_limit=7)
    assert (held_out.documents, held_out.tokens, held_out.bytes) == (2, 6 + 7, 3 * 5 + 3 * 6)


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(ArtefactError, match="no documents"):
        pack("held", [], 8, None, 63)


def test_positions_and_last_tokens_are_priced_apart(tiny: Architecture, documents: list[Any]) -> None:
    """Each token at its place in its piece; a piece that is cut from a longer document begins anew."""
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    tokens = jnp.ones((1, 8), jnp.int32)
    params = jax.tree.map(lambda x: x * 5, model.init(jax.random.key(0), tokens, tokens))
    score = make_evaluate(model, batch_size=3)(params, pack("held", documents, 8, None, 63))
    nats: dict[int, list[float]] = {}
    last = []
    for document in documents:
        ids = [63, *document.input_ids.tolist()]
        for start in range(0, len(ids) - 1, 8):
            piece = Piece(np.array(ids[start + 1 : start + 9]), 1)
            for count in range(1, len(piece.input_ids) + 1):
                whole, shorter = (
                    brute_force_nats(
                        model, params, [piece._replace(input_ids=piece.input_ids[:n])], 8, ids[start]
                    )
                    if n
                    else 0.0
                    for n in (count, count - 1)
                )
                nats.setdefault((count - 1).bit_length(), []).append(whole - shorter)
        last.append(nats[(count - 1).bit_length()][-1])
    assert [value for value in score.loss_by_position if value is not None] == pytest.approx(
        [np.mean(nats[bucket]) for bucket in sorted(nats)], rel=1e-3
    )
    assert score.loss_of_last == pytest.approx(np.mean(last), rel=1e-3)


class Piece(NamedTuple):
    input_ids: np.ndarray
    byte_length: int
    loss_mask: np.ndarray | None = None


def test_positions_fall_into_buckets_that_double() -> None:
    assert bucket_of(np.arange(17)).tolist() == [0, 1, 2, 2, 3, 3, 3, 3, *[4] * 8, 5]

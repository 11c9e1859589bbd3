"""Attention: every backend against the definition, and what is said where one can't run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.datasets.errors import SpecError
from tootsie.train import attention, blocked_attention, zigzag
from tootsie.train.attention import AttentionBackend, attend, attention_mask, choose, make_attend
from tootsie.train.blocked_attention import query_blocks
from tootsie.train.paired_attention import block_size


def test_attention_equals_a_loop_over_heads_and_positions() -> None:
    rng = np.random.default_rng(0)
    query, key, value = (rng.normal(size=(1, 5, heads, 4)).astype(np.float32) for heads in (4, 2, 2))
    segments = np.array([[1, 1, 2, 2, 2]], np.int32)
    found = attend(
        jnp.asarray(query), jnp.asarray(key), jnp.asarray(value), attention_mask(jnp.asarray(segments))
    )
    for head in range(4):
        for at in range(5):
            seen = [k for k in range(at + 1) if segments[0, k] == segments[0, at]]
            scores = np.array([query[0, at, head] @ key[0, k, head // 2] / 2 for k in seen])
            weights = np.exp(scores) / np.exp(scores).sum()
            expected = weights @ value[0, seen, head // 2]
            np.testing.assert_allclose(found[0, at, head], expected, atol=1e-6)


def case(length: int = 256) -> tuple[jax.Array, ...]:
    rng = np.random.default_rng(1)
    query, key, value = (rng.normal(size=(2, length, heads, 128)) for heads in (4, 2, 2))
    segments = 1 + np.cumsum(rng.random((2, length)) < 0.03, axis=1)
    return (*(jnp.asarray(x, jnp.float32) for x in (query, key, value)), jnp.asarray(segments, jnp.int32))


@pytest.mark.parametrize("length", [1, 100, 400])
def test_blocks_compute_the_reference_and_its_gradient(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one block; of several, which have grown with the row, and a last one that is shorter."""
    monkeypatch.setattr(blocked_attention, "MOST_BLOCKS", 3)  # of eight, each is compiled by itself
    assert query_blocks(400) == [(0, 134), (134, 268), (268, 400)]
    assert query_blocks(length)[-1][1] == length
    rng = np.random.default_rng(3)
    inputs = [jnp.asarray(rng.normal(size=(2, length, heads, 8)), jnp.float32) for heads in (4, 2, 2)]
    segments = jnp.asarray(1 + np.cumsum(rng.random((2, length)) < 0.01, axis=1), jnp.int32)
    weights = jnp.asarray(rng.normal(size=inputs[0].shape), jnp.float32)

    def total(backend: AttentionBackend) -> object:
        attend = make_attend(backend, segments)
        return jax.jit(jax.value_and_grad(lambda *x: jnp.sum(weights * attend(*x)), (0, 1, 2)))(*inputs)

    found, expected = total(AttentionBackend.XLA), total(AttentionBackend.REFERENCE)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("backend", "shards", "length", "head"),
    [("xla", 2, 1280, 8), ("reference", 3, 30, 8), ("splash", 1, 256, 128), ("splash", 2, 1024, 128)],
)
def test_the_parts_of_divided_rows_compute_the_reference_and_its_gradient(
    backend: str, shards: int, length: int, head: int
) -> None:
    """Each device has two chunks of the queries; documents end anywhere. The gradient of a key is the sum over devices.

    Splash is the kernel of the TPU, run here by Pallas's interpreter.
    """
    assert block_size(1280 // 4) == 160  # two blocks a chunk
    assert block_size(30 // 6) == 5
    rng, rows = np.random.default_rng(4), 2 if length < 1000 else 1
    inputs = [jnp.asarray(rng.normal(size=(rows, length, heads, head)), jnp.float32) for heads in (2, 1, 1)]
    segments = jnp.asarray(1 + np.cumsum(rng.random((rows, length)) < 5 / length, axis=1), jnp.int32)
    weights = jnp.asarray(rng.normal(size=inputs[0].shape), jnp.float32)

    def divided(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        def of(rank: jax.Array) -> jax.Array:
            own = zigzag.take(query, shards, rank, axis=1)
            if backend == "splash":
                return attention._splash(own, key, value, segments, shards, rank, interpret=True)
            return make_attend(AttentionBackend(backend), segments, shards, rank)(own, key, value)

        parts = jax.lax.map(of, jnp.arange(shards))  # [S, B, t, H, P]
        return jnp.sum(weights * zigzag.join(parts.swapaxes(0, 1)))

    def whole(*x: jax.Array) -> jax.Array:
        return jnp.sum(weights * attend(*x, attention_mask(segments)))

    found, expected = (jax.jit(jax.value_and_grad(f, (0, 1, 2)))(*inputs) for f in (divided, whole))
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-3 if backend == "splash" else 1e-4)


def test_blocks_keep_nothing_of_the_square_of_the_length() -> None:
    *inputs, segments = case(1024)
    attend = make_attend(AttentionBackend.XLA, segments)
    _, pullback = jax.eval_shape(lambda *x: jax.vjp(attend, *x), *inputs)
    assert max(leaf.size for leaf in jax.tree.leaves(pullback)) <= inputs[0].size


def test_reference_is_float32_whatever_comes_in() -> None:
    *inputs, segments = case(64)
    narrow = [x.astype(jnp.bfloat16) for x in inputs]
    found = make_attend(AttentionBackend.REFERENCE, segments)(*narrow)
    exact = attend(*(x.astype(jnp.float32) for x in narrow), attention_mask(segments))
    assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(found, exact.astype(jnp.bfloat16))


def test_a_backend_that_cannot_run_is_refused_with_the_reason() -> None:
    for asked, platform, length, head, dtype, shards, reason in (
        ("splash", "cpu", 4096, 128, "bfloat16", 1, "TPU kernel, the devices are 'cpu'"),
        ("splash", "tpu", 4000, 128, "bfloat16", 1, "multiple of 128 tokens, not 4000"),
        ("auto", "tpu", 100, 128, "bfloat16", 1, "multiple of 128 tokens, not 100"),
        ("auto", "tpu", 4096 + 512, 128, "bfloat16", 4, "multiple of 1024 tokens, where 4 devices share"),
        ("cudnn", "cpu", 4096, 128, "bfloat16", 1, "NVIDIA GPU"),
        ("auto", "gpu", 4096, 128, "float32", 1, "compute_dtype bfloat16, not float32"),
        ("auto", "gpu", 4096, 128, "bfloat16", 2, "takes whole rows, and 'sequence' divides them over 2"),
        ("auto", "gpu", 4096, 12, "bfloat16", 1, "multiple of 8"),
    ):
        with pytest.raises(SpecError, match=reason) as raised:
            choose(asked, False, platform, length, head, dtype, lambda line: None, None, shards)
        assert "attention_fallback: true" in str(raised.value)
        said: list[str] = []
        found = choose(asked, True, platform, length, head, dtype, said.append, None, shards)
        assert found is AttentionBackend.XLA
        assert said[0].startswith("attention: xla, because")
        assert reason.split(",")[0] in said[0]


def test_the_preferred_backend_is_told() -> None:
    for platform, wanted in (("cpu", "xla"), ("tpu", "splash"), ("gpu", "cudnn")):
        said: list[str] = []
        assert choose("auto", False, platform, 4096, 128, "bfloat16", said.append).value == wanted
        assert said == [f"attention: {wanted}"]


def test_blocks_of_the_kernel_divide_the_row() -> None:
    assert [attention.splash_block(n) for n in (128, 384, 512, 640, 4096)] == [128, 384, 512, 128, 512]
    assert attention._splash_blocks(4096, 1) == (512, 512, 1024)
    assert attention._splash_blocks(4096, 8) == (256, 512, 1024)
    for length in range(
        128, 4096, 128
    ):  # the kernel refuses others: of 1,536 keys, 768 a block and 512 at a time
        queries, keys, backward = attention._splash_blocks(length, 1)
        assert length % queries == length % backward == backward % keys == 0


def test_the_share_of_visited_pairs_is_counted_block_by_block() -> None:
    for length in (512, 1024, 1536, 4096):
        for backward, sequence in ((False, 1), (True, 1), (False, 2), (True, 2)):
            if length % (256 * sequence):
                continue
            queries, forward_keys, backward_keys = attention._splash_blocks(length, sequence)
            keys = backward_keys if backward else forward_keys
            seen = np.tril(np.ones((length, length), bool)).reshape(
                length // queries, queries, length // keys, keys
            )
            visited = seen.any(axis=(1, 3)).sum() * queries * keys
            assert attention.visited_share(length, backward, sequence) == visited / length**2

"""Sample text: the likeliest token is the likeliest, and the same seed says the same."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tootsie.train.architecture import Architecture
from tootsie.train.generate import make_generate, until_end
from tootsie.train.model import Execution, LayerLoop, build


def test_each_token_is_the_likeliest_after_what_was_written(tiny: Architecture) -> None:
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    ones = jnp.ones((1, 8), jnp.int32)
    params = jax.tree.map(lambda x: x * 10, model.init(jax.random.key(0), ones, ones))
    prompts = [[1, 2, 3], [9]]
    apply = jax.jit(model.apply)
    for prompt, found in zip(prompts, make_generate(model, 4, 0.0)(params, prompts, 0), strict=True):
        written = list(prompt)
        for token in found:
            row = jnp.asarray([written + [0] * (8 - len(written))], jnp.int32)
            output = apply(params, row, jnp.ones_like(row))
            assert token == int(jnp.argmax(output.hidden[0, len(written) - 1] @ output.head.T))
            written.append(token)


def test_the_seed_decides(tiny: Architecture) -> None:
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    ones = jnp.ones((1, 8), jnp.int32)
    params = model.init(jax.random.key(0), ones, ones)
    generate = make_generate(model, 6, 1.0)
    assert generate(params, [[1]], 3) == generate(params, [[1]], 3)
    assert generate(params, [[1]], 3) != generate(params, [[1]], 4)


def test_text_ends_before_the_end_token() -> None:
    assert until_end([4, 5, 63, 6], 63) == [4, 5]
    assert until_end([4, 5], 63) == [4, 5]

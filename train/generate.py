"""Sample text, to look at. No key-value cache: each new token reads the whole row again, which is enough for samples.

Glossary of shapes:
- S: prompts.
- T: row length: the longest prompt and the new tokens.
- V: vocabulary size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

_MULTIPLE = 32


def make_generate(
    model: hk.Transformed, new_tokens: int, temperature: float
) -> Callable[[Any, Sequence[Sequence[int]], int], list[list[int]]]:
    """Return ``generate(params, prompts, seed)``: the ids that continue each prompt.

    Compiled once for a set of prompts. ``temperature`` 0 takes the likeliest token. The same weights, prompts and seed give
    the same ids.
    """

    @jax.jit
    def run(params: Any, tokens: jax.Array, lengths: jax.Array, key: jax.Array) -> jax.Array:
        rows = jnp.arange(tokens.shape[0])
        segments = jnp.ones_like(tokens)

        def add_token(index: jax.Array, tokens: jax.Array) -> jax.Array:
            at = lengths + index
            output = model.apply(params, tokens, segments)
            hidden = output.hidden[rows, at - 1].astype(
                jnp.float32
            )  # later positions are not looked at: causal
            logits = hidden @ output.head.T  # [S, V]
            if temperature == 0:
                chosen = jnp.argmax(logits, axis=-1)
            else:
                chosen = jax.random.categorical(jax.random.fold_in(key, index), logits / temperature)
            return tokens.at[rows, at].set(chosen.astype(tokens.dtype))

        return jax.lax.fori_loop(0, new_tokens, add_token, tokens)

    def generate(params: Any, prompts: Sequence[Sequence[int]], seed: int) -> list[list[int]]:
        longest = max(len(prompt) for prompt in prompts)
        width = -(-(longest + new_tokens) // _MULTIPLE) * _MULTIPLE
        tokens = np.zeros((len(prompts), width), np.int32)
        for row, prompt in enumerate(prompts):
            tokens[row, : len(prompt)] = prompt
        lengths = np.array([len(prompt) for prompt in prompts], np.int32)
        written = np.asarray(run(params, tokens, lengths, jax.random.key(seed)))
        return [written[row, n : n + new_tokens].tolist() for row, n in enumerate(lengths)]

    return generate


def prompt_ids(tokenizer: Any, text: str) -> list[int]:
    """Return the ids of a prompt, with the context that a document's beginning has in training: BOS, or EOS without one."""
    identity = tokenizer.identity
    return [identity.bos_id if identity.add_bos else identity.eos_id, *tokenizer.encode(text)]


def until_end(ids: Sequence[int], eos_id: int) -> list[int]:
    """Return ``ids`` up to the first end-of-sequence id, which is left out."""
    ids = list(ids)
    return ids[: ids.index(eos_id)] if eos_id in ids else ids

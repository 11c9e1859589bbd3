"""What a model thinks of given texts: log-likelihoods of continuations and of whole texts, and continuations of its own.

A text begins as a document does in training: after BOS, or after EOS where the tokenizer adds none. So the first token has a
price too. Rows of similar length are computed together; how a batch is made up changes nothing but rounding.

Glossary of shapes:
- B: rows computed at once.
- T: row length, a multiple of 64.
- V: vocabulary size.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from tootsie.datasets.errors import InputError
from tootsie.train.generate import make_generate, until_end

_MULTIPLE = 64
_CHUNK = 32
"""New tokens between two looks for a stop sequence."""


class Likelihood(NamedTuple):
    """What a continuation costs."""

    nats: float  # Its log-likelihood, natural logarithm.
    greedy: bool  # Whether each of its tokens is the likeliest one at its place.


class Generation(NamedTuple):
    """A text to continue."""

    context: str  # Its beginning.
    stops: tuple[str, ...]  # What ends the continuation; not part of it.
    new_tokens: int  # At most.


@dataclasses.dataclass
class Truncation:
    """How often a context did not fit, since the beginning."""

    contexts: int = 0  # Contexts whose beginning was left out.
    tokens: int = 0  # Tokens left out.


class Row(NamedTuple):
    """Tokens of which the last ones are priced."""

    ids: list[int]  # At most one more than the longest row.
    scored: int  # How many of the last ones.


@dataclasses.dataclass
class Scorer:
    """A model with its tokenizer.

    Args:
      params: weights.
      model: what they belong to, on one device.
      tokenizer: of the model.
      max_length: longest row, in tokens.
      batch_size: B.
    """

    params: Any
    model: hk.Transformed
    tokenizer: Any
    max_length: int
    batch_size: int

    def __post_init__(self) -> None:
        identity = self.tokenizer.identity
        self.prefix = identity.bos_id if identity.add_bos else identity.eos_id
        self.truncation = Truncation()
        self._price = _make_price(self.model)
        self._generators: dict[float, Callable[..., list[list[int]]]] = {}

    def continuations(self, pairs: Sequence[tuple[str, str]]) -> list[Likelihood]:
        """Return the likelihood of each continuation after its context, in order.

        Spaces at the end of a context belong to the continuation, as words do with theirs. Where a token spans the border it is
        priced as part of the continuation. A context that does not fit loses its beginning, and is counted.

        Raises:
          InputError: a continuation is empty, or longer than a row.
        """
        rows = []
        for context, continuation in pairs:
            ids, scored = self.encode_pair(context, continuation)
            if not scored:
                raise InputError(
                    "a continuation without a token cannot be priced", value=(context[-40:], continuation)
                )
            if scored > self.max_length:
                raise InputError(
                    f"a continuation of {scored:,} tokens does not fit a row of {self.max_length:,}",
                    value=continuation[:40],
                    remedy="Give a larger max_length",
                )
            rows.append(Row(self._shortened([self.prefix, *ids], self.max_length + 1), scored))
        return self._priced(rows)

    def encode_pair(self, context: str, continuation: str) -> tuple[list[int], int]:
        """Return the ids of both together, and how many of the last ones belong to the continuation."""
        spaces = len(context) - len(context.rstrip())
        if spaces:
            context, continuation = context[:-spaces], context[-spaces:] + continuation
        alone, whole = self.tokenizer.encode(context), self.tokenizer.encode(context + continuation)
        same = sum(
            1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(alone, whole, strict=False))
        )
        return whole, len(whole) - same

    def whole_texts(self, texts: Sequence[str]) -> list[float]:
        """Return the log-likelihood of each text, in nats: every token once.

        Longer texts are cut into rows, each with the token before it as its only context, so nothing is left out.
        """
        rows: list[Row] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            ids = [self.prefix, *self.tokenizer.encode(text)]
            for start in range(0, len(ids) - 1, self.max_length):
                piece = ids[start : start + self.max_length + 1]
                rows.append(Row(piece, len(piece) - 1))
                owners.append(number)
        totals = [0.0] * len(texts)
        for number, likelihood in zip(owners, self._priced(rows), strict=True):
            totals[number] += likelihood.nats
        return totals

    def generate(self, requests: Sequence[Generation], temperature: float = 0.0, seed: int = 0) -> list[str]:
        """Return what the model writes after each context, up to a stop sequence, the end of the document or the limit.

        Raises:
          InputError: as many new tokens as are asked for leave no room for a context.
        """
        written = [""] * len(requests)
        order = sorted(range(len(requests)), key=lambda n: len(requests[n].context))
        for start in range(0, len(order), self.batch_size):
            numbers = order[start : start + self.batch_size]
            texts = self._generate_batch([requests[number] for number in numbers], temperature, seed)
            for number, text in zip(numbers, texts, strict=True):
                written[number] = text
        return written

    def _generate_batch(self, requests: Sequence[Generation], temperature: float, seed: int) -> list[str]:
        prompts = []
        for request in requests:
            room = self.max_length - request.new_tokens
            if room < 1:
                raise InputError(
                    f"{request.new_tokens:,} new tokens leave no room for a context in a row of {self.max_length:,}",
                    remedy="Ask for fewer, or give a larger max_length",
                )
            ids = [self.prefix, *self.tokenizer.encode(request.context)]
            prompts.append(self._shortened(ids, room))
        if temperature not in self._generators:
            self._generators[temperature] = make_generate(self.model, _CHUNK, temperature)
        generate, eos = self._generators[temperature], self.tokenizer.identity.eos_id
        new: list[list[int]] = [[] for _ in requests]
        texts: list[str | None] = [None] * len(requests)
        for turn in itertools.count():
            open_ones = [number for number, text in enumerate(texts) if text is None]
            if not open_ones:
                return [text or "" for text in texts]
            # All rows, finished ones too, so that the batch keeps its shape.
            more = generate(self.params, [p + n for p, n in zip(prompts, new, strict=True)], seed + turn)
            for number in open_ones:
                request = requests[number]
                new[number] = [*new[number], *more[number]][: request.new_tokens]
                ended = until_end(new[number], eos)
                text = self.tokenizer.decode(ended)
                ends = [at for stop in request.stops if stop and (at := text.find(stop)) >= 0]
                if ends:
                    texts[number] = text[: min(ends)]
                elif len(ended) < len(new[number]) or len(new[number]) >= request.new_tokens:
                    texts[number] = text
        raise AssertionError("a batch of texts never ended")

    def _shortened(self, ids: list[int], room: int) -> list[int]:
        if len(ids) > room:
            self.truncation.contexts += 1
            self.truncation.tokens += len(ids) - room
        return ids[max(0, len(ids) - room) :]

    def _priced(self, rows: Sequence[Row]) -> list[Likelihood]:
        found: list[Likelihood | None] = [None] * len(rows)
        order = sorted(range(len(rows)), key=lambda number: -len(rows[number].ids))
        for start in range(0, len(order), self.batch_size):
            numbers = order[start : start + self.batch_size]
            longest = len(rows[numbers[0]].ids) - 1
            width = -(-longest // _MULTIPLE) * _MULTIPLE
            inputs = np.zeros((self.batch_size, width), np.int32)
            targets, segments = np.zeros_like(inputs), np.zeros_like(inputs)
            for row, number in enumerate(numbers):
                ids = rows[number].ids
                inputs[row, : len(ids) - 1], targets[row, : len(ids) - 1] = ids[:-1], ids[1:]
                segments[row, : len(ids) - 1] = 1
            nats, likeliest = (np.asarray(x) for x in self._price(self.params, inputs, targets, segments))
            for row, number in enumerate(numbers):
                ids, scored = rows[number]
                last = slice(len(ids) - 1 - scored, len(ids) - 1)
                found[number] = Likelihood(
                    float(nats[row, last].sum(dtype=np.float64)), bool(likeliest[row, last].all())
                )
        return [likelihood for likelihood in found if likelihood is not None]


def _make_price(model: hk.Transformed) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """Return the compiled function to each target's log-probability ``[B, T]``, and whether it is the likeliest."""

    @jax.jit
    def price(params: Any, inputs: jax.Array, targets: jax.Array, segments: jax.Array) -> Any:
        output = model.apply(params, inputs, segments)

        def block(part: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            hidden, wanted = part  # [64, D], [64]: the logits of a whole batch are never stored
            logits = hidden.astype(jnp.float32) @ output.head.T
            own = jnp.take_along_axis(logits, wanted[:, None], -1)[:, 0]
            return own - jax.nn.logsumexp(logits, -1), jnp.argmax(logits, -1) == wanted

        hidden = output.hidden.reshape(-1, _MULTIPLE, output.hidden.shape[-1])
        nats, likeliest = jax.lax.map(block, (hidden, targets.reshape(-1, _MULTIPLE)))
        return nats.reshape(targets.shape), likeliest.reshape(targets.shape)

    return price

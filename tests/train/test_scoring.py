"""Prices and continuations against brute force, one row at a time and without batching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.datasets.errors import InputError
from tootsie.tokenize.tokenizers import load_tokenizer
from tootsie.train.architecture import Architecture
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.rope import Rope
from tootsie.train.scoring import Generation, Scorer

MODEL = Architecture(
    vocabulary_size=16_384, model_size=16, layers=1, heads=2, kv_heads=1, head_size=8, mlp_size=32,
    rope=Rope(theta=10_000, scaling=None), tied_embeddings=True, initializer_scale=0.5,
)  # fmt: skip
TOKENIZER = load_tokenizer("tootsie-16k")
EOS = TOKENIZER.identity.eos_id


@pytest.fixture(scope="module")
def params() -> Any:
    ones = jnp.ones((1, 4), jnp.int32)
    return build(MODEL, Execution("float32", LayerLoop.UNROLLED)).init(jax.random.key(0), ones, ones)


def scorer(params: Any, max_length: int = 128, batch_size: int = 4, tokenizer: Any = TOKENIZER) -> Scorer:
    return Scorer(
        params, build(MODEL, Execution("float32", LayerLoop.UNROLLED)), tokenizer, max_length, batch_size
    )


APPLY = jax.jit(build(MODEL, Execution("float32", LayerLoop.UNROLLED)).apply)


def logits_of(params: Any, ids: Sequence[int]) -> np.ndarray:
    """Float64 ``[len(ids), V]``, one row alone; what fills it up comes after and is not seen."""
    row = np.zeros((1, 128), np.int32)
    row[0, : len(ids)] = ids
    output = APPLY(params, jnp.asarray(row), jnp.ones_like(row))
    return np.asarray(output.hidden[0, : len(ids)], np.float64) @ np.asarray(output.head, np.float64).T


def brute(params: Any, ids: Sequence[int], scored: int) -> tuple[float, bool]:
    logits = logits_of(params, ids[:-1])
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = np.array(ids[1:])
    costs = logs[np.arange(len(wanted)), wanted]
    return costs[-scored:].sum(), bool((logits.argmax(-1) == wanted)[-scored:].all())


PAIRS = [
    ("The capital of France is", " Paris"),
    ("The capital of France is ", "Paris"),
    ("", "The first word has a price"),
    ("a", " b"),
    ("So it goes on " * 8, "and on"),
    ("def f(x): ", "return x"),
]


def test_continuations_cost_what_they_cost_alone(params: Any) -> None:
    found = scorer(params).continuations(PAIRS)
    for (context, continuation), likelihood in zip(PAIRS, found, strict=True):
        whole = TOKENIZER.encode(context + continuation)
        before = len(TOKENIZER.encode(context.rstrip()))
        nats, greedy = brute(params, [EOS, *whole], len(whole) - before)
        assert likelihood.nats == pytest.approx(nats, rel=1e-4)
        assert likelihood.greedy == greedy


def test_the_first_token_is_priced_after_what_documents_begin_with(params: Any) -> None:
    (found,) = scorer(params).continuations([("", "Hello")])
    assert found.nats == pytest.approx(brute(params, [EOS, *TOKENIZER.encode("Hello")], 1)[0], rel=1e-4)


def test_batching_changes_only_rounding(params: Any) -> None:
    alone = [scorer(params, batch_size=1).continuations([pair])[0] for pair in PAIRS]
    together = scorer(params, batch_size=16).continuations(PAIRS)
    np.testing.assert_allclose([x.nats for x in together], [x.nats for x in alone], rtol=1e-5)
    assert [x.greedy for x in together] == [x.greedy for x in alone]


def test_the_likeliest_continuation_is_called_greedy(params: Any) -> None:
    """Whatever the model writes itself, it must call the likeliest."""
    one = scorer(params)
    context = "It was a dark and"
    ids = [EOS, *TOKENIZER.encode(context)]
    for _ in range(3):
        ids.append(int(logits_of(params, ids)[-1].argmax()))
    written = TOKENIZER.decode(ids[-3:])
    if TOKENIZER.encode(context + written) == ids[1:]:
        assert one.continuations([(context, written)])[0].greedy
    assert not one.continuations([(context, " improbable")])[0].greedy


def test_a_token_across_the_border_belongs_to_the_continuation(params: Any) -> None:
    context, continuation = "un", "believable"
    ids, scored = scorer(params).encode_pair(context, continuation)
    assert ids == TOKENIZER.encode("unbelievable")
    alone = TOKENIZER.encode(context)
    assert scored == len(ids) - (1 if ids[:1] == alone else 0)
    assert scored >= 1


def test_contexts_lose_their_beginning_and_are_counted(params: Any) -> None:
    one = scorer(params, max_length=8)
    context, continuation = "one two three four five six seven eight nine ten eleven twelve", " thirteen"
    whole = [EOS, *TOKENIZER.encode(context + continuation)]
    (found,) = one.continuations([(context, continuation)])
    scored = len(whole) - 1 - len(TOKENIZER.encode(context))
    assert found.nats == pytest.approx(brute(params, whole[-9:], scored)[0], rel=1e-4)
    assert (one.truncation.contexts, one.truncation.tokens) == (1, len(whole) - 9)
    one.continuations([("a", " b")])
    assert one.truncation.contexts == 1
    with pytest.raises(InputError, match="does not fit a row of 8"):
        one.continuations([("", context)])
    with pytest.raises(InputError, match="without a token"):
        one.continuations([("a", "")])


@pytest.mark.parametrize("max_length", [25, 1000])
def test_each_token_of_a_whole_text_is_priced_once(params: Any, max_length: int) -> None:
    texts = ["", "One two three.", "It is a truth universally acknowledged. " * 4]
    found = scorer(params, max_length).whole_texts(texts)
    assert found[0] == 0.0
    for text, nats in zip(texts[1:], found[1:], strict=True):
        ids = [EOS, *TOKENIZER.encode(text)]
        pieces = [ids[start : start + max_length + 1] for start in range(0, len(ids) - 1, max_length)]
        assert sum(len(piece) - 1 for piece in pieces) == len(ids) - 1
        assert nats == pytest.approx(
            sum(brute(params, piece, len(piece) - 1)[0] for piece in pieces), rel=1e-4
        )


def greedy_text(params: Any, context: str, count: int) -> str:
    ids = [EOS, *TOKENIZER.encode(context)]
    new: list[int] = []
    for _ in range(count):
        token = int(logits_of(params, [*ids, *new])[-1].argmax())
        if token == EOS:
            break
        new.append(token)
    return TOKENIZER.decode(new)


def test_generation_is_greedy_and_ends_at_a_stop_or_the_limit(params: Any) -> None:
    contexts = ["Once upon", "The quick brown fox", "x"]
    full = [greedy_text(params, context, 12) for context in contexts]
    one = scorer(params, batch_size=2)
    assert one.generate([Generation(context, (), 12) for context in contexts]) == full
    stop = full[1][len(full[1]) // 2 :][:3]
    found = one.generate([Generation(context, ("never this", stop), 12) for context in contexts])
    assert found[1] == full[1][: full[1].find(stop)]
    assert len(found[1]) < len(full[1])
    assert one.generate([Generation("Once upon", (), 40)])[0] == greedy_text(params, "Once upon", 40)


def test_generation_counts_contexts_that_do_not_fit(params: Any) -> None:
    one = scorer(params, max_length=12)
    context = "one two three four five six seven eight nine ten"
    (found,) = one.generate([Generation(context, (), 4)])
    assert one.truncation.contexts == 1
    kept = [EOS, *TOKENIZER.encode(context)][-8:]
    logits = logits_of(params, kept)[-1]
    assert found.startswith(TOKENIZER.decode([int(logits.argmax())]))
    with pytest.raises(InputError, match="leave no room"):
        one.generate([Generation("a", (), 12)])


def test_a_document_that_ends_ends_the_text(params: Any) -> None:
    class Ending:
        """A tokenizer whose EOS is whatever the model writes second."""

        def __init__(self) -> None:
            ids = [EOS, *TOKENIZER.encode("Once")]
            for _ in range(2):
                ids.append(int(logits_of(params, ids)[-1].argmax()))
            self.first, self.second = ids[-2:]
            self.identity = TOKENIZER.identity.model_copy(
                update={"eos_id": self.second, "bos_id": EOS, "add_bos": True}
            )
            self.encode, self.decode = TOKENIZER.encode, TOKENIZER.decode

    ending = Ending()
    (text,) = scorer(params, tokenizer=ending).generate([Generation("Once", (), 10)])
    assert text == (TOKENIZER.decode([ending.first]) if ending.first != ending.second else "")

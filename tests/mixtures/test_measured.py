"""Caches that belong together, and those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.spec_file import parse_spec

HEAD = """\
name: run
seed: 1
sequence_length: 100
datasets:
  web: {cache: tokens/web}
  wiki: {cache: tokens/wiki}
mixtures:
  base: {groups: {all: {datasets: [web, wiki]}}}
  only: {groups: {all: {datasets: [wiki]}}}
phases:
"""
FIRST = "  - {name: one, mixture: base, for: 10 steps, batch_size: 8, learning_rate: 1e-3}\n"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("tokens: 5000 tokens", None),
        ("tokens: 5k tokens", None),
        ("tokens: 0.005M tokens", None),
        ("tokens: 5001 tokens", "the ledger counts 5,000 tokens, 1 times as many"),
        (
            "tokens: 58.1k tokens",
            "the ledger counts 5,000 tokens, 0.0861 times as many (found '58.1k tokens')",
        ),
        ("tokens: 5 steps", "a claimed size is in tokens (found '5 steps')"),
        (
            "max_epochs: 0.5",
            "by the end of phase 'one' the dataset has been seen 0.8 times (40 of 50 sequences)",
        ),
        ("max_epochs: 0.8", None),
    ],
)
def test_claims_and_caps(compiled: Callable[..., Plan], setting: str, message: str | None) -> None:
    text = HEAD.replace("tokens/wiki}", f"tokens/wiki, {setting}}}") + FIRST
    if message is None:
        compiled(text, web=5000, wiki=5000)
        return
    with pytest.raises(SpecError) as caught:
        compiled(text, web=5000, wiki=5000)
    assert message in str(caught.value)
    assert str(caught.value).startswith("spec.yaml:6: datasets.wiki.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("tokenizer", "the caches were made with different tokenizers: 'web' has toy abababababab"),
        ("split", "this cache is held out for evaluation"),
        ("twin", "the same cache as 'web'"),
    ],
)
def test_caches_that_do_not_belong_together(measured: Callable[..., Any], change: str, message: str) -> None:
    spec, source = parse_spec(HEAD + FIRST)
    web = measured("web", 5000)
    other = {
        "tokenizer": lambda: measured("wiki", 5000, tokenizer=web.ledger.tokenizer.model_copy(update={"fingerprint": "cd" * 32})),
        "split": lambda: measured("wiki", 5000, split="validation"),
        "twin": lambda: web,
    }[change]()  # fmt: skip
    with pytest.raises(SpecError, match=r"spec.yaml:6: datasets.wiki.cache: ") as caught:
        compile_spec(spec, source, {"web": web, "wiki": other})
    assert message in str(caught.value)

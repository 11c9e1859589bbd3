"""Caches that belong together, and those that do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.search import find_document
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
        "tokenizer": lambda: measured("wiki", 5000, tokenizer=web.tokenizer.model_copy(update={"fingerprint": "cd" * 32})),
        "split": lambda: measured("wiki", 5000, split="validation"),
        "twin": lambda: web,
    }[change]()  # fmt: skip
    with pytest.raises(SpecError, match=r"spec.yaml:6: datasets.wiki.cache: ") as caught:
        compile_spec(spec, source, {"web": web, "wiki": other})
    assert message in str(caught.value)


CARD = """\
name: web
title: Web
kind: {kind}
about: Pages.
location: {{hub: someone/web}}
format: jsonl.zst
licence: unknown
{sizes}
"""


def test_a_plan_from_cards(tmp_path: Path) -> None:
    """Compiles without data, says whose numbers it believes, and cannot be trained on."""
    (tmp_path / "web.yaml").write_text(
        CARD.format(
            kind="pretraining", sizes="claimed: [{tokenizer: gpt-neox, tokens: 5000, source: the paper}]"
        )
    )
    text = HEAD.replace("{cache: tokens/web}", "{card: web.yaml}").replace(
        "  wiki: {cache: tokens/wiki}\n", ""
    )
    text = text.replace("[web, wiki]", "[web]").replace("  only: {groups: {all: {datasets: [wiki]}}}\n", "")
    spec = tmp_path / "spec.yaml"
    spec.write_text(text + FIRST)
    with pytest.raises(SpecError, match="so the spec has to say whose tokens are meant"):
        compile_file(str(spec))
    spec.write_text("tokenizer: llama3\n" + text + FIRST)
    plan = compile_file(str(spec))
    assert plan.datasets[0].tokens == 5000
    assert plan.datasets[0].evidence == "claimed"
    assert (
        "web: its size is not measured with llama3: 5,000 tokens (the paper), counted with gpt-neox"
        in plan.notes
    )
    with pytest.raises(ArtefactError, match="compiled from dataset cards"):
        find_document(plan, "web-1")
    with pytest.raises(ArtefactError, match="compiled from dataset cards"):
        _ = plan.cache_tokenizer
    assert Plan.load(_saved(plan, tmp_path)).hash == plan.hash


@pytest.mark.parametrize(
    ("kind", "sizes", "message"),
    [
        ("evaluation", "claimed: [{tokens: 5000, source: x}]", "never to be trained on"),
        ("pretraining", "claimed: [{documents: 5000, source: x}]", "its card states no number of tokens"),
        ("pretrain", "claimed: [{tokens: 5000, source: x}]", "web.yaml:3"),
    ],
)
def test_cards_that_cannot_be_planned_with(tmp_path: Path, kind: str, sizes: str, message: str) -> None:
    (tmp_path / "web.yaml").write_text(CARD.format(kind=kind, sizes=sizes))
    spec = tmp_path / "spec.yaml"
    spec.write_text("tokenizer: llama3\n" + HEAD.replace("{cache: tokens/web}", "{card: web.yaml}") + FIRST)
    with pytest.raises(SpecError, match=r"datasets.web.card") as caught:
        compile_file(str(spec))
    assert message in str(caught.value)


def _saved(plan: Plan, folder: Path) -> str:
    plan.save(str(folder / "plan.json"))
    return str(folder / "plan.json")

"""Specs that are right, and what is said about those that are not."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.spec import By, parse_amount
from tootsie.mixtures.spec_file import parse_spec

GOOD = """\
name: run
seed: 1
sequence_length: 100
datasets:
  web: {cache: tokens/web}
  wiki:
    cache: tokens/wiki
    max_epochs: 2
mixtures:
  base:
    groups:
      all: {datasets: [web, wiki]}
  rich:
    groups:
      web: {share: 0.7, datasets: [web]}
      good:
        share: 0.3
        by: weight
        datasets:
          wiki: {weight: 2}
phases:
  - name: stable
    mixture: base
    for: 10 steps
    batch_size: 8
    learning_rate: {from: 1e-3, warmup: 2 steps}
  - name: cooldown
    mixture: rich
    until: 20 steps
    learning_rate: {shape: linear, to: 1e-5}
    clip_norm: null
"""


def edited(before: str, after: str) -> str:
    assert GOOD.count(before) >= 1, before
    return GOOD.replace(before, after, 1)


def test_a_good_spec() -> None:
    spec, source = parse_spec(GOOD)
    assert spec.mixtures["rich"].groups["good"].by is By.WEIGHT
    assert spec.mixtures["rich"].groups["web"].share == Fraction(7, 10)
    assert list(spec.mixtures["base"].groups["all"].datasets) == ["web", "wiki"]
    assert spec.phases[1].clip_norm is None
    assert "clip_norm" in spec.phases[1].model_fields_set
    assert source.lines[("phases", 1, "until")] == 29


BAD = [
    # (before, after, line of the message, what it says)
    ("seed: 1", "sead: 1", 2, "unknown key 'sead'. Did you mean 'seed'?"),
    ("seed: 1\n", "", None, "seed: this key is required. Write for example 'seed: 17'"),
    ("seed: 1", "seed: one", 2, "seed: input should be a valid integer (found 'one')"),
    ("seed: 1", "seed: -1", 2, "greater than or equal to 0 (found -1)"),
    ("seed: 1", "seed: true", 2, "seed: input should be a valid integer (found True)"),
    ("seed: 1", "seed: 1\nseed: 2", 3, "the key 'seed' stands twice (first on line 2)"),
    ("name: run", "name: my run", 1, "a name has letters, digits and _ . + - / only (found 'my run')"),
    ("sequence_length: 100", "sequence_length: 0", 3, "greater than 0 (found 0)"),
    ("sequence_length: 100", "sequence_length: 100 tokens", 3, "valid integer (found '100 tokens')"),
    ("cache: tokens/web", "cach: tokens/web", 5, "unknown key 'cach'. Did you mean 'cache'?"),
    ("max_epochs: 2", "max_epoch: 2", 8, "unknown key 'max_epoch'. Did you mean 'max_epochs'?"),
    ("max_epochs: 2", "max_epochs: 0", 8, "it must be above 0"),
    ("max_epochs: 2", "oversample: -2", 8, "it cannot be negative (found -2)"),
    ("max_epochs: 2", "oversample: nan", 8, "not a number; write for example 0.7, 70% or 1/3 (found 'nan')"),
    ("max_epochs: 2", "oversample: .inf", 8, "not a number; write for example 0.7, 70% or 1/3 (found '.inf')"),
    ("max_epochs: 2", "tokens: 4_000", 8, "a bare number has no unit"),
    ("share: 0.3", "share: 0.2", 14, "the shares of the groups add up to 0.9, not to 1 (found 'web 0.7 + good 0.2')"),
    ("share: 0.3", "share: 0.30001", 14, "add up to 1.00001, not to 1"),
    ("share: 0.3", "share: -0.3", 17, "it cannot be negative (found -0.3)"),
    ("share: 0.3", "share: 0", 17, "it must be above 0; leave the entry out to have none of it"),
    ("        share: 0.3\n", "", 16, "this group has no share, others have. Give every group a share, or none"),
    ("share: 0.3", "shares: 0.3", 17, "unknown key 'shares'. Did you mean 'share'?"),
    ("by: weight", "by: wheight", 18, "'tokens', 'bytes', 'documents' or 'weight' (found 'wheight')"),
    ("by: weight", "by: tokens", 20, "a weight is used only in groups 'by: weight', this one is by tokens"),
    ("wiki: {weight: 2}", "wiki: {}", 20, "each dataset needs a weight. Write 'weight: 3'"),
    ("wiki: {weight: 2}", "wikki: {weight: 2}", 20, "no such dataset 'wikki'. Did you mean 'wiki'?"),
    ("wiki: {weight: 2}", "web: {weight: 2}", 20, "the dataset is in the group 'web' of this mixture already"),
    ("[web, wiki]", "[web, web]", 12, "the dataset 'web' stands twice in the group"),
    ("[web, wiki]", "[]", 12, "the group has no datasets. Name one, or remove it"),
    ("[web, wiki]", "[3]", 12, "datasets is a list of names, or a mapping from name to settings"),
    ("name: run", "name: a/../b", 1, "a name has letters, digits and _ . + - / only (found 'a/../b')"),
    ("  web: {cache: tokens/web}", "  web: tokens/web", 5, "datasets.web: keys and values are needed here (found 'tokens/web')"),
    ("mixture: base", "mixture: bass", 23, "no such mixture (found 'bass'). Did you mean 'base'?"),
    ("    mixture: base\n", "", 22, "the first phase needs 'mixture': there is nothing before to inherit from"),
    ("    batch_size: 8\n", "", 22, "the first phase needs 'batch_size'"),
    ("batch_size: 8", "batch_size: 8.5", 25, "batch_size: input should be a valid integer (found 8.5)"),
    ("batch_size: 8", "batch_size: 2000000", 25, "batch_size: input should be less than or equal to 1048576 (found 2000000)"),
    ("batch_size: 8", "batch_sise: 8", 25, "unknown key 'batch_sise'. Did you mean 'batch_size'?"),
    ("for: 10 steps", "for: 10", 24, "a bare number has no unit: is 10 in steps, sequences or tokens?"),
    ("for: 10 steps", "for: 10 stops", 24, "unknown unit 'stops'"),
    ("for: 10 steps", "until: 10 steps\n    for: 10 steps", 22, "a phase ends either 'until: …'"),
    ("    for: 10 steps\n", "", 22, "a phase ends either 'until: …'"),
    ("for: 10 steps", "for: 2 epochs", 24, "epochs of which dataset? Write for example '2 epochs of wikipedia'"),
    ("for: 10 steps", "for: 2 epochs of wikki", 24, "no such dataset 'wikki' (found '2 epochs of wikki'). Did you"),
    ("name: cooldown", "name: stable", 27, "another phase has this name (found 'stable')"),
    ("{from: 1e-3, warmup: 2 steps}", "{form: 1e-3}", 26, "unknown key 'form'. Did you mean 'from'?"),
    ("{from: 1e-3, warmup: 2 steps}", "{from: 0}", 26, "greater than 0 (found 0)"),
    ("{from: 1e-3, warmup: 2 steps}", "{from: 1e-3, warmup: 1 epoch of wiki}", 26, "this length cannot be in epochs"),
    ("{from: 1e-3, warmup: 2 steps}", "{from: 1e-3, to: 1e-4}", 26, "a constant rate has no 'to'"),
    ("{from: 1e-3, warmup: 2 steps}", "{from: 1e-3, warmup_from: 1e-4}", 26, "'warmup_from' needs 'warmup'"),
    ("{from: 1e-3, warmup: 2 steps}", "fast", 26, "learning_rate: "),
    ("shape: linear, to: 1e-5", "shape: linear", 30, "a linear rate needs 'to', the rate at the end of the phase"),
    ("shape: linear", "shape: liner", 30, "(found 'liner')"),
    ("clip_norm: null", "z_loss: null", 27, "'z_loss' has no value; leave the line out to keep the value"),
    ("clip_norm: null", "ema_beta: 1.5", 31, "ema_beta: input should be less than 1 (found 1.5)"),
    ("clip_norm: null", "weight_decay: '0.1'", 31, "weight_decay: input should be a valid number (found '0.1')"),
    ("phases:\n", "phases: []\nrest:\n", None, "unknown key 'rest'"),
    ("mixtures:\n", "mixtures: 3\nother:\n", None, "unknown key 'other'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "line", "message"), BAD, ids=[f"{b[1].strip()[:40]}" for b in BAD]
)
def test_bad_specs_get_one_message_with_line_value_and_remedy(
    before: str, after: str, line: int | None, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(edited(before, after), "s.yaml")
    text = str(caught.value)
    assert message in text, text
    assert text.startswith(f"s.yaml:{line}: " if line else "s.yaml"), text
    assert "\n" not in text


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "3\n"])
def test_a_spec_is_a_mapping(text: str) -> None:
    with pytest.raises(SpecError, match="a spec is a mapping of keys to values"):
        parse_spec(text)


def test_every_typo_of_one_letter_is_found_and_named() -> None:
    """Drop a letter of each key that may stand anywhere: refused, and where the letter matters the key is named."""
    for match in re.finditer(r"(?m)^(\s*(?:- )?)([a-z_]{5,}): ", GOOD):
        key = match[2]
        if key in ("stable", "cooldown"):
            continue
        text = GOOD[: match.start(2)] + key[:2] + key[3:] + GOOD[match.end(2) :]
        with pytest.raises(SpecError, match=f"Did you mean '{key}'"):
            parse_spec(text)


@pytest.mark.parametrize(
    ("value", "amount"), [(0.7, "7/10"), ("70%", "7/10"), ("1/3", "1/3"), (2, "2"), ("1e-9", "1/1000000000")]
)
def test_amounts_are_exact(value: object, amount: str) -> None:
    assert parse_amount(value) == Fraction(amount)


@pytest.mark.parametrize(
    "text",
    ["1e999999999", "1e-999999999", "1e999999999%", "9" * 5000, "1/" + "3" * 5000, "1/0", "٠.٧", "1_0", ""],
)
def test_amounts_that_are_none_are_refused_at_once(text: str) -> None:
    """A power of ten with nine digits in its exponent would fill the memory."""
    with pytest.raises(ValueError, match="not a number; write for example"):
        parse_amount(text)

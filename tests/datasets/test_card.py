"""Dataset cards: all of them are valid; what is wrong with one is said with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tootsie.datasets.card import Card, Kind, card_names, load_card
from tootsie.datasets.errors import SpecError

TEXT = """\
name: web
title: Web
kind: pretraining
about: Pages.
location: {hub: someone/web, revision: abc, files: ["*.jsonl.zst"]}
format: jsonl.zst
text_key: text
licence: CC0-1.0
measured:
  - {tokenizer: llama3, tokens: 1000, documents: 7, source: counted, date: 2025-01-02}
claimed:
  - {tokenizer: gpt-neox, tokens: 1_200, source: the paper}
"""


@pytest.mark.parametrize("name", card_names())
def test_every_card_that_comes_along_is_valid(name: str) -> None:
    card = load_card(name)
    assert card.name == name
    if card.kind is not Kind.EVALUATION:
        assert card.measured or card.claimed


def test_the_best_statement_of_a_size(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(TEXT)
    card = load_card(str(path))
    assert card.size("llama3") == (card.measured[0], True)
    assert card.size("gpt-neox") == (card.claimed[0], False)
    assert card.size("other") == (card.measured[0], False)


def test_identity_is_that_of_the_content() -> None:
    fields = {
        "name": "a",
        "title": "A",
        "kind": "pretraining",
        "about": "x",
        "location": {"hub": "a/a"},
        "format": "x",
    }
    one, other = Card(**fields, licence="MIT"), Card(**fields, licence="unknown")  # type: ignore[arg-type]
    assert one.sha256 != other.sha256
    assert len(one.sha256) == 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("licence: CC0-1.0", "license: CC0-1.0"),
            r"web.yaml:8: license: unknown key 'license'.*Did you mean 'licence'",
        ),
        (("hub: someone/web, ", ""), r"web.yaml:5: location: a dataset lives on the 'hub' or at a 'url'"),
        (
            ("tokens: 1000, documents: 7, ", ""),
            r"web.yaml:10: measured\[0\]: a size states tokens, bytes or documents",
        ),
        (("kind: pretraining", "kind: pretrain"), r"web.yaml:3: kind: "),
        (("date: 2025-01-02", "date: yesterday"), r"web.yaml:10: measured\[0\].date: "),
        (("tokens: 1_200", "tokens: -3"), r"web.yaml:12: claimed\[0\].tokens: "),
        (("name: web\n", ""), r"name: this key is required"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(TEXT.replace(*change))
    with pytest.raises(SpecError, match=message):
        load_card(str(path))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match="no such dataset card"):
        load_card("no-such-card")

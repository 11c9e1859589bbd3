"""Dataset cards: all of them are valid; what is wrong with one is said with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.main

from tootsie.datasets.card import Card, Kind, card_names, load_card
from tootsie.datasets.command import app
from tootsie.datasets.command_line import run_command
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


def test_the_sets_of_the_8b_run_are_there() -> None:
    kinds = [load_card(name).kind for name in card_names()]
    assert kinds.count(Kind.PRETRAINING) == 36
    assert kinds.count(Kind.INSTRUCTION) == 9
    assert kinds.count(Kind.EVALUATION) == 16 + 7


def test_cards_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    command = typer.main.get_command(app)
    assert run_command(command, ["list"], "tootsie data") == 0
    assert "marin/arxiv_no_problem" in (out := capsys.readouterr().out)
    assert "2,742,463,924 tokens (llama3, measured)" in out
    assert run_command(command, ["show", "marin/arxiv_no_problem"], "tootsie data") == 0
    assert "disagreements: The 8B run weighted it as 58.1B tokens" in capsys.readouterr().out


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match="no such dataset card"):
        load_card("no-such-card")

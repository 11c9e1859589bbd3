from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer.main

from tootsie.curate.command import app
from tootsie.datasets.command_line import run_command

PROSE = "The quick brown fox jumps over the lazy dog, and nobody minds at all."


def write(path: Path, texts: list[str]) -> Path:
    path.write_text(
        "".join(
            json.dumps({"id": str(n), "text": text, "source": "x"}) + "\n" for n, text in enumerate(texts)
        )
    )
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = run_command(typer.main.get_command(app), ["profile", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_trailing_spaces_are_told_and_can_fail_a_check(tmp_path: Path, capsys) -> None:
    training = write(tmp_path / "training.jsonl", [PROSE] * 60)
    paloma = write(tmp_path / "paloma.jsonl", [f"{PROSE} "] * 60)
    code, out, _ = run(capsys, training, f"--compare={paloma}", f"--json={tmp_path}/p.json")
    assert code == 0
    assert "end in: space\t0.0%\t100.0%\tA last token that the other corpus does not have" in out
    content = json.loads((tmp_path / "p.json").read_text())
    assert content["profile"]["languages"] == {"en": 1.0}
    assert {one["what"] for one in content["differences"]} >= {"end in: space", "have: trailing whitespace"}
    code, _, err = run(capsys, training, f"--compare={paloma}", "--fail-on=0.5")
    assert code == 2
    assert "end in: " in err
    assert run(capsys, training, f"--compare={training}", "--fail-on=0.05")[0] == 0


def test_a_corpus_folder_and_other_formats(tmp_path: Path, capsys, curate) -> None:
    result = curate(
        "filter",
        write(tmp_path / "a.jsonl", [PROSE * 2, PROSE]),
        "--filters=c4_paragraph",
        "--max-failures=1",
    )
    assert result.dropped == {"c4_paragraph: < 3 paragraphs": 2}
    (tmp_path / "b.json").write_text(json.dumps([{"body": {"text": PROSE}}]))
    code, out, _ = run(capsys, tmp_path / "b.json", "--text-key=body.text", "--no-languages")
    assert code == 0
    assert "documents\t1" in out
    other = write(tmp_path / "c.jsonl", [PROSE])
    keys = ("--text-key=body.text", "--compare-text-key=text", "--no-languages")
    assert "are written alike" in run(capsys, tmp_path / "b.json", f"--compare={other}", *keys)[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fail-on=0.5"],
        ["--fail-on=2", "--compare=x"],
        ["--text-key=none"],
        ["--compare-text-key=text"],
        ["--compare=/nowhere"],
    ],
)
def test_mistakes(tmp_path: Path, capsys, arguments: list[str]) -> None:
    code, _, err = run(capsys, write(tmp_path / "a.jsonl", [PROSE]), *arguments)
    assert code == 2
    assert err


def test_a_corpus_without_documents_is_an_error(tmp_path: Path, capsys) -> None:
    code, _, err = run(capsys, write(tmp_path / "a.jsonl", []))
    assert code == 2
    assert "no documents" in err

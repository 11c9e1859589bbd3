"""What ``tootsie data show`` prints of files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer.main

from tootsie.datasets.command import app
from tootsie.datasets.command_line import run_command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    rows = [{"id": n, "page": {"body": f"Text\x1b[2J {n} " * 9}, "tags": ["x"]} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def show(*arguments: object) -> int:
    return run_command(typer.main.get_command(app), ["show", *map(str, arguments)])


def test_fields_and_text_of_the_first_records(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(file, "-n", 2, "--text-key", "page.body", "--characters", 12) == 0
    printed = capsys.readouterr().out
    assert printed == "".join(
        f'━━ {file}, record {n}\n   id: {n}\n   tags: ["x"]\n\nText␛[2J {n} T …\n\n' for n in range(2)
    )


def test_without_a_key_every_field_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(file, "-n", 1) == 0
    assert '   page: {"body": "Text' in capsys.readouterr().out


def test_for_programs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(file, "-n", 1, "--json", "--text-key", "page.body") == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["text"] == record["fields"]["page"]["body"]
    assert (record["source_file"], record["record"]) == (str(file), 0)


def test_globs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "b.jsonl").write_text('{"id": "last"}\n')
    assert show(file.parent / "*.jsonl", "-n", 9) == 0
    assert capsys.readouterr().out.count("━━") == 5


def test_a_missing_key(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(file, "--text-key", "content") == 2
    assert (
        "record 0: text_key 'content' is missing; the record has: id, page, tags. "
        "Give the key of the text, perhaps --text-key page.body"
    ) in capsys.readouterr().err

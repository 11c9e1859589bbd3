from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer.main

from tootsie.datasets.command_line import run_command
from tootsie.tokenize.command import app


def tokenize(*arguments: str) -> int:
    return run_command(typer.main.get_command(app), arguments, "tootsie tokenize")


def test_build_verify_stats_and_inspect(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert (
        tokenize("build", corpus, out, "--validation-fraction", "0.2", "--direct_running_mode=in_memory") == 0
    )
    printed = capsys.readouterr().out
    assert "toy train: read 60 = written" in printed
    assert "other_split" in printed
    assert tokenize("verify", f"{out}/train", f"{out}/validation", "--sample", "9") == 0
    assert capsys.readouterr().out.count("whole, 1 shards") == 2
    assert tokenize("stats", f"{out}/train", f"{out}/validation") == 0
    assert "bytes a token" in capsys.readouterr().out
    assert tokenize("inspect", f"{out}/train", "--limit", "2", "--ids", "--tokens", "500") == 0
    printed = capsys.readouterr().out
    assert "shard 0, row 0, token 0" in printed
    assert "<|end_of_text|>16383" in printed


def test_in_and_out_alone_build(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tokenize(corpus, str(tmp_path / "out")) == 0
    assert (tmp_path / "out" / "ledger.json").exists()
    assert tokenize(corpus, str(tmp_path / "dry"), "--dry-run", "--shards", "3") == 0
    assert not (tmp_path / "dry").exists()
    assert "3 shards from 60 documents" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "{corpus}"], "an input and an output are needed"),
        (
            ["build", "{corpus}", "{out}", "--tokeniser", "x"],
            "neither this command nor Beam has such an option",
        ),
        (
            ["build", "{corpus}", "{out}", "--tokenizer", "llama4"],
            "no such tokenizer (found 'llama4'). Did you mean llama3?",
        ),
        (
            ["build", "{corpus}", "{out}", "--validation-fraction", "1"],
            "--validation-fraction: must be at least 0 and below 1",
        ),
        (["build", "{out}/none.jsonl", "{out}"], "none.jsonl: no such file"),
        (["verify", "{corpus}"], "no ledger, so this is not a finished token cache"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], message: str
) -> None:
    assert tokenize(*(item.format(corpus=corpus, out=tmp_path / "out") for item in arguments)) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.startswith("error: ")
    assert "Traceback" not in printed
    assert not list(tmp_path.rglob("ledger.json"))


def test_inspect_one_document(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    tokenize(corpus, out)
    capsys.readouterr()
    assert tokenize("inspect", out, "--document", "toy-1-3", "--tokens", "4") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("toy-1-3 (shard 0, row 33, token 2,221): ")
    assert "more" in printed
    assert tokenize("inspect", out, "--document", "none") == 2
    assert "--document: no such document" in capsys.readouterr().err
    assert tokenize("inspect", out, "--start", "99999999") == 2
    assert "the cache ends at token" in capsys.readouterr().err


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, typer.main; from tootsie.tokenize.command import app; typer.main.get_command(app);"
        "heavy = {'apache_beam', 'pyarrow', 'numpy', 'tiktoken', 'jax'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    shown = subprocess.run(
        [sys.executable, "-m", "tootsie.tokenize", "--help"], check=True, capture_output=True, text=True
    )
    assert "verify" in shown.stdout


def test_conversations_out_and_back_in_and_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chats = tmp_path / "chats.jsonl"
    turns = '{"from": "human", "value": "Say a."}, {"from": "gpt", "value": "a"}'
    chats.write_text("".join(f'{{"id": "c{n}", "conversations": [{turns}]}}\n' for n in range(9)))
    cache, files, again = (str(tmp_path / name) for name in ("cache", "files", "again"))
    options = ("--template", "tulu", "--row-tokens", "64", "--direct_running_mode=in_memory")
    assert tokenize("chat", str(chats), cache, *options) == 0
    printed = capsys.readouterr()
    assert "read 9 = written 9" in printed.out
    assert "rows of 64" in printed.out
    assert "loss on" in printed.out
    assert tokenize("export", "parquet", cache, files) == 0
    assert "1 files, 9 documents" in capsys.readouterr().out
    assert tokenize("import", "parquet", files, again, "--tokenizer", "tootsie-16k", "--name", "cache") == 0
    capsys.readouterr()
    assert tokenize("diff", cache, again) == 0
    printed = capsys.readouterr()
    assert "documents: 9 the same, 0 added, 0 removed, 0 changed" in printed.out
    assert "settings.row_tokens: 64 → None" in printed.out
    assert tokenize("stats", cache, "--json") == 0
    assert '"row_tokens": 64' in capsys.readouterr().out
    assert tokenize("inspect", cache, "--json", "--limit", "1") == 0
    assert '"loss_mask": [0, ' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["chat", "{corpus}", "--template", "tulu", "--row-tokens", "64"],
            "an input and an output are needed",
        ),
        (
            ["chat", "x.jsonl", "{out}", "--template", "tulu", "--row-tokens", "2"],
            "--row-tokens: must be from 8",
        ),
        (["chat", "x.jsonl", "{out}", "--template", "tulip", "--row-tokens", "64"], "no such chat template"),
        (
            ["chat", "x.jsonl", "{out}", "--template", "tulu", "--row-tokens", "64", "--overlong", "keep"],
            "--overlong: no such choice (found 'keep'). Use drop, cut, split, refuse",
        ),
        (
            ["chat", "x.jsonl", "{out}", "--template", "tulu", "--row-tokens", "64", "--date", "today"],
            "--date: not a date (found 'today')",
        ),
        (
            ["import", "fairseq", "x", "{out}", "--tokenizer", "llama3"],
            "FORMAT: no such format (found 'fairseq')",
        ),
        (["export", "parquet", "{corpus}", "{out}"], "no ledger, so this is not a finished token cache"),
        (["diff", "{corpus}", "{corpus}"], "no ledger, so this is not a finished token cache"),
    ],
)
def test_errors_of_chat_import_export_and_diff(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], message: str
) -> None:
    assert tokenize(*(item.format(corpus=corpus, out=tmp_path / "out") for item in arguments)) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.startswith("error: ")

from __future__ import annotations

import random
from pathlib import Path

import pytest
import typer.main

from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.command import app
from tootsie.datasets.command_line import run_command
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.manifest import FileEntry, Manifest, write_manifest
from tootsie.datasets.verification import verify


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    entries = []
    for part in range(3):
        name = f"part-{part:05d}-of-00003.jsonl.zst"
        url = str(tmp_path / name)
        texts = [f"document {part} {n} " * 20 for n in range(5)]
        with storage.atomic_zstd(url) as stream:
            for n, text in enumerate(texts):
                stream.write(Document(id=f"{part}-{n}", text=text, source="made").to_json().encode() + b"\n")
        size = sum(len(text) for text in texts)
        entries.append(
            FileEntry(
                path=name, documents=5, text_bytes=size, size=storage.size(url), sha256=storage.sha256(url)
            )
        )
    books = Accounting(read=17, written=15, dropped={"too short": 2})
    write_manifest(
        str(tmp_path),
        Manifest(
            source="made", code_version="1", settings={"seed": 0}, inputs=[], files=entries, accounting=books
        ),
    )
    return tmp_path


def command(*arguments: object) -> int:
    return run_command(typer.main.get_command(app), [str(one) for one in arguments])


def test_whole(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(str(corpus))[1] == []
    assert command("verify", corpus) == 0
    assert capsys.readouterr().out == f"{corpus}: whole, 15 documents in 3 files\n"


def test_missing_short_altered_and_foreign_files_are_named(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus / "part-00000-of-00003.jsonl.zst").unlink()
    short = corpus / "part-00001-of-00003.jsonl.zst"
    short.write_bytes(short.read_bytes()[:-5])
    altered = corpus / "part-00002-of-00003.jsonl.zst"
    content = bytearray(altered.read_bytes())
    content[len(content) // 2] ^= 1
    altered.write_bytes(content)
    (corpus / "part-00009-of-00003.jsonl.zst").write_bytes(b"")
    assert command("verify", corpus) == 2
    printed = capsys.readouterr()
    assert "part-00000-of-00003.jsonl.zst: the manifest lists a file that is missing" in printed.out
    assert "part-00001-of-00003.jsonl.zst: the file has" in printed.out
    assert "part-00002-of-00003.jsonl.zst: the checksum differs from the manifest" in printed.out
    assert "part-00009-of-00003.jsonl.zst: not in the manifest" in printed.out
    assert "faults in 3 files" in printed.err


def test_any_flipped_bit_is_found(corpus: Path) -> None:
    generator = random.Random(5)
    path = corpus / "part-00001-of-00003.jsonl.zst"
    whole = path.read_bytes()
    for _ in range(60):
        content = bytearray(whole)
        content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        path.write_bytes(content)
        assert verify(str(corpus))[1], "a flipped bit went unnoticed"


def test_any_cut_is_found_by_reading_alone(corpus: Path) -> None:
    path = corpus / "part-00001-of-00003.jsonl.zst"
    whole = path.read_bytes()
    for keep in range(1, len(whole)):
        path.write_bytes(whole[:keep])
        with pytest.raises(Exception, match="truncated or damaged"):
            list(storage.read_lines(str(path)))


def test_unfinished(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="not finished"):
        verify(str(tmp_path))


def test_show(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("show", corpus, "-n", "1", "--characters", "30") == 0
    printed = capsys.readouterr().out
    assert "made, 15 documents" in printed
    assert "read      17 = written 15 + dropped 2" in printed
    assert "━━ 0-0" in printed
    assert "━━ 0-1" not in printed


def test_list_names_the_sample_dumps(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("list") == 0
    printed = capsys.readouterr().out
    assert "ENTERPRISE-HTML.json.tar.gz" in printed
    assert "ar5iv-sample-no-problem.zip" in printed
    assert ".stackexchange.com.7z" in printed

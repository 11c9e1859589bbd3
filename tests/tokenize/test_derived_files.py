from __future__ import annotations

import os
from pathlib import Path

import pytest

from tootsie.tokenize import derived_files


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(derived_files.FOLDER_VARIABLE, str(tmp_path / "derived"))
    return tmp_path / "derived"


@pytest.mark.parametrize("content", [b"", b"\n", b"one\ntwo\n", bytes(range(256)) * 10])
def test_what_was_kept_comes_back(place: Path, content: bytes) -> None:
    assert derived_files.recall("a.json") is None
    derived_files.keep("a.json", b"before")
    derived_files.keep("a.json", content)
    assert derived_files.recall("a.json") == content
    assert [path.name for path in place.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: b"",
        lambda stored: stored[:64],
        lambda stored: stored[:-1],
        lambda stored: stored + b"x",
        lambda stored: stored[:70] + bytes([stored[70] ^ 1]) + stored[71:],
    ],
)
def test_a_damaged_file_counts_as_missing(place: Path, damage: object) -> None:
    derived_files.keep("a.json", b"some content")
    file = place / "a.json"
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    assert derived_files.recall("a.json") is None


def test_where_nothing_can_be_written_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(derived_files.FOLDER_VARIABLE, str(tmp_path / "file" / "below"))
    derived_files.keep("a.json", b"content")
    assert derived_files.recall("a.json") is None


def test_the_oldest_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived_files, "MOST_FILES", 2)
    for number in range(4):
        derived_files.keep(str(number), b"content")
        os.utime(place / str(number), (number, number))
    assert sorted(path.name for path in place.iterdir()) == ["2", "3"]


def test_the_folder_is_that_of_the_user_s_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(derived_files.FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert derived_files.folder() == Path("/caches/tootsie/derived")

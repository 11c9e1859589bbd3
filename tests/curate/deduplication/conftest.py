"""Corpora of planted duplicates, and a way to read what a run wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tootsie.datasets.storage import read_lines


@pytest.fixture(scope="session")
def planted(load_script: Callable[[str], ModuleType]) -> ModuleType:
    """The module that makes planted corpora."""
    return load_script("benchmarks/planted_corpus.py")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """``write("a", rows, files=2)`` writes document files and returns their folder."""

    def write(name: str, rows: Iterable[dict[str, Any] | str], files: int = 2) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        for number in range(files):
            part = lines[number::files]
            (folder / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in part))
        return folder

    return write


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_lines(str(path))]


def documents_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for path in sorted(folder.glob("part-*")) for row in rows_of(path)}

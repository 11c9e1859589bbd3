"""Planted leaks, and the files of a run."""

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
    """The module that makes evaluation sets and documents that leak them."""
    return load_script("benchmarks/planted_leaks.py")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """``write("a.jsonl", rows)`` writes a file and returns its path."""

    def write(name: str, rows: Iterable[dict[str, Any]] | str) -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text)
        return str(path)

    return write


SPEC = "sets:\n  school: {files: [items.jsonl], id: id, question: [question], answer: [answer]}\n"


@pytest.fixture
def evaluations(write, planted) -> str:
    """A file of evaluation sets with one of 40 problems."""
    write("items.jsonl", [item.record() for item in planted.problems(40)])
    return write("evaluations.yaml", SPEC)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_lines(str(path))]

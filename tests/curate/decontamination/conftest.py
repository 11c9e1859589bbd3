"""Planted leaks, and the files of a run."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tootsie.datasets.storage import read_lines


@pytest.fixture(scope="session")
def planted(project_root: Path) -> ModuleType:
    """The module that makes evaluation sets and documents that leak them."""
    path = project_root / "benchmarks" / "planted_leaks.py"
    spec = importlib.util.spec_from_file_location("planted_leaks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["planted_leaks"] = module
    spec.loader.exec_module(module)
    return module


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

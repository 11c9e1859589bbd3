"""A cache to export, and the environment of the peers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.tokenizers import load_tokenizer

EOS = 16383


def documents_of(cache: TokenCache) -> list[list[int]]:
    return [document.input_ids.tolist() for document in cache.iterate()]


@pytest.fixture
def small_cache(tmp_path: Path, make_cache: Callable[..., str]) -> TokenCache:
    """Three shards, one of them empty, one document of EOS alone; texts that are not English."""
    tokenizer = load_tokenizer("tootsie-16k")
    texts = ["One short text.", "", "Zażółć gęślą jaźń 🙂\n" * 40, 'a,"b"\n', "x" * 300]
    rows = [
        (f'id-{number},"{text[:1]}"', tokenizer.encode_document(text), len(text.encode()), None)
        for number, text in enumerate(texts)
    ]
    return TokenCache.open(make_cache(str(tmp_path / "cache"), [rows[:2], [], rows[2:]], tokenizer.identity))


@pytest.fixture(scope="session")
def listed() -> Callable[[TokenCache], list[list[int]]]:
    return documents_of


@pytest.fixture(scope="session")
def peers_python(project_root: Path) -> str:
    """A Python that has readers of other trainers; tests that need it skip where it is absent."""
    path = os.environ.get("TOOTSIE_PEERS_PYTHON", str(project_root / ".build/mixture-peers/venv/bin/python"))
    if not Path(path).exists():
        pytest.skip(
            f"other trainers are not installed: {path} (make .build/mixture-peers/.installed, or set TOOTSIE_PEERS_PYTHON)"
        )
    return path


@pytest.fixture
def supervised_cache(tmp_path: Path, make_cache: Callable[..., Any]) -> TokenCache:
    tokenizer = load_tokenizer("tootsie-16k")
    rows = [
        ("a", np.array([5, 6, 7, EOS]), 3, [(1, 3)]),
        ("b", np.array([8, EOS]), 1, []),
        ("c", np.array([9, 9, EOS]), 2, [(0, 1), (2, 3)]),
    ]
    return TokenCache.open(
        make_cache(str(tmp_path / "cache"), [rows[:2], rows[2:]], tokenizer.identity, loss_spans=True)
    )

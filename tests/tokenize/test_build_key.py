from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tootsie.datasets import storage
from tootsie.tokenize.build_key import BuildKey, first_difference, key_url, read_key
from tootsie.tokenize.ledger import EngineInfo, Source, SourceFile


@pytest.fixture
def key(make_identity: Callable[..., Any]) -> BuildKey:
    files = tuple(SourceFile(path=f"{n}.jsonl", sha256=str(n) * 64, documents=n) for n in range(3))
    return BuildKey(
        name="toy",
        split="train",
        tokenizer=make_identity(),
        engine=EngineInfo(name="tiktoken", version="1"),
        sources=(Source(manifest_sha256=None, source="toy", files=files),),
        settings={"seed": 0, "limit": None},
        code_version="1",
    )


def test_the_first_difference_is_named(key: BuildKey, make_identity: Callable[..., Any]) -> None:
    source = key.sources[0]
    fewer = source.model_copy(update={"files": source.files[:2]})
    other = source.model_copy(update={"files": (source.files[0], source.files[2])})
    for change, expected in (
        ({"settings": {"seed": 1, "limit": None}}, ("settings.seed", "0", "1")),
        ({"tokenizer": make_identity(200)}, ("tokenizer.vocabulary_size", "100", "200")),
        ({"sources": (other,)}, ("sources.0.files.1.path", "'1.jsonl'", "'2.jsonl'")),
        ({"sources": (fewer,)}, ("sources.0.files.2.path", "'2.jsonl'", "None")),
        ({"code_version": "2", "engine": EngineInfo(name="tiktoken", version="2")}, None),
    ):
        assert first_difference(key, key.model_copy(update=change)) == expected


def test_it_is_read_back_and_one_of_another_version_is_none(key: BuildKey, tmp_path: Path) -> None:
    assert read_key(str(tmp_path)) is None
    storage.write_bytes(key_url(str(tmp_path)), key.model_dump_json().encode())
    assert read_key(str(tmp_path)) == key
    storage.write_bytes(key_url(str(tmp_path)), b'{"older": 1}')
    assert read_key(str(tmp_path)) is None

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.build import BuildSettings, build_caches
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.chat.build import ChatSettings, build_chat_caches
from tootsie.tokenize.exchange.exporting import export_tokens
from tootsie.tokenize.exchange.importing import ImportSettings, import_tokens
from tootsie.tokenize.exchange.token_file import Format
from tootsie.tokenize.inspection import choose_documents
from tootsie.tokenize.ledger import EngineInfo, Ledger, Source, SourceFile, TokenCount, save_ledger
from tootsie.tokenize.origin import Origin, file_numbers, source_path
from tootsie.tokenize.shard_writer import shard_path, write_shard


def origins_of(cache: TokenCache) -> list[tuple[str, Origin | None]]:
    return [
        (batch.column("document_id")[row].as_py(), batch.origin(row))
        for number in range(len(cache.ledger.shards))
        for batch in cache.open_shard(number).batches
        for row in range(batch.documents)
    ]


@pytest.mark.parametrize("shards", [1, 5])
def test_every_document_is_where_its_cache_says(
    tmp_path: Path, make_jsonl: Callable[..., str], make_corpus: Callable[..., str], shards: int
) -> None:
    """With documents held out and empty ones left out, in files of two kinds."""
    records = [{"id": f"a-{n}", "text": "word " * (n % 4)} for n in range(40)]
    inputs = [
        make_jsonl(tmp_path / "a.jsonl", records),
        make_jsonl(tmp_path / "b.jsonl", [{"id": f"b-{n}", "text": "x"} for n in range(7)]),
        make_corpus(tmp_path / "corpus", [f"Text {n}" for n in range(30)]),
    ]
    settings = BuildSettings(validation_fraction=0.3, shards=shards)
    caches = build_caches(inputs, str(tmp_path / "out"), settings)
    seen = 0
    for cache in caches:
        files = [file.path for source in cache.ledger.sources for file in source.files]
        for name, origin in origins_of(cache):
            assert origin is not None
            corpus, *place, row = name.split("-")
            path = f"part-0000{place[0]}-of-00002.jsonl.zst" if place else f"{corpus}.jsonl"
            assert (files[origin.file], origin.row) == (path, int(row))
            seen += 1
    assert seen == 30 + 7 + 30


def test_conversations_and_imports_know_theirs(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    for name, count in (("a", 5), ("b", 9)):
        lines = [{"id": f"{name}-{n}", "messages": turns if n % 3 else turns[:1]} for n in range(count)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    inputs = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    (cache,) = build_chat_caches(
        inputs, str(tmp_path / "chat"), ChatSettings(row_tokens=64, template="tulu", shards=3)
    )
    assert sorted(origins_of(cache)) == sorted(
        (f"{name}-{n}", Origin(file, n))
        for file, (name, count) in enumerate((("a", 5), ("b", 9)))
        for n in range(count)
        if n % 3
    )
    export_tokens(cache, str(tmp_path / "files"), Format.PARQUET)
    again = import_tokens(
        [str(tmp_path / "files")], str(tmp_path / "again"), ImportSettings(Format.PARQUET, "tootsie-16k")
    )
    before = 0
    for number, entry in enumerate(cache.ledger.shards):
        part = origins_of(again)[before : before + entry.documents]
        assert [origin for _, origin in part] == [Origin(number, row) for row in range(entry.documents)]
        before += entry.documents
    (shown,) = choose_documents(cache, document="b-4", start=0, limit=1)
    assert shown.source == "chat: b.jsonl:4"
    assert shown.headline.endswith("; from chat: b.jsonl:4")


def test_numbers_count_through_the_sources() -> None:
    file = {"sha256": "0" * 64, "documents": 1}
    sources = [
        Source(
            manifest_sha256=None, source=name, files=tuple(SourceFile(path=path, **file) for path in paths)
        )
        for name, paths in (("one", ["a", "b"]), ("two", ["c"]))
    ]
    numbers: Any = file_numbers(["x/a", "x/b", "y/c", "x/a"])
    assert numbers == {"x/a": 0, "x/b": 1, "y/c": 2}
    assert source_path(sources, Origin(numbers["y/c"], 4)) == "two: c:4"
    assert source_path(sources, Origin(3, 4)) == "file 3:4"


@pytest.mark.parametrize("origin", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_an_origin_that_the_ledger_does_not_list_is_found(
    tmp_path: Path, make_identity: Callable[..., Any], origin: tuple[int, int]
) -> None:
    with write_shard(str(tmp_path), shard_path(0, 1), make_identity(), origins=True) as shard:
        shard.writer.append("a", np.array([1, 0], np.uint32), 1, origin=(0, 0))
        shard.writer.append("b", np.array([1, 0], np.uint32), 1, origin=origin)
    assert shard.entry is not None
    source = Source(
        manifest_sha256=None, source="s", files=(SourceFile(path="a", sha256="0" * 64, documents=1),)
    )
    counts = (TokenCount(token=1, documents=2),), (TokenCount(token=0, documents=2),)
    ledger = Ledger(
        name="toy", tokenizer=make_identity(), engine=EngineInfo(name="none", version="0"), sources=(source,), settings={},
        code_version="test", shards=(shard.entry,), documents=2, tokens=4, bytes=2,
        accounting=Accounting(read=2, written=2), first_tokens=counts[0], last_tokens=counts[1],
    )  # fmt: skip
    save_ledger(str(tmp_path), ledger)
    with pytest.raises(
        ArtefactError, match=rf"row 1: the ledger lists no row {origin[1]} of source file {origin[0]}"
    ):
        TokenCache.open(str(tmp_path)).verify()

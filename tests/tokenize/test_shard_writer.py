from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tootsie.tokenize import shard_writer
from tootsie.tokenize.shard_reader import ShardReader
from tootsie.tokenize.shard_writer import shard_path, shard_schema, write_shard
from tootsie.tokenize.verification import xxh3_128


@pytest.mark.parametrize(("size", "kind"), [(65_536, pa.uint16()), (65_537, pa.uint32())])
def test_ids_are_as_wide_as_the_vocabulary_needs(
    tmp_path: Path, make_identity: Callable[..., Any], size: int, kind: pa.DataType
) -> None:
    identity = make_identity(size)
    assert shard_schema(identity, "x").field("input_ids").type.value_type == kind
    with write_shard(str(tmp_path), shard_path(0, 1), identity) as shard:
        shard.writer.append("a", np.array([size - 1, 0], np.uint32), 1)
    assert shard.entry is not None
    (batch,) = ShardReader(str(tmp_path), shard.entry, identity).batches
    assert batch.ids.tolist() == [size - 1, 0]


def test_the_file_is_arrow_that_others_can_read(tmp_path: Path, make_identity: Callable[..., Any]) -> None:
    with write_shard(str(tmp_path), shard_path(3, 9), make_identity()) as shard:
        shard.writer.append("a", np.array([5, 0], np.uint32), 1)
        shard.writer.append("é", np.array([6, 7, 0], np.uint32), 2)
    path = tmp_path / "shards" / "00003-of-00009.arrow"
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.to_pydict() == {
        "input_ids": [[5, 0], [6, 7, 0]],
        "document_id": ["a", "é"],
        "byte_length": [1, 2],
    }
    assert table.schema.field("input_ids").type.equals(
        pa.large_list(pa.field("item", pa.uint16(), nullable=False))
    )
    assert shard.entry is not None
    assert (shard.entry.size, shard.entry.xxh3_128) == (path.stat().st_size, xxh3_128(str(path)))
    assert (shard.entry.documents, shard.entry.tokens, shard.entry.bytes) == (2, 5, 3)


def test_a_document_longer_than_a_batch_has_one_of_its_own(
    tmp_path: Path, make_identity: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_writer, "BATCH_TOKENS", 10)
    monkeypatch.setattr(shard_writer, "BATCH_DOCUMENTS", 3)
    sizes = [4, 4, 4, 25, 1, 1, 1, 1]
    with write_shard(str(tmp_path), shard_path(0, 1), make_identity()) as shard:
        for number, size in enumerate(sizes):
            shard.writer.append(str(number), np.arange(size, dtype=np.uint32), 1)
    assert shard.entry is not None
    reader = ShardReader(str(tmp_path), shard.entry, make_identity())
    assert [np.diff(batch.offsets).tolist() for batch in reader.batches] == [
        [4, 4],
        [4],
        [25],
        [1, 1, 1],
        [1],
    ]


def test_a_batch_is_bounded_by_the_bytes_of_names_too(
    tmp_path: Path, make_identity: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # 2,500 ids of a megabyte each would not fit into Arrow's strings, nor into memory.
    monkeypatch.setattr(shard_writer, "BATCH_NAMES", 100)
    names = [
        ("a" * 60, None),
        ("b" * 60, None),
        ("c", "u" * 90),
        ("é" * 10, None),
        ("d" * 500, None),
        ("e", None),
    ]
    with write_shard(str(tmp_path), shard_path(0, 1), make_identity(), urls=True) as shard:
        for name, url in names:
            shard.writer.append(name, np.array([5, 0], np.uint32), 1, url=url)
    assert shard.entry is not None
    batches = list(ShardReader(str(tmp_path), shard.entry, make_identity()).batches)
    assert [batch.documents for batch in batches] == [1, 1, 1, 1, 1, 1]
    assert [batch.column("document_id")[0].as_py() for batch in batches] == [name for name, _ in names]


def test_a_failed_write_leaves_nothing(tmp_path: Path, make_identity: Callable[..., Any]) -> None:
    def fail() -> None:
        with write_shard(str(tmp_path), shard_path(0, 1), make_identity()) as shard:
            shard.writer.append("a", np.array([5, 0], np.uint32), 1)
            raise KeyError("the reader failed")

    with pytest.raises(KeyError):
        fail()
    assert list((tmp_path / "shards").iterdir()) == []


def test_a_document_without_tokens_is_our_own_mistake(
    tmp_path: Path, make_identity: Callable[..., Any]
) -> None:
    with (
        pytest.raises(AssertionError, match="a document without tokens"),
        write_shard(str(tmp_path), shard_path(0, 1), make_identity()) as shard,
    ):
        shard.writer.append("a", np.array([], np.uint32), 0)


def test_urls_are_a_column_of_their_own(tmp_path: Path, make_identity: Callable[..., Any]) -> None:
    with write_shard(str(tmp_path), shard_path(0, 1), make_identity(), urls=True) as shard:
        shard.writer.append("a", np.array([5, 0], np.uint32), 1, url="https://example.org/é")
        shard.writer.append("b", np.array([6, 0], np.uint32), 1)
    assert shard.entry is not None
    (batch,) = ShardReader(str(tmp_path), shard.entry, make_identity()).batches
    assert [batch.url(row) for row in range(2)] == ["https://example.org/é", None]
    with (
        pytest.raises(AssertionError, match="no url"),
        write_shard(str(tmp_path), shard_path(0, 1), make_identity()) as shard,
    ):
        shard.writer.append("a", np.array([5, 0], np.uint32), 1, url="https://example.org")

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.ledger import ShardEntry
from tootsie.tokenize.shard_reader import ShardReader
from tootsie.tokenize.shard_writer import shard_path, shard_schema, write_shard


@pytest.fixture
def entry(tmp_path: Path, make_identity: Callable[..., Any]) -> ShardEntry:
    with write_shard(str(tmp_path), shard_path(0, 1), make_identity()) as shard:
        for number in range(4):
            shard.writer.append(str(number), np.array([number + 1, 0], np.uint32), 1)
    assert shard.entry is not None
    return shard.entry


def test_ids_are_views_of_the_mapped_file(
    tmp_path: Path, entry: ShardEntry, make_identity: Callable[..., Any]
) -> None:
    before = pa.total_allocated_bytes()
    (batch,) = ShardReader(str(tmp_path), entry, make_identity()).batches
    assert not batch.ids.flags.owndata
    assert not batch.ids.flags.writeable
    assert pa.total_allocated_bytes() == before


@pytest.mark.parametrize("content", [b"", b"ARROW1\0\0", b"x" * 4000])
def test_files_that_are_not_arrow(
    tmp_path: Path, entry: ShardEntry, make_identity: Callable[..., Any], content: bytes
) -> None:
    (tmp_path / entry.path).write_bytes(content)
    with pytest.raises(ArtefactError, match=r"00000-of-00001.arrow: not a readable Arrow file"):
        ShardReader(str(tmp_path), entry, make_identity())


def test_other_columns_are_refused(
    tmp_path: Path, entry: ShardEntry, make_identity: Callable[..., Any]
) -> None:
    schema = shard_schema(make_identity(), entry.path)
    for other, message in (
        (schema.remove(2), "the columns are not those of a token cache"),
        (schema.with_metadata({}), "format: another shard format"),
        (shard_schema(make_identity(70_000), entry.path), "the columns are not those of a token cache"),
    ):
        with pa.OSFile(str(tmp_path / entry.path), "w") as sink, pa.ipc.new_file(sink, other):
            pass
        with pytest.raises(ArtefactError, match=message):
            ShardReader(str(tmp_path), entry, make_identity())


def test_rows_find_their_batch(tmp_path: Path, entry: ShardEntry, make_identity: Callable[..., Any]) -> None:
    reader = ShardReader(str(tmp_path), entry, make_identity())
    assert reader.batch_of_row(3) is reader.batch(0)
    assert [(piece.start, piece.stop) for piece in reader.pieces(1, 5)] == [(1, 5)]
    assert list(reader.pieces(3, 3)) == []

"""Counting gives what reading gives."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError
from tootsie.datasets.readers.counting import Counts, count

TABLE = pyarrow.table({"input_ids": [[1, 2, 3], [], None, [4]], "n": [1, 2, 3, 4]})


def test_rows_and_tokens(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=3)
    with pyarrow.ipc.new_file(str(tmp_path / "a.arrow"), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=3)
    with pyarrow.ipc.new_stream(str(tmp_path / "b.arrow"), TABLE.schema) as writer:
        writer.write_table(TABLE)
    for name in ("a.parquet", "a.arrow", "b.arrow"):
        assert count(str(tmp_path / name), tokens=True) == Counts(4, 4), name
        assert count(str(tmp_path / name)) == Counts(4), name


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pyarrow.ipc.new_file(str(tmp_path / "a.arrow"), TABLE.drop_columns(["input_ids"]).schema) as writer:
        writer.write_table(TABLE.drop_columns(["input_ids"]))
    with pytest.raises(InputError, match=r"a\.arrow"):
        count(str(tmp_path / "a.arrow"), tokens=True)


def test_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(Document(id=str(n), text="ü" * n, source="s").to_json() + "\n" for n in range(4)))
    assert count(str(path), documents=True) == Counts(4, text_bytes=12)
    path.write_text('{"text": 1}\n')
    with pytest.raises(InputError, match="record 0"):
        count(str(path), documents=True)

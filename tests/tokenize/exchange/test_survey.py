from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tootsie.datasets.errors import InputError, SpecError, UserError
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.exchange.importing import ImportSettings, import_tokens
from tootsie.tokenize.exchange.token_file import Format

EOS = 16383


def parquet(path: Path, documents: Sequence[Sequence[int | None] | None], **columns: Any) -> str:
    table = pa.table({"input_ids": pa.array(documents, pa.list_(pa.int64())), **columns})
    pyarrow.parquet.write_table(table, path)
    return str(path)


def load(source: str, out: Path, **options: Any) -> TokenCache:
    chosen = {"format": Format.PARQUET, "tokenizer": "tootsie-16k", **options}
    return import_tokens([source], str(out), ImportSettings(**chosen))


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        (
            [[1, EOS], [2, 16384, EOS]],
            {},
            "row 1, token 1: tootsie-16k has no such id (its vocabulary has 16,384) (found 16384)",
        ),
        ([[1, EOS], [-1, EOS]], {}, "row 1, token 0: tootsie-16k has no such id"),
        ([[2**40, EOS]], {}, "row 0, token 0: tootsie-16k has no such id"),
        (
            [[1, EOS], [2, 3]],
            {},
            "--add-eos: 1 of 2 documents end with EOS 16383; most frequent: 16383 b'<|end_of_text|>' 1×, 3 b'\\x03' 1×",
        ),
        (
            [[1, EOS], [2, EOS]],
            {"add_eos": False},
            "--no-add-eos: 2 of 2 documents end with EOS 16383, the policy says",
        ),
        ([[1, EOS], None], {}, "row 1, input_ids: a null among the tokens"),
        ([[1, EOS], [None, EOS]], {}, "row 1, input_ids: a null among the tokens"),
        ([[]], {}, "the input holds no token"),
        ([[1, EOS]], {"shards": 0}, "--shards: must be at least 1"),
        ([[1, EOS]], {"dtype": "int8"}, "--dtype: no such width"),
        ([[1, EOS]], {"tokenizer": "lama3"}, "no such tokenizer"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    tmp_path: Path, documents: Any, options: dict[str, Any], message: str
) -> None:
    source = parquet(tmp_path / "in.parquet", documents)
    with pytest.raises(UserError) as caught:
        load(source, tmp_path / "out", **options)
    assert message in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_missing_eos_is_added_where_that_is_asked_for(tmp_path: Path, listed: Any) -> None:
    source = parquet(tmp_path / "in.parquet", [[1, EOS], [2, 3], []])
    cache = load(source, tmp_path / "out", complete=True)
    assert listed(cache) == [[1, EOS], [2, 3, EOS]]
    assert cache.ledger.counters == {"eos_added": 1}
    assert cache.ledger.accounting.dropped == {"no_tokens": 1}
    assert [document.document_id for document in cache.iterate()] == ["in.parquet:0", "in.parquet:1"]


def test_a_policy_without_eos_is_kept(tmp_path: Path, listed: Any) -> None:
    cache = load(parquet(tmp_path / "in.parquet", [[1, 2], [2, 3]]), tmp_path / "out", add_eos=False)
    assert listed(cache) == [[1, 2], [2, 3]]
    assert not cache.ledger.tokenizer.add_eos


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("loss_mask", [[0, 1, 0], [0, 0]], [0, 1, 0, 0, 0]),
        ("assistant_masks", [[0, 1, 1], [1, 0]], [0, 1, 1, 1, 0]),
        ("labels", [[-100, 2, EOS], [-100, -100]], [0, 1, 1, 0, 0]),
    ],
)
def test_columns_that_say_which_tokens_carry_loss(
    tmp_path: Path, name: str, values: Any, expected: list[int]
) -> None:
    source = parquet(tmp_path / "in.parquet", [[1, 2, EOS], [3, EOS]], **{name: values})
    cache = load(source, tmp_path / "out")
    assert cache.window(0, 5).loss_mask.astype(int).tolist() == expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"tokens": [[1]]}, "input_ids: no column input_ids; there are tokens"),
        ({"input_ids": [1, 2]}, "input_ids: a column of lists of integers is needed (found 'int64')"),
        ({"input_ids": [[0.5]]}, "input_ids: a column of lists of integers is needed"),
        ({"input_ids": [[1, EOS]], "labels": [[1]]}, "row 0, labels: 1 values for 2 tokens"),
    ],
)
def test_other_columns_are_named(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "in.parquet")
    with pytest.raises(InputError) as caught:
        load(str(tmp_path / "in.parquet"), tmp_path / "out")
    assert message in str(caught.value)


def test_row_groups_are_read_from_any_row_on(tmp_path: Path) -> None:
    from tootsie.tokenize.exchange.columns import ColumnFile

    documents = [[number, number + 1] for number in range(1000)]
    table = pa.table({"input_ids": documents})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=300)
    with pa.ipc.new_stream(tmp_path / "b.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=300)
    with pa.ipc.new_file(tmp_path / "c.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=300)
    for name in ("a.parquet", "b.arrow", "c.arrow"):
        opened = ColumnFile(str(tmp_path / name))
        for first, stop in [(0, None), (299, 301), (650, 900), (999, 1000), (5, 5)]:
            assert [d.ids.tolist() for d in opened.documents(first, stop)] == documents[first:stop]


@pytest.mark.parametrize("name", ["a.parquet", "b.arrow"])
def test_damaged_columns_are_user_errors(tmp_path: Path, name: str) -> None:
    table = pa.table({"input_ids": [list(np.arange(50)) + [EOS]] * 40})
    path = tmp_path / name
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    content = path.read_bytes()
    for cut in range(0, len(content), max(1, len(content) // 25)):
        path.write_bytes(content[:cut])
        with pytest.raises(UserError):
            load(str(path), tmp_path / "out")


def test_options_are_refused_where_they_mean_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file named \*\.parquet or \*\.arrow"):
        load(str(tmp_path), tmp_path / "out")
    with pytest.raises(SpecError):
        load(parquet(tmp_path / "in.parquet", [[1, EOS]]), tmp_path / "out", add_bos=True)

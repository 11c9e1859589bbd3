"""Levanter's caches, written and read by TensorStore alone, as their format says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore as ts

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError, UserError
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.exchange.exporting import export_tokens
from tootsie.tokenize.exchange.importing import ImportSettings, import_tokens
from tootsie.tokenize.exchange.levanter import find_levanter, place
from tootsie.tokenize.exchange.token_file import Format
from tootsie.tokenize.identity import TokenizerIdentity

ROWS = [[5, 6, 7, 16383], [16383], [0, 1, 16000, 2, 16383], [*range(300), 16383]]
SETTINGS = ImportSettings(format=Format.LEVANTER, tokenizer="tootsie-16k")
METADATA = {
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**27]}},
    "codecs": [
        {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [2**18],
                "codecs": [{"name": "blosc", "configuration": {"clevel": 5}}],
            },
        }
    ],
}


def opened(folder: Path, dtype: str | None = None) -> Any:
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{folder}/"}}
    if dtype is None:
        return ts.open(spec).result()
    return ts.open(spec | {"metadata": METADATA}, dtype=dtype, shape=[2**54], create=True).result()


def write_leaf(store: Path, name: str, rows: list[list[int]], dtype: str = "int32") -> None:
    """As Levanter does: data, ends, and the number of rows last."""
    flat, ends = [value for row in rows for value in row], np.cumsum([len(row) for row in rows])
    data, offsets = opened(store / name / "data", dtype), opened(store / name / "offsets", "int64")
    if rows:
        data[: len(flat)].write(np.array(flat, dtype)).result()
        offsets[1 : len(rows) + 1].write(ends).result()
        offsets[0].write(len(rows)).result()


def ledger_of(rows: dict[str, int], **fields: Any) -> str:
    ledger = {
        "total_num_rows": sum(rows.values()),
        "shard_rows": rows,
        "is_finished": True,
        "finished_shards": [*rows],
        "field_counts": {},
        "metadata": {"preprocessor_metadata": None},
    }
    return json.dumps(ledger | fields)


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    store = tmp_path / "foreign"
    write_leaf(store, "input_ids", ROWS)
    (store / "shard_ledger.json").write_text(ledger_of({"": len(ROWS)}))
    return store


def taken(folder: Path, to: Path) -> TokenCache:
    cache = import_tokens([str(folder)], str(to), SETTINGS)
    cache.verify()
    return cache


def test_tensorstore_alone_reads_what_is_exported(
    supervised_cache: TokenCache, small_cache: TokenCache, tmp_path: Path, listed: Any
) -> None:
    out = tmp_path / "out"
    export_tokens(small_cache, str(out), Format.LEVANTER)
    export_tokens(supervised_cache, str(tmp_path / "masks"), Format.LEVANTER)
    offsets, data = opened(out / "input_ids" / "offsets"), opened(out / "input_ids" / "data")
    (rows,) = offsets[:1].read().result().tolist()
    ends = [0, *offsets[1 : rows + 1].read().result().tolist()]
    found = [data[start:end].read().result().tolist() for start, end in itertools.pairwise(ends)]
    assert found == listed(small_cache)
    assert (data.dtype, offsets.dtype, data.shape, offsets.shape) == (ts.int32, ts.int64, (2**54,), (2**54,))
    layout = data.chunk_layout
    assert (layout.write_chunk.shape, layout.read_chunk.shape) == ((2**27,), (2**18,))
    ledger = json.loads((out / "shard_ledger.json").read_text())
    assert (ledger["total_num_rows"], ledger["is_finished"], ledger["shard_rows"]) == (5, True, {"": 5})
    assert ledger["field_counts"] == {"input_ids": small_cache.tokens}
    masks = opened(tmp_path / "masks" / "assistant_masks" / "data")[:9].read().result()
    assert masks.tolist() == [0, 1, 1, 0, 0, 0, 1, 0, 1]


def test_a_cache_of_somebody_else_is_never_overwritten(
    small_cache: TokenCache, foreign: Path, tmp_path: Path, listed: Any
) -> None:
    with pytest.raises(UserError, match=r"shard_ledger.json: the folder holds a cache of Levanter's"):
        export_tokens(small_cache, str(foreign), Format.LEVANTER)
    assert listed(taken(foreign, tmp_path / "in")) == ROWS


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint16"])
def test_what_levanter_writes_is_read(dtype: str, tmp_path: Path, listed: Any) -> None:
    write_leaf(tmp_path / "one" / "train", "input_ids", ROWS, dtype)
    (tmp_path / "one" / "train" / "shard_ledger.json").write_text(ledger_of({"a": 3, "b": 1}))
    assert listed(taken(tmp_path / "one" / "train", tmp_path / "in")) == ROWS
    with pytest.raises(InputError, match=r"no shard_ledger.json.*name one: train"):
        find_levanter([str(tmp_path / "one")])


def test_the_layout_of_many_stores_is_read_in_the_order_of_the_ledger(tmp_path: Path, listed: Any) -> None:
    folder = tmp_path / "sharded"
    write_leaf(folder / "b", "input_ids", ROWS[:3])
    write_leaf(folder / "z", "input_ids", [])
    write_leaf(folder / "a" / "deep", "input_ids", ROWS[3:])
    write_leaf(folder / "b" / "left-over", "input_ids", ROWS)  # as builds leave them
    sizes = {"b": {"input_ids": sum(map(len, ROWS[:3]))}, "a/deep": {"input_ids": 301}}
    rows = {"b": 3, "z": 0, "a/deep": 1}
    ledger = ledger_of(rows, layout="sharded", field_counts_by_shard=sizes, field_counts={"input_ids": 311})
    (folder / "shard_ledger.json").write_text(ledger)
    assert listed(taken(folder, tmp_path / "in")) == ROWS


def test_rows_longer_than_what_is_read_at_a_time(
    tmp_path: Path, make_cache: Callable[..., str], make_identity: Callable[..., TokenizerIdentity],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for module, name, value in (
        ("levanter_writer", "CHUNK", 8), ("levanter_writer", "FILE", 32), ("levanter_writer", "PART", 16),
        ("levanter", "WINDOW", 16), ("levanter", "ROWS", 2),
    ):  # fmt: skip
        monkeypatch.setattr(f"tootsie.tokenize.exchange.{module}.{name}", value)
    lengths = [1, 7, 8, 1, 70, 16, 3]
    rows = [(f"{n}", [*range(1, length), 0], length, None) for n, length in enumerate(lengths)]
    made = TokenCache.open(make_cache(str(tmp_path / "c"), [rows[:3], rows[3:]], make_identity(100)))
    record = export_tokens(made, str(tmp_path / "out"), Format.LEVANTER)
    assert [file.path for file in record.files if "data/c/" in file.path] == [
        f"input_ids/data/c/{number}" for number in range(4)
    ]
    (store,) = find_levanter([str(tmp_path / "out")])
    expected = [row[1] for row in rows]
    assert [document.ids.tolist() for document in store.documents()] == expected
    for first in range(8):
        for stop in range(first, 8):
            assert [d.ids.tolist() for d in store.documents(first, stop)] == expected[first:stop]


def test_a_field_without_which_the_loss_is_not_known_is_refused(foreign: Path) -> None:
    write_leaf(foreign, "sources_len", [[1]] * 4)
    with pytest.raises(InputError, match=r"sources_len: a field beside input_ids that cannot be imported"):
        find_levanter([str(foreign)])


def test_masks_that_do_not_fit_are_refused(foreign: Path) -> None:
    write_leaf(foreign, "assistant_masks", [*ROWS[:2], ROWS[3], ROWS[2]])
    (store,) = find_levanter([str(foreign)])
    with pytest.raises(InputError, match=r"row 2, assistant_masks: 301 values for 5 tokens"):
        list(store.documents())


def unfinished(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"": 4}, is_finished=False))


def other_rows(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"": 3}))


def other_tokens(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"": 4}, field_counts={"input_ids": 310}))


def no_ledger_of_theirs(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text('["total_num_rows"]')


def no_shards_rows(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"": 4}, layout="sharded", finished_shards=["x"]))


def outside(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"../foreign": 4}, layout="sharded"))


def twice(folder: Path) -> None:
    shards = {"layout": "sharded", "finished_shards": ["a", "a"], "total_num_rows": 8}
    (folder / "shard_ledger.json").write_text(ledger_of({"a": 4}, **shards))


def no_number(folder: Path) -> None:
    rows = {"shard_rows": {"": "4"}, "finished_shards": [""], "total_num_rows": 4}
    (folder / "shard_ledger.json").write_text(ledger_of({}, layout="sharded", **rows))


def endless_rows(folder: Path) -> None:
    opened(folder / "input_ids" / "offsets")[0].write(2**53).result()


def endless_tokens(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"": 4}))
    opened(folder / "input_ids" / "offsets")[4].write(2**53).result()


def negative_rows(folder: Path) -> None:
    opened(folder / "input_ids" / "offsets")[0].write(-1).result()


def lost_store(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"gone": 4}, layout="sharded"))


def hidden_rows(folder: Path) -> None:
    (folder / "shard_ledger.json").write_text(ledger_of({"": 0}))


def lost_data(folder: Path) -> None:
    (folder / "input_ids" / "data" / "c" / "0").unlink()


def lost_offsets(folder: Path) -> None:
    (folder / "input_ids" / "offsets" / "c" / "0").unlink()


def lost_description(folder: Path) -> None:
    (folder / "input_ids" / "data" / "zarr.json").unlink()


def cut_data(folder: Path) -> None:
    path = folder / "input_ids" / "data" / "c" / "0"
    path.write_bytes(path.read_bytes()[:-20])


def wrong_ends(folder: Path) -> None:
    opened(folder / "input_ids" / "offsets")[2].write(2).result()


def no_integers(folder: Path) -> None:
    path = folder / "input_ids" / "data" / "zarr.json"
    path.write_text(path.read_text().replace('"int32"', '"float32"'))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (unfinished, "the cache is not finished"),
        (other_rows, "total_num_rows: the arrays have 4"),
        (other_tokens, "field_counts.input_ids: the arrays have 311"),
        (no_ledger_of_theirs, "not a ledger of Levanter's"),
        (no_shards_rows, "not a ledger of Levanter's"),
        (outside, "a shard lies outside the folder"),
        (twice, "a shard stands there twice"),
        (no_number, "not a ledger of Levanter's"),
        (endless_rows, "offsets/c/1: the ledger lists .* a file of them is missing"),
        (endless_tokens, "data/c/1: the ledger lists .* a file of them is missing"),
        (negative_rows, "no number of rows"),
        (lost_store, "the ledger lists a store that is missing"),
        (hidden_rows, "total_num_rows: the arrays have 4"),
        (lost_data, "data/c/0: the ledger lists 311 elements, a file of them is missing"),
        (lost_offsets, "offsets/c/0: the ledger lists 1 elements, a file of them is missing"),
        (lost_description, "the store has no such array"),
        (cut_data, "an array is damaged"),
        (wrong_ends, r"offsets\[2\].*the ends of rows do not ascend"),
        (no_integers, "numbers in one row are needed"),
    ],
)
def test_a_damaged_cache_is_refused(
    fault: Callable[[Path], None], message: str, foreign: Path, tmp_path: Path
) -> None:
    fault(foreign)
    with pytest.raises(UserError, match=message):
        import_tokens([str(foreign)], str(tmp_path / "in"), SETTINGS)
    assert not (tmp_path / "in").exists()


def test_a_chunk_that_was_never_written_is_no_text(tmp_path: Path) -> None:
    store = tmp_path / "sparse"
    ids = opened(store / "input_ids" / "data", "int32")
    ids[2**18 - 1 : 2**18].write(np.array([7], np.int32)).result()
    ids[2**19 : 2**19 + 1].write(np.array([7], np.int32)).result()
    offsets = opened(store / "input_ids" / "offsets", "int64")
    offsets[:2].write(np.array([1, 2**19 + 1])).result()
    (store / "shard_ledger.json").write_text(ledger_of({"": 1}))
    (found,) = find_levanter([str(store)])
    with pytest.raises(InputError, match=r"data\[262144\]: a chunk was never written: all its ids are 0"):
        list(found.documents())


@pytest.mark.parametrize(("url", "driver"), [("gs://bucket/a/b", "gcs"), ("s3://bucket/a/b", "s3")])
def test_tensorstore_is_told_where_object_stores_are(
    url: str, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "local_path", lambda url: None)  # fsspec's packages for them may be absent
    found = ts.KvStore.Spec(place(url, "input_ids", "data")).to_json()
    assert {key: found[key] for key in ("driver", "bucket", "path")} == {
        "driver": driver, "bucket": "bucket", "path": "a/b/input_ids/data/",
    }  # fmt: skip


def test_where_tensorstore_does_not_reach(small_cache: TokenCache) -> None:
    with pytest.raises(SpecError, match=r"local disks, gs:// and s3:// \(found 'memory'\)"):
        export_tokens(small_cache, "memory://levanter-out", Format.LEVANTER)

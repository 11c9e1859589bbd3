"""The shards of a ledger as columns: what a list of entries would be."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from tootsie.datasets.accounting import Accounting
from tootsie.datasets.provenance import fingerprint
from tootsie.tokenize.ledger import HASHED_SHARDS, EngineInfo, Ledger
from tootsie.tokenize.shard_table import LARGEST, ShardEntry, Shards, ShardTable

NUMBER, CHECKSUM = st.integers(0, LARGEST), st.text("0123456789abcdef", min_size=32, max_size=32)
ENTRIES = st.lists(
    st.builds(
        ShardEntry,
        path=st.text(st.characters(codec="utf-8")),
        documents=NUMBER,
        tokens=NUMBER,
        bytes=NUMBER,
        size=st.integers(1, LARGEST),
        xxh3_128=CHECKSUM,
        body=NUMBER,
        trailer_xxh3_128=CHECKSUM,
    ),
    max_size=5,
)


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    shards: Shards


def entry(number: int, **changes: Any) -> ShardEntry:
    fields = {"path": f"shards/{number}", "documents": 1, "tokens": 2, "bytes": 3, "size": 9, "body": 4}
    return ShardEntry(**{**fields, "xxh3_128": "0" * 32, "trailer_xxh3_128": f"{number:032x}", **changes})


@given(ENTRIES)
def test_it_is_the_list_of_its_entries(entries: list[ShardEntry]) -> None:
    table = ShardTable(entries)
    assert [*table] == entries
    assert len(table) == len(entries)
    assert [*table.paths] == [one.path for one in entries]
    assert table.column("size").tolist() == [one.size for one in entries]
    assert table.total("tokens") == sum(one.tokens for one in entries)
    assert table[1:] == tuple(entries[1:])
    for same in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), ShardTable(table)):
        assert same == table
        assert hash(same) == hash(table)
    listed = [one.model_dump(mode="json") for one in entries]
    assert Model(shards=table).model_dump(mode="json") == {"shards": listed}
    text = Model(shards=tuple(entries)).model_dump_json()
    assert Model.model_validate_json(text).shards == table
    if entries:
        assert table[-1] == entries[-1]
        assert ShardTable(entries[:-1]) != table


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"documents": -1}, ("shards", 1, "documents")),
        ({"tokens": LARGEST + 1}, ("shards", 1, "tokens")),
        ({"size": 1.5}, ("shards", 1, "size")),
        ({"xxh3_128": "0" * 31}, ("shards", 1, "xxh3_128")),
        ({"sise": 1}, ("shards", 1, "sise")),
    ],
)
def test_an_error_names_the_shard_and_the_field(changes: dict[str, Any], place: tuple[Any, ...]) -> None:
    rows = [entry(number).model_dump() for number in range(3)]
    rows[1] |= changes
    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"shards": rows})
    assert caught.value.errors()[0]["loc"] == place


@pytest.mark.parametrize("count", [0, 1, HASHED_SHARDS, HASHED_SHARDS + 1])
def test_the_hash_is_that_of_the_whole_ledger(count: int, make_identity: Any) -> None:
    ledger = Ledger(
        name="ä", tokenizer=make_identity(300), engine=EngineInfo(name="none", version="0"), sources=(), settings={"x": 1},
        code_version="1", shards=[entry(number) for number in range(count)], documents=count, tokens=2 * count,
        bytes=3 * count, accounting=Accounting(read=count, written=count),
    )  # fmt: skip
    assert ledger.content_hash() == fingerprint(ledger.model_dump(mode="json", exclude={"hash"}))

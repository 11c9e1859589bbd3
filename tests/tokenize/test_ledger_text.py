"""The parser of ledgers reads what ``json`` reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tootsie.tokenize.ledger_text import parse_ledger
from tootsie.tokenize.shard_table import ShardTable

ENTRY = {
    "path": "shards/0", "documents": 1, "tokens": 2, "bytes": 3, "size": 9, "xxh3_128": "0" * 32, "body": 4,
    "trailer_xxh3_128": "1" * 32,
}  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=9,
)


@given(
    fields=st.dictionaries(st.text(), VALUES, max_size=4),
    shards=st.none() | st.integers(0, 3),
    indent=st.sampled_from([None, 0, 3]),
    separators=st.sampled_from([(",", ":"), (" ,\r\n", "\t: ")]),
)
def test_it_reads_what_json_reads(
    fields: dict[str, Any], shards: int | None, indent: int | None, separators: tuple[str, str]
) -> None:
    fields.pop("shards", None)
    if shards is not None:
        fields = (
            {"shards": [ENTRY] * shards, **fields} if shards % 2 else {**fields, "shards": [ENTRY] * shards}
        )
    text = json.dumps(fields, indent=indent, separators=separators)
    found = parse_ledger(f"\n{text} \n".encode())
    if shards is not None:
        table = found["shards"]
        assert isinstance(table, ShardTable)
        found["shards"] = [entry.model_dump() for entry in table]
    assert found == fields
    assert [*found] == [*fields]


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "[]", "3", "{", "{}x", "{}{}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1 "b":2}', "{1:2}", "{'a':1}", '{"a":1',
        '{"shards":[', '{"shards":[}', '{"shards":[1,]}', '{"shards":[] ,', '{"shards":[]]}', "\ufeff{}", '{"a":"\n"}',
        '{"shards":' + "[" * 100_000, '{"a":' + "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_json_object_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_ledger(text.encode())
    with pytest.raises(ValueError, match=r"."):
        parse_ledger(text.encode() + b"\xff")


def test_the_number_of_a_shard_that_is_not_valid_is_named() -> None:
    rows = [ENTRY, ENTRY, {**ENTRY, "tokens": -1}]
    with pytest.raises(ValidationError) as caught:
        parse_ledger(json.dumps({"shards": rows}).encode())
    assert caught.value.errors()[0]["loc"] == (2, "tokens")
    assert parse_ledger(b'{"shards": 7}') == {"shards": 7}

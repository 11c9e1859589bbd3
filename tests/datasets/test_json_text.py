"""Readable JSON, and parsing of anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.datasets.json_text import parse_json, readable_json

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
LIKE_A_LIST = st.sampled_from(["[\n 1,\n 2\n]", "[1, 2]", "[\n1\n]"])
VALUES = st.recursive(
    SCALARS | LIKE_A_LIST,
    lambda inner: (
        st.lists(inner)
        | st.lists(st.integers() | st.floats(allow_nan=False))
        | st.dictionaries(st.text(), inner)
    ),
)


@given(VALUES)
def test_it_is_the_same_value_and_only_white_space_differs(value: Any) -> None:
    content = readable_json(value)
    assert parse_json(content) == json.loads(json.dumps(value))
    plain = json.dumps(value, indent=1, ensure_ascii=False)
    assert "".join(content.decode().split()) == "".join(plain.split())


def test_lists_of_numbers_stand_on_one_line_and_others_do_not() -> None:
    value = {
        "ids": [1, -2, 3.5, 1e-9],
        "names": ["a", "b"],
        "mixed": [1, None],
        "empty": [],
        "pairs": [[1, 2], [3]],
    }
    assert readable_json(value).decode() == (
        '{\n "ids": [1, -2, 3.5, 1e-09],\n "names": [\n  "a",\n  "b"\n ],\n "mixed": [\n  1,\n  null\n ],\n'
        ' "empty": [],\n "pairs": [\n  [1, 2],\n  [3]\n ]\n}\n'
    )


@pytest.mark.parametrize(
    "content", [b"", b"[" * 100_000, b"\xff\xfe\x00", b'"\xff"', b"9" * 5000, b"{'a': 1}"]
)
def test_every_fault_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_json(content)

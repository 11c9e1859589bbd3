"""A document as one line of JSON, for parsers that take JSON at its word."""

from __future__ import annotations

import json

import pytest

from tootsie.datasets.document import Document

NUMBERS = {"score": float("nan"), "rows": [{"most": float("inf")}, 1.5], "title": "NaN"}


def test_numbers_that_json_does_not_have_are_null() -> None:
    line = Document(id="a", text="t", source="s", metadata=NUMBERS).to_json()

    def refuse(name: str) -> None:
        pytest.fail(f"{name} is no JSON")

    found = json.loads(line, parse_constant=refuse)
    assert found["metadata"] == {"score": None, "rows": [{"most": None}, 1.5], "title": "NaN"}

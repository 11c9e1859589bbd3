"""What is wrong in a spec is told with file, line, key, value and a way out."""

from __future__ import annotations

from typing import Any

import pytest

from tootsie.curate.datashop.spec import read_spec
from tootsie.datasets.errors import SpecError

SHOT = {"text": "One. Two.", "question": "q?", "answer": "Three."}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"name": "a/b"}, r"name: a name has letters, digits and _ \. \+ - only \(found 'a/b'\)\. Rename it"),
        (
            {"subjects": [{"name": "s", "description": " "}]},
            r"subjects\[0\]\.description: a text without a word",
        ),
        (
            {"model": {"url": "localhost:8000"}},
            r"model\.url: the base URL .*such as http://localhost:8000/v1",
        ),
        ({"model": {"url": "http://:password@h/v1"}}, r"model\.url: the base URL .*\*\*\*@h"),
        ({"model": {"url": "http://h:99999/v1"}}, r"model\.url: Port out of range"),
        (
            {"model": {"tokens_per_minute": 1e-323}},
            r"model\.tokens_per_minute: .*Write 1.0 or a number above",
        ),
        ({"filter": {"keep": True}}, r"filter\.keep: true and false are no value of this key"),
        ({"model": {"url": "http://h/v1/chat/completions"}}, r"model\.url: the base URL ends before /chat"),
        (
            {"scorer": {"encoder": {"url": "http://h/v1/embeddings"}}},
            r"scorer\.encoder\.url: the base URL ends before /embeddings",
        ),
        ({"model": {"key_variable": "A B"}}, r"model\.key_variable: .*letters, digits and _ only"),
        ({"model": {"timeout": float("inf")}}, r"model\.timeout: .*Write a finite number"),
        ({"model": {"seed": 2**31}}, r"model\.seed: .*Write 2147483647 or a number below it"),
        (
            {"check": {"min_question_characters": 601}},
            "check: min_question_characters 601 is above max_question",
        ),
        ({"filter": {}}, "filter: the filter needs either 'keep' or 'threshold'"),
        ({"rephrase": {"tries": 2}}, "'tries' and 'shots' need 'protocol: two-step'"),
        ({"rephrase": {"answers": "quoted"}}, "need 'protocol: two-step'"),
        ({"rephrase": {"protocol": "two-step", "styles": ["choice"]}}, "two-step' has the style 'qa' only"),
        ({"rephrase": {"protocol": "two-step", "tries": 2, "temperature": 0}}, "each try says the same"),
        (
            {"rephrase": {"protocol": "two-step", "answers": "quoted", "shots": [SHOT]}},
            "the answer 'Three.' of a shot is no sentence of its text",
        ),
        ({"rubric": "additive"}, "unknown key 'rubric'. Known: annotate, check"),
    ],
)
def test_a_wrong_value_is_told(write_spec: Any, keys: dict[str, Any], message: str) -> None:
    path = write_spec("x.jsonl", "http://localhost:1/v1", **keys)
    with pytest.raises(SpecError, match=message) as caught:
        read_spec(path)
    assert str(caught.value).startswith(f"{path}:1: ")

"""Sets from documents and from folders in Paloma's layout; averages over tags."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tootsie.datasets.errors import InputError
from tootsie.train.evaluate import Score
from tootsie.train.evaluation_sets import EvaluationSet, averages, encode, open_texts, with_parents


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


@pytest.fixture
def paloma(tmp_path: Path) -> Path:
    """Two sources; one has two domains, in two files, and a split that is not looked at."""
    folder = tmp_path / "paloma"
    write(folder / "c4_en" / "val" / "val_00.jsonl.gz", [{"text": "one"}, {"text": "two "}])
    write(
        folder / "reddit" / "val" / "a.jsonl.gz",
        [{"text": "x", "subdomain": "jokes"}, {"text": "y", "subdomain": "news"}],
    )
    write(folder / "reddit" / "val" / "b.jsonl.gz", [{"text": "z", "subdomain": "jokes"}])
    write(folder / "reddit" / "test" / "a.jsonl.gz", [{"text": "never", "subdomain": "jokes"}])
    return folder


def opened(**given: Any) -> dict[str, tuple[tuple[str, ...], list[str]]]:
    return {one.name: (one.tags, list(one.texts)) for one in open_texts("paloma", EvaluationSet(**given))}


def test_each_source_is_a_set(paloma: Path) -> None:
    assert opened(paloma=str(paloma), tags=["english"]) == {
        "paloma/c4_en": (("english", "paloma/c4_en"), ["one", "two "]),
        "paloma/reddit": (("english", "paloma/reddit"), ["x", "y", "z"]),
    }


def test_each_subdomain_is_a_set(paloma: Path) -> None:
    found = opened(paloma=str(paloma), by="subdomain")
    assert {name: texts for name, (_, texts) in found.items()} == {
        "paloma/c4_en/c4_en": ["one", "two "], "paloma/reddit/jokes": ["x", "z"], "paloma/reddit/news": ["y"]
    }  # fmt: skip
    assert found["paloma/reddit/jokes"][0] == ("paloma/reddit",)


def test_documents_of_any_format(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": {"text": "one"}}\n')
    (tmp_path / "b.json").write_text('[{"body": {"text": "two"}}]')
    assert opened(documents=f"{tmp_path}/*.json*", text="body.text") == {"paloma": ((), ["one", "two"])}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"documents": "nowhere/*.jsonl"}, "no such|no file"),
        ({"paloma": "nowhere"}, "no such|no file"),
    ],
)
def test_nothing_there_is_an_error(tmp_path: Path, given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(**{key: str(tmp_path / value) for key, value in given.items()})


def test_a_record_without_a_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"content": "two"}\n')
    with pytest.raises(InputError, match=r"a\.jsonl"):
        opened(documents=str(tmp_path / "a.jsonl"))


def test_one_place_only() -> None:
    with pytest.raises(ValidationError, match="give one of cache, documents and paloma, not 2"):
        EvaluationSet(cache="a", paloma="b")
    assert EvaluationSet(documents="x/*.jsonl").resolved("/runs").documents == "/runs/x/*.jsonl"


def test_encoding_counts_bytes_and_leaves_out_empty_texts() -> None:
    found = list(encode(["é", "", "ab"], lambda text: np.array([ord(c) for c in text] + [0])))
    assert [(one.input_ids.tolist(), one.byte_length) for one in found] == [([233, 0], 2), ([97, 98, 0], 2)]


def test_tags_have_their_parents() -> None:
    assert with_parents(["paloma/c4", "web"]) == ("paloma", "paloma/c4", "web", "all")


def test_macro_is_a_mean_of_sets_and_micro_all_bits_by_all_bytes() -> None:
    small, large = (
        Score(loss, loss * tokens / math.log(2) / size, tokens, size)
        for loss, tokens, size in ((4.0, 10, 20), (2.0, 1000, 5000))
    )
    tags = {"a": with_parents(["p/x"]), "b": with_parents(["p/y"])}
    found = averages({"a": small, "b": large}, tags)
    assert list(found) == ["p", "all"], "a tag of one set is that set"
    assert found["p"]["macro_loss"] == pytest.approx(3.0)
    assert found["p"]["micro_loss"] == pytest.approx(2040 / 1010)
    assert found["p"]["micro_bits_per_byte"] == pytest.approx(2040 / math.log(2) / 5020)
    assert found["p"] == found["all"]

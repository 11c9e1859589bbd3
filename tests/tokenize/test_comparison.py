from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.comparison import compare
from tootsie.tokenize.look import diff_command

A = ("a", [1, 2, 0], 5, None)
B = ("b", [3, 0], 2, None)
C = ("c", [4, 4, 0], 3, None)


def test_added_removed_and_changed(tmp_path: Path, make_cache: Callable[..., Any]) -> None:
    one = TokenCache.open(make_cache(str(tmp_path / "one"), [[A, B], [C]]))
    two = TokenCache.open(
        make_cache(str(tmp_path / "two"), [[("b", [3, 7, 0], 2, None), ("d", [1, 0], 1, None)], [C]])
    )
    found = compare(one, two)
    assert (found.added, found.removed, found.changed, found.same) == (["d"], ["a"], ["b"], 1)
    assert found.counts == {"added": 1, "removed": 1, "changed": 1}
    assert found.other_shards == ["shards/00000-of-00002.arrow"]
    assert (found.same_shards, found.fields, found.equal) == (1, [], False)
    assert compare(one, one).equal
    assert json.loads(json.dumps(compare(two, one, limit=0).to_json()))["counts"] == found.counts


def test_documents_in_other_shards_are_the_same_documents(
    tmp_path: Path, make_cache: Callable[..., Any]
) -> None:
    one = TokenCache.open(make_cache(str(tmp_path / "one"), [[A, B], [C]]))
    two = TokenCache.open(make_cache(str(tmp_path / "two"), [[C], [B], [A]]))
    found = compare(one, two)
    assert found.same == 3
    assert not any(found.counts.values())
    assert len(found.other_shards) == 5


def test_bytes_and_loss_are_compared_too(tmp_path: Path, make_cache: Callable[..., Any]) -> None:
    plain = TokenCache.open(make_cache(str(tmp_path / "plain"), [[A, B, C]]))
    whole = TokenCache.open(
        make_cache(str(tmp_path / "whole"), [[("a", [1, 2, 0], 5, [(0, 3)]), B, C]], loss_spans=True)
    )
    part = TokenCache.open(
        make_cache(
            str(tmp_path / "part"),
            [[("a", [1, 2, 0], 5, [(0, 2)]), ("b", [3, 0], 9, None), C]],
            loss_spans=True,
        )
    )
    assert compare(plain, whole).changed == []
    assert compare(plain, part).changed == ["a", "b"]


def test_another_tokenizer_is_told_field_by_field(
    tmp_path: Path, make_cache: Callable[..., Any], make_identity: Callable[..., Any], capsys: Any
) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    make_cache(one, [[("a", [1, 2, 0], 5, None)]], make_identity(100))
    make_cache(two, [[("a", [1, 2, 0], 5, None)]], make_identity(200, add_bos=True))
    found = compare(TokenCache.open(one), TokenCache.open(two))
    assert ("tokenizer.vocabulary_size", 100, 200) in found.fields
    assert ("tokenizer.add_bos", False, True) in found.fields
    diff_command(one, two)
    assert "tokenizer.add_bos: False → True" in capsys.readouterr().out
    diff_command(one, one, as_json=True)
    assert json.loads(capsys.readouterr().out)["equal"] is True


DOCUMENTS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=8)


@settings(max_examples=40)
@given(DOCUMENTS, DOCUMENTS)
def test_counts_are_those_of_matching_one_by_one(
    tmp_path_factory: Any,
    make_cache: Callable[..., Any],
    one: list[tuple[str, int]],
    two: list[tuple[str, int]],
) -> None:
    """Against the plain way: number the documents of each id, and match."""
    folder = tmp_path_factory.mktemp("caches")
    caches, numbered = [], []
    for name, documents in (("one", one), ("two", two)):
        seen: Counter[str] = Counter()
        keyed = {}
        for key, token in [*documents, ("z", 1)]:
            keyed[key, seen[key]] = token
            seen[key] += 1
        numbered.append(keyed)
        rows = [(key, [token, 0], 1, None) for key, token in [*documents, ("z", 1)]]
        caches.append(TokenCache.open(make_cache(str(folder / name), [rows])))
    found = compare(caches[0], caches[1])
    left, right = numbered
    assert found.counts == {
        "added": len(right.keys() - left.keys()),
        "removed": len(left.keys() - right.keys()),
        "changed": sum(left[key] != right[key] for key in left.keys() & right.keys()),
    }

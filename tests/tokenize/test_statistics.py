from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.statistics import document_lengths, ends_table, statistics_of, statistics_table


def test_of_a_small_cache(tmp_path: Path, make_cache: Callable[..., Any]) -> None:
    rows = [[("a", [1, 2, 0], 5, [(0, 2)])], [], [("b", [3, 0], 2, None), ("c", [3, 4, 5, 6, 0], 9, [])]]
    make_cache(str(tmp_path), rows, loss_spans=True)
    cache = TokenCache.open(str(tmp_path))
    assert document_lengths(cache).tolist() == [3, 2, 5]
    found = statistics_of(cache)
    assert (found.documents, found.tokens, found.bytes, found.shards) == (3, 10, 16, 3)
    assert found.lengths == {0: 2, 1: 2, 10: 2, 25: 2, 50: 3, 75: 3, 90: 3, 99: 3, 100: 5}
    assert found.loss_tokens == 2 + 2 + 0
    assert [(count.token, count.documents) for count in found.first_tokens] == [(3, 2), (1, 1)]
    assert [(count.token, count.documents) for count in found.last_tokens] == [(0, 3)]
    said = json.loads(json.dumps(found.to_json()))
    assert said["bytes_per_token"] == 1.6
    assert said["lengths"]["50"] == 3
    assert said["first_tokens"][0] == {"token": 3, "documents": 2}
    assert statistics_table([found, found]).row_count == 2
    assert ends_table([found], lambda cache, token: str(token)).row_count == 2


def test_without_loss_spans_all_tokens_carry_loss(tmp_path: Path, make_cache: Callable[..., Any]) -> None:
    make_cache(str(tmp_path), [[("a", [1, 2, 0], 5, None)]])
    assert statistics_of(TokenCache.open(str(tmp_path))).loss_tokens == 3

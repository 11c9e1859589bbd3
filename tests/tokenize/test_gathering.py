"""Rows of several caches at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize import shard_writer
from tootsie.tokenize.cache import Gathering, Rows, TokenCache

LENGTH = 7


@pytest.fixture
def caches(
    tmp_path: Path,
    make_cache: Callable[..., str],
    make_identity: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> list[TokenCache | None]:
    """Ids of 16 and of 32 bits, shards without documents at either end, loss spans, and one cache that is left out."""
    monkeypatch.setattr(shard_writer, "BATCH_TOKENS", 20)
    rng = np.random.default_rng(5)
    made: list[TokenCache | None] = []
    for number, shards in enumerate([[4, 0, 9], [], [0, 6, 0], [5]]):
        rows = [
            [
                (
                    f"{shard}-{row}",
                    [*rng.integers(1, 99, rng.integers(0, 16)).tolist(), 0],
                    1,
                    [(0, 1)] if number == 3 else None,
                )
                for row in range(count)
            ]
            for shard, count in enumerate(shards)
        ]
        identity = make_identity(200_000 if number == 2 else 100)
        folder = str(tmp_path / str(number))
        made.append(
            TokenCache.open(make_cache(folder, rows, identity, loss_spans=number == 3)) if shards else None
        )
    return made


def test_every_row_is_that_of_its_cache(caches: list[TokenCache | None]) -> None:
    asked = [
        (number, window)
        for number, cache in enumerate(caches)
        if cache is not None
        for window in [*range(cache.windows(LENGTH)), 0]
    ]
    asked = [asked[at] for at in np.random.default_rng(6).permutation(len(asked))]
    which, windows = np.array(asked).T
    into = Rows(len(asked), LENGTH)
    Gathering(caches).gather(which.astype(np.int32), windows, into)
    segments = into.segment_ids()
    for row, (number, window) in enumerate(asked):
        cache = caches[number]
        assert cache is not None
        start = window * LENGTH
        assert into.tokens[row].tolist() == cache.read(start, start + LENGTH).tolist()
        alone = cache.window(window, LENGTH)
        begins = [span.start for span in cache.documents_in(start, start + LENGTH)]
        wanted = [sum(begin <= at for begin in begins) for at in range(start, start + LENGTH)]
        assert segments[row].tolist() == alone.segment_ids.tolist() == wanted
        assert into.loss_mask[row].tolist() == alone.loss_mask.tolist()


def test_a_row_that_one_of_them_lacks_is_refused_by_its_name(caches: list[TokenCache | None]) -> None:
    assert caches[2] is not None
    beyond = caches[2].windows(LENGTH)
    for window in (-1, beyond):
        with pytest.raises(IndexError, match=r"2: tokens \["):
            Gathering(caches).gather(np.array([0, 2]), np.array([0, window]), Rows(2, LENGTH))


def test_damage_is_no_row_of_another_cache(caches: list[TokenCache | None]) -> None:
    assert caches[3] is not None
    shard = Path(caches[3].url, caches[3].ledger.shards[0].path)
    content = bytearray(shard.read_bytes())
    content[content.index(b"ARROW1") + 1000] ^= 1
    shard.write_bytes(content)
    into = Rows(1, LENGTH)
    Gathering(caches).gather(np.array([0]), np.array([1]), into)
    assert caches[0] is not None
    assert np.array_equal(into.tokens[0], caches[0].read(LENGTH, 2 * LENGTH))
    with pytest.raises(ArtefactError, match=r"a checksum differs|trailer"):
        Gathering(caches).gather(np.array([0, 3]), np.array([1, 0]), Rows(2, LENGTH))

"""When bytes are compared with their checksums."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize import checked_file
from tootsie.tokenize.cache import Checking, TokenCache
from tootsie.tokenize.trailer import BLOCK


@pytest.fixture
def damaged(tmp_path: Path, make_cache: Callable[..., str]) -> str:
    """Two shards of 100,000 tokens; one bit of the id at 70,000 of each is flipped."""
    rows = [[(f"{shard}-{n}", [*range(1, 1000), 0], 9, None) for n in range(100)] for shard in range(2)]
    folder = make_cache(str(tmp_path / "cache"), rows, None)
    ids = TokenCache.open(folder)
    for number in range(2):
        batch = ids.open_shard(number).batch(0)
        path = Path(folder) / "shards" / f"{number:05d}-of-00002.arrow"
        content = bytearray(path.read_bytes())
        content[batch.at + 2 * 70_000] ^= 4
        path.write_bytes(content)
    return folder


@pytest.fixture
def make_cache(make_cache: Callable[..., str], make_identity: Callable[..., object]) -> Callable[..., str]:
    return lambda folder, rows, _: make_cache(folder, rows, make_identity(1000))


def test_at_first_use_only_what_is_damaged_is_refused(damaged: str) -> None:
    cache = TokenCache.open(damaged)
    place = 70_000 // 1000
    assert cache.window(0, 1000).tokens[0] == 1
    for index in (place, place + 100):
        for _ in range(2):  # It stays so.
            with pytest.raises(
                ArtefactError, match=r"arrow: the bytes from [\d,]+ on are not those that were written"
            ):
                cache.window(index, 1000)
    with pytest.raises(ArtefactError):
        cache.read(0, 200_000)
    with pytest.raises(ArtefactError):
        list(cache.iterate())
    with pytest.raises(ArtefactError):
        cache.document(1, place)
    far = BLOCK // 2 // 1000 + 2  # Beyond the block that it lies in.
    assert cache.window(place + far, 1000).tokens[0] == 1
    assert cache.document(1, 0).document_id == "1-0"


def test_at_open_the_whole_shard_is_refused(damaged: str) -> None:
    cache = TokenCache.open(damaged, Checking.OPEN)
    with pytest.raises(ArtefactError, match=r"00000-of-00002.arrow: the bytes from"):
        cache.window(0, 1000)


def test_never_means_never(damaged: str) -> None:
    cache = TokenCache.open(damaged, Checking.NEVER)
    assert cache.read(70_000, 70_001).tolist() == [1 ^ 4]
    with pytest.raises(ArtefactError, match="the checksum differs"):
        cache.verify()


def test_an_earlier_format_is_named(damaged: str) -> None:
    ledger = Path(damaged) / "ledger.json"
    ledger.write_text(ledger.read_text().replace("tootsie-tokens/2", "tootsie-tokens/1"))
    with pytest.raises(
        ArtefactError,
        match=r"another ledger version .*tootsie-tokens/1.*checksums of their blocks: delete the cache and build it again",
    ):
        TokenCache.open(damaged)


def test_neighbours_are_compared_together_and_a_damaged_one_stands_in_no_ones_way(
    damaged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_file, "GROUP", 16)
    cache = TokenCache.open(damaged)
    reader = cache.open_shard(0)
    bad = (reader.batch(0).at + 2 * 70_000) // BLOCK
    assert bad // 16 == 1
    cache.window(0, 1000)
    assert all(reader.file.checked[:16])
    assert cache.window(99, 1000).tokens[0] == 1  # of the same group
    assert not reader.file.checked[bad]
    with pytest.raises(ArtefactError, match="the bytes from"):
        cache.window(70, 1000)

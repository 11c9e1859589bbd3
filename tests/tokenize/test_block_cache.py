"""Caches on a web server and in memory, read block by block."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError, InputError, SpecError, UserError
from tootsie.tokenize import block_cache
from tootsie.tokenize.block_cache import BlockCache, parse_size
from tootsie.tokenize.cache import TokenCache

from ..datasets.fetching.server import Served, Server, serving

LENGTH = 512


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_cache, "PAUSE", 0)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, make_cache: Callable[..., str]) -> Path:
    """Three shards of some 600 kB."""
    dice = random.Random(3)
    shards: list[list[Any]] = []
    for shard in range(3):
        documents = [
            [*(dice.randrange(1, 99) for _ in range(dice.randrange(1, 20_000))), 0] for _ in range(30)
        ]
        shards.append([(f"{shard}-{n}", ids, len(ids), None) for n, ids in enumerate(documents)])
    return Path(make_cache(str(tmp_path_factory.mktemp("remote") / "cache"), shards))


@pytest.fixture
def blocks(tmp_path: Path) -> BlockCache:
    return BlockCache(tmp_path / "blocks", 10**9)


@pytest.fixture
def server(local: Path) -> Iterator[Server]:
    pytest.importorskip("aiohttp", reason="reading over HTTP in place needs the extra 'http'")
    with serving() as found:
        for path in local.rglob("*"):
            if path.is_file():
                found.files[f"/{path.relative_to(local)}"] = Served(path.read_bytes())
        yield found


def shards(server: Server) -> list[Served]:
    return [served for path, served in sorted(server.files.items()) if path.endswith(".arrow")]


def same(left: TokenCache, right: TokenCache, indices: list[int]) -> bool:
    for index in indices:
        one, two = left.window(index, LENGTH), right.window(index, LENGTH)
        if not all(
            np.array_equal(getattr(one, name), getattr(two, name))
            for name in ("tokens", "segment_ids", "loss_mask")
        ):
            return False
    return True


def test_all_rows_over_http_are_those_of_the_local_cache(
    server: Server, local: Path, blocks: BlockCache
) -> None:
    remote, here = TokenCache.open(server.url, blocks=blocks), TokenCache.open(str(local))
    assert same(remote, here, list(range(here.windows(LENGTH))))
    assert [d.document_id for d in remote.iterate()] == [d.document_id for d in here.iterate()]
    assert remote.documents_in(5, 9000) == here.documents_in(5, 9000)


def test_a_window_fetches_the_blocks_it_needs_and_nothing_twice(
    server: Server, local: Path, blocks: BlockCache
) -> None:
    here = TokenCache.open(str(local))
    assert same(TokenCache.open(server.url, blocks=blocks), here, [100])
    asked = [(path, found) for path, found in server.requests if path.endswith(".arrow")]
    assert {path for path, _ in asked} == {"/shards/00000-of-00003.arrow"}
    assert all(found for _, found in asked)
    size = len(server.files["/shards/00000-of-00003.arrow"].content)
    fetched = sum(
        int(last) + 1 - int(first)
        for first, last in (str(found).removeprefix("bytes=").split("-") for _, found in asked)
    )
    assert fetched <= 2 * block_cache.FETCH_BLOCKS * block_cache.BLOCK + 4096 < size
    server.requests.clear()
    assert same(TokenCache.open(server.url, blocks=blocks), here, [100])
    assert not [path for path, _ in server.requests if path.endswith(".arrow")]


def test_interrupted_short_and_refused_answers_are_asked_for_again(
    server: Server, local: Path, blocks: BlockCache
) -> None:
    for served in shards(server):
        served.drops, served.statuses = [100, 0, 7], []
    remote, here = TokenCache.open(server.url, blocks=blocks), TokenCache.open(str(local))
    assert same(remote, here, [0, here.windows(LENGTH) - 1])
    for served in shards(server):
        served.drops, served.shorts, served.statuses = [], [5], [503]
    assert same(remote, here, list(range(0, here.windows(LENGTH), 7)))


def test_a_server_that_always_cuts_is_an_error(server: Server, blocks: BlockCache) -> None:
    remote = TokenCache.open(server.url, blocks=blocks)
    shards(server)[0].drops = [10] * 100
    with pytest.raises(
        InputError, match=r"00000-of-00003.arrow: bytes [\d,]+ to [\d,]+ could not be fetched in 4"
    ):
        remote.window(0, LENGTH)
    shards(server)[0].drops = []
    shards(server)[0].shorts = [10] * 100
    with pytest.raises(ArtefactError, match=r"are not those that were written: 4 times 10 of them came"):
        remote.window(0, LENGTH)


def test_a_server_without_ranges_is_an_error(server: Server, blocks: BlockCache) -> None:
    for served in shards(server):
        served.ranges = False
    with pytest.raises(InputError, match="the server sends whole files where a part is asked for"):
        TokenCache.open(server.url, blocks=blocks).window(0, LENGTH)


def test_a_missing_or_other_shard_there_is_an_error(server: Server, local: Path, blocks: BlockCache) -> None:
    remote = TokenCache.open(server.url, blocks=blocks)
    first, second = shards(server)[:2]
    first.content, second.content = second.content, first.content
    with pytest.raises(ArtefactError, match=r"00000-of-00003.arrow.*not those that were written"):
        remote.window(0, LENGTH)
    del server.files["/shards/00002-of-00003.arrow"]
    with pytest.raises(ArtefactError, match="the ledger lists a shard that is missing"):
        remote.window(remote.windows(LENGTH) - 1, LENGTH)


def test_no_flipped_bit_there_is_ever_served(server: Server, local: Path, tmp_path: Path) -> None:
    here = TokenCache.open(str(local))
    dice = random.Random(11)
    everything = list(range(here.windows(LENGTH)))
    whole = [served.content for served in shards(server)]
    for number in range(8):
        place = dice.randrange(3)
        damaged = bytearray(whole[place])
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        shards(server)[place].content = bytes(damaged)
        remote = TokenCache.open(server.url, blocks=BlockCache(tmp_path / str(number), 10**9))
        with contextlib.suppress(ArtefactError):  # Unless it lies in a name, which no row holds.
            assert same(remote, here, everything)
        with pytest.raises(ArtefactError, match="the checksum differs"):
            remote.verify()
        shards(server)[place].content = whole[place]


def test_damage_in_the_block_cache_is_mended(server: Server, local: Path, blocks: BlockCache) -> None:
    here = TokenCache.open(str(local))
    everything = list(range(here.windows(LENGTH)))
    assert same(TokenCache.open(server.url, blocks=blocks), here, everything)
    files = sorted(blocks.folder.iterdir())
    assert len(files) == 3
    damaged = bytearray(files[0].read_bytes())
    for at in range(0, len(damaged), 1000):
        damaged[at] ^= 255
    files[0].write_bytes(damaged)
    files[1].write_bytes(files[1].read_bytes()[:1000])
    files[2].write_bytes(b"")
    assert same(TokenCache.open(server.url, blocks=blocks), here, everything)


def test_the_size_is_bounded_and_rows_stay_right(server: Server, local: Path, tmp_path: Path) -> None:
    largest = max(len(served.content) for served in shards(server))
    blocks = BlockCache(tmp_path / "blocks", largest + 2**17)
    remote, here = TokenCache.open(server.url, blocks=blocks), TokenCache.open(str(local))
    dice = random.Random(5)
    for _ in range(8):
        assert same(remote, here, dice.sample(range(here.windows(LENGTH)), 20))
        used = sum(path.stat().st_blocks * 512 for path in blocks.folder.iterdir())
        assert used <= blocks.limit * 33 / 32 + 2**18
    with pytest.raises(SpecError, match=r"TOOTSIE_BLOCK_CACHE_SIZE: .*less than the .* of one shard"):
        TokenCache.open(server.url, blocks=BlockCache(tmp_path / "small", 1000)).window(0, LENGTH)


def _read(url: str, folder: str, seed: int, limit: int) -> int:
    remote = TokenCache.open(url, blocks=BlockCache(Path(folder), limit))
    order = np.random.default_rng(seed).permutation(remote.windows(LENGTH))[:300]
    return sum(int(remote.window(int(index), LENGTH).tokens.sum()) for index in order)


def test_processes_share_the_folder(server: Server, local: Path, tmp_path: Path) -> None:
    here = TokenCache.open(str(local))
    wanted = [
        sum(int(here.window(int(i), LENGTH).tokens.sum()) for i in order[:300])
        for order in (np.random.default_rng(seed).permutation(here.windows(LENGTH)) for seed in range(2))
    ]
    largest = max(len(served.content) for served in shards(server))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(
            _read, [(server.url, str(tmp_path / "blocks"), seed, largest + 2**18) for seed in range(2)]
        )
    assert found == wanted


def test_memory_file_systems_and_many_rows_at_once(local: Path, blocks: BlockCache) -> None:
    import fsspec

    from tootsie.tokenize.cache import Rows

    memory = fsspec.filesystem("memory")
    memory.put(str(local), "/block-cache-test", recursive=True)
    try:
        remote, here = (
            TokenCache.open("memory://block-cache-test", blocks=blocks),
            TokenCache.open(str(local)),
        )
        chosen = np.random.default_rng(0).permutation(here.windows(LENGTH))[:50]
        one, two = Rows(50, LENGTH), Rows(50, LENGTH)
        remote.gather(chosen, one, np.arange(50))
        here.gather(chosen, two, np.arange(50))
        assert np.array_equal(one.tokens, two.tokens)
        assert np.array_equal(one.segment_ids(), two.segment_ids())
        assert remote.verify().tokens == here.tokens
        travelled = pickle.loads(pickle.dumps(remote))
        assert travelled._blocks.folder == blocks.folder
        assert same(travelled, here, [0])
    finally:
        memory.rm("/block-cache-test", recursive=True)


def test_a_folder_that_cannot_be_written_is_named(local: Path, tmp_path: Path) -> None:
    import fsspec

    (tmp_path / "file").write_text("")
    memory = fsspec.filesystem("memory")
    memory.put(str(local), "/block-cache-unwritable", recursive=True)
    try:
        cache = TokenCache.open("memory://block-cache-unwritable", blocks=BlockCache(tmp_path / "file"))
        with pytest.raises(UserError, match=r"the block cache can't be written to .*TOOTSIE_BLOCK_CACHE"):
            cache.window(0, LENGTH)
    finally:
        memory.rm("/block-cache-unwritable", recursive=True)


def test_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOTSIE_BLOCK_CACHE", str(tmp_path))
    monkeypatch.setenv("TOOTSIE_BLOCK_CACHE_SIZE", "1.5 GB")
    found = BlockCache.from_environment()
    assert (found.folder, found.limit) == (tmp_path, 1_500_000_000)
    monkeypatch.delenv("TOOTSIE_BLOCK_CACHE")
    monkeypatch.delenv("TOOTSIE_BLOCK_CACHE_SIZE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    found = BlockCache.from_environment()
    assert (found.folder, found.limit) == (tmp_path / "x" / "tootsie" / "blocks", 20 * 10**9)


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "0", "20 apples", "1e9", "nan", "20G", "5k"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(SpecError, match="not a size"):
        parse_size(text)

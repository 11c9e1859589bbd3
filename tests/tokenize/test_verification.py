from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError, UserError
from tootsie.tokenize.build import BuildSettings, build_caches
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.shard_table import ShardTable
from tootsie.tokenize.verification import verify_identity, verify_sample, verify_sources


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, make_corpus: Callable[..., str]) -> Path:
    folder = tmp_path_factory.mktemp("verification")
    corpus = make_corpus(folder / "corpus", [f"Text {n} of été " * (n % 5 + 1) for n in range(40)])
    build_caches([corpus], str(folder / "cache"), BuildSettings(shards=3))
    return folder / "cache"


@pytest.fixture
def cache(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "cache")
    return tmp_path / "cache"


def check(folder: Path) -> None:
    TokenCache.open(str(folder)).verify()


def test_a_whole_cache(built: Path) -> None:
    found = TokenCache.open(str(built)).verify()
    assert (found.shards, found.documents) == (3, 40)
    assert [(bar.token, bar.documents) for bar in found.last_tokens] == [(16_383, 40)]
    assert sum(bar.documents for bar in found.first_tokens) == 40
    assert verify_sample(TokenCache.open(str(built)), 100) == 40


def test_every_bit_flip_is_found(cache: Path) -> None:
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    dice = random.Random(7)
    for _ in range(300):
        path = dice.choice(files)
        content = path.read_bytes()
        position = dice.randrange(len(content))
        damaged = bytearray(content)
        damaged[position] ^= 1 << dice.randrange(8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(UserError) as caught:
            check(cache)
        assert path.name in str(caught.value) or path.name == "ledger.json", (
            f"{path.name} byte {position}: {caught.value}"
        )
        path.write_bytes(content)
    check(cache)


def test_truncated_missing_and_swapped_shards_are_found(cache: Path) -> None:
    one, two, _ = shards = sorted((cache / "shards").iterdir())
    contents = [path.read_bytes() for path in shards]
    for cut in (0, 1, len(contents[0]) // 2, len(contents[0]) - 1):
        one.write_bytes(contents[0][:cut])
        with pytest.raises(ArtefactError, match=one.name):
            check(cache)
    one.write_bytes(contents[1])
    two.write_bytes(contents[0])
    with pytest.raises(ArtefactError, match=one.name):
        check(cache)
    two.unlink()
    with pytest.raises(ArtefactError):
        check(cache)


def rebuilt(make_cache: Callable[..., str], folder: Path, rows: list[Any], identity: Any) -> TokenCache:
    """A cache whose checksums fit but whose content breaks a rule."""
    return TokenCache.open(make_cache(str(folder), rows, identity))


def test_a_missing_eos_or_bos_is_found_even_under_a_fitting_checksum(
    tmp_path: Path, make_cache: Callable[..., str], make_identity: Callable[..., Any]
) -> None:
    with pytest.raises(ArtefactError, match=r"row 1: the document does not end with EOS \(0\)"):
        rebuilt(
            make_cache, tmp_path / "a", [[("a", [3, 0], 1, None), ("b", [3, 4], 1, None)]], make_identity()
        ).verify()
    bos = make_identity(add_bos=True)
    rebuilt(make_cache, tmp_path / "b", [[("a", [1, 3, 0], 1, None)]], bos).verify()
    with pytest.raises(ArtefactError, match=r"row 0: the document does not begin with BOS \(1\)"):
        rebuilt(make_cache, tmp_path / "c", [[("a", [3, 0], 1, None)]], bos).verify()


def test_ids_outside_the_vocabulary_are_found(
    tmp_path: Path, make_cache: Callable[..., str], make_identity: Callable[..., Any]
) -> None:
    with pytest.raises(AssertionError, match="id 100 is not below 100"):
        make_cache(str(tmp_path / "a"), [[("a", [100, 0], 1, None)]], make_identity(100))
    cache = rebuilt(
        make_cache, tmp_path / "b", [[("a", [7, 0], 1, None), ("b", [150, 0], 1, None)]], make_identity(200)
    )
    smaller = cache.ledger.model_copy(update={"tokenizer": make_identity(100)})
    with pytest.raises(ArtefactError, match="row 1: id 150 is outside the vocabulary of 100"):
        TokenCache(cache.url, smaller, "").verify()


def test_counts_that_differ_from_the_shards_are_found(cache: Path) -> None:
    opened = TokenCache.open(str(cache))
    entry = opened.ledger.shards[0]
    for change, message in (
        ({"bytes": entry.bytes + 1}, "its texts have"),
        ({"tokens": entry.tokens + 1}, "the shard has"),
        ({"documents": entry.documents - 1}, "the shard has"),
    ):
        shards = ShardTable([entry.model_copy(update=change), *opened.ledger.shards[1:]])
        with pytest.raises(ArtefactError, match=message):
            TokenCache(str(cache), opened.ledger.model_copy(update={"shards": shards}), "").verify()
    with pytest.raises(ArtefactError, match="last_tokens: the histogram differs"):
        TokenCache(str(cache), opened.ledger.model_copy(update={"last_tokens": ()}), "").verify()


def test_a_sample_that_encodes_otherwise_is_found(tmp_path: Path, make_cache: Callable[..., str]) -> None:
    from tootsie.tokenize.tokenizers import load_tokenizer

    tokenizer = load_tokenizer("tootsie-16k")
    letters = np.array([*b"hello", 16_383])  # single bytes, which no encoder leaves apart
    make_cache(str(tmp_path), [[("a", letters, 5, None)]], tokenizer.identity)
    cache = TokenCache.open(str(tmp_path))
    cache.verify()
    with pytest.raises(ArtefactError, match="document a: tootsie-16k encodes this document otherwise now"):
        verify_sample(cache, 1)


def test_the_ledger_is_part_of_what_is_verified(cache: Path) -> None:
    content = json.loads((cache / "ledger.json").read_text())
    content["engine"]["version"] = "0"
    (cache / "ledger.json").write_text(json.dumps(content))
    with pytest.raises(ArtefactError, match="changed after it was written"):
        check(cache)


def test_another_source_and_another_cache_are_found(
    built: Path, tmp_path: Path, make_corpus: Callable[..., str]
) -> None:
    cache = TokenCache.open(str(built))
    assert verify_sources(cache, [str(built.parent / "corpus")]) == 2
    other = make_corpus(tmp_path / "other", [f"Text {n} of été " * (n % 5 + 1) for n in range(39)] + ["Else"])
    with pytest.raises(
        ArtefactError, match=r"part-00001-of-00002\S+ sha256: not what .* this file was another then"
    ):
        verify_sources(cache, [other])
    more = make_corpus(tmp_path / "more", ["One", "Two", "Three"], files=1)
    with pytest.raises(ArtefactError, match="this file was"):
        verify_sources(cache, [str(built.parent / "corpus"), more])
    verify_identity(cache, cache.ledger.hash)
    verify_identity(cache, cache.ledger.hash[:12])
    for wrong in ("", "0" * 64, cache.ledger.hash[1:]):
        with pytest.raises(ArtefactError, match="another cache lies here"):
            verify_identity(cache, wrong)

"""Compressed streams: of several parts, padded, cut, with a tail, and bombs."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import pytest
import zstandard

from tootsie.datasets.compression import Compression, by_content, by_name, decompressed
from tootsie.datasets.errors import InputError

CONTENT = b"".join(b"line %d\n" % (n * 7919 % 1000) for n in range(5000))
PACK: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.GZIP: gzip.compress,
    Compression.ZSTD: zstandard.compress,
    Compression.BZIP2: bz2.compress,
    Compression.XZ: lzma.compress,
}


def read(packed: bytes, kind: Compression, max_ratio: int | None = None) -> bytes:
    with decompressed(io.BytesIO(packed), kind, "a", max_ratio) as stream:
        return stream.read()


@pytest.mark.parametrize("kind", list(PACK))
def test_several_parts_are_one_stream(kind: Compression) -> None:
    packed = PACK[kind](CONTENT) + PACK[kind](b"") + PACK[kind](b"end")
    assert read(packed, kind) == CONTENT + b"end"
    assert by_content(packed) is kind


def skippable(content: bytes) -> bytes:
    return b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def test_zstandard_with_a_dictionary_of_its_own() -> None:
    parts = [CONTENT[start : start + 200] for start in range(0, len(CONTENT), 200)]
    trained = zstandard.train_dictionary(2048, parts)
    frames = b"".join(zstandard.ZstdCompressor(dict_data=trained).compress(part) for part in parts)
    dictionary = trained.as_bytes()
    packed = zstandard.compress(dictionary)
    for head in (skippable(dictionary), skippable(packed)):
        assert by_content(head) is Compression.ZSTD
        assert read(head + frames, Compression.ZSTD) == CONTENT
    for content in (b"", b"no", b"no dictionary"):  # a skippable frame like any other
        assert read(skippable(content) + zstandard.compress(CONTENT), Compression.ZSTD) == CONTENT
    damaged = [
        frames,  # the dictionary is missing
        skippable(dictionary)[:500],
        skippable(packed[:-20]) + frames,
        skippable(b"\x37\xa4\x30\xec of something else") + frames,
        skippable(zstandard.compress(bytes(2**26 + 1))) + frames,
        b"\x5d\x2a\x4d\x18\xff\xff\xff\xff" + dictionary + frames,
        skippable(dictionary) + frames[:-5],
    ]
    for one in damaged:
        with pytest.raises(InputError, match="truncated or damaged"):
            read(one, Compression.ZSTD)


@pytest.mark.parametrize("kind", list(PACK))
def test_a_tail_that_does_not_belong_is_an_error(kind: Compression) -> None:
    with pytest.raises(InputError, match="truncated or damaged"):
        read(PACK[kind](CONTENT) + b"tail" * 30, kind)


@pytest.mark.parametrize("kind", list(PACK))
def test_every_cut_is_an_error(kind: Compression) -> None:
    packed = PACK[kind](CONTENT)
    for length in range(1, len(packed), 97):
        with pytest.raises(InputError, match="truncated or damaged"):
            read(packed[:length], kind)


def test_xz_may_be_padded() -> None:
    packed = lzma.compress(CONTENT)
    assert read(packed + bytes(2**17) + packed + bytes(8), Compression.XZ) == 2 * CONTENT


def test_xz_that_wants_too_much_memory() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 2**29}]
    with pytest.raises(InputError, match="truncated or damaged"):
        read(lzma.compress(b"x", filters=filters), Compression.XZ)


def test_a_bomb() -> None:
    packed = b"".join([bz2.compress(bytes(2**24))] * 20)
    with pytest.raises(InputError, match="are no data"):
        read(packed, Compression.BZIP2, max_ratio=100)


def test_names() -> None:
    assert by_name("a.jsonl.ZST") == (Compression.ZSTD, "a.jsonl")
    assert by_name("a.bz2") == (Compression.BZIP2, "a")
    assert by_name("a.zip") == (Compression.NONE, "a.zip")

from __future__ import annotations

import itertools
from array import array

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.tokenize.trailer import BLOCK, BlockHasher, Trailer, blocks_of, decode_trailer, encode_trailer


@given(
    st.binary(max_size=64), st.integers(0, 3 * BLOCK), st.lists(st.integers(0, 3 * BLOCK + 64), max_size=8)
)
@settings(max_examples=50)
def test_blocks_are_hashed_however_the_bytes_come(head: bytes, zeros: int, cuts: list[int]) -> None:
    body = head + bytes(zeros)
    hasher = BlockHasher()
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    for start, stop in itertools.pairwise(places):
        hasher.update(memoryview(body)[start:stop])
    wanted = [xxhash.xxh3_64_intdigest(body[at : at + BLOCK]) for at in range(0, len(body), BLOCK)]
    assert list(hasher.finish()) == wanted
    assert len(wanted) == blocks_of(len(body))


def test_a_trailer_comes_back() -> None:
    body = 2 * BLOCK + 8
    trailer = Trailer(
        array("Q", [1, 2**64 - 1, 3]), np.array([8, 900]), np.array([5, 1]), np.array([70, 2**40])
    )
    data = encode_trailer(trailer) + b"Arrow's footer"
    found = decode_trailer(memoryview(data), body)
    assert list(found.checksums) == [1, 2**64 - 1, 3]
    assert [column.tolist() for column in found[1:]] == [[8, 900], [5, 1], [70, 2**40]]


@pytest.mark.parametrize("data", [b"", bytes(8), bytes(8) + b"\xff" * 8, bytes(8) + b"\2" + bytes(20)])
def test_a_cut_trailer(data: bytes) -> None:
    with pytest.raises(ValueError, match="the trailer is cut"):
        decode_trailer(memoryview(data), BLOCK)


def test_any_arrow_reader_passes_over_it(tmp_path, make_cache) -> None:  # type: ignore[no-untyped-def]
    folder = make_cache(str(tmp_path), [[("a", [5, 6, 0], 2, None), ("b", [7, 0], 1, None)], []])
    for number, wanted in enumerate(([[5, 6, 0], [7, 0]], [])):
        with pa.OSFile(f"{folder}/shards/{number:05d}-of-00002.arrow") as source:
            assert pa.ipc.open_file(source).read_all().column("input_ids").to_pylist() == wanted

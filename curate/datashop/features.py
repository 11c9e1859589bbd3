"""Texts as hashed words and pairs of words, many at a time without a loop over words.

A token is a run of letters (bytes of UTF-8 from 128 on count as letters; ASCII is lower-cased), of digits (which all look
alike, up to their number), or of other signs. Its hash is the polynomial of its bytes modulo 2**64, the difference of two
prefix sums; a pair's is made of those of its tokens. A text's vector has ``1 + ln(count)`` for each bucket that is hit,
scaled to length 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
BLOCK_BYTES = 1 << 20
"""Text that is hashed at once, about; longer texts make a longer block."""
LONGEST_TEXT = 1 << 20
"""Bytes of a text that are looked at; of longer ones the first half of these and the last."""

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


def _classes() -> NDArray[np.uint8]:
    table = np.full(256, 3, np.uint8)
    table[[*range(33), 127]] = 0
    table[48:58] = 2
    table[[*range(65, 91), *range(97, 123), *range(128, 256)]] = 1
    return table


def _folding(digits: bool) -> NDArray[np.uint64]:
    table = np.arange(256, dtype=np.uint64)
    table[65:91] += 32
    if digits:
        table[48:58] = 48
    return table + np.uint64(1)


_CLASS = _classes()
_FOLD, _FOLD_LETTERS = _folding(True), _folding(False)
_POWERS: dict[str, NDArray[np.uint64]] = {}


def _powers(length: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return base**i and base**-i modulo 2**64 for i below ``length``, remembered for the longest block so far."""
    found = _POWERS.get("forward")
    if found is None or len(found) < length:
        size = max(length, 2 * BLOCK_BYTES)
        for name, base in (("forward", _BASE), ("back", _INVERSE)):
            powers = np.full(size, base, np.uint64)
            powers[0] = 1
            _POWERS[name] = np.multiply.accumulate(powers)
    return _POWERS["forward"][:length], _POWERS["back"][:length]


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    hashes = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return hashes ^ (hashes >> np.uint64(32))


def text_bytes(text: str) -> bytes:
    """Return the bytes of a text that are looked at."""
    content = text.encode("utf-8", "replace")
    if len(content) > LONGEST_TEXT:
        content = content[: LONGEST_TEXT // 2] + b"\n" + content[-LONGEST_TEXT // 2 :]
    return content


def token_hashes(
    contents: Sequence[bytes], *, fold_digits: bool = True
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the hash of each token of several texts and the text it is of: uint64[k], int64[k].

    Args:
      contents: UTF-8 texts.
      fold_digits: whether all digits count as the same one.
    """
    fold = _FOLD if fold_digits else _FOLD_LETTERS
    joined = np.frombuffer(b"\0".join(contents) + b"\0", np.uint8)
    kinds = _CLASS[joined]
    edges = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
    starts = np.concatenate([np.zeros(1, np.int64), edges])
    stops = np.concatenate([edges, np.array([len(joined)], np.int64)])
    words = kinds[starts] > 0
    starts, stops = starts[words], stops[words]
    forward, back = _powers(len(joined))
    sums = np.cumsum(fold[joined] * forward, dtype=np.uint64)
    before = np.where(starts > 0, sums[starts - 1], np.uint64(0))
    hashes = _mixed((sums[stops - 1] - before) * back[starts])
    bounds = np.cumsum([len(content) + 1 for content in contents])
    return hashes, np.searchsorted(bounds, starts, side="right").astype(np.int64)


def feature_counts(
    contents: Sequence[bytes], bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the features of several texts.

    Args:
      contents: UTF-8 texts.
      bits: features are numbered below 2**bits.

    Returns:
      ``offsets`` int64[n + 1], ``buckets`` int64[k] and ``values`` float32[k]: text i has ``buckets[offsets[i]:offsets[i +
      1]]``, in ascending order, and values whose squares sum to 1.
    """
    hashes, owners = token_hashes(contents)
    pairs = _mixed(hashes[:-1] * np.uint64(0xA24BAED4963EE407) + hashes[1:])
    same = owners[:-1] == owners[1:]
    every = np.concatenate([hashes, pairs[same]]) >> np.uint64(64 - bits)
    owner = np.concatenate([owners, owners[:-1][same]]).astype(np.uint64)
    keys = (owner << np.uint64(bits)) | every
    keys.sort()
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1]]))
    counts = np.diff(np.append(first, len(keys)))
    values = (1.0 + np.log(counts)).astype(np.float32)
    found = keys[first]
    buckets = (found & np.uint64((1 << bits) - 1)).astype(np.int64)
    offsets = np.searchsorted(found >> np.uint64(bits), np.arange(len(contents) + 1, dtype=np.uint64))
    squares = np.concatenate([[0.0], np.cumsum(values.astype(np.float64) ** 2)])
    norms = np.sqrt(squares[offsets[1:]] - squares[offsets[:-1]])
    values /= np.repeat(np.maximum(norms, 1e-12), np.diff(offsets)).astype(np.float32)
    return offsets.astype(np.int64), buckets, values


def score_texts(contents: Sequence[bytes], weights: Floats, bits: int) -> Floats:
    """Return the product of each text's vector with ``weights``: float32[n]; 0 for a text without tokens."""
    offsets, buckets, values = feature_counts(contents, bits)
    sums = np.concatenate([[0.0], np.cumsum(weights[buckets].astype(np.float64) * values)])
    return (sums[offsets[1:]] - sums[offsets[:-1]]).astype(np.float32)

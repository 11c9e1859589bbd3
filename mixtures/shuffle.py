"""A pseudo-random permutation of [0, n) that is computed, not stored: any element, in any order, without state.

The key is (seed, dataset name, epoch), so each epoch has a fresh permutation, and neither the other datasets of a mixture
nor their order have any influence.

Two constructions, chosen by n alone:

* n > 4096: a Feistel network of 8 rounds over the ⌈log₂ n⌉-bit numbers, halves of ⌊b/2⌋ and ⌈b/2⌉ bits in turn,
  restricted to [0, n) by cycle walking (Black and Rogaway 2002): apply it again while the result is outside. Fewer than
  2 applications on average.
* n <= 4096: the order of n keyed hashes, because a Feistel network on a few bits reaches few permutations.

What a (key, n) gives is frozen under the name ``shuffle/1``; plans of format ``tootsie-plan/1`` replay it.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np

VERSION = "shuffle/1"
ROUNDS = 8
SORTED_BELOW = 4096
"""Largest n that is permuted by sorting."""


class Permutation:
    """One permutation of [0, n).

    Args:
      n: number of elements, 1 <= n < 2**62.
      seed: of the plan.
      name: of the dataset.
      epoch: 0 for the first pass.
    """

    def __init__(self, n: int, seed: int, name: str, epoch: int) -> None:
        if not 1 <= n < 2**62:
            raise ValueError(f"a permutation of {n} elements")
        self.n = n
        message = b"\0".join((VERSION.encode(), str(seed).encode(), str(epoch).encode(), name.encode()))
        self._keys = np.frombuffer(hashlib.sha512(message).digest(), dtype="<u8").astype(np.uint64)
        self._table: np.ndarray | None = None
        if n <= SORTED_BELOW:
            hashes = _mix(_mix(np.arange(n, dtype=np.uint64) ^ self._keys[0]) ^ self._keys[1])
            self._table = np.argsort(hashes, kind="stable").astype(np.int64)

    def __call__(self, index: np.ndarray) -> np.ndarray:
        """Return the images of ``index`` (int64[...] in [0, n)), int64 of the same shape.

        Raises:
          IndexError: an index lies outside [0, n).
        """
        index = np.asarray(index, dtype=np.int64)
        if index.size and (int(index.min()) < 0 or int(index.max()) >= self.n):
            raise IndexError(f"an index lies outside [0, {self.n})")
        if self._table is not None:
            return self._table[index]
        value = self._encrypt(index.reshape(-1).astype(np.uint64))
        outside = np.flatnonzero(value >= self.n)
        while outside.size:
            value[outside] = self._encrypt(value[outside])
            outside = outside[value[outside] >= self.n]
        return value.astype(np.int64).reshape(index.shape)

    def _encrypt(self, value: np.ndarray) -> np.ndarray:
        bits = (self.n - 1).bit_length()
        low_bits = np.uint64(bits // 2)
        low_mask = np.uint64((1 << (bits // 2)) - 1)
        high_mask = np.uint64((1 << (bits - bits // 2)) - 1)
        low, high = value & low_mask, value >> low_bits
        for number in range(0, ROUNDS, 2):
            low = low ^ (_mix(high ^ self._keys[number]) & low_mask)
            high = high ^ (_mix(low ^ self._keys[number + 1]) & high_mask)
        return (high << low_bits) | low


def _mix(value: np.ndarray) -> np.ndarray:
    """Mix 64 bits: the finalizer of SplitMix64 (Steele, Lea and Flood 2014), after one odd multiplication."""
    value = value * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@functools.lru_cache(maxsize=512)
def permutation(n: int, seed: int, name: str, epoch: int) -> Permutation:
    """Return a permutation, kept for the next call."""
    return Permutation(n, seed, name, epoch)

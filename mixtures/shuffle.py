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
from collections.abc import Sequence

import numpy as np

VERSION = "shuffle/1"
ROUNDS = 8
SORTED_BELOW = 4096
"""Largest n that is permuted by sorting."""
FEW = 8
"""Elements up to which each is computed on its own."""
_64_BITS = 2**64 - 1
_TABULATE_AFTER = 4
"""The rounds are tabulated once so many times as many elements were asked for as a table has."""
_CHUNK = 8192
"""Numbers permuted at a time: what one round touches stays in the processor's first caches."""


class Permutation:
    """One permutation of [0, n).

    Args:
      n: number of elements, 1 <= n < 2**62.
      seed: of the plan.
      name: of the dataset.
      epoch: 0 for the first pass.
      version: keeps apart what is shuffled with the same seed, name and epoch.
    """

    def __init__(self, n: int, seed: int, name: str, epoch: int, version: str = VERSION) -> None:
        if not 1 <= n < 2**62:
            raise ValueError(f"a permutation of {n} elements")
        self.n = n
        self._keys = round_keys(version, seed, name, epoch)
        self._table: np.ndarray | None = None
        self._asked = 0
        self._rounds: list[np.ndarray] | None = None
        self._numbers: list[int] | None = None
        if n <= SORTED_BELOW:
            hashes = mixed(mixed(np.arange(n, dtype=np.uint64) ^ self._keys[0]) ^ self._keys[1])
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
        flat = index.reshape(-1).astype(np.uint64)
        self._asked += len(flat)
        bits = (self.n - 1).bit_length()
        if self._rounds is None and bits <= 32 and self._asked >= _TABULATE_AFTER << (bits - bits // 2):
            self._tabulate()
        for start in range(0, len(flat), _CHUNK):
            self._walk(flat[start : start + _CHUNK])
        return flat.view(np.int64).reshape(index.shape)

    def at(self, index: int) -> int:
        """Return the image of one index in [0, n), computed in Python's integers: of a few, faster than arrays are."""
        if self._table is not None:
            return int(self._table[index])
        if self._numbers is None:
            self._numbers = self._keys.tolist()
        return feistel(index, self.n, self._numbers)

    def inverse(self, image: int) -> int:
        """Return the index whose image is ``image``.

        Raises:
          IndexError: it lies outside [0, n).
        """
        if not 0 <= image < self.n:
            raise IndexError(f"{image} lies outside [0, {self.n})")
        if self._table is not None:
            return int(np.flatnonzero(self._table == image)[0])
        value = np.array([image], dtype=np.uint64)
        self._decrypt(value)
        while value[0] >= self.n:
            self._decrypt(value)
        return int(value[0])

    def _decrypt(self, value: np.ndarray) -> None:
        """Undo :meth:`_encrypt`, in place."""
        bits = (self.n - 1).bit_length()
        low_bits = np.uint64(bits // 2)
        low, high = value & np.uint64((1 << (bits // 2)) - 1), value >> low_bits
        scratch = np.empty_like(value)
        for number in range(ROUNDS - 2, -1, -2):
            high ^= self._round(number + 1, low, scratch)
            low ^= self._round(number, high, scratch)
        np.left_shift(high, low_bits, out=value)
        value |= low

    def _walk(self, value: np.ndarray) -> None:
        """Replace the numbers below n by their images, in place."""
        self._encrypt(value)
        outside = np.flatnonzero(value >= self.n)
        while outside.size:
            again = value[outside]
            self._encrypt(again)
            value[outside] = again
            outside = outside[again >= self.n]

    def _encrypt(self, value: np.ndarray) -> None:
        """Replace ⌈log₂ n⌉-bit numbers by their images, in place."""
        bits = (self.n - 1).bit_length()
        low_bits = np.uint64(bits // 2)
        low, high = value & np.uint64((1 << (bits // 2)) - 1), value >> low_bits
        scratch = np.empty_like(value)
        for number in range(0, ROUNDS, 2):
            low ^= self._round(number, high, scratch)
            high ^= self._round(number + 1, low, scratch)
        np.left_shift(high, low_bits, out=value)
        value |= low

    def _round(self, number: int, half: np.ndarray, scratch: np.ndarray) -> np.ndarray:
        """Return what a round adds to the other half."""
        if self._rounds is not None:
            return self._rounds[number].take(half.view(np.int64), mode="clip")
        bits = (self.n - 1).bit_length()
        mixed = half ^ self._keys[number]
        _mix_into(mixed, scratch)
        mixed &= np.uint64((1 << (bits - bits // 2 if number % 2 else bits // 2)) - 1)
        return mixed

    def _tabulate(self) -> None:
        """Compute every value of every round beforehand: halves of up to 16 bits have few."""
        bits = (self.n - 1).bit_length()
        widths = (bits - bits // 2, bits // 2)
        tables = []
        for number in range(ROUNDS):
            half = np.arange(1 << widths[number % 2], dtype=np.uint64)
            tables.append(self._round(number, half, np.empty_like(half)).astype(np.uint16))
        self._rounds = tables


def round_keys(version: str, seed: int, name: str, epoch: int) -> np.ndarray:
    """Return the keys of the eight rounds, uint64[8]."""
    message = b"\0".join((version.encode(), str(seed).encode(), str(epoch).encode(), name.encode()))
    return np.frombuffer(hashlib.sha512(message).digest(), dtype="<u8").astype(np.uint64)


def permute(permutations: Sequence[Permutation], which: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the images of ``index``, int64[m]; element i lies in the domain of ``permutations[which[i]]``, which is not checked.

    For many permutations with few elements each.
    """
    if len(index) <= FEW:
        pairs = zip(which.tolist(), index.tolist(), strict=True)
        return np.array([permutations[one].at(element) for one, element in pairs], dtype=np.int64)
    result = index.copy()
    small = np.array([one._table is not None for one in permutations])
    for number in np.unique(which[small[which]]).tolist():
        mine = which == number
        table = permutations[number]._table
        assert table is not None
        result[mine] = table[index[mine]]
    at = np.flatnonzero(~small[which])
    if not len(at):
        return result
    keys = np.stack([one._keys for one in permutations])[which[at]]
    sizes = np.array([one.n for one in permutations], dtype=np.uint64)[which[at]]
    bits = np.array([(one.n - 1).bit_length() for one in permutations], dtype=np.uint64)[which[at]]
    value = index[at].astype(np.uint64)
    walking = np.arange(len(at))
    while walking.size:
        value[walking] = encrypt(value[walking], keys[walking], bits[walking])
        walking = walking[value[walking] >= sizes[walking]]
    result[at] = value.view(np.int64)
    return result


def encrypt(value: np.ndarray, keys: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Return the images of numbers under Feistel networks of their own, uint64[m].

    Args:
      value: uint64[m], of so many bits.
      keys: uint64[m, 8], of the rounds.
      bits: uint64[m], width of the domain.
    """
    one = np.uint64(1)
    low_bits = bits >> one
    low_mask, high_mask = (one << low_bits) - one, (one << (bits - low_bits)) - one
    low, high = value & low_mask, value >> low_bits
    for number in range(0, ROUNDS, 2):
        low ^= mixed(high ^ keys[:, number]) & low_mask
        high ^= mixed(low ^ keys[:, number + 1]) & high_mask
    return high << low_bits | low


def feistel(value: int, n: int, keys: Sequence[int], backwards: bool = False) -> int:
    """Return the image of a number in [0, n), or the number whose image it is: what :func:`encrypt` and cycle walking give."""
    bits = (n - 1).bit_length()
    low_bits = bits // 2
    masks = (1 << low_bits) - 1, (1 << (bits - low_bits)) - 1
    rounds = range(ROUNDS - 1, -1, -1) if backwards else range(ROUNDS)
    while True:
        halves = [value & masks[0], value >> low_bits]
        for number in rounds:
            halves[number % 2] ^= _mix_number(halves[1 - number % 2] ^ keys[number]) & masks[number % 2]
        value = halves[1] << low_bits | halves[0]
        if value < n:
            return value


def _mix_number(value: int) -> int:
    value = value * 0x9E3779B97F4A7C15 & _64_BITS
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _64_BITS
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _64_BITS
    return value ^ value >> 31


def mixed(value: np.ndarray) -> np.ndarray:
    """Return 64 bits well mixed, uint64 of the same shape; for a key each, not a secret."""
    value = value.copy()
    _mix_into(value, np.empty_like(value))
    return value


def _mix_into(value: np.ndarray, scratch: np.ndarray) -> None:
    """Mix 64 bits: the finalizer of SplitMix64 (Steele, Lea and Flood 2014), after one odd multiplication; in place."""
    value *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value ^= np.right_shift(value, np.uint64(shift), out=scratch)
        value *= np.uint64(factor)
    value ^= np.right_shift(value, np.uint64(31), out=scratch)


@functools.lru_cache(maxsize=256)
def permutation(n: int, seed: int, name: str, epoch: int) -> Permutation:
    """Return a permutation, kept for the next call."""
    return Permutation(n, seed, name, epoch)

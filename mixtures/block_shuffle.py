"""A shuffle that keeps neighbours near one another, so that a reader of an object store fetches few blocks at a time.

The elements (windows, or spans) 0 … n − 1 of an epoch are cut into *blocks* of B neighbours. The blocks are permuted as a
whole, K of them in that order form a *group*, and the elements of a group are shuffled among themselves. So K blocks are all
that a reader has to hold at a time, and every element is drawn once in an epoch, as with the full shuffle.

Nothing is stored. Where n is no multiple of B, one block is short, and what comes after its place moves up: with the place
known, an index is turned into (place of the block, element of it) and back with two divisions. Groups have Feistel networks of
their own, keyed by seed, dataset name, epoch and number of the group. What a (key, n, B, K) gives is frozen under the name
``block-shuffle/1``.

Glossary: n elements, B of a block, K blocks of a group; a *place* is a number of a block in the permuted order.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tootsie.mixtures.shuffle import (
    FEW,
    Permutation,
    encrypt,
    feistel,
    mixed,
    permutation,
    permute,
    round_keys,
)

VERSION = "block-shuffle/1"
MOST = 2**30
"""Largest block, and most blocks of a group."""
_CHUNK = 8192
"""Elements computed at a time."""
Number = TypeVar("Number", int, np.ndarray)


class BlockShuffle(BaseModel):
    """The sizes of a block shuffle."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    block: int = Field(gt=0, le=MOST)
    """B: neighbouring windows (spans, in a plan that has spans) in a block."""
    group: int = Field(gt=0, le=MOST)
    """K: blocks whose windows are shuffled among themselves."""

    def __str__(self) -> str:
        return f"blocks of {self.block:,}, shuffled {self.group:,} at a time"


def how(sizes: BlockShuffle | None) -> str:
    """Return in words how something is shuffled."""
    return "in full" if sizes is None else f"in {sizes}"


class BlockPermutation:
    """One permutation of [0, n); the interface is that of :class:`~tootsie.mixtures.shuffle.Permutation`.

    Args:
      n: number of elements, 1 <= n < 2**62 − 2**30.
      seed: of the plan.
      name: of the dataset.
      epoch: 0 for the first pass.
      sizes: B and K.
    """

    def __init__(self, n: int, seed: int, name: str, epoch: int, sizes: BlockShuffle) -> None:
        self.n, self.block, self.group = n, sizes.block, sizes.group
        blocks = -(-n // self.block)
        self._blocks = Permutation(blocks, seed, name, epoch, f"{VERSION} blocks")
        self._keys = round_keys(f"{VERSION} groups", seed, name, epoch)
        self._numbers: list[int] = self._keys.tolist()
        self._absent = blocks * self.block - n
        """Elements that the last block is short of."""
        self._short = self._blocks.inverse(blocks - 1) if self._absent else blocks
        """Its place."""

    def __call__(self, index: np.ndarray) -> np.ndarray:
        """Return the images of ``index`` (int64[...] in [0, n)), int64 of the same shape.

        Raises:
          IndexError: an index lies outside [0, n).
        """
        index = np.asarray(index, dtype=np.int64)
        if index.size and (int(index.min()) < 0 or int(index.max()) >= self.n):
            raise IndexError(f"an index lies outside [0, {self.n})")
        flat = index.reshape(-1)
        place, element = np.empty_like(flat), np.empty_like(flat)
        for first in range(0, len(flat), _CHUNK):
            part = slice(first, first + _CHUNK)
            place[part], element[part] = np.divmod(self._padded(self._within_groups(flat[part])), self.block)
        return (self._blocks(place) * self.block + element).reshape(index.shape)

    def _padded(self, index: Number) -> Number:
        """Return indices as if the short block had all its elements."""
        return index + self._absent * (index >= (self._short + 1) * self.block - self._absent)

    def _start(self, place: Number) -> Number:
        """Return the index of the first element of the block at a place."""
        return place * self.block - self._absent * (place > self._short)

    def _within_groups(self, index: np.ndarray) -> np.ndarray:
        """Shuffle the elements of each group, int64[m]."""
        group = self._padded(index) // (self.block * self.group)
        start = self._start(group * self.group)
        size = self._start(np.minimum((group + 1) * self.group, self._blocks.n)) - start
        # The numbers of so many bits as a group's last one has.
        bits = np.frexp((size - 1).astype(np.float64))[1].astype(np.uint64)
        keys = self._keys ^ mixed(mixed(group.astype(np.uint64) ^ self._keys[0]) ^ self._keys[7])[:, None]
        value, limit = (index - start).astype(np.uint64), size.astype(np.uint64)
        walking = np.arange(len(value))
        while walking.size:
            value[walking] = encrypt(value[walking], keys[walking], bits[walking])
            walking = walking[value[walking] >= limit[walking]]
        return start + value.view(np.int64)

    def at(self, index: int) -> int:
        """Return the image of one index in [0, n)."""
        place, element = divmod(self._padded(self._in_group(index)), self.block)
        return self._blocks.at(place) * self.block + element

    def inverse(self, image: int) -> int:
        """Return the index whose image is ``image``.

        Raises:
          IndexError: it lies outside [0, n).
        """
        if not 0 <= image < self.n:
            raise IndexError(f"{image} lies outside [0, {self.n})")
        number, element = divmod(image, self.block)
        return self._in_group(self._start(self._blocks.inverse(number)) + element, backwards=True)

    def _in_group(self, index: int, backwards: bool = False) -> int:
        """Shuffle one element within its group, or undo that."""
        group = self._padded(index) // (self.block * self.group)
        ends = [min((group + more) * self.group, self._blocks.n) for more in (0, 1)]
        start, end = (self._start(place) for place in ends)
        own = mixed(mixed(np.array([group], dtype=np.uint64) ^ self._keys[0]) ^ self._keys[7])
        keys = [number ^ int(own[0]) for number in self._numbers]
        return start + feistel(index - start, end - start, keys, backwards)


@functools.lru_cache(maxsize=256)
def block_permutation(n: int, seed: int, name: str, epoch: int, sizes: BlockShuffle) -> BlockPermutation:
    """Return a permutation, kept for the next call."""
    return BlockPermutation(n, seed, name, epoch, sizes)


Shuffle = Permutation | BlockPermutation
"""The order of an epoch."""


def epoch_shuffle(n: int, seed: int, name: str, epoch: int, sizes: BlockShuffle | None) -> Shuffle:
    """Return the order of one epoch of a dataset: shuffled in full, or in blocks."""
    if sizes is None:
        return permutation(n, seed, name, epoch)
    return block_permutation(n, seed, name, epoch, sizes)


def permute_each(shuffles: Sequence[Shuffle], which: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the images of ``index``, int64[m], element i under ``shuffles[which[i]]``; see :func:`~.shuffle.permute`."""
    plain = [shuffle for shuffle in shuffles if isinstance(shuffle, Permutation)]
    if len(plain) == len(shuffles):
        return permute(plain, which, index)
    result = np.empty(len(index), dtype=np.int64)
    for number in np.unique(which).tolist():
        mine = which == number
        if mine.sum() <= FEW:
            result[mine] = [shuffles[number].at(element) for element in index[mine].tolist()]
        else:
            result[mine] = shuffles[number](index[mine])
    return result

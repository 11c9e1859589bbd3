"""Memory for large arrays that come and go, used again when nobody refers to an array any more.

The kernel clears each page that it gives to a process, which for arrays of a batch's size costs more time than filling them.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

PAGE = 4096
"""Bytes that sizes are rounded up to, so that arrays of almost the same size share memory."""
SPARE = 2
"""Pieces of memory that are kept while no array lies in them."""


class RowMemory:
    """Makes arrays. Safe to use from several threads.

    A piece comes back when the array made in it and all views of that are gone, whoever holds them; until then it is theirs.
    """

    def __init__(self) -> None:
        self._spare: deque[np.ndarray] = deque(maxlen=SPARE)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array as :func:`numpy.empty` does: what is in it is of no meaning."""
        dtype = np.dtype(dtype)
        bytes_asked = math.prod(shape) * dtype.itemsize
        size = -(-bytes_asked // PAGE) * PAGE
        try:
            memory = self._spare.pop()
            if memory.nbytes != size:  # Other sizes are asked for now.
                self._spare.clear()
                memory = np.empty(size, np.uint8)
        except IndexError:
            memory = np.empty(size, np.uint8)
        return np.asarray(_Lent(memory, self._spare))[:bytes_asked].view(dtype).reshape(shape)


class _Lent:
    """What an array that is lent has as its base: gives the memory back when the last of its users is gone."""

    def __init__(self, memory: np.ndarray, back_to: deque[np.ndarray]) -> None:
        self._memory = memory
        self._back_to = back_to
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        self._back_to.append(self._memory)

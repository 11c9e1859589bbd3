"""Memory that is used again."""

from __future__ import annotations

import numpy as np

from tootsie.tokenize.row_memory import SPARE, RowMemory


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_memory_comes_back_when_the_last_view_is_gone() -> None:
    memory = RowMemory()
    array = memory.empty((300, 40), np.int32)
    array[:] = 7
    first, part = address(array), array[20:, ::2].T
    del array
    other = memory.empty((300, 40), np.int32)
    other[:] = 8
    assert address(other) != first
    assert (part == 7).all()
    del part
    again = memory.empty((40, 600), np.int16)  # as many bytes
    assert (address(again), again.shape, again.dtype) == (first, (40, 600), np.int16)


def test_other_sizes_get_other_memory_and_little_is_kept() -> None:
    memory = RowMemory()
    del (several := [memory.empty((100, 100), np.int32) for _ in range(SPARE + 3)])[:]
    assert len(memory._spare) == SPARE
    assert memory.empty((200, 100), np.int32).nbytes == 80_000
    assert sum(piece.nbytes for piece in memory._spare) < 100_000
    assert memory.empty((0, 5), np.int32).shape == (0, 5)
    assert memory.empty((3,), bool).nbytes == 3
    assert not several

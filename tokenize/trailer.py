"""What a shard ends with: checksums of its blocks, and where its record batches lie.

    Arrow IPC file, but its footer │ checksums │ number of batches │ table of batches │ Arrow footer
    ◀──────────── body ───────────▶ ◀──────────────────────── trailer ─────────────────────────────▶

Arrow finds the footer from the end of the file and batches by their position, so any Arrow reader reads a shard and passes
over what lies between. The body is cut into blocks of :data:`BLOCK` bytes (the last one is shorter) with an XXH3 64-bit checksum
each, so that a reader can check just what it uses. The ledger has the checksum of the trailer, a plan has the ledger's: from
the plan to each token there is no gap.

All numbers are little-endian, eight bytes.
"""

from __future__ import annotations

import array
import struct
import sys
from typing import NamedTuple

import numpy as np
import xxhash

BLOCK = 8192
"""Bytes that one checksum is for."""


class Trailer(NamedTuple):
    """The parts of a trailer that are ours."""

    checksums: array.array[int] | memoryview
    """uint64[blocks]."""
    at: np.ndarray
    """int64[batches]: position in the file of the batch's message."""
    documents: np.ndarray
    """int64[batches]."""
    tokens: np.ndarray
    """int64[batches]."""


class BlockHasher:
    """Makes the checksums of a body that comes piece by piece."""

    def __init__(self) -> None:
        self.checksums: array.array[int] = array.array("Q")
        self._open = xxhash.xxh3_64()
        self._room = BLOCK

    def update(self, data: memoryview) -> None:
        """Take the next bytes."""
        while len(data):
            part, data = data[: self._room], data[self._room :]
            self._open.update(part)
            self._room -= len(part)
            if not self._room:
                self._end_block()

    def finish(self) -> array.array[int]:
        """Return the checksums of all blocks."""
        if self._room < BLOCK:
            self._end_block()
        return self.checksums

    def _end_block(self) -> None:
        self.checksums.append(self._open.intdigest())
        self._open.reset()
        self._room = BLOCK


def blocks_of(body: int) -> int:
    """Return how many blocks a body of so many bytes has."""
    return -(-body // BLOCK)


def encode_trailer(trailer: Trailer) -> bytes:
    """Return our part of a trailer, a multiple of eight bytes."""
    table = np.stack([trailer.at, trailer.documents, trailer.tokens], axis=1)
    return (
        np.asarray(trailer.checksums, "<u8").tobytes()
        + struct.pack("<q", len(table))
        + table.astype("<i8").tobytes()
    )


def decode_trailer(data: memoryview, body: int) -> Trailer:
    """Return our part of a trailer.

    Args:
      data: the trailer, Arrow's footer included.
      body: bytes before it.

    Raises:
      ValueError: it is too short for what it states.
    """
    blocks = blocks_of(body)
    at = 8 * blocks + 8
    if len(data) < at:
        raise ValueError("the trailer is cut")
    checksums = data[: at - 8].cast("Q")  # In place, for a shard that stays open.
    if sys.byteorder == "big":
        checksums = memoryview(np.frombuffer(checksums, "<u8").astype("=u8").data)
    (count,) = struct.unpack("<q", data[at - 8 : at])
    if not 0 <= count <= (len(data) - at) // 24:
        raise ValueError("the trailer is cut")
    table = np.frombuffer(data[at : at + 24 * count], "<i8").reshape(count, 3).astype(np.int64)
    return Trailer(checksums, *table.T)

"""Records on their way to their shards: one file for each unit of input, a list of ranges for each shard.

A runner on one machine keeps what it groups in memory, and a dump is larger than that. So what Beam groups is where the
records lie; the records themselves are in these files, written front to back with bounded memory and read by range.

Layout: Zstandard frames one after another, each with some records of one shard. A record is
``length of head (4 bytes, little endian), length of body (4 bytes), head (JSON), body``.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

import zstandard

from tootsie.curate.corpus import Record
from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError

LEVEL = 1
"""Zstandard level: these files live minutes."""
BUFFER_BYTES = 48 * 2**20
"""What a writer holds in memory before it writes the fullest shard."""
FRAME_BYTES = 8 * 2**20
"""A shard's records are written once there are so many bytes of them."""
_LENGTHS = struct.Struct("<II")

Frames = tuple[tuple[int, int], ...]
"""Offset and length of each frame of one shard in one file, in order."""


def shard_of(key: str, shards: int, seed: int) -> int:
    """Return the shard of a key: uniform, the same on every machine, another spread for another seed."""
    digest = hashlib.blake2b(
        key.encode("utf-8", "surrogatepass"), digest_size=8, salt=struct.pack("<Q", seed % 2**64)
    )
    return int.from_bytes(digest.digest(), "little") % shards


class ShuffleWriter:
    """Writes the records of one unit into an open stream and remembers where each shard's lie."""

    def __init__(self, stream: IO[bytes], shards: int, seed: int) -> None:
        self._stream = stream
        self._shards = shards
        self._seed = seed
        self._buffers: dict[int, bytearray] = {}
        self._held = 0
        self._position = 0
        self.frames: dict[int, list[tuple[int, int]]] = {}
        self.records = 0

    def add(self, record: Record) -> None:
        """Append one record to its shard."""
        shard = shard_of(record.key, self._shards, self._seed)
        head = json.dumps([record.key, record.head], separators=(",", ":")).encode()
        buffer = self._buffers.setdefault(shard, bytearray())
        before = len(buffer)
        buffer += _LENGTHS.pack(len(head), len(record.body))
        buffer += head
        buffer += record.body
        self._held += len(buffer) - before
        self.records += 1
        if len(buffer) >= FRAME_BYTES:
            self._flush(shard)
        elif self._held >= BUFFER_BYTES:
            self._flush(max(self._buffers, key=lambda one: len(self._buffers[one])))

    def finish(self) -> None:
        """Write what is still held."""
        for shard in sorted(self._buffers):
            self._flush(shard)

    def _flush(self, shard: int) -> None:
        buffer = self._buffers.pop(shard)
        self._held -= len(buffer)
        frame = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(bytes(buffer))
        self._stream.write(frame)
        self.frames.setdefault(shard, []).append((self._position, len(frame)))
        self._position += len(frame)


@dataclass(frozen=True)
class ShardRecords:
    """The records of one shard, unit after unit; can be iterated again and again."""

    parts: tuple[tuple[str, Frames], ...]
    """File and frames for each unit that has records of this shard, in the order of the units."""

    def __iter__(self) -> Iterator[Record]:
        for url, frames in self.parts:
            yield from _read(url, frames)


def _read(url: str, frames: Iterable[tuple[int, int]]) -> Iterator[Record]:
    with storage.open_binary(url) as stream:
        for offset, length in frames:
            stream.seek(offset)
            try:
                data = zstandard.ZstdDecompressor().decompress(stream.read(length))
            except zstandard.ZstdError as error:
                raise ArtefactError(
                    "an intermediate file is damaged",
                    file=url,
                    value=str(error),
                    remedy="Run the command again with --overwrite",
                ) from None
            position = 0
            while position < len(data):
                head_length, body_length = _LENGTHS.unpack_from(data, position)
                start = position + _LENGTHS.size
                position = start + head_length + body_length
                key, head = json.loads(data[start : start + head_length])
                yield Record(key, head, data[start + head_length : position])

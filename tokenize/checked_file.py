"""A shard's file, memory-mapped, none of whose bytes is used before it was compared with its checksum.

A file on this machine is mapped as it is. One that lies elsewhere is mapped from the block cache
(:mod:`tootsie.tokenize.block_cache`): a file of the same size, full of holes at first, whose blocks are fetched when they
are needed. Whether a block is there is nothing that anybody has to write down: its checksum says.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import xxhash

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.ledger import ShardEntry
from tootsie.tokenize.trailer import BLOCK, Trailer, blocks_of, decode_trailer

if TYPE_CHECKING:
    from tootsie.tokenize.block_cache import RemoteFile

REMEDY = "Copy the shard again, or delete the cache and build it again"


GROUP = 32
"""Blocks of a local file that are compared at a time: 256 KiB. Where a page of a file is missing, Linux reads 128 KiB around it
or more, so this is one or two of its reads; in memory a longer run costs less for each byte."""
_DIGEST = xxhash.xxh3_64_intdigest
_BLOCKS = tuple(slice(at, at + BLOCK) for at in range(0, GROUP * BLOCK, BLOCK))
"""The blocks of a group."""


class Checking(enum.Enum):
    """When the bytes of a shard on this machine are compared with their checksums."""

    FIRST_USE = "first use"
    """Each block when something in it is first used: nothing damaged is ever served."""
    OPEN = "open"
    """All of a shard when its first token is asked for: damage is found earlier, at the price of reading everything."""
    NEVER = "never"
    """Only the trailer and the structure; for storage that checks by itself."""


class CheckedFile:
    """The bytes of one shard.

    Args:
      url: where the shard lies, for messages.
      path: the file to map.
      entry: the shard's line in the ledger.
      remote: where blocks that are not in the file come from.
      checking: when bytes are compared; those of remote shards always at first use.

    Raises:
      ArtefactError: the file has another size than the ledger says, or its trailer is another.
    """

    def __init__(
        self,
        url: str,
        path: Path,
        entry: ShardEntry,
        remote: RemoteFile | None = None,
        checking: Checking = Checking.FIRST_USE,
    ) -> None:
        self.url = url
        self._entry = entry
        self._remote = remote
        with pa.memory_map(str(path)) as mapped:
            if mapped.size() != entry.size:
                raise self.damaged(f"the shard has {mapped.size():,} bytes, the ledger says {entry.size:,}")
            buffer = (
                mapped.read_buffer()
            )  # Stays mapped; the file itself is closed, so that many can be in use.
        self.source = pa.BufferReader(buffer)
        """For Arrow."""
        self._address = buffer.address
        self.view = memoryview(buffer).cast("B")
        """All bytes, checked or not."""
        self._body = self.view[: entry.body]
        self.trailer = self._read_trailer()
        """Checked."""
        self._checksums = self.trailer.checksums
        self.checked = bytearray(blocks_of(entry.body))
        """For each block of the body, whether it was compared."""
        if remote is None and checking is Checking.NEVER:
            self.checked = bytearray(b"\1") * len(self.checked)
        elif checking is Checking.OPEN:
            self.check(0, entry.body)

    @property
    def replaced(self) -> bool:
        """Whether the file was removed from the block cache: it can be read on, but its space is not free before it is closed."""
        return self._remote is not None and self._remote.evicted

    def position(self, buffer: pa.Buffer) -> tuple[int, int]:
        """Return where a buffer that Arrow made of this file lies: ``[start, stop)``."""
        start = buffer.address - self._address
        if not 0 <= start <= start + buffer.size <= self._entry.body:
            raise self.damaged("a column lies outside the body")
        return start, start + buffer.size

    def check(self, start: int, stop: int) -> None:
        """Make sure that the bytes ``[start, stop)`` are those that were written.

        Raises:
          ArtefactError: they are not, or can't be had.
        """
        first, last = start // BLOCK, -(-stop // BLOCK)
        if self.checked.find(0, first, last) >= 0:
            self.check_blocks(first, last)

    def check_blocks(self, first: int, last: int) -> None:
        """Make sure of the blocks ``[first, last)``, of which :attr:`checked` does not say so yet; see :meth:`check`.

        Raises:
          ArtefactError: as there.
        """
        if self._remote is None:  # What is not needed of a remote file need not be there.
            for start in range(first // GROUP * GROUP, last, GROUP):
                self._check_group(start)
            if self.checked.find(0, first, last) < 0:
                return
        unlike = self._unlike(first, last)
        if unlike:
            self._mend(unlike)

    def _check_group(self, start: int) -> None:
        """Compare blocks that lie together: memory is read faster in long runs, and the turn of the others comes, too."""
        checked = self.checked
        stop = min(start + GROUP, len(checked))
        if checked.find(0, start, stop) < 0:
            return
        group = self._body[start * BLOCK : stop * BLOCK]
        # A loop in Python would cost half as much again as the hashing.
        found = [*map(_DIGEST, map(group.__getitem__, _BLOCKS[: stop - start]))]
        if found == self._checksums[start:stop].tolist():
            checked[start:stop] = b"\1" * (stop - start)

    def check_all(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Make sure of several ranges; those of a remote file are fetched at the same time.

        Raises:
          ArtefactError: as :meth:`check`.
        """
        if self._remote is None:
            for start, stop in ranges:
                self.check(start, stop)
            return
        missing: dict[int, None] = {}
        for start, stop in ranges:
            missing.update(dict.fromkeys(self._unlike(start // BLOCK, -(-stop // BLOCK))))
        if missing:
            self._mend(sorted(missing))

    def _unlike(self, first: int, last: int) -> list[int]:
        """Compare blocks that were not yet; return those whose checksum differs."""
        body, checksums, checked, digest = self._body, self._checksums, self.checked, _DIGEST
        unlike = []
        for block in range(first, last):
            if not checked[block]:
                at = block * BLOCK
                if digest(body[at : at + BLOCK]) == checksums[block]:
                    checked[block] = 1
                else:
                    unlike.append(block)
        return unlike

    def _mend(self, blocks: Sequence[int]) -> None:
        """Fetch blocks that are not as they were written.

        Raises:
          ArtefactError: the file is no remote one's, or they are not so there either.
        """
        if self._remote is None:
            raise self.damaged(
                f"the bytes from {blocks[0] * BLOCK:,} on are not those that were written (a checksum differs)"
            )
        self._remote.fill(blocks, self._entry.body, self._agree)
        # What is served is what is mapped, so that is compared, not what came over the network.
        unlike = [block for block in blocks if self._unlike(block, block + 1)]
        if unlike:
            raise self.damaged(f"bytes from {unlike[0] * BLOCK:,} on were fetched, but not kept by the disk")

    def _agree(self, first: int, data: memoryview) -> bool:
        """Return whether ``data`` are the blocks from ``first`` on."""
        checksums = self.trailer.checksums
        return all(
            xxhash.xxh3_64_intdigest(data[at : at + BLOCK]) == checksums[first + at // BLOCK]
            for at in range(0, len(data), BLOCK)
        )

    def _read_trailer(self) -> Trailer:
        entry = self._entry
        found = self.view[entry.body :]
        if xxhash.xxh3_128_hexdigest(found) != entry.trailer_xxh3_128:
            if self._remote is None:
                raise self.damaged("its trailer is not the one that the ledger means (the checksum differs)")
            self._remote.fill_range(
                entry.body,
                entry.size,
                lambda data: xxhash.xxh3_128_hexdigest(data) == entry.trailer_xxh3_128,
            )
            if xxhash.xxh3_128_hexdigest(found) != entry.trailer_xxh3_128:
                raise self.damaged("its trailer was fetched, but not kept by the disk")
        try:
            return decode_trailer(found, entry.body)
        except ValueError as error:
            raise self.damaged(str(error)) from None

    def words(self, dtype: np.dtype) -> np.ndarray:
        """Return the file as numbers of one kind, from its first byte; a last incomplete one is left out."""
        return np.frombuffer(self.view, dtype, len(self.view) // dtype.itemsize)

    def damaged(self, problem: str) -> ArtefactError:
        """Return the error for a shard that is not what the ledger says."""
        return ArtefactError(problem, file=self.url, remedy=REMEDY)

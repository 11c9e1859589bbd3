"""A gzip file of many members, as crawls have one for each record: what is damaged is one member, what is behind it is read."""

from __future__ import annotations

import io
import zlib
from typing import IO, Any

from tootsie.datasets.compression import RATIO_FREE
from tootsie.datasets.errors import InputError

_MAGIC = b"\x1f\x8b\x08"
_STEP = 2**16


class GzipMembers(io.RawIOBase):
    """The content of all members as one stream.

    Reading raises :class:`InputError` once for each member that is damaged or cut off; the next read gives what is behind it.
    """

    def __init__(self, raw: IO[bytes], max_ratio: int) -> None:
        """Read from a stream.

        Args:
          raw: as stored.
          max_ratio: content over stored bytes beyond which a file of more than 256 MiB is taken for a bomb, and is at its end.
        """
        self._raw = raw
        self._max_ratio = max_ratio
        self._stored = self._unpacked = 0
        self._pending = b""
        self._member: Any = None
        self._ended = False
        self.content_begins: list[int] = []
        """Where the content of each member begins, counted in bytes of all content; whoever reads may forget the first ones."""

    def readable(self) -> bool:
        """Return ``True``."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; see :class:`io.RawIOBase`."""
        while not self._ended:
            if self._member is None:
                if not self._begin():
                    return 0
                self._member = zlib.decompressobj(31)
                self.content_begins.append(self._unpacked)
            if not self._pending and not self._more():
                self._member, self._ended = None, True
                raise InputError("the compressed file is cut off")
            try:
                content = self._member.decompress(self._pending, len(buffer))
            except zlib.error as error:
                self._member = None
                self._pending = self._pending[1:]  # the search for the next member begins behind this one
                self._skip()
                raise InputError(f"a damaged member of gzip: {error}") from None
            self._pending = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if self._member.eof:
                self._member = None
            if content:
                self._unpacked += len(content)
                if self._unpacked > max(RATIO_FREE, self._max_ratio * self._stored):
                    self._ended = True
                    raise InputError(
                        f"{self._stored:,} bytes that unpack to more than {self._unpacked:,} are no data"
                    )
                buffer[: len(content)] = content
                return len(content)
        return 0

    def _more(self) -> bool:
        chunk = self._raw.read(_STEP)
        self._stored += len(chunk)
        self._pending += chunk
        return bool(chunk)

    def _begin(self) -> bool:
        """Return whether there is another member; zeros behind the last are none."""
        while True:
            self._pending = self._pending.lstrip(b"\0")
            if self._pending[: len(_MAGIC)] == _MAGIC:
                return True
            if len(self._pending) < len(_MAGIC) and self._more():
                continue
            if not self._pending:
                self._ended = True
                return False
            self._skip()
            raise InputError("bytes between two members of gzip")

    def _skip(self) -> None:
        """Go to where a member may begin."""
        while True:
            at = self._pending.find(_MAGIC)
            if at >= 0:
                self._pending = self._pending[at:]
                return
            self._pending = self._pending[-len(_MAGIC) + 1 :]
            if not self._more():
                self._pending, self._ended = b"", True
                return

    def close(self) -> None:
        """Close the stream below too."""
        if not self.closed:
            self._raw.close()
        super().close()

"""Compressed streams, read in bounded memory; one that is cut off or damaged is an error, never an early end.

gzip (RFC 1952), Zstandard (RFC 8878), bzip2 and xz. Files of several members, frames or streams are one stream. A file of
Zstandard may begin with the dictionary of its frames, as crawls do: https://iipc.github.io/warc-specifications/specifications/warc-zstd/
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from enum import StrEnum
from typing import IO, Any

import zstandard

from tootsie.datasets.errors import InputError

ZSTD_STEP = 2**10
"""Compressed bytes taken at a time: Zstandard makes at most 32 MiB of them (a block of 128 KiB from four bytes)."""
ZSTD_DICTIONARY = 2**26
"""Bytes of the longest dictionary that is read, stored or unpacked; usual ones have some hundred thousand."""
XZ_MEMORY = 2**28
"""Bytes that decompressing xz may take: four times what ``xz -9`` needs."""
RATIO_FREE = 2**28
"""Bytes that a stream may have before its ratio is looked at."""

_STEP = 2**16
_ZSTD_WINDOW = 2**27
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
"""How a skippable frame begins that may hold a dictionary …"""
_DICTIONARY = b"\x37\xa4\x30\xec"
"""… and a dictionary, unless that is compressed itself."""


class Compression(StrEnum):
    """How a file is compressed."""

    NONE = "none"
    """As it is."""
    GZIP = "gzip"
    """``.gz``"""
    ZSTD = "zstd"
    """``.zst``, ``.zstd``"""
    BZIP2 = "bzip2"
    """``.bz2``"""
    XZ = "xz"
    """``.xz``"""


SUFFIXES = {
    ".gz": Compression.GZIP,
    ".zst": Compression.ZSTD,
    ".zstd": Compression.ZSTD,
    ".bz2": Compression.BZIP2,
    ".xz": Compression.XZ,
}
"""By the end of the name."""
MAGIC = {
    b"\x1f\x8b": Compression.GZIP,
    _ZSTD_FRAME: Compression.ZSTD,
    b"BZh": Compression.BZIP2,
    b"\xfd7zXZ\0": Compression.XZ,
}
"""By the first bytes."""


def by_name(name: str) -> tuple[Compression, str]:
    """Return the compression that a name tells, and the name without its suffix."""
    lower = name.lower()
    for suffix, kind in SUFFIXES.items():
        if lower.endswith(suffix):
            return kind, name[: -len(suffix)]
    return Compression.NONE, name


def by_content(head: bytes) -> Compression:
    """Return the compression that the first bytes tell."""
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    # A Zstandard file may begin with a skippable frame.
    if len(head) >= 4 and head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5:
        return Compression.ZSTD
    return Compression.NONE


def decompressed(
    raw: IO[bytes], kind: Compression, url: str, max_ratio: int | None = None
) -> io.BufferedReader:
    """Return a stream of the content of ``raw``, which closing it closes.

    Args:
      raw: the stream as stored.
      kind: how it is compressed.
      url: its name, for messages.
      max_ratio: content over stored bytes beyond which a stream of more than 256 MiB is taken for a bomb.

    Reading raises :class:`InputError` where the stream is truncated, damaged or a bomb.
    """
    counted = _Counted(raw)
    stream: Any = counted
    if kind is Compression.GZIP:
        stream = gzip.GzipFile(fileobj=counted)  # type: ignore[arg-type]
    elif kind is Compression.ZSTD:
        stream = _ZstdFrames(counted)
    elif kind in (Compression.BZIP2, Compression.XZ):
        stream = _Streams(counted, kind)
    return io.BufferedReader(_Whole(stream, url, counted, max_ratio), 2**17)


class _Counted(io.RawIOBase):
    """Counts what is read."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        content = self._raw.read(size)
        self.count += len(content)
        return content

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _Whole(io.RawIOBase):
    """A decompressed stream that raises :class:`InputError` instead of ending early on a damaged file."""

    def __init__(self, stream: Any, url: str, stored: _Counted, max_ratio: int | None) -> None:
        self._stream = stream
        self._url = url
        self._stored = stored
        self._max_ratio = max_ratio
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            chunk = self._stream.read(len(buffer))
        except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
            raise InputError(
                "the compressed file is truncated or damaged",
                file=self._url,
                value=str(error),
                remedy="Fetch it again and compare its checksum",
            ) from None
        buffer[: len(chunk)] = chunk
        self._count += len(chunk)
        if self._max_ratio and self._count > max(RATIO_FREE, self._max_ratio * self._stored.count):
            raise InputError(
                f"{self._stored.count:,} bytes that unpack to more than {self._count:,} are no data",
                file=self._url,
                remedy="Fetch it again, or do not trust it",
            )
        return len(chunk)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._stored.close()
        super().close()


class _ZstdFrames:
    """Reads any number of Zstandard frames; a frame that stops early is an error, not an end of file."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._frames: zstandard.ZstdDecompressor | None = None
        self._decompressor: Any = None
        self._pending = memoryview(b"")
        self._out = memoryview(b"")

    def read(self, count: int) -> memoryview:
        if self._frames is None:
            head = self._take(8)
            dictionary = None
            if len(head) == 8 and head.startswith(_DICTIONARY_FRAME):
                size = int.from_bytes(head[4:], "little")
                content = self._take(min(size, len(_DICTIONARY)))
                if content in (_DICTIONARY, _ZSTD_FRAME):
                    dictionary, head = self._dictionary(content, size), b""
                else:  # a skippable frame like any other
                    head += content
            self._frames = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_ZSTD_WINDOW)
            self._pending = memoryview(head)
        while not self._out:
            self._pending = self._pending or memoryview(self._raw.read(2**17))
            block, self._pending = self._pending[:ZSTD_STEP], self._pending[ZSTD_STEP:]
            if not block:
                if self._decompressor is not None:
                    raise zstandard.ZstdError("the last frame is incomplete")
                return self._out
            if self._decompressor is None:
                self._decompressor = self._frames.decompressobj()
            self._out = memoryview(self._decompressor.decompress(block))
            if self._decompressor.eof:
                unused = len(self._decompressor.unused_data)
                self._pending = memoryview(bytes(block[len(block) - unused :]) + bytes(self._pending))
                self._decompressor = None
        chunk, self._out = self._out[:count], self._out[count:]
        return chunk

    def _take(self, count: int) -> bytes:
        """Return so many bytes as stored, fewer where there are no more."""
        found = b""
        while len(found) < count and (more := self._raw.read(min(count - len(found), 2**20))):
            found += more
        return found

    def _dictionary(self, begin: bytes, size: int) -> zstandard.ZstdCompressionDict:
        """Return the dictionary of so many bytes as stored that begins with some."""
        if size > ZSTD_DICTIONARY:
            raise zstandard.ZstdError(f"a dictionary of {size:,} bytes")
        content = begin + self._take(size - len(begin))
        if len(content) < size:
            raise zstandard.ZstdError("the dictionary is incomplete")
        if begin == _ZSTD_FRAME:
            frames = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
            stated = zstandard.frame_content_size(content)
            with frames.stream_reader(content) as stream:
                content = stream.read(ZSTD_DICTIONARY + 1)
            if len(content) > ZSTD_DICTIONARY:
                raise zstandard.ZstdError("the dictionary unpacks to too much")
            if stated not in (-1, len(content)):
                raise zstandard.ZstdError("the dictionary is incomplete")
        return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_FULLDICT)

    def close(self) -> None:
        self._raw.close()


class _Streams:
    """Reads any number of bzip2 or xz streams; xz may have zeros between them."""

    def __init__(self, raw: Any, kind: Compression) -> None:
        self._raw = raw
        self._kind = kind
        self._decompressor: Any = None
        self._pending = b""
        self._started = False

    def _new(self) -> Any:
        if self._kind is Compression.BZIP2:
            return bz2.BZ2Decompressor()
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)

    def read(self, count: int) -> bytes:
        while True:
            if self._decompressor is None:
                self._pending = self._pending or self._raw.read(_STEP)
                if self._started and self._kind is Compression.XZ:
                    self._pending = self._pending.lstrip(b"\0")
                    if not self._pending and (more := self._raw.read(_STEP)):
                        self._pending = more
                        continue
                if not self._pending:
                    if not self._started:
                        raise EOFError("the file is empty")
                    return b""
                self._decompressor, self._started = self._new(), True
            fresh = b""
            if self._decompressor.needs_input:
                fresh = self._pending or self._raw.read(_STEP)
                self._pending = b""
                if not fresh:
                    raise EOFError("the last stream is incomplete")
            chunk = self._decompressor.decompress(fresh, count)
            if self._decompressor.eof:
                self._pending = self._decompressor.unused_data
                self._decompressor = None
            if chunk:
                return chunk

    def close(self) -> None:
        self._raw.close()

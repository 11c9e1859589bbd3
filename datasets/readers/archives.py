"""Members of tar, ZIP and 7z archives, streamed one after another. Nothing is unpacked into a folder; no name is used as a path.

Only regular files are given: folders are left out, and so are links and devices, which are never followed. An archive is
refused where a name leaves it (``../``), where it is encrypted, or where it announces more than data unpacks to.
"""

from __future__ import annotations

import contextlib
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from tootsie.datasets.compression import RATIO_FREE
from tootsie.datasets.errors import InputError
from tootsie.datasets.piped_writer import PipedWriter, piped
from tootsie.datasets.readers.record import Limits

MAX_TAR_HEADER = 2**20
"""Bytes of a tar header of variable length (a long name, pax fields), which is read at once."""

Member = tuple[str, IO[bytes]]
"""Name in the archive, content. The content is valid until the next member is asked for."""


def tar_members(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Member]:
    """Yield the files of a tar archive (not compressed, not seekable).

    Raises:
      InputError: it is truncated, damaged, or not to be trusted.
    """
    with _honest(name):
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_BoundedTarInfo) as archive:
            for count, info in enumerate(archive, 1):
                _check_count(count, name, limits)
                _check_name(info.name, name)
                if info.issparse():
                    raise InputError("a sparse file in the archive", file=name, value=info.name)
                if info.isreg():
                    content = archive.extractfile(info)
                    assert content is not None
                    yield info.name, _forward(content, f"{name}/{info.name}")
                archive.members = []  # type: ignore[attr-defined]
        while stream.read(2**20):  # the checksum of a compressed archive stands behind its end
            pass


class _BoundedTarInfo(tarfile.TarInfo):
    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        variable = (
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
        )
        if self.type in variable and self.size > MAX_TAR_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


def zip_members(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Member]:
    """Yield the files of a ZIP archive (seekable) in the order of its directory.

    Raises:
      InputError: it is truncated, damaged, encrypted, or not to be trusted; that a checksum is wrong shows at a member's end.
    """
    with _honest(name), zipfile.ZipFile(stream) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        _check_count(len(infos), name, limits)
        total = sum(info.file_size for info in infos)
        # Members may overlap: what is stored is the archive's size, not the sum of theirs.
        _check_ratio(total, stream.seek(0, io.SEEK_END), name, limits)
        for info in infos:
            _check_name(info.orig_filename, name)
            if info.flag_bits & 0x1:
                raise InputError(
                    "a member is encrypted", file=name, value=info.filename, remedy="Unpack it first"
                )
            mode = info.external_attr >> 16
            if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                continue
            with archive.open(info) as content:
                yield info.filename, _forward(content, f"{name}/{info.filename}")


def seven_zip_members(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Member]:
    """Yield the files of a 7z archive (seekable) in its order, decompressed in a thread never far ahead of the reader.

    Raises:
      InputError: it is truncated, damaged, encrypted, or not to be trusted; that a checksum is wrong shows at a member's end.
    """
    import py7zr

    with _honest(name), py7zr.SevenZipFile(stream) as archive:
        if archive.needs_password():
            raise InputError("the archive is encrypted", file=name, remedy="Unpack it first")
        wanted: dict[str, int] = {}
        for info in archive.list():
            _check_name(info.filename, name)
            if info.is_directory or info.is_symlink or not info.is_file:
                continue
            if info.filename in wanted:
                raise InputError("two members of one name", file=name, value=info.filename)
            wanted[info.filename] = info.uncompressed or 0
        _check_count(len(wanted), name, limits)
        _check_ratio(sum(wanted.values()), stream.seek(0, io.SEEK_END), name, limits)
        stream.seek(0)

        def produce(pipe: PipedWriter) -> None:
            with _honest(name), py7zr.SevenZipFile(stream) as again:
                # The members' bytes follow one another in the pipe, each as long as the archive announces.
                again.extract(targets=list(wanted), factory=_into(pipe, name, list(wanted.values())))

        with piped(produce) as joined:
            for member, size in wanted.items():
                piece = _Piece(joined, size, f"{name}/{member}")
                yield member, io.BufferedReader(piece, 2**17)
                piece.skip()


def _into(pipe: PipedWriter, name: str, sizes: list[int]) -> Any:
    from py7zr.io import Py7zIO, WriterFactory

    left = sum(sizes)

    class Sink(Py7zIO):
        def write(self, s: bytes | bytearray) -> int:
            nonlocal left
            left -= len(s)
            if left < 0:
                raise InputError("the archive holds more than it announces", file=name)
            return pipe.write(bytes(s))

        def seekable(self) -> bool:
            return False

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

        def flush(self) -> None:
            pass

        def size(self) -> int:
            return 0

    class Sinks(WriterFactory):
        def create(self, filename: str) -> Py7zIO:
            return Sink()

    return Sinks()


def _forward(content: IO[bytes], name: str) -> IO[bytes]:
    return io.BufferedReader(_Forward(content, name), 2**17)


class _Forward(io.RawIOBase):
    """A member, read from its beginning only: seeking would decompress it again, where it works at all."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream = stream
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _honest(self._name):
            chunk = self._stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)


class _Piece(io.RawIOBase):
    """The next bytes of a longer stream."""

    def __init__(self, stream: IO[bytes], size: int, name: str) -> None:
        self._stream = stream
        self._left = size
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._stream.read(min(len(buffer), self._left))
        if not chunk and self._left and len(buffer):
            raise InputError("the member ends early", file=self._name, remedy="Fetch the archive again")
        self._left -= len(chunk)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def skip(self) -> None:
        """Read what the reader has left."""
        buffer = bytearray(2**17)
        while self.readinto(buffer):
            pass


MEMBERS: dict[str, Callable[[IO[bytes], str, Limits], Iterator[Member]]] = {
    "tar": tar_members,
    "zip": zip_members,
    "7z": seven_zip_members,
}
"""By the name of the format."""


def _check_name(member: str, archive: str) -> None:
    parts = member.replace("\\", "/").split("/")
    if member.startswith(("/", "\\")) or ".." in parts or "\0" in member or parts[0].endswith(":"):
        raise InputError(
            "a name leaves the archive",
            file=archive,
            value=member[:200],
            remedy="Do not trust it; fetch it from its origin",
        )


def _check_count(count: int, name: str, limits: Limits) -> None:
    if count > limits.members:
        raise InputError(f"more than {limits.members:,} members", file=name, remedy="Split the archive")


def _check_ratio(total: int, stored: int, name: str, limits: Limits) -> None:
    if total > max(RATIO_FREE, limits.ratio * stored):
        raise InputError(
            f"{stored:,} bytes that unpack to {total:,} are no data",
            file=name,
            remedy="Fetch it again, or do not trust it",
        )


@contextlib.contextmanager
def _honest(name: str) -> Iterator[None]:
    """Say of an archive that it is damaged, whatever its library makes of it."""
    import py7zr.exceptions

    try:
        yield
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        py7zr.exceptions.ArchiveError,
        lzma.LZMAError,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        RuntimeError,  # zipfile's of passwords; and RecursionError
        ValueError,
        KeyError,
        IndexError,
    ) as error:
        raise InputError(
            "the archive is truncated or damaged",
            file=name,
            value=f"{type(error).__name__}: {error}"[:200],
            remedy="Fetch it again and compare its checksum",
        ) from None

"""Members of a ZIP that is not trusted: listed with what is wrong with them, read by position and within limits.

Reading by position matters: an archive of two million members has a directory that takes long to parse, so it is parsed once
and every worker then reads its members directly.
Source: PKWARE, .ZIP File Format Specification (APPNOTE) 6.3.10, sections 4.3.7 and 4.4.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError

MAX_RATIO = 300
"""Uncompressed over compressed bytes beyond which a member of over a megabyte is taken for a bomb."""
_LOCAL = struct.Struct("<4s5H3I2H")
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class DamagedMemberError(Exception):
    """A member's bytes are not what the archive says they are."""


@dataclass(frozen=True)
class Member:
    """One file in an archive."""

    name: str
    offset: int
    """Of its local header in the archive."""
    compressed: int
    """Bytes as stored."""
    size: int
    """Bytes when decompressed."""
    crc: int
    """CRC-32 of the decompressed bytes."""
    method: int
    """0 stored, 8 deflated."""
    fault: str | None
    """Why it must not be read, ``None`` where it may."""


def list_members(url: str) -> Iterator[Member]:
    """Yield the files of an archive in the order of its directory (folders are left out).

    Raises:
      InputError: not a ZIP, or truncated.
    """
    with storage.open_binary(url) as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
            raise InputError(
                "not a whole ZIP archive",
                file=url,
                value=str(error),
                remedy="Fetch it again and compare its checksum",
            ) from None
        with archive:
            for info in archive.infolist():
                if info.orig_filename.endswith("/"):
                    continue
                yield Member(
                    name=info.orig_filename,
                    offset=info.header_offset,
                    compressed=info.compress_size,
                    size=info.file_size,
                    crc=info.CRC,
                    method=info.compress_type,
                    fault=_fault(info),
                )


def _fault(info: zipfile.ZipInfo) -> str | None:
    name = info.orig_filename
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ":" in parts[0] or ".." in parts or "\0" in name:
        return "path leaves the archive"
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        return "symbolic link"
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "special file"
    if info.flag_bits & 0x1:
        return "encrypted"
    if info.compress_type not in _METHODS:
        return f"compression method {info.compress_type}"
    if info.file_size > 2**20 and info.file_size > MAX_RATIO * max(info.compress_size, 1):
        return "compressed suspiciously well"
    return None


def read_member(stream: IO[bytes], member: Member, limit: int) -> bytes:
    """Return the content of a member.

    Args:
      stream: the archive, seekable.
      member: without a fault.
      limit: bytes that the content may have at most; memory stays below it.

    Raises:
      DamagedMemberError: the local header, length or checksum do not fit, or the content is over the limit.
    """
    if member.offset < 0:
        raise DamagedMemberError("the directory points before the begin of the archive")
    stream.seek(member.offset)
    header = stream.read(_LOCAL.size)
    if len(header) != _LOCAL.size or header[:4] != b"PK\x03\x04":
        raise DamagedMemberError("no local header where the directory says")
    *_, name_length, extra_length = _LOCAL.unpack(header)
    stream.seek(name_length + extra_length, 1)
    bound = min(limit, member.size)
    data = stream.read(min(member.compressed, limit + 1))
    if member.method == zipfile.ZIP_DEFLATED:
        inflate = zlib.decompressobj(-15)
        try:
            data = inflate.decompress(data, bound + 1)
        except zlib.error as error:
            raise DamagedMemberError(f"cannot be decompressed: {error}") from None
    if len(data) > bound:
        raise DamagedMemberError(f"has more than the {bound:,} bytes that are allowed or announced")
    if len(data) < member.size:
        raise DamagedMemberError(f"ends after {len(data):,} of {member.size:,} bytes")
    if zlib.crc32(data) != member.crc:
        raise DamagedMemberError("the checksum does not fit")
    return data

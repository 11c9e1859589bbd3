"""Pages inside a ZIP archive (ar5iv's dumps), read one by one with every member checked before it is opened."""

from __future__ import annotations

import posixpath
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError

PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
MAX_RATIO = 200
"""A member that inflates more than this is taken for a bomb (HTML reaches about 30)."""
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True)
class Member:
    """One page of an archive."""

    name: str
    """Its path inside the archive, with ``/``."""
    content: bytes


def safe_name(name: str, archive: str) -> str:
    """Return the normalised relative path of a member.

    Raises:
      InputError: the name is absolute or leads out of the folder it is unpacked to.
    """
    plain = name.replace("\\", "/")
    if (
        plain.startswith("/")
        or _DRIVE.match(plain)
        or "\0" in plain
        or ".." in plain.split("/")
        or not posixpath.normpath(plain).strip("./")
    ):
        raise InputError(
            "the archive has a member whose name leads outside",
            file=archive,
            field="member",
            value=name,
            remedy="This is no archive of pages; take it from its publisher again",
        )
    return posixpath.normpath(plain)


def read_pages(url: str, max_bytes: int) -> Iterator[Member]:
    """Yield the pages of a ZIP in the order of its directory; other files are passed over.

    All names are checked before the first page is read, so a hostile archive writes nothing.

    Raises:
      InputError: not a ZIP, truncated, encrypted, a member that leads outside, is a link, is longer than ``max_bytes``
        or inflates more than :data:`MAX_RATIO` times.
    """
    with storage.open_binary(url) as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise InputError(
                "this is not a whole ZIP archive", file=url, value=str(error), remedy="Fetch it again"
            ) from None
        with archive:
            members = [_check(info, url, max_bytes) for info in archive.infolist() if not info.is_dir()]
            for info, name in members:
                if name.lower().endswith(PAGE_SUFFIXES):
                    yield Member(name, _read(archive, info, url, max_bytes))


def _check(info: zipfile.ZipInfo, url: str, max_bytes: int) -> tuple[zipfile.ZipInfo, str]:
    name = safe_name(info.filename, url)
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise InputError("the archive has a symbolic link", file=url, field="member", value=info.filename)
    if info.flag_bits & 0x1:
        raise InputError(
            "the archive is encrypted",
            file=url,
            field="member",
            value=info.filename,
            remedy="Decrypt it first",
        )
    if name.lower().endswith(PAGE_SUFFIXES):
        if info.file_size > max_bytes:
            raise InputError(
                f"a page is longer than {max_bytes:,} bytes",
                file=url,
                field=info.filename,
                value=info.file_size,
                remedy="Raise --max-bytes",
            )
        if info.file_size > 2**20 and info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise InputError(
                "a page inflates like a bomb", file=url, field=info.filename, value=info.file_size
            )
    return info, name


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, url: str, max_bytes: int) -> bytes:
    try:
        with archive.open(info) as stream:
            content = stream.read(max_bytes + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            "a page of the archive is truncated or damaged",
            file=url,
            field=info.filename,
            value=str(error),
            remedy="Fetch the archive again and compare its checksum",
        ) from None
    if len(content) > max_bytes:
        raise InputError(f"a page is longer than {max_bytes:,} bytes", file=url, field=info.filename)
    return content

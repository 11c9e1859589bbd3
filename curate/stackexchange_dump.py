"""Files of a StackExchange data dump: found, unpacked within bounds, and read row by row.

A dump is one site: ``Posts.xml`` with ``Users.xml``, ``Comments.xml`` and ``Tags.xml`` beside it, in a 7z archive (or one archive
for each file: ``stackoverflow.com-Posts.7z``) or a folder.

XML is read by Expat, event by event: no tree, no external entity, and a file that declares entities is refused (attribute
values would be expanded whatever the parser's settings for entities are).
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError

TABLES = ("posts", "users", "comments")
"""Files that are read; lower case, without suffix."""
MAX_UNPACKED = 2**40
"""Bytes that the files read from one archive may have: ten times the largest site."""
MAX_RATIO = 2000
"""Uncompressed over compressed bytes beyond which an archive of more than 64 MiB is taken for a bomb."""
MAX_ROW = 2**28
"""Bytes between two rows; more is not a dump."""
CHUNK = 2**20

_MULTIPART = re.compile(r"-(posts|users|comments|tags|votes|badges|postlinks|posthistory)$", re.IGNORECASE)
_HOST = re.compile(r"^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org)")
_BARE_HOSTS = {
    "stackoverflow": "stackoverflow.com",
    "serverfault": "serverfault.com",
    "superuser": "superuser.com",
    "askubuntu": "askubuntu.com",
    "mathoverflow": "mathoverflow.net",
    "stackapps": "stackapps.com",
}


def site_of(name: str) -> str | None:
    """Return the host name of the site whose dump has this file or folder name, ``None`` where it does not tell.

    Dumps of before 2014 put ``meta`` first: ``meta.beer.stackexchange.com`` is ``beer.meta.stackexchange.com`` today.
    """
    stem = _MULTIPART.sub("", re.sub(r"\.(7z|xml)$", "", name.lower()))
    match = _HOST.match(stem)
    if match is None:
        bare = re.match(r"[a-z]+", stem)
        return _BARE_HOSTS.get(bare[0]) if bare else None
    host = match[0]
    old_meta = re.match(r"^meta\.([a-z0-9-]+)\.stackexchange\.com$", host)
    return f"{old_meta[1]}.meta.stackexchange.com" if old_meta else host


def table_of(name: str) -> str | None:
    """Return which table a file holds (``posts`` …), ``None`` for other files."""
    stem = re.sub(r"\.(xml|7z)$", "", name.lower())
    if stem in TABLES:
        return stem
    match = _MULTIPART.search(stem)
    return match[1] if match and match[1] in TABLES else None


@contextlib.contextmanager
def unpacked(urls: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Give the tables of a site as readable files, unpacking archives into a temporary folder that goes afterwards.

    Raises:
      InputError: an archive is truncated, damaged, encrypted or too large, or there is no ``Posts.xml``.
    """
    folder = Path(tempfile.mkdtemp(prefix="tootsie-dump-"))
    try:
        tables: dict[str, str] = {}
        for url in urls:
            name = url.rsplit("/", 1)[-1]
            if name.lower().endswith(".7z"):
                tables |= _unpack(url, folder)
            elif table := table_of(name):
                tables[table] = url
        if "posts" not in tables:
            raise InputError("no Posts.xml", file=urls[0], remedy="A dump of a site has one")
        yield tables
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpack(url: str, folder: Path) -> dict[str, str]:
    import lzma
    import zlib

    import py7zr
    import py7zr.exceptions
    from py7zr.io import Py7zIO, WriterFactory

    class Bounded(Py7zIO):
        """A file of ours that takes no more bytes than the archive announced."""

        def __init__(self, path: Path, limit: int) -> None:
            self._stream: IO[bytes] = path.open("w+b")
            self._left = limit

        def write(self, s: bytes | bytearray) -> int:
            self._left -= len(s)
            if self._left < 0:
                raise InputError("a member is larger than the archive announces", file=url)
            return self._stream.write(s)

        def read(self, size: int | None = None) -> bytes:
            return self._stream.read(-1 if size is None else size)

        def seek(self, offset: int, whence: int = 0) -> int:
            return self._stream.seek(offset, whence)

        def flush(self) -> None:
            self._stream.flush()

        def size(self) -> int:
            return self._stream.tell()

        def close(self) -> None:
            self._stream.close()

    # Names inside the archive choose among names of ours; they are never paths on this machine.
    wanted: dict[str, tuple[str, int]] = {}
    opened: list[Bounded] = []

    class Files(WriterFactory):
        def create(self, filename: str) -> Py7zIO:
            table, limit = wanted[filename]
            opened.append(Bounded(folder / f"{table}.xml", limit))
            return opened[-1]

    faults = (
        py7zr.exceptions.ArchiveError,
        lzma.LZMAError,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        KeyError,
        IndexError,
    )
    try:
        with storage.open_binary(url) as stream, py7zr.SevenZipFile(stream) as archive:
            if archive.needs_password():
                raise InputError("the archive is encrypted", file=url, remedy="Unpack it first")
            for info in archive.list():
                table = table_of(info.filename.replace("\\", "/").rsplit("/", 1)[-1]) or _member_of(
                    url, info.filename
                )
                if table and not info.is_directory and not getattr(info, "is_symlink", False):
                    if table in {found for found, _ in wanted.values()}:
                        raise InputError(f"two files for {table}", file=url, value=info.filename)
                    wanted[info.filename] = (table, info.uncompressed)
            total = sum(limit for _, limit in wanted.values())
            packed = storage.size(url)
            if total > MAX_UNPACKED or (total > 2**26 and total > MAX_RATIO * packed):
                raise InputError(
                    f"{packed:,} bytes that unpack to {total:,} are no data dump",
                    file=url,
                    remedy="Fetch it again",
                )
            if wanted:
                archive.extract(targets=list(wanted), factory=Files())
    except InputError:
        raise
    except faults as error:
        raise InputError(
            "the archive is truncated or damaged",
            file=url,
            value=f"{type(error).__name__}: {error}",
            remedy="Fetch it again and compare its checksum",
        ) from None
    finally:
        for file in opened:
            file.close()
    return {table: str(folder / f"{table}.xml") for table, _ in wanted.values()}


def _member_of(url: str, member: str) -> str | None:
    return table_of(url.rsplit("/", 1)[-1]) if member.lower().endswith(".xml") else None


def read_rows(url: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of each ``<row>`` of a dump file in order.

    Takes what real dumps have: a byte-order mark or none, a declaration or none, any root element, a DOCTYPE that
    names a DTD (which is not fetched).

    Raises:
      InputError: not well-formed, truncated, it declares entities, or a row of more than :data:`MAX_ROW` bytes.
    """
    rows: list[dict[str, str]] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "row":
            rows.append(attributes)

    def entity(name: str, *_: Any) -> None:
        raise InputError(
            "the file declares XML entities, as no data dump does",
            file=f"{url}:{parser.CurrentLineNumber}",
            field="<!ENTITY>",
            value=name,
            remedy="Do not trust it; fetch it from its origin",
        )

    parser.StartElementHandler = start
    parser.EntityDeclHandler = entity
    with storage.open_decompressed(url) as stream:
        since_row = 0
        try:
            while chunk := stream.read(CHUNK):
                parser.Parse(chunk, False)
                since_row = 0 if rows else since_row + len(chunk)
                if since_row > MAX_ROW:
                    raise InputError(
                        f"no row in {since_row:,} bytes", file=url, remedy="Is this a StackExchange dump?"
                    )
                yield from rows
                rows.clear()
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            cut = error.code in (expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS], 3, 5)
            raise InputError(
                "the file is truncated" if cut else "not well-formed XML",
                file=f"{url}:{error.lineno}",
                value=str(error),
                remedy="Fetch it again and compare its checksum",
            ) from None
        yield from rows

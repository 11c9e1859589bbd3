"""Files of a StackExchange data dump: found, and opened one after another without being unpacked into a folder.

A dump is one site: ``Posts.xml`` with ``Users.xml``, ``Comments.xml`` and ``PostLinks.xml`` beside it, in a 7z archive (or one
archive for each table: ``stackoverflow.com-Posts.7z``) or a folder.

A 7z archive can only be read from its beginning. Where it holds one table that is wanted, the table is decompressed while it
is read. Where it holds several, they lie there in another order than that in which they are needed (names of users before
posts): they are decompressed once into nameless temporary files (Zstandard), which the system takes back however the process
ends.
"""

from __future__ import annotations

import contextlib
import functools
import io
import lzma
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import zstandard

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError
from tootsie.datasets.piped_writer import PipedWriter, piped

if TYPE_CHECKING:
    from py7zr.io import WriterFactory

TABLES = ("posts", "users", "comments", "postlinks")
"""Files that are read; lower case, without suffix."""
MAX_UNPACKED = 2**40
"""Bytes that the tables read from one archive may have: several times the largest site."""
MAX_RATIO = 2000
"""Uncompressed over compressed bytes beyond which an archive of more than 64 MiB is taken for a bomb."""

_MULTIPART = re.compile(r"-(posts|users|comments|tags|votes|badges|postlinks|posthistory)$", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """A table of a site, wherever it lies."""

    name: str
    """For messages: the file, and the member of an archive."""
    open: Callable[[], contextlib.AbstractContextManager[IO[bytes]]]
    """Opens it, from its beginning."""


Members = dict[str, tuple[str, int]]
"""Name in the archive → table, bytes."""


def table_of(name: str) -> str | None:
    """Return which table a file holds (``posts`` …), ``None`` for other files."""
    stem = re.sub(r"\.(xml|7z)$", "", name.lower())
    if stem in TABLES:
        return stem
    match = _MULTIPART.search(stem)
    return match[1] if match and match[1] in TABLES else None


@contextlib.contextmanager
def opened(urls: Sequence[str], wanted: Sequence[str] = TABLES) -> Iterator[Mapping[str, Table]]:
    """Give the ``wanted`` tables of a site that are there, each to be opened when it is needed.

    Raises:
      InputError: an archive is truncated, damaged, encrypted or too large, or there is no ``Posts.xml``. That a table's
        checksum is wrong shows at its end.
    """
    tables: dict[str, Table] = {}
    with contextlib.ExitStack() as spools:
        for url in urls:
            name = url.rsplit("/", 1)[-1]
            if name.lower().endswith(".7z"):
                members = _members(url, wanted)
                if len(members) == 1:
                    ((member, (table, limit)),) = members.items()
                    tables[table] = Table(f"{url}/{member}", functools.partial(_stream, url, member, limit))
                elif members:
                    tables |= _spool(url, members, spools)
            elif (table := table_of(name) or "") in wanted:
                tables[table] = Table(url, functools.partial(storage.open_decompressed, url))
        if "posts" not in tables:
            raise InputError("no Posts.xml", file=urls[0], remedy="A dump of a site has one")
        yield tables


def _stream(url: str, member: str, limit: int) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Open a member of an archive that is decompressed in a thread, never far ahead of the reader."""

    def produce(pipe: PipedWriter) -> None:
        _extract(url, {member: (pipe.write, limit)})

    return piped(produce)


@contextlib.contextmanager
def _respool(file: IO[bytes]) -> Iterator[IO[bytes]]:
    file.seek(0)
    reader = zstandard.ZstdDecompressor().stream_reader(file, closefd=False)
    yield io.BufferedReader(reader, 2**17)  # type: ignore[arg-type]


def _spool(url: str, members: Members, spools: contextlib.ExitStack) -> dict[str, Table]:
    files: dict[str, IO[bytes]] = {}
    targets: dict[str, tuple[Callable[[bytes], Any], int]] = {}
    with contextlib.ExitStack() as writers:
        for member, (table, limit) in members.items():
            files[table] = spools.enter_context(tempfile.TemporaryFile(prefix="tootsie-dump-"))
            compressor = zstandard.ZstdCompressor(level=1)
            writer = writers.enter_context(compressor.stream_writer(files[table], closefd=False))
            targets[member] = (writer.write, limit)
        _extract(url, targets)
    return {
        table: Table(f"{url}/{member}", functools.partial(_respool, files[table]))
        for member, (table, _) in members.items()
    }


def _members(url: str, wanted: Sequence[str]) -> Members:
    """Return the wanted tables in an archive."""
    import py7zr

    members: Members = {}
    with _honest(url), storage.open_binary(url) as stream, py7zr.SevenZipFile(stream) as archive:
        if archive.needs_password():
            raise InputError("the archive is encrypted", file=url, remedy="Unpack it first")
        for info in archive.list():
            base = info.filename.replace("\\", "/").rsplit("/", 1)[-1]
            # An archive of a single table may call it anything.
            table = table_of(base) or (table_of(url.rsplit("/", 1)[-1]) if base.endswith(".xml") else None)
            if table and table in wanted and not info.is_directory and not getattr(info, "is_symlink", False):
                if table in {found for found, _ in members.values()}:
                    raise InputError(f"two files for {table}", file=url, value=info.filename)
                members[info.filename] = (table, info.uncompressed)
    total = sum(limit for _, limit in members.values())
    packed = storage.size(url)
    if total > MAX_UNPACKED or (total > 2**26 and total > MAX_RATIO * packed):
        raise InputError(
            f"{packed:,} bytes that unpack to {total:,} are no data dump",
            file=url,
            remedy="Fetch it again",
        )
    return members


def _extract(url: str, targets: Mapping[str, tuple[Callable[[bytes], Any], int]]) -> None:
    """Decompress members of an archive into what ``targets`` name for each: where to write, and how many bytes at most."""
    import py7zr

    with _honest(url), storage.open_binary(url) as stream, py7zr.SevenZipFile(stream) as archive:
        archive.extract(targets=list(targets), factory=_factory(url, targets))


def _factory(url: str, targets: Mapping[str, tuple[Callable[[bytes], Any], int]]) -> WriterFactory:
    from py7zr.io import Py7zIO, WriterFactory

    class Bounded(Py7zIO):
        """Takes no more bytes than the archive announced."""

        def __init__(self, sink: Callable[[bytes], Any], limit: int) -> None:
            self._sink = sink
            self._left = limit

        def write(self, s: bytes | bytearray) -> int:
            self._left -= len(s)
            if self._left < 0:
                raise InputError("a member is larger than the archive announces", file=url)
            self._sink(bytes(s))
            return len(s)

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

    # Names inside the archive choose among sinks of ours; they are never paths on this machine.
    class Sinks(WriterFactory):
        def create(self, filename: str) -> Py7zIO:
            return Bounded(*targets[filename])

    return Sinks()


@contextlib.contextmanager
def _honest(url: str) -> Iterator[None]:
    """Say of an archive that it is damaged, whatever py7zr makes of it."""
    import py7zr.exceptions

    try:
        yield
    except (
        py7zr.exceptions.ArchiveError,
        lzma.LZMAError,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        KeyError,
        IndexError,
    ) as error:
        raise InputError(
            "the archive is truncated or damaged",
            file=url,
            value=f"{type(error).__name__}: {error}",
            remedy="Fetch it again and compare its checksum",
        ) from None

"""Parts of remote shards on the local disk: fetched when they are needed, checked, and thrown away again, longest unused first.

A folder with one sparse file for each shard, named by the shard's checksum, so that a shard is the same one whatever its URL and
another one as soon as its content differs. What was fetched is compared with the shard's own checksums before it is written,
and whoever reads it compares it again; so there is no index that could be wrong. Several processes may share the folder: at
worst two of them fetch the same block and write the same bytes. A removed file stays whole for those who have it mapped.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError, SpecError, UserError
from tootsie.tokenize.ledger import ShardEntry
from tootsie.tokenize.trailer import BLOCK

FOLDER_VARIABLE = "TOOTSIE_BLOCK_CACHE"
SIZE_VARIABLE = "TOOTSIE_BLOCK_CACHE_SIZE"
DEFAULT_SIZE = 20 * 10**9
"""Bytes."""
FETCH_BLOCKS = 32
"""Blocks that are fetched together, at least: 256 KiB."""
FETCH_LARGEST = 512
"""Blocks of one request, at most: 4 MiB."""
CONNECTIONS = 16
"""Requests under way at a time."""
ATTEMPTS = 4
"""How often a range is asked for before it is an error."""
PAUSE = 0.2
"""Seconds before the second attempt; twice as many before each further one."""
_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_NAME = re.compile(r"[0-9a-f]{32}-[0-9]+\.arrow")


class BlockCache:
    """The folder.

    Args:
      folder: made where it is missing.
      limit: bytes on the disk. What open shards hold beyond their removal, and what other processes fetch in
        the same moment, comes on top.
    """

    def __init__(self, folder: Path, limit: int = DEFAULT_SIZE) -> None:
        self.folder = folder
        self.limit = limit
        self._coming = limit
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    @classmethod
    def from_environment(cls) -> BlockCache:
        """Return the cache that the environment asks for.

        ``TOOTSIE_BLOCK_CACHE`` is the folder (``~/.cache/tootsie/blocks``), ``TOOTSIE_BLOCK_CACHE_SIZE`` the limit (``20GB``).

        Raises:
          SpecError: the size is not one.
        """
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = os.environ.get(FOLDER_VARIABLE) or os.path.join(home, "tootsie", "blocks")
        written = os.environ.get(SIZE_VARIABLE)
        return cls(Path(folder), DEFAULT_SIZE if not written else parse_size(written))

    def open(self, url: str, entry: ShardEntry) -> RemoteFile:
        """Return the shard at ``url`` as far as it is here, its file made where it is missing.

        Raises:
          SpecError: the shard is larger than the cache may become.
          UserError: the folder can't be written to.
        """
        if entry.size > self.limit:
            raise SpecError(
                f"the block cache may hold {self.limit:,} bytes, less than the {entry.size:,} of one shard",
                file=url,
                field=SIZE_VARIABLE,
                value=self.limit,
                remedy="Allow it more",
            )
        path = self.folder / f"{entry.xxh3_128}-{entry.size}.arrow"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if path.exists() and path.stat().st_size not in (0, entry.size):
                path.unlink(missing_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            os.ftruncate(handle, entry.size)
            os.utime(handle)
        except OSError as error:
            raise self._unwritable(error) from None
        return RemoteFile(self, url, path, handle)

    def make_room(self, coming: int) -> None:
        """Remove the files used longest ago, if ``coming`` more bytes would be too many."""
        with self._lock:
            self._coming += coming
            if self._coming < self.limit // 32:
                return
            self._coming = 0
            files = []
            for item in os.scandir(self.folder):
                if _NAME.fullmatch(item.name):
                    try:
                        found = item.stat()
                    except FileNotFoundError:
                        continue
                    files.append((found.st_mtime_ns, found.st_blocks * 512, item.path))
            used = sum(size for _, size, _ in files) + coming
            if used <= self.limit:
                return
            files.sort()
            for _, size, path in files[:-1]:  # The last one is in use just now.
                if used <= self.limit * 9 // 10:
                    break
                Path(path).unlink(missing_ok=True)
                used -= size

    def map(self, work: Callable[[tuple[int, int]], None], ranges: Sequence[tuple[int, int]]) -> None:
        """Do some work for several ranges at the same time."""
        if len(ranges) == 1:
            work(ranges[0])
            return
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(CONNECTIONS, "block-cache")
        for done in [self._pool.submit(work, item) for item in ranges]:
            done.result()

    def __reduce__(self) -> tuple[object, ...]:
        return BlockCache, (self.folder, self.limit)

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"the block cache can't be written to ({error.strerror or error})",
            file=str(self.folder),
            remedy=f"Set {FOLDER_VARIABLE} to a folder on a local disk with room, or {SIZE_VARIABLE} to less",
        )


class RemoteFile:
    """One shard that lies elsewhere, and its file in the block cache."""

    def __init__(self, cache: BlockCache, url: str, path: Path, handle: int) -> None:
        self.url = url
        # By its handle where that can be opened: in the meantime the name may have become another file's.
        by_handle = Path(f"/dev/fd/{handle}")
        self.path = by_handle if by_handle.exists() else path
        """To map."""
        self._cache = cache
        self._handle = handle

    def __del__(self) -> None:
        os.close(self._handle)

    @property
    def evicted(self) -> bool:
        """Whether the file is no longer in the folder."""
        return os.fstat(self._handle).st_nlink == 0

    def fill(self, blocks: Sequence[int], body: int, agree: Callable[[int, memoryview], bool]) -> None:
        """Fetch blocks of the body, and others near them.

        Args:
          blocks: ascending.
          body: bytes that blocks are made of.
          agree: whether bytes are the blocks from that number on.

        Raises:
          ArtefactError: the bytes there are not those of the shard.
          InputError: they can't be had.
        """
        runs: list[list[int]] = []
        for block in blocks:
            first = block // FETCH_BLOCKS * FETCH_BLOCKS
            if runs and first <= runs[-1][1] and first + FETCH_BLOCKS - runs[-1][0] <= FETCH_LARGEST:
                runs[-1][1] = first + FETCH_BLOCKS
            else:
                runs.append([first, first + FETCH_BLOCKS])

        def fetch(run: tuple[int, int]) -> None:
            self.fill_range(*run, lambda data: agree(run[0] // BLOCK, data))

        self._cache.map(fetch, [(first * BLOCK, min(end * BLOCK, body)) for first, end in runs])

    def fill_range(self, start: int, stop: int, agree: Callable[[memoryview], bool]) -> None:
        """Fetch the bytes ``[start, stop)`` and write them down when ``agree`` says that they are right.

        Raises:
          ArtefactError: the bytes there are not those of the shard.
          InputError: they can't be had.
        """
        data = b""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE * 2 ** (attempt - 1))
            last = attempt == ATTEMPTS - 1
            try:
                data = self._read(start, stop)
            except UserError:
                raise
            except FileNotFoundError:
                raise ArtefactError(
                    "the ledger lists a shard that is missing",
                    file=self.url,
                    remedy="Copy it again, or build the cache again",
                ) from None
            except Exception as error:  # What client libraries raise: connection, time-out, quota.
                if getattr(error, "status", None) == 416:  # The file ends before that range.
                    data = b""
                    continue
                if not last:
                    continue
                raise InputError(
                    f"bytes {start:,} to {stop:,} could not be fetched in {ATTEMPTS} attempts",
                    file=self.url,
                    value=" ".join(f"{type(error).__name__}: {error}".split())[:200],
                    remedy="Check the network and the credentials, and run the same command again: what was fetched is kept",
                ) from error
            if len(data) == stop - start and agree(memoryview(data)):
                self._write(start, data)
                return
        raise ArtefactError(
            f"bytes {start:,} to {stop:,} are not those that were written: {ATTEMPTS} times "
            + (f"{len(data):,} of them came" if len(data) != stop - start else "a checksum differed"),
            file=self.url,
            remedy="Copy the shard there again, or build the cache again",
        )

    def _read(self, start: int, stop: int) -> bytes:
        filesystem, path = storage.url_to_fs(self.url)
        data = filesystem.cat_file(path, start=start, end=stop)
        if len(data) > stop - start:
            raise InputError(
                "the server sends whole files where a part is asked for",
                file=self.url,
                value=f"{len(data):,} bytes instead of {stop - start:,}",
                remedy="Use a server with range requests, or copy the cache to a local disk",
            )
        return data

    def _write(self, start: int, data: bytes) -> None:
        self._cache.make_room(len(data))
        rest = memoryview(data)
        try:
            while rest:
                written = os.pwrite(self._handle, rest, start)
                rest, start = rest[written:], start + written
            os.utime(self._handle)
        except OSError as error:
            raise self._cache._unwritable(error) from None


def parse_size(text: str) -> int:
    """Return a number of bytes: ``20GB``, ``500 MB``.

    Raises:
      SpecError: it is not one.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([kmgt]?b?)", text.strip().lower())
    unit = match[2] if match else ""
    if match is None or (unit and unit not in _UNITS) or not float(match[1]):
        raise SpecError("not a size", field=SIZE_VARIABLE, value=text, remedy="Write '20GB'")
    return int(float(match[1]) * _UNITS[unit])

"""Files anywhere: fsspec URLs, globs and brace ranges; atomic writes; compressed streams with honest errors."""

from __future__ import annotations

import contextlib
import glob as _glob
import hashlib
import io
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import fsspec
import fsspec.core
import zstandard

from tootsie.datasets.compression import by_name, decompressed
from tootsie.datasets.errors import InputError, SpecError, UserError

MAX_EXPANSION = 1_000_000
"""Paths that one brace pattern may expand to."""
MAX_LINE_BYTES = 256 * 2**20
"""Longest line that :func:`read_lines` accepts, in bytes."""
ZSTD_LEVEL = 6
"""Level of every ``.zst`` file written; part of what makes output bytes reproducible."""

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"^(\d+)\.\.(\d+)$")


def url_to_fs(url: str) -> tuple[Any, str]:
    """Return the file system that a URL names, and the path on it.

    Raises:
      SpecError: there is no such kind of URL, or the package that reads it is not installed.
    """
    try:
        return fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise SpecError("this kind of URL needs another package", file=url, value=str(error)) from None
    except ValueError as error:
        raise SpecError("not a URL that can be read", file=url, value=str(error)) from None


def expand_braces(pattern: str) -> list[str]:
    """Expand ``{a,b}`` and ``{0000..0238,0240..0379}`` as a shell does, keeping leading zeros.

    Raises:
      SpecError: more than :data:`MAX_EXPANSION` results, or a range that runs backwards.
    """
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    choices: list[str] = []
    for item in match[1].split(","):
        bounds = _RANGE.match(item.strip())
        if bounds is None:
            choices.append(item)
            continue
        first, last = int(bounds[1]), int(bounds[2])
        if last < first:
            raise SpecError(
                "the range runs backwards", file=pattern, value=item, remedy="Write the smaller first"
            )
        if last - first >= MAX_EXPANSION:
            raise SpecError("the range is too long", file=pattern, value=item, remedy="Use a glob instead")
        choices.extend(str(number).zfill(len(bounds[1])) for number in range(first, last + 1))
    head, tail = pattern[: match.start()], expand_braces(pattern[match.end() :])
    if len(choices) * len(tail) > MAX_EXPANSION:
        raise SpecError("the pattern stands for too many paths", file=pattern, remedy="Use a glob instead")
    return [head + choice + rest for choice in choices for rest in tail]


def expand(patterns: Iterable[str]) -> list[str]:
    """Return the files that URLs, globs and brace ranges stand for, sorted within each pattern, no repeats.

    Raises:
      InputError: a pattern stands for no existing file.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        # A file may be named like a pattern: its own name comes first.
        for candidate in [pattern] if exists(pattern) else expand_braces(pattern):
            filesystem, path = url_to_fs(candidate)
            local = isinstance(filesystem, fsspec.implementations.local.LocalFileSystem)
            matches = [path] if filesystem.exists(path) else []
            if not matches and _glob.has_magic(path):
                matches = sorted(
                    name
                    for name in filesystem.glob(path)
                    if filesystem.exists(name) or (local and _leads_nowhere(name))
                )
            if not matches:
                raise InputError("no such file", file=candidate, remedy="Check the path, glob or brace range")
            for name in matches:
                if local and _leads_nowhere(name):
                    raise InputError(
                        "the link leads nowhere", file=name, remedy="Restore what it leads to, or remove it"
                    )
                if local and not (filesystem.isfile(name) or filesystem.isdir(name)):
                    raise InputError(
                        "neither a file nor a folder",
                        file=name,
                        remedy="Write what comes from it into a file",
                    )
                found[name if local else filesystem.unstrip_protocol(name)] = None
    return list(found)


def join(base: str, *parts: str) -> str:
    """Join path segments onto a URL or local path with single slashes."""
    return "/".join([base.rstrip("/"), *(part.strip("/") for part in parts)])


def absolute(url: str) -> str:
    """Return one spelling for all URLs and paths of a place: with its protocol, local ones with their links followed."""
    filesystem, path = url_to_fs(url)
    if isinstance(filesystem, fsspec.implementations.local.LocalFileSystem):
        path = os.path.realpath(path)
    return str(filesystem.unstrip_protocol(path)).rstrip("/")


def exists(url: str) -> bool:
    """Return whether a file or folder exists at ``url``."""
    filesystem, path = url_to_fs(url)
    return bool(filesystem.exists(path))


def size(url: str) -> int:
    """Return the size of the file at ``url`` in bytes."""
    filesystem, path = url_to_fs(url)
    return int(filesystem.size(path))


def state(url: str) -> str:
    """Return what the file system says of a file, which is another text when the file was written anew.

    Size and time of change, and what else there is but ETags, which differ between the servers of one address. Nothing is read.
    """
    filesystem, path = url_to_fs(url)
    if isinstance(filesystem, fsspec.implementations.local.LocalFileSystem):
        found = os.stat(path)
        return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
    info = filesystem.info(path)
    keys = ("size", "mtime", "LastModified", "last_modified", "updated", "generation", "md5Hash")
    return " ".join(f"{key}={info[key]}" for key in keys if info.get(key) is not None)


def remove(url: str) -> None:
    """Delete the file at ``url`` where it exists."""
    filesystem, path = url_to_fs(url)
    with contextlib.suppress(FileNotFoundError):
        filesystem.rm_file(path)


def list_files(folder: str) -> list[str]:
    """Return the names of the files directly inside ``folder``, sorted; empty when it does not exist.

    A local link that leads nowhere is among them.
    """
    filesystem, path = url_to_fs(folder)
    if not filesystem.exists(path):
        return []
    local = isinstance(filesystem, fsspec.implementations.local.LocalFileSystem)
    return sorted(
        name.rsplit("/", 1)[-1]
        for name in filesystem.ls(path, detail=False)
        if filesystem.isfile(name) or (local and _leads_nowhere(name))
    )


def find_files(folder: str) -> list[str]:
    """Return the URLs of all files below ``folder``, sorted. Links to local folders are followed, to each place once.

    Raises:
      OSError: a local folder cannot be read.
    """
    filesystem, path = url_to_fs(folder)
    if not isinstance(filesystem, fsspec.implementations.local.LocalFileSystem):
        return sorted(filesystem.unstrip_protocol(name) for name in filesystem.find(path))
    found: list[str] = []
    seen: set[str] = set()
    waiting = [path]
    while waiting:
        place = waiting.pop()
        if (real := os.path.realpath(place)) in seen:
            continue
        seen.add(real)
        with os.scandir(place) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name, reverse=True)
        waiting += [entry.path for entry in entries if entry.is_dir()]
        found += [entry.path for entry in entries if entry.is_file() or _leads_nowhere(entry.path)]
    return sorted(found)


def _leads_nowhere(path: str) -> bool:
    """Return whether a link has nothing behind it: it counts as a file, so that its absence is an error and no gap."""
    return os.path.islink(path) and not os.path.exists(path)


def open_binary(url: str) -> IO[bytes]:
    """Open ``url`` for reading, as stored (not decompressed)."""
    filesystem, path = url_to_fs(url)
    try:
        return filesystem.open(path, "rb")
    except FileNotFoundError:
        raise InputError("no such file", file=url, remedy="Check the path") from None
    except IsADirectoryError:
        raise InputError("this is a folder, a file is needed", file=url) from None
    except Exception as error:
        # A remote file system raises what its client library raises: connection, credentials, quota.
        if isinstance(error, UserError) or isinstance(
            filesystem, fsspec.implementations.local.LocalFileSystem
        ):
            raise
        raise InputError(
            "the remote file system did not open it",
            file=url,
            value=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            remedy="Check the network, the credentials and the name",
        ) from error


@contextlib.contextmanager
def atomic_write(url: str) -> Iterator[IO[bytes]]:
    """Write a file that appears whole or not at all.

    The bytes go to ``<url>.tmp-<random>``, are synced, and the name is moved into place when the block ends without an
    exception; otherwise the temporary file is removed.
    """
    filesystem, path = url_to_fs(url)
    local = isinstance(filesystem, fsspec.implementations.local.LocalFileSystem)
    filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
    temporary = f"{path}.tmp-{uuid.uuid4().hex[:12]}"
    try:
        with filesystem.open(temporary, "wb") as stream:
            yield stream
            if local:
                stream.flush()
                os.fsync(stream.fileno())
        if local:
            os.replace(temporary, path)
        else:
            filesystem.mv(temporary, path)
    except BaseException:
        with contextlib.suppress(Exception):
            filesystem.rm_file(temporary)
        raise


def write_bytes(url: str, content: bytes) -> None:
    """Write ``content`` to ``url`` atomically."""
    with atomic_write(url) as stream:
        stream.write(content)


def read_bytes(url: str) -> bytes:
    """Return the whole content of ``url`` as stored."""
    with open_binary(url) as stream:
        return stream.read()


def remove_temporary(folder: str) -> int:
    """Delete what interrupted writes left directly inside ``folder``; return how many files that were."""
    leftovers = [name for name in list_files(folder) if ".tmp-" in name]
    for name in leftovers:
        remove(join(folder, name))
    return len(leftovers)


def sha256(url: str) -> str:
    """Return the SHA-256 of the stored bytes of ``url``, 64 hex digits."""
    digest = hashlib.sha256()
    with open_binary(url) as stream:
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def open_decompressed(url: str) -> io.BufferedReader:
    """Open ``url`` for reading, decompressed by its suffix (``.gz``, ``.zst``, ``.bz2``, ``.xz``; others as they are).

    Reading raises :class:`InputError` where a compressed stream is truncated or damaged.
    """
    return decompressed(open_binary(url), by_name(url)[0], url)


def read_lines(url: str, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Yield the lines of a file (decompressed by suffix) without their newline; blank lines are left out.

    Raises:
      InputError: a line is longer than ``max_line_bytes``, or the file is damaged.
    """
    with open_decompressed(url) as stream:
        number = 0
        while line := stream.readline(max_line_bytes + 1):
            if len(line) > max_line_bytes:
                raise InputError(
                    f"the line is longer than {max_line_bytes:,} bytes",
                    file=f"{url}:{number + 1}",
                    remedy="Split the record",
                )
            number += 1
            line = line.rstrip(b"\r\n")
            if line.strip():
                yield line


@contextlib.contextmanager
def atomic_zstd(url: str) -> Iterator[Any]:
    """Write a Zstandard file atomically; equal content gives equal bytes (one thread, fixed level, checksum on)."""
    compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True, write_content_size=False)
    with atomic_write(url) as stream, compressor.stream_writer(stream, closefd=False) as writer:
        yield writer


def local_path(url: str) -> Path | None:
    """Return the local path of ``url``, or ``None`` when it lies on another file system."""
    filesystem, path = url_to_fs(url)
    return Path(path) if isinstance(filesystem, fsspec.implementations.local.LocalFileSystem) else None


def resolve(folder: str, path: str) -> str:
    """Return a path given in a file of ``folder`` as seen from the working folder; absolute paths and URLs stay."""
    if "://" in path or path.startswith("/") or not folder:
        return path
    return f"/{path}" if folder == "/" else join(folder, path)

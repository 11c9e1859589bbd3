"""Wikimedia Enterprise HTML dumps, streamed: a ``tar.gz`` of NDJSON files, or NDJSON on its own; nothing is extracted.

Source: https://enterprise.wikimedia.com/docs/data-dictionary/
"""

from __future__ import annotations

import itertools
import json
import tarfile
from collections.abc import Iterator
from typing import IO, NamedTuple

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError

ARCHIVES = (".tar.gz", ".tar.zst", ".tar")
LINES = tuple(f".{kind}{packing}" for kind in ("ndjson", "jsonl", "json") for packing in ("", ".gz", ".zst"))


class Line(NamedTuple):
    """One line of a dump."""

    where: str
    """File (and member) with the line number."""
    size: int
    """Bytes of the line."""
    content: bytes | None
    """The line, ``None`` where it is over the limit."""


def read_dump(url: str, limit: int) -> Iterator[Line]:
    """Yield the lines of a dump file in order, blank ones left out.

    Args:
      url: an archive or a file of lines; the suffix says which. A ``.json`` file may also hold one indented object or array.
      limit: longest line in bytes that is kept; memory stays within a few times of it.

    Raises:
      InputError: the file is truncated or damaged.
    """
    name = url.rsplit("/", 1)[-1]
    if not url.lower().endswith(ARCHIVES):
        with storage.open_decompressed(url) as stream:
            if ".json" in name[-9:].lower() and (whole := _whole_json(stream, url, limit)) is not None:
                yield from whole
                return
        with storage.open_decompressed(url) as stream:
            yield from _lines(stream, name, limit)
        return
    with storage.open_decompressed(url) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    if member.isfile() and member.name.lower().endswith((".ndjson", ".jsonl", ".json")):
                        lines = archive.extractfile(member)
                        assert lines is not None
                        yield from _lines(lines, f"{name}/{member.name.rsplit('/', 1)[-1]}", limit)
                        archive.members = []  # type: ignore[attr-defined]
            while stream.read(
                2**20
            ):  # the checksum of a compressed file stands behind the end of the archive
                pass
        except tarfile.TarError as error:
            raise InputError(
                "the archive is truncated or damaged",
                file=url,
                value=str(error),
                remedy="Fetch it again and compare its checksum",
            ) from None


def _lines(stream: IO[bytes], where: str, limit: int) -> Iterator[Line]:
    for number in itertools.count(1):
        line = stream.readline(limit + 2)
        if not line:
            return
        size = len(line)
        rest = line
        while not rest.endswith(b"\n"):  # what is left of a line that is too long, if anything
            rest = stream.readline(2**20)
            if not rest:
                break
            size += len(rest)
        if line.strip():
            yield Line(f"{where}:{number}", size, line.rstrip(b"\r\n") if size <= limit + 1 else None)


def _whole_json(stream: IO[bytes], where: str, limit: int) -> list[Line] | None:
    """Return the articles of a file that is one JSON text over several lines, ``None`` where it is lines of JSON."""
    first = stream.readline(limit + 2)
    try:
        if isinstance(json.loads(first), dict):
            return None
    except ValueError:
        pass
    content = first + stream.read(limit + 2 - len(first))
    if len(content) > limit + 1:
        return None
    try:
        value = json.loads(content)
    except ValueError:
        return None
    articles = value if isinstance(value, list) else [value]
    return [
        Line(f"{where.rsplit('/', 1)[-1]}:{number}", len(line), line)
        for number, line in enumerate(
            (json.dumps(article, ensure_ascii=False).encode("utf-8", "replace") for article in articles), 1
        )
    ]

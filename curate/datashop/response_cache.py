"""Answers on disk, filed under what was asked: a run that is repeated asks for nothing it has been told before.

A folder of segments. Each process appends to one of its own, a line an answer: the XXH3 checksum of a JSON object, and the
object. A process that is killed leaves at most one broken line at the end of its segment, which a reader passes over; nobody
writes behind it.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import IO, Any

import xxhash

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError

SUFFIX = ".answers"


def _checksum(content: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(content).encode()


class ResponseCache:
    """The answers of a folder. One process may read and append at a time through one object; others may append too."""

    def __init__(self, folder: str) -> None:
        """Open a folder, which is made where it is missing.

        Args:
          folder: local path; object stores cannot append.

        Raises:
          SpecError: it is not local.
        """
        place = storage.local_path(folder)
        if place is None:
            raise SpecError(
                "answers are appended to files, so their folder must be on a local file system",
                file=folder,
                remedy="Write to a local folder and copy the dataset when it is finished",
            )
        place.mkdir(parents=True, exist_ok=True)
        self._folder = place
        self._where: dict[bytes, tuple[Path, int, int]] = {}
        self._segment: Path | None = None
        self._stream: IO[bytes] | None = None
        self.damaged = 0
        """Lines whose checksum is wrong."""
        for path in sorted(place.glob(f"*{SUFFIX}")):
            self._index(path)

    def _index(self, path: Path) -> None:
        position = 0
        with path.open("rb") as stream:
            for line in stream:
                content = line[17:-1]
                if line[16:17] == b" " and line.endswith(b"\n") and line[:16] == _checksum(content):
                    key = bytes.fromhex(json.loads(content)["key"])
                    self._where.setdefault(key, (path, position + 17, len(content)))
                else:
                    self.damaged += 1
                position += len(line)

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._where

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the answer filed under ``key`` (64 hex digits), or ``None``."""
        found = self._where.get(bytes.fromhex(key))
        if found is None:
            return None
        path, position, length = found
        with path.open("rb") as stream:
            stream.seek(position)
            answer: dict[str, Any] = json.loads(stream.read(length))["answer"]
        return answer

    def put(self, key: str, answer: dict[str, Any]) -> None:
        """File an answer. It is in the hands of the operating system when this returns: a kill loses nothing."""
        content = json.dumps({"key": key, "answer": answer}, ensure_ascii=True).encode()
        if self._stream is None:
            self._segment = self._folder / f"{uuid.uuid4().hex}{SUFFIX}"
            self._stream = self._segment.open("ab", buffering=0)
        assert self._segment is not None
        position = self._stream.tell()
        rest = memoryview(_checksum(content) + b" " + content + b"\n")
        try:
            while rest:  # a full disk takes a part, and refuses the next
                rest = rest[self._stream.write(rest) or 0 :]
        except OSError as error:
            self._stream.close()  # behind a broken line nothing is written
            self._stream = None
            raise OSError(error.errno, error.strerror, str(self._segment)) from error
        self._where.setdefault(bytes.fromhex(key), (self._segment, position + 17, len(content)))

    def close(self) -> None:
        """Bring what was written onto the disk."""
        if self._stream is not None:
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._stream = None

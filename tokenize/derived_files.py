"""Files in the user's cache folder that can be made again at any time: what took seconds to find out is not found out twice.

A file is named by a hash of all that its content depends on, so it is never out of date, only unused; the oldest go. Its first
line is the checksum of the rest: a damaged file counts as missing. Where the folder can't be written to, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

FOLDER_VARIABLE = "TOOTSIE_DERIVED_CACHE"
MOST_FILES = 32
"""Files that are kept; each has at most some megabytes."""


def folder() -> Path:
    """Return where the files lie: ``TOOTSIE_DERIVED_CACHE``, by default ``~/.cache/tootsie/derived``."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.environ.get(FOLDER_VARIABLE) or os.path.join(home, "tootsie", "derived"))


def recall(name: str) -> bytes | None:
    """Return the content that was kept under a name, ``None`` where it is missing or damaged."""
    try:
        stored = (folder() / name).read_bytes()
    except OSError:
        return None
    digest, found, content = stored.partition(b"\n")
    return content if found and digest == _digest(content) else None


def keep(name: str, content: bytes) -> None:
    """Keep a content under a name; it appears whole or not at all."""
    with contextlib.suppress(OSError):
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=place)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_digest(content) + b"\n" + content)
            os.replace(temporary, place / name)
        except BaseException:
            os.unlink(temporary)
            raise
        _remove_oldest(place)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _remove_oldest(place: Path) -> None:
    files = sorted(place.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in files[MOST_FILES:]:
        path.unlink(missing_ok=True)

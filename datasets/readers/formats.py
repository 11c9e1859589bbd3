"""Which format a stream has: by its content where that tells, by its name where not; a contradiction is an error."""

from __future__ import annotations

import codecs
import re
from enum import StrEnum

from tootsie.datasets.errors import InputError, shorten

HEAD = 512
"""Bytes that are looked at."""


class Format(StrEnum):
    """What a file holds, once decompressed."""

    JSONL = "jsonl"
    """An object a line."""
    JSON = "json"
    """An array, an object, or objects one after another."""
    PARQUET = "parquet"
    """Apache Parquet."""
    ARROW_FILE = "arrow file"
    """Arrow IPC with a footer; Feather 2."""
    ARROW_STREAM = "arrow stream"
    """Arrow IPC without one; Hugging Face's caches."""
    WARC = "warc"
    """A crawl."""
    TAR = "tar"
    """An archive."""
    ZIP = "zip"
    """An archive."""
    SEVEN_ZIP = "7z"
    """An archive."""
    XML = "xml"
    """Rows of attributes."""
    OTHER = "other"
    """Something else: in an archive one record, on its own an error."""


SUFFIXES = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSON,
    ".parquet": Format.PARQUET,
    ".arrow": Format.ARROW_FILE,
    ".feather": Format.ARROW_FILE,
    ".arrows": Format.ARROW_STREAM,
    ".warc": Format.WARC,
    ".wet": Format.WARC,
    ".wat": Format.WARC,
    ".tar": Format.TAR,
    ".zip": Format.ZIP,
    ".7z": Format.SEVEN_ZIP,
    ".xml": Format.XML,
}
"""By the end of the name, compression taken off."""
SHORT = {".tgz": ".tar.gz", ".tbz2": ".tar.bz2", ".txz": ".tar.xz", ".tzst": ".tar.zst"}
"""Names that stand for two suffixes."""
NEEDS_SEEK = {Format.PARQUET, Format.ARROW_FILE, Format.ZIP, Format.SEVEN_ZIP}
"""Formats that are read from their end."""
ARCHIVES = {Format.TAR, Format.ZIP, Format.SEVEN_ZIP}
"""Formats that hold files."""

_MAGIC = (
    (b"PAR1", Format.PARQUET),
    (b"ARROW1\0\0", Format.ARROW_FILE),
    (b"\xff\xff\xff\xff", Format.ARROW_STREAM),
    (b"WARC/", Format.WARC),
    (b"PK\x03\x04", Format.ZIP),
    (b"PK\x05\x06", Format.ZIP),
    (b"7z\xbc\xaf\x27\x1c", Format.SEVEN_ZIP),
)
_LFS = b"version https://git-lfs.github.com/spec/"
_HTML = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)


def long_name(name: str) -> str:
    """Return a name with both suffixes where one stands for two (``.tgz``)."""
    for short, long in SHORT.items():
        if name.lower().endswith(short):
            return name[: -len(short)] + long
    return name


def by_name(name: str) -> Format | None:
    """Return the format that a name (without compression) tells."""
    lower = name.lower()
    return next((kind for suffix, kind in SUFFIXES.items() if lower.endswith(suffix)), None)


def _by_content(head: bytes) -> Format | None:
    """Return the format that the first bytes tell without doubt."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return Format.TAR
    if head.startswith((codecs.BOM_UTF16_LE + b"<\0", codecs.BOM_UTF16_BE + b"\0<")):
        return Format.XML
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"<") and not _HTML.match(start):
        return Format.XML
    return None


def detect(head: bytes, name: str) -> Format:
    """Return the format of a stream.

    Args:
      head: its first :data:`HEAD` bytes (fewer where it is shorter).
      name: its name, compression taken off.

    Raises:
      InputError: the content is not what the name says, or is a placeholder for the real file.
    """
    if head.startswith(_LFS):
        raise InputError(
            "this is a Git LFS pointer, not the file itself",
            file=name,
            remedy="Fetch the file: git lfs pull, or tootsie data fetch",
        )
    named, found = by_name(name), _by_content(head)
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if found is None and start[:1] in (b"{", b"["):
        found = Format.JSON
    if found is not None and named in (None, found):
        # Lines of JSON and one object over lines look alike; a value after the other is read either way.
        return found
    if found is Format.JSON and named is Format.JSONL:
        return named
    if found is Format.ARROW_STREAM and named is Format.ARROW_FILE:
        return found
    if named is None:
        return Format.OTHER
    # Empty files of text hold no records. An old tar has no mark, and JSON may be damaged: their readers say where.
    if named in (Format.JSON, Format.JSONL) and (not start or found is None) and not _HTML.match(start):
        return named
    if named is Format.TAR and found is None and len(head) >= HEAD:
        return named
    raise InputError(
        f"by its name this is {named.value}, its content is {found.value if found else 'not'}",
        file=name,
        value=shorten(head[:40].decode("latin-1"), 80) if head else "an empty file",
        remedy="Fetch it again (a page of an error may have been stored), or rename it",
    )

"""What a copy of a dataset must hold: its files with size, checksum and counts, from whatever lists them.

A list is our ``_manifest.json``, a token cache's ``ledger.json``, the ``_fetched.jsonl`` of ``tootsie data fetch``, or plain:
lines or an array of ``{"path", "size", "sha256" | "md5" | "xxh3", "rows", "tokens"}``, or what the Hugging Face hub answers to
``/api/datasets/ID/tree/REVISION?recursive=true`` (all pages in one array) or ``/api/datasets/ID?blobs=true``, saved to a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import IO, Any

import xxhash

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, shorten
from tootsie.datasets.json_text import parse_json
from tootsie.datasets.manifest import MANIFEST_NAME, read_manifest

LEDGER_NAME = "ledger.json"
"""A token cache's list; :mod:`tootsie.tokenize.ledger` defines it."""
FETCHED_NAME = "_fetched.jsonl"
"""The list that ``tootsie data fetch`` writes last: no list, not finished."""
JOURNAL_NAME = "_fetched.partial.jsonl"
"""The files that an unfinished ``tootsie data fetch`` has brought so far."""
PARTIAL_SUFFIXES = (".partial", ".partial.json")
"""Names of a file that is being fetched, and of what is known about it."""
MAX_LIST_BYTES = 2**30


class Algorithm(StrEnum):
    """Which checksum a list has."""

    SHA256 = "sha256"
    """Of the bytes as stored."""
    MD5 = "md5"
    """Likewise."""
    XXH3_64 = "xxh3_64"
    """Likewise."""
    XXH3_128 = "xxh3_128"
    """Likewise."""
    GIT_SHA1 = "git_sha1"
    """Git's name of a file's content: of ``blob SIZE\\0`` and the bytes."""


_DIGITS = {
    Algorithm.SHA256: 64,
    Algorithm.MD5: 32,
    Algorithm.XXH3_64: 16,
    Algorithm.XXH3_128: 32,
    Algorithm.GIT_SHA1: 40,
}


@dataclass(frozen=True)
class Checksum:
    """One checksum."""

    algorithm: Algorithm
    digest: str
    """Hex digits, lower case."""

    def of(self, stream: IO[bytes], size: int) -> Checksum:
        """Return the checksum of this kind of a stream of ``size`` bytes."""
        return compute(stream, size, {self.algorithm})[self.algorithm]


@dataclass(frozen=True)
class Entry:
    """One file that a copy must hold."""

    path: str
    """Relative to the copy, with ``/``."""
    size: int | None = None
    """Bytes as stored."""
    checksum: Checksum | None = None
    rows: int | None = None
    """Documents or rows."""
    tokens: int | None = None
    """Ids."""
    text_bytes: int | None = None
    """UTF-8 bytes of the ``text`` fields."""


@dataclass(frozen=True)
class Inventory:
    """All that a copy must hold."""

    url: str
    """Of the list."""
    entries: tuple[Entry, ...]
    """Each path once, in the order of the list."""
    covers: str
    """Regular expression: paths of a copy that the list speaks for; others may lie beside them."""

    def is_covered(self, path: str) -> bool:
        """Return whether a file that is not in the list is one too many."""
        if path in (MANIFEST_NAME, LEDGER_NAME, FETCHED_NAME, JOURNAL_NAME) or path.endswith(
            PARTIAL_SUFFIXES
        ):
            return False
        return re.match(self.covers, path) is not None


def compute(stream: IO[bytes], size: int, algorithms: Iterable[Algorithm]) -> dict[Algorithm, Checksum]:
    """Return checksums of a stream of ``size`` bytes, reading it once."""
    hashers = {algorithm: hasher(algorithm, size) for algorithm in algorithms}
    while chunk := stream.read(2**20):
        for one in hashers.values():
            one.update(chunk)
    return {algorithm: Checksum(algorithm, one.hexdigest()) for algorithm, one in hashers.items()}


def hasher(algorithm: Algorithm, size: int) -> Any:
    """Return what is to be given the bytes (``update``) of a file of ``size`` bytes and asked for its ``hexdigest``."""
    if algorithm is Algorithm.SHA256:
        return hashlib.sha256()
    if algorithm is Algorithm.MD5:
        return hashlib.md5(usedforsecurity=False)
    if algorithm is Algorithm.GIT_SHA1:
        return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    return xxhash.xxh3_64() if algorithm is Algorithm.XXH3_64 else xxhash.xxh3_128()


def path_fault(path: object) -> str | None:
    """Return why a path must not be used below a folder, ``None`` where it may."""
    if not isinstance(path, str) or not path:
        return "a path is needed"
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "\0" in path or ":" in parts[0]:
        return "a path relative to the list is needed"
    if "" in parts or "." in parts or ".." in parts:
        return "a path inside the folder is needed"
    if any(ord(character) < 32 for character in path) or any(len(part.encode()) > 255 for part in parts):
        return "no file can have this name"
    return None


def find_inventory(folder: str, manifest: str | None = None) -> Inventory:
    """Return what the copy in ``folder`` must hold.

    Args:
      folder: the copy.
      manifest: URL of the list; without it the one that lies in the folder.

    Raises:
      ArtefactError: there is none, or it is not valid.
    """
    if manifest is not None:
        return read_inventory(manifest)
    for name in (MANIFEST_NAME, LEDGER_NAME, FETCHED_NAME):
        if storage.exists(url := storage.join(folder, name)):
            return read_inventory(url)
    remedy = f"Give the list with --manifest (a {MANIFEST_NAME}, ledger.json, jsonl or a hub's tree as JSON)"
    if not storage.exists(folder):
        raise ArtefactError("no such folder", file=folder, remedy="Check the path")
    if storage.exists(storage.join(folder, JOURNAL_NAME)):
        raise ArtefactError(
            "fetching it has not been finished",
            file=folder,
            remedy="Run tootsie data fetch again: it continues",
        )
    raise ArtefactError(
        f"no {MANIFEST_NAME}, {LEDGER_NAME} or {FETCHED_NAME} to compare with, so this is not finished",
        file=folder,
        remedy=remedy,
    )


def read_inventory(url: str) -> Inventory:
    """Read a list of any known kind.

    Raises:
      ArtefactError: it is missing or not valid; the message names the entry.
    """
    if url.rsplit("/", 1)[-1] == MANIFEST_NAME:
        manifest = read_manifest(url[: -len(MANIFEST_NAME)].rstrip("/") or "/")
        entries = [
            Entry(
                file.path,
                file.size,
                Checksum(Algorithm.SHA256, file.sha256),
                rows=file.documents,
                text_bytes=file.text_bytes,
            )
            for file in manifest.files
        ]
        return _checked(url, entries, r"part-[^/]*\Z", may_be_empty=True)
    content = _content(url)
    try:
        value = parse_json(content)
    except ValueError:
        value = _lines(content, url)
    if isinstance(value, dict) and isinstance(shards := value.get("shards"), list):
        renamed = [one | {"rows": one.get("documents")} if isinstance(one, dict) else one for one in shards]
        return _checked(url, _entries(renamed, url), r"shards/.*\Z")
    if isinstance(value, dict):
        value = next((value[key] for key in ("siblings", "files") if key in value), [value])
    if not isinstance(value, list):
        raise ArtefactError(
            "no list of files", file=url, remedy='Entries are such as {"path": "…", "size": 1}'
        )
    return _checked(url, _entries(value, url), r".*\Z")


def _content(url: str) -> bytes:
    if not storage.exists(url):
        raise ArtefactError("no such list", file=url, remedy="Check the path of the manifest")
    with storage.open_decompressed(url) as stream:
        content = stream.read(MAX_LIST_BYTES + 1)
    if len(content) > MAX_LIST_BYTES:
        raise ArtefactError(f"a list of more than {MAX_LIST_BYTES:,} bytes", file=url)
    return content


def _lines(content: bytes, url: str) -> list[Any]:
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                found.append(parse_json(line))
            except ValueError as error:
                raise ArtefactError(
                    f"neither JSON nor lines of JSON: {error}",
                    file=f"{url}:{number}",
                    value=shorten(line[:200].decode("utf-8", "replace"), 80),
                    remedy="Was the list cut off? Fetch it again",
                ) from None
    return found


def _entries(values: Iterable[Any], url: str) -> Iterator[Entry]:
    for number, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise ArtefactError("an entry is no object", file=url, field=f"entry {number}", value=value)
        if value.get("type") == "directory":
            continue
        lfs = value.get("lfs") if isinstance(value.get("lfs"), Mapping) else None
        path = value.get("path", value.get("rfilename"))
        merged = dict(value) | ({"size": lfs.get("size", value.get("size"))} if lfs else {})
        counts = {key: _count(merged, key, url, number) for key in ("size", "rows", "documents", "tokens")}
        yield Entry(
            path if isinstance(path, str) else "",
            counts["size"],
            _checksum(value, lfs, url, number),
            rows=counts["rows"] if counts["rows"] is not None else counts["documents"],
            tokens=counts["tokens"],
        )


def _count(value: Mapping[str, Any], key: str, url: str, number: int) -> int | None:
    found = value.get(key)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise ArtefactError("a whole number is needed", file=url, field=f"entry {number}, {key}", value=found)
    return found


def _checksum(
    value: Mapping[str, Any], lfs: Mapping[str, Any] | None, url: str, number: int
) -> Checksum | None:
    if lfs:
        candidates = {Algorithm.SHA256: lfs.get("sha256", lfs.get("oid"))}
    else:
        xxh3 = value.get("xxh3")
        of_length = Algorithm.XXH3_64 if isinstance(xxh3, str) and len(xxh3) == 16 else Algorithm.XXH3_128
        git = value.get("oid", value.get("blobId", value.get("blob_id")))
        candidates = {algorithm: value.get(algorithm.value) for algorithm in Algorithm}
        candidates[of_length] = candidates[of_length] or xxh3
        candidates[Algorithm.GIT_SHA1] = candidates[Algorithm.GIT_SHA1] or git
    for algorithm, digest in candidates.items():
        if digest is None:
            continue
        digest = digest.lower().removeprefix("sha256:") if isinstance(digest, str) else digest
        if not isinstance(digest, str) or not re.fullmatch(rf"[0-9a-f]{{{_DIGITS[algorithm]}}}", digest):
            raise ArtefactError(
                f"{_DIGITS[algorithm]} hex digits are needed",
                file=url,
                field=f"entry {number}, {algorithm.value}",
                value=digest,
            )
        return Checksum(algorithm, digest)
    return None


def _checked(url: str, entries: Iterable[Entry], covers: str, *, may_be_empty: bool = False) -> Inventory:
    found: dict[str, Entry] = {}
    for number, entry in enumerate(entries):
        fault = path_fault(entry.path) or ("a path stands there twice" if entry.path in found else None)
        if fault:
            raise ArtefactError(
                fault,
                file=url,
                field=f"entry {number}, path",
                value=entry.path,
                remedy="Do not trust the list",
            )
        found[entry.path] = entry
    folders = {str(folder) for path in found for folder in PurePosixPath(path).parents}
    for path in found.keys() & folders:
        raise ArtefactError("a path is a file and a folder", file=url, value=path)
    if not found and not may_be_empty:
        raise ArtefactError("the list names no files", file=url, remedy="Was it cut off? Fetch it again")
    return Inventory(url, tuple(found.values()), covers)

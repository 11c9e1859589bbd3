"""What there is to fetch at a source, and whether that list is whole: a truncated listing must not pass for a small dataset."""

from __future__ import annotations

import base64
import io
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from tootsie.datasets import storage
from tootsie.datasets.card import card_names, load_card
from tootsie.datasets.compression import by_name, decompressed
from tootsie.datasets.errors import ArtefactError, InputError, SpecError, shorten
from tootsie.datasets.fetching.globs import WILDCARD, fixed_part, matches
from tootsie.datasets.fetching.hub import list_hub, parse_hub_url
from tootsie.datasets.fetching.remote import RemoteFile, TroubleError, identity_of, open_remote
from tootsie.datasets.inventory import (
    FETCHED_NAME,
    JOURNAL_NAME,
    LEDGER_NAME,
    PARTIAL_SUFFIXES,
    Algorithm,
    Checksum,
    Inventory,
    path_fault,
    read_inventory,
)
from tootsie.datasets.manifest import MANIFEST_NAME

_NUMBERED = re.compile(r"(?P<head>.*?)(?P<number>\d+)(?P<of>[-_]of[-_])(?P<total>\d+)(?P<tail>.*)", re.DOTALL)
OWN_LISTS = frozenset({MANIFEST_NAME, LEDGER_NAME, FETCHED_NAME})
"""Files of a folder that say what is in it."""
MAX_NAME = 230
"""Bytes of a file's name; with ``.partial.json`` and the like it must stay below the 255 of common file systems."""
MAX_TOTAL = 10_000_000
"""Shards that a name may say there are."""


@dataclass(frozen=True)
class Listing:
    """What there is to fetch."""

    source: str
    """As it was asked for; with the commit for the hub."""
    files: tuple[RemoteFile, ...]
    """In the order to fetch them: what says that a folder is finished comes last."""


def list_source(source: str, manifest: str | None = None) -> Listing:
    """List a source.

    Args:
      source: the name of a card; or the URL of a file, a folder, a glob or brace range, ``hf://datasets/ID@REVISION/GLOB``, or
        a ``.paths.gz`` (a Common Crawl list of paths).
      manifest: URL of a list of the files in the folder ``source``.

    Raises:
      InputError: there is nothing there.
      ArtefactError: the listing lacks files that there must be.
      SpecError: the source cannot be listed, or its file system needs a package that is not installed.
    """
    if source in card_names() or source.endswith((".yaml", ".yml")):
        location = load_card(source).location
        if manifest is not None:
            raise SpecError(
                "a card and a list", field="--manifest", remedy="Give the URL of the dataset instead"
            )
        if location.hub is not None:
            url = f"hf://datasets/{location.hub}" + (f"@{location.revision}" if location.revision else "")
            return _whole(*list_hub(url, location.files or ("**",)), numbered=True)
        return _list_paths(str(location.url), location.files or ("**",))
    if manifest is not None:
        return _listed(source, read_inventory(manifest))
    if source.startswith("hf://"):
        base, pattern = parse_hub_url(source)
        return _whole(*list_hub(base, tuple(storage.expand_braces(pattern or "**"))), numbered=not pattern)
    if source.endswith((".paths", ".paths.gz")):
        return _list_paths(source, ("**",))
    if source.startswith(("http://", "https://")):
        return _list_http(source)
    return _list_filesystem(source)


def _listed(source: str, inventory: Inventory) -> Listing:
    """Return the files of a list, below the folder ``source``."""
    if WILDCARD.search(source):
        raise SpecError(
            "a glob and a list",
            field="--manifest",
            value=source,
            remedy="With a list, SOURCE is the folder that its paths begin at",
        )
    if source.startswith("hf://"):
        base, folder = parse_hub_url(source)
        found, _ = list_hub(base, ("**",))
        source = storage.join(found, folder) if folder else found
    quote = source.startswith(("http://", "https://"))
    files = [
        RemoteFile(
            storage.join(source, urllib.parse.quote(entry.path) if quote else entry.path),
            entry.path,
            entry.size,
            entry.checksum,
        )
        for entry in inventory.entries
    ]
    return _whole(source, files, numbered=False)


def _list_http(source: str) -> Listing:
    if "*" in source or source.endswith("/"):
        raise SpecError(
            "HTTP has no listing of folders",
            file=source,
            remedy="Name the files, with brace ranges such as part-{000..238}.zip, or give a list with --manifest",
        )
    urls = storage.expand_braces(source)
    skip = len(fixed_part(source).split("/"))
    files = [
        RemoteFile(
            url, urllib.parse.unquote("/".join(url.split("?", 1)[0].split("#", 1)[0].split("/")[skip - 1 :]))
        )
        for url in urls
    ]
    return _whole(source, files, numbered=False)


def _list_paths(url: str, patterns: tuple[str, ...]) -> Listing:
    """Return what a list of paths names that fits the globs; the paths begin at the host (Common Crawl's custom)."""
    if not url.endswith((".paths", ".paths.gz")):
        raise SpecError(
            "its files cannot be listed from there",
            file=url,
            remedy="Give the URLs of the files, or a list with --manifest",
        )
    parts = urllib.parse.urlsplit(url)
    lines = _downloaded_lines(url)
    folder = f"{PurePosixPath(parts.path).parent}/"
    files = []
    for line in lines:
        path = "/" + line.lstrip("/")
        # Globs are below the folder that all paths share, whatever it is called.
        inside = path.removeprefix(folder)
        tails = [inside, *("/".join(inside.split("/")[n:]) for n in range(1, inside.count("/") + 1))]
        if any(matches(tail, patterns) for tail in tails):
            files.append(
                RemoteFile(f"{parts.scheme}://{parts.netloc}{urllib.parse.quote(path)}", inside.lstrip("/"))
            )
    return _whole(url, files, numbered=False)


def _downloaded_lines(url: str) -> list[str]:
    limit = 2**30
    try:
        with open_remote(RemoteFile(url, "list"), 0, None) as opened:
            content = bytearray()
            while chunk := opened.stream.read(2**20):
                content += chunk
                if len(content) > limit:
                    raise InputError("a list of more than 1 GiB", file=url)
            if opened.size is not None and len(content) < opened.size:
                raise TroubleError("the connection dropped")
    except TroubleError as error:
        raise InputError(f"the list could not be read: {error}", file=url, remedy="Try again") from None
    with decompressed(io.BytesIO(bytes(content)), by_name(url)[0], url, 2000) as stream:
        return [line.decode("utf-8", "replace").strip() for line in stream if line.strip()]


def _list_filesystem(source: str) -> Listing:
    filesystem, root = storage.url_to_fs(source)
    local = storage.local_path(source) is not None
    if filesystem.isdir(root):
        root = root.rstrip("/")
        found = filesystem.find(root, detail=True)
        listing = _whole(source, list(_remote(filesystem, found, f"{root}/", local)), numbered=True)
        return _with_inventory(listing, source)
    base = storage.url_to_fs(fixed_part(source) or "./")[1].rstrip("/") + "/"
    files: list[RemoteFile] = []
    for url in [source] if filesystem.exists(root) else storage.expand_braces(source):
        one, path = storage.url_to_fs(url)
        if one.isfile(path):
            found = {path: one.info(path)}
        else:
            found = one.glob(path, detail=True) if WILDCARD.search(path) else {}
            found = {name: details for name, details in found.items() if details.get("type") != "directory"}
        if not found:
            raise InputError("no such file", file=url, remedy="Check the path, glob or brace range")
        files += _remote(one, found, base, local)
    return _whole(source, files, numbered=False)


def _remote(
    filesystem: Any, found: Mapping[str, Mapping[str, Any]], base: str, local: bool
) -> Iterator[RemoteFile]:
    for name, details in sorted(found.items()):
        if details.get("type") == "directory":
            continue
        md5 = details.get("md5Hash")
        checksum = None
        if isinstance(md5, str) and len(raw := base64.b64decode(md5 + "==")) == 16:
            checksum = Checksum(Algorithm.MD5, raw.hex())
        url = name if local else filesystem.unstrip_protocol(name)
        yield RemoteFile(url, name.removeprefix(base), details.get("size"), checksum, identity_of(details))


def _with_inventory(listing: Listing, source: str) -> Listing:
    """Return a listing with the checksums that a list in the folder gives, if there is one; it must be all there."""
    by_path = {file.path: file for file in listing.files}
    name = next((one for one in (MANIFEST_NAME, LEDGER_NAME) if one in by_path), None)
    fetched = storage.join(source, FETCHED_NAME)
    if name is None and not storage.exists(fetched):
        return listing
    inventory = read_inventory(storage.join(source, name) if name else fetched)
    missing = [entry.path for entry in inventory.entries if entry.path not in by_path]
    if missing:
        raise ArtefactError(
            f"the source lacks {len(missing):,} of the {len(inventory.entries):,} files that its list names",
            file=source,
            value=shorten(", ".join(missing), 200),
            remedy="The source itself is not whole: find another copy",
        )
    for entry in inventory.entries:
        file = by_path[entry.path]
        size = entry.size if entry.size is not None else file.size
        by_path[entry.path] = replace(file, size=size, checksum=entry.checksum or file.checksum)
    return replace(listing, files=tuple(by_path[file.path] for file in listing.files))


def _whole(source: str, files: Iterable[RemoteFile], *, numbered: bool) -> Listing:
    """Return the listing, checked: safe paths, each once; of shards that say how many they are, all.

    Args:
      source: for messages.
      files: found.
      numbered: the listing claims to be of everything, so that ``x-00003-of-00010`` calls for nine others, unless the
        source has a list of its own: that list says what is whole (of rejects, say, a shard without any has no file).
    """
    found: dict[str, RemoteFile] = {}
    listed = False
    for file in files:
        listed = listed or file.path in OWN_LISTS
        if file.path in (FETCHED_NAME, JOURNAL_NAME):
            continue
        fault = path_fault(file.path) or ("two files for one path" if file.path in found else None)
        fault = fault or ("the name of an unfinished file" if file.path.endswith(PARTIAL_SUFFIXES) else None)
        if len(file.path.rsplit("/", 1)[-1].encode()) > MAX_NAME:
            fault = f"a name of more than {MAX_NAME} bytes"
        if fault:
            raise InputError(
                fault,
                file=file.url,
                field="path",
                value=file.path,
                remedy="It cannot be stored: choose other files",
            )
        found[file.path] = file
    folders = {str(folder) for path in found for folder in PurePosixPath(path).parents}
    if clash := sorted(found.keys() & folders):
        raise InputError("a path is a file and a folder", file=source, value=clash[0])
    if not found:
        raise InputError("nothing to fetch", file=source, remedy="Check the path, glob or brace range")
    if numbered and not listed:
        _check_numbered(source, found)
    last = {MANIFEST_NAME, LEDGER_NAME}
    ordered = sorted(found.values(), key=lambda file: file.path.rsplit("/", 1)[-1] in last)
    return Listing(source, tuple(ordered))


def _check_numbered(source: str, paths: Iterable[str]) -> None:
    """Check that of files and folders called ``x-00003-of-00010`` all ten are there."""
    groups: dict[tuple[str, str, str, str], set[int]] = {}
    names = {path.rsplit("/", level)[0] for path in paths for level in range(path.count("/") + 1)}
    for path in names:
        folder, _, name = path.rpartition("/")
        if match := _NUMBERED.fullmatch(name):
            key = f"{folder}/{match['head']}", match["of"], match["total"], match["tail"]
            groups.setdefault(key, set()).add(int(match["number"]))
    for (head, of, total, tail), numbers in groups.items():
        if not 0 < int(total) <= MAX_TOTAL:
            continue
        # Shards are numbered from 0, by some from 1.
        first = 1 if int(total) in numbers else 0
        missing = sorted(set(range(first, first + int(total))) - numbers)
        if missing:
            example = f"{head.lstrip('/')}{str(missing[0]).zfill(len(total))}{of}{total}{tail}"
            raise ArtefactError(
                f"the listing has {len(numbers):,} of {int(total):,} shards: it was truncated, or the source is not whole",
                file=source,
                value=example,
                remedy="List it again, or name the files that you want with a glob",
            )

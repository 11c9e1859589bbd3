"""The pages that are measured: HTML files, folders and ZIPs of them, Enterprise dumps, StackExchange dumps."""

from __future__ import annotations

import codecs
import json
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from tootsie.curate.enterprise_dump import ARCHIVES, LINES, read_dump
from tootsie.curate.markdownify.archive import PAGE_SUFFIXES, read_pages
from tootsie.curate.markdownify.options import Profile
from tootsie.curate.stackexchange_dump import opened
from tootsie.curate.stackexchange_rows import Damage, read_rows
from tootsie.datasets import storage
from tootsie.datasets.errors import InputError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")
)  # fmt: skip
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)


class Page(NamedTuple):
    """A page to be measured."""

    name: str
    """Path below the source; of a record, the dump's path and the record's id."""
    content: bytes


def read_sources(sources: list[str], profile: Profile, max_bytes: int) -> Iterator[Page]:
    """Yield the pages of files, folders and archives in order.

    In folders, dumps are read as well where they fit the profile: ZIPs of pages with ``arxiv``, Enterprise JSON with
    ``wikipedia``, ``Posts.xml`` and 7z archives with ``stackexchange``.

    Raises:
      InputError: no such file, a damaged archive or dump, a page longer than ``max_bytes``.
    """
    for url in storage.expand([source for source in sources if not storage.exists(source)]) + [
        source for source in sources if storage.exists(source)
    ]:
        local = storage.local_path(url)
        if local is None or not local.is_dir():
            yield from _file(url, posixpath.basename(url), max_bytes)
            continue
        for path in sorted(local.rglob("*")):
            if path.is_file() and not path.is_symlink() and _fits(path.name.lower(), profile):
                yield from _file(str(path), path.relative_to(local).as_posix(), max_bytes)


def _fits(name: str, profile: Profile) -> bool:
    return (
        name.endswith(PAGE_SUFFIXES)
        or (profile is Profile.ARXIV and name.endswith(".zip"))
        or (profile is Profile.WIKIPEDIA and name.endswith(ARCHIVES + LINES))
        or (profile is Profile.STACKEXCHANGE and (name == "posts.xml" or name.endswith(".7z")))
    )


def _file(url: str, name: str, max_bytes: int) -> Iterator[Page]:
    lower = name.lower()
    if lower.endswith(ARCHIVES + LINES):
        yield from _articles(url, name, max_bytes)
    elif lower.endswith((".xml", ".7z")):
        yield from _posts(url, name)
    elif lower.endswith(".zip"):
        for member in read_pages(url, max_bytes):
            yield Page(f"{name}/{member.name}", member.content)
    else:
        with storage.open_binary(url) as stream:
            content = stream.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise InputError(
                f"the page is longer than {max_bytes:,} bytes", file=url, remedy="Raise --max-bytes"
            )
        yield Page(name, content)


def _articles(url: str, name: str, max_bytes: int) -> Iterator[Page]:
    for line in read_dump(url, max_bytes):
        if line.content is None:
            raise InputError(
                f"an article is longer than {max_bytes:,} bytes", file=line.where, remedy="Raise --max-bytes"
            )
        try:
            article = json.loads(line.content)
            page = article["article_body"]["html"]
            identifier = article.get("identifier") or article.get("name")
            if not isinstance(page, str):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            raise InputError(
                "not an article of an Enterprise dump",
                file=line.where,
                field="article_body.html",
                remedy="Leave the file out",
            ) from None
        yield Page(f"{name}/{identifier}", page.encode("utf-8", "replace"))


def _posts(url: str, name: str) -> Iterator[Page]:
    with opened([url], ["posts"]) as tables, tables["posts"].open() as stream:
        for row in read_rows(stream, tables["posts"].name):
            if isinstance(row, Damage):
                raise InputError(
                    "a row of the dump is damaged",
                    file=url,
                    value=row.detail,
                    remedy="Fetch it again, or leave it out",
                )
            if row.get("Body"):
                yield Page(f"{name}/{row.get('Id')}", row["Body"].encode("utf-8", "replace"))


def text_of(content: bytes, charset: str | None) -> str:
    """Decode a page by its byte order mark, ``charset``, its ``<meta>``, UTF-8, windows-1252; what is invalid becomes U+FFFD."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    declared = _CHARSET.search(content[:4096])
    for label in (charset, declared[1].decode("ascii") if declared else None):
        if label:
            try:
                encoding = codecs.lookup(label).name
            except LookupError:
                continue
            encoding = {
                "iso8859-1": "cp1252",
                "ascii": "cp1252",
                "utf-16": "utf-8",
                "utf-16-le": "utf-8",
            }.get(encoding, encoding)
            return content.decode(encoding, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        # Mostly UTF-8 with a few bad bytes is UTF-8; windows-1252 has no long sequences that would pass.
        valid = content[: error.start]
        return content.decode("utf-8" if any(byte > 127 for byte in valid) else "cp1252", "replace")

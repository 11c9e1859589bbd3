"""The records of one site: posts, comments and links to duplicates, each with the thread it belongs to.

Users are read first, for their names; then posts, links and comments. Nothing of the site is held in memory but one row and
the caches of a :class:`~tootsie.curate.stackexchange_index.SiteIndex`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tootsie.curate.corpus import Record, Unit
from tootsie.curate.stackexchange_dump import Table, opened
from tootsie.curate.stackexchange_index import SiteIndex, number_of
from tootsie.curate.stackexchange_rows import Damage, Row, read_rows
from tootsie.curate.stackexchange_thread import ANSWER, QUESTION
from tootsie.datasets.errors import InputError

POST_FIELDS = (
    "Id",
    "PostTypeId",
    "ParentId",
    "AcceptedAnswerId",
    "CreationDate",
    "LastEditDate",
    "ClosedDate",
    "CommunityOwnedDate",
    "Score",
    "Title",
    "Tags",
    "OwnerUserId",
    "OwnerDisplayName",
    "ContentLicense",
)
"""Attributes of a post that travel with it."""
DUPLICATE = "3"
"""``LinkTypeId`` of a link from a closed question to the one that it repeats."""


@dataclass(frozen=True)
class SiteReader:
    """Reads a site."""

    site: str
    """Host."""
    comments: bool
    """Read comments."""
    truncated: bool
    """Keep the rows of a table that is cut off."""
    max_row_bytes: int
    """Longest row."""

    def records(self, unit: Unit, limit: int | None) -> Iterator[Record]:
        """Yield the records of a site in a fixed order, those of at most ``limit`` threads."""
        wanted = ["users", "posts", "postlinks", *(["comments"] if self.comments else [])]
        with opened(unit.urls, wanted) as tables, SiteIndex() as index:
            yield from self._names(tables, index)
            taken: set[str] | None = None if limit is None else set()
            for record in self._posts(tables["posts"], index, taken, limit or 0):
                yield record
                if self.comments and "PostTypeId" in record.head:
                    post, thread = number_of(record.head.get("Id")), number_of(record.key.rpartition("/")[2])
                    if post is not None and thread is not None:
                        index.add_post(post, thread)
            yield from self._links(tables, taken)
            if self.comments:
                yield from self._comments(tables, index)

    def _rows(self, tables: Mapping[str, Table], name: str) -> Iterator[Row | Record]:
        """Yield the rows of a table; a record where a row is damaged, which is dropped and counted as such."""
        table = tables.get(name)
        if table is None:
            return
        with table.open() as stream:
            for number, row in enumerate(read_rows(stream, table.name, self.max_row_bytes)):
                if not isinstance(row, Damage):
                    yield row
                elif row.truncated and not self.truncated:
                    raise InputError(
                        "the file is truncated",
                        file=table.name,
                        value=row.detail,
                        remedy="Fetch it again and compare its checksum; --truncated=keep takes what there is",
                    )
                else:
                    yield self._damaged(name, number, row)

    def _damaged(self, table: str, number: int, damage: Damage) -> Record:
        identity = damage.identity or f"row-{number}"
        identity = identity if table == "posts" else f"{table}/{identity}"
        what = "truncated" if damage.truncated else "too_large" if damage.too_long else "damaged"
        head = {"site": self.site, "Id": identity, what: f"{table}: {damage.detail}"}
        return Record(f"{self.site}/{identity}", head, damage.excerpt, counted=False)

    def _names(self, tables: Mapping[str, Table], index: SiteIndex) -> Iterator[Record]:
        for row in self._rows(tables, "users"):
            if isinstance(row, Record):
                yield row
            elif (number := number_of(row.get("Id"))) is not None and row.get("DisplayName"):
                index.add_name(number, row["DisplayName"])

    def _posts(self, table: Table, index: SiteIndex, taken: set[str] | None, limit: int) -> Iterator[Record]:
        for number, row in enumerate(self._rows({"posts": table}, "posts")):
            full = taken is not None and len(taken) >= limit
            if isinstance(row, Record):
                if not full:
                    yield row
                continue
            kind, identity = row.get("PostTypeId"), row.get("Id") or f"row-{number}"
            thread = row.get("ParentId") or identity if kind == ANSWER else identity
            if taken is not None:
                if kind == QUESTION and not full:
                    taken.add(identity)
                if thread not in taken:
                    continue
            head: dict[str, Any] = {name: row[name] for name in POST_FIELDS if row.get(name)}
            head["site"] = self.site
            head["author"] = index.name(row.get("OwnerUserId")) or row.get("OwnerDisplayName")
            body = row.get("Body", "").encode("utf-8", "replace")
            yield Record(f"{self.site}/{thread}", head, body, counted=kind == QUESTION)

    def _links(self, tables: Mapping[str, Table], taken: set[str] | None) -> Iterator[Record]:
        for row in self._rows(tables, "postlinks"):
            if isinstance(row, Record):
                yield row
                continue
            post, other = row.get("PostId"), row.get("RelatedPostId")
            if row.get("LinkTypeId") == DUPLICATE and post and other and (taken is None or post in taken):
                head = {"site": self.site, "Id": post, "duplicate": other}
                yield Record(f"{self.site}/{post}", head, counted=False)

    def _comments(self, tables: Mapping[str, Table], index: SiteIndex) -> Iterator[Record]:
        for row in self._rows(tables, "comments"):
            if isinstance(row, Record):
                yield row
            elif (thread := index.thread(row.get("PostId"))) is not None:
                head = {
                    "site": self.site,
                    "Id": row.get("Id", ""),
                    "comment": row["PostId"],
                    "text": row.get("Text", ""),
                    "created": row.get("CreationDate"),
                    "score": row.get("Score"),
                    "user": row.get("UserId"),
                    "author": index.name(row.get("UserId")) or row.get("UserDisplayName"),
                    "license": row.get("ContentLicense"),
                }
                yield Record(f"{self.site}/{thread}", head, counted=False)

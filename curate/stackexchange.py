"""StackExchange threads: a question with its answers, accepted first, then by score.

The books count rows of ``Posts.xml``: a thread is one document and accounts for its question; its answers are counted as
``answer joined to its question``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from fsspec.core import url_to_fs

from tootsie.curate.corpus import (
    EXCERPT,
    Corpus,
    Dropped,
    Kept,
    Outcome,
    Pending,
    Record,
    Unit,
    too_large,
)
from tootsie.curate.stackexchange_dump import read_rows, site_of, table_of, unpacked
from tootsie.curate.stackexchange_post import attribution, comment_line, inline, parse_tags, score_of
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError, SpecError

if TYPE_CHECKING:
    from tootsie.curate.markdownify import Conversion

QUESTION, ANSWER = "1", "2"
POST_FIELDS = (
    "Id",
    "PostTypeId",
    "ParentId",
    "AcceptedAnswerId",
    "CreationDate",
    "Score",
    "Title",
    "Tags",
    "OwnerUserId",
    "OwnerDisplayName",
    "ContentLicense",
)
"""Attributes of a post that travel with it."""


@dataclass
class _Thread:
    """Rows of one thread, as they arrive."""

    question: Record | None = None
    answers: list[Record] = field(default_factory=list)
    comments: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class StackExchange(Corpus):
    """Data dumps of StackExchange sites."""

    name: ClassVar[str] = "stackexchange"

    unanswered: bool = True
    """Keep questions without answers."""
    comments: bool = False
    """Put comments into the text."""
    scores: bool = True
    """Put scores into the text."""
    tags: bool = True
    """Put tags into the text."""
    authors: bool = False
    """Put authors into the text."""
    site: str | None = None
    """Host name of the site, where file names do not tell."""

    def units(self, inputs: Sequence[str]) -> list[Unit]:
        """Return a unit for each site."""
        sites: dict[str, list[str]] = {}
        for url in inputs:
            filesystem, path = url_to_fs(url)
            name = url.rstrip("/").rsplit("/", 1)[-1]
            if filesystem.isdir(path):
                self._folder(url, name, sites)
            elif name.lower().endswith(".7z"):
                sites.setdefault(self._site(url, name), []).append(url)
            elif table_of(name):
                parent = url.rstrip("/").rsplit("/", 2)[-2] if url.count("/") else ""
                sites.setdefault(self._site(url, name, parent), []).append(url)
            else:
                raise InputError("not a 7z archive, folder or Posts.xml", file=url)
        units = []
        for site, urls in sites.items():
            seen = Counter(table_of(url.rsplit("/", 1)[-1]) or "archive" for url in urls)
            twice = [table for table, count in seen.items() if count > 1]
            if twice:
                raise InputError(
                    f"two inputs are {twice[0]} of one site",
                    file=urls[0],
                    value=site,
                    remedy="Name one of them",
                )
            if not any(
                url.lower().endswith(".7z") or table_of(url.rsplit("/", 1)[-1]) == "posts" for url in urls
            ):
                raise InputError("no Posts.xml", file=urls[0], remedy="Name the posts of the site as well")
            units.append(
                Unit(site, tuple(sorted(urls)), sum(storage.size(url) for url in urls), {"site": site})
            )
        return units

    def _folder(self, url: str, name: str, sites: dict[str, list[str]]) -> None:
        names = storage.list_files(url)
        archives = [storage.join(url, one) for one in names if one.lower().endswith(".7z")]
        tables = [storage.join(url, one) for one in names if one.lower().endswith(".xml") and table_of(one)]
        if tables:
            sites.setdefault(self._site(url, name), []).extend(tables)
        for archive in archives:
            sites.setdefault(self._site(archive, archive.rsplit("/", 1)[-1]), []).append(archive)
        if not tables and not archives:
            filesystem, path = url_to_fs(url)
            inner = sorted(
                found.rstrip("/").rsplit("/", 1)[-1]
                for found in filesystem.ls(path, detail=False)
                if filesystem.isdir(found)
            )
            if not inner:
                raise InputError(
                    "no dump in this folder", file=url, remedy="It has a Posts.xml, or 7z archives"
                )
            for one in inner:
                self._folder(storage.join(url, one), one, sites)

    def _site(self, url: str, *names: str) -> str:
        found = self.site or next((site for name in names if (site := site_of(name))), None)
        if found is None:
            raise SpecError(
                "the name does not tell the site",
                file=url,
                remedy="Give it with --site, as in --site=math.stackexchange.com",
            )
        return found

    def split(self, unit: Unit, limit: int | None) -> Iterator[Record]:
        """Yield posts (and comments, if they are wanted), each with the thread it belongs to."""
        site = unit.options["site"]
        with unpacked(unit.urls) as tables:
            users = dict(_users(tables["users"])) if "users" in tables else {}
            threads: dict[str, str] = {}
            taken: set[str] | None = None if limit is None else set()
            for number, row in enumerate(read_rows(tables["posts"])):
                kind, identity = row.get("PostTypeId"), row.get("Id") or f"row-{number}"
                thread = row.get("ParentId") or identity if kind == ANSWER else identity
                if taken is not None:
                    if kind == QUESTION and len(taken) < (limit or 0):
                        taken.add(identity)
                    if thread not in taken:
                        continue
                if self.comments:
                    threads[identity] = thread
                yield self._post(site, thread, row, users, counted=kind == QUESTION)
            if self.comments and "comments" in tables:
                for row in read_rows(tables["comments"]):
                    if (post := row.get("PostId", "")) in threads:
                        yield _comment(site, threads[post], row, users)

    def _post(
        self, site: str, thread: str, row: dict[str, str], users: dict[str, str], *, counted: bool
    ) -> Record:
        head: dict[str, Any] = {name: row[name] for name in POST_FIELDS if row.get(name)}
        author = users.get(row.get("OwnerUserId", "")) or row.get("OwnerDisplayName")
        body = row.get("Body", "").encode("utf-8", "replace")
        if len(body) > self.max_document_bytes:
            head["too_large"], body = len(body), b""
        return Record(f"{site}/{thread}", {**head, "site": site, "author": author}, body, counted)

    def documents(self, records: Iterable[Record]) -> Iterator[Outcome | Pending]:
        """Join questions, answers and comments of a shard into threads; convert them, by site and question."""
        threads: dict[str, _Thread] = {}
        for record in records:
            head = record.head
            thread = threads.setdefault(record.key, _Thread())
            identity = f"{head['site']}/{head.get('Id', '')}"
            if "comment" in head:
                thread.comments.setdefault(head["comment"], []).append(head)
                yield Dropped("comment", identity, show=False)
            elif "too_large" in head:
                yield Dropped(
                    "too large", identity, detail=too_large(head["too_large"], self.max_document_bytes)
                )
            elif not head.get("Id", "").lstrip("-").isdigit():
                yield Dropped("damaged record", identity, _text(record), "the row has no Id", failure=True)
            elif head.get("PostTypeId") == QUESTION:
                if thread.question is not None:
                    yield Dropped("duplicate id", identity, _text(record))
                else:
                    thread.question = record
            elif head.get("PostTypeId") == ANSWER:
                if any(head["Id"] == other.head["Id"] for other in thread.answers):
                    yield Dropped("duplicate id", identity, _text(record))
                else:
                    thread.answers.append(record)
            else:
                kind = head.get("PostTypeId", "none")
                reason = "wiki post" if kind in ("3", "4", "5", "7", "8") else "other post type"
                yield Dropped(reason, identity, _text(record), f"PostTypeId {kind}")
        for key in sorted(threads, key=_thread_order):
            yield from self._thread(key, threads[key])

    def _thread(self, key: str, thread: _Thread) -> Iterator[Outcome | Pending]:
        question = thread.question
        if question is None:
            for answer in thread.answers:
                detail = f"its question {answer.head.get('ParentId')} is not in the dump"
                yield Dropped(
                    "orphan answer", f"{answer.head['site']}/{answer.head['Id']}", _text(answer), detail
                )
            return
        accepted = question.head.get("AcceptedAnswerId")
        answers = sorted(
            thread.answers,
            key=lambda one: (
                one.head["Id"] != accepted,
                -score_of(one),
                one.head.get("CreationDate", ""),
                int(one.head["Id"]),
            ),
        )
        metadata = self._metadata(question, answers)
        commenters = {one["author"] for own in thread.comments.values() for one in own if one.get("author")}
        if commenters:
            metadata["comment_authors"] = sorted(commenters)
        if not answers and not self.unanswered:
            yield Dropped("no answers", key, _text(question), metadata=metadata)
            return
        posts = [question, *answers]
        pages = [post.body.decode() for post in posts]

        def finish(conversions: list[Conversion]) -> Iterator[Outcome]:
            bodies = {id(post): one for post, one in zip(posts, conversions, strict=True)}
            return self._finish(key, question, answers, bodies, thread.comments, metadata)

        yield Pending(key, pages, {"profile": "stackexchange"}, finish, metadata, records=len(posts))

    def _finish(
        self,
        key: str,
        question: Record,
        answers: list[Record],
        bodies: dict[int, Conversion],
        comments: dict[str, list[dict[str, Any]]],
        metadata: dict[str, Any],
    ) -> Iterator[Outcome]:
        accepted = question.head.get("AcceptedAnswerId")
        text = self._text(question, answers, accepted, comments, bodies)
        counters: Counter[str] = Counter()
        for conversion in bodies.values():
            counters.update(conversion.counters)
        counters.update({"threads without answers": not answers, "answers": len(answers)})
        if answers:
            yield Dropped("answer joined to its question", key, records=len(answers), show=False)
        document = Document(
            id=key,
            text=text,
            source=self.name,
            added=self.added,
            created=question.head.get("CreationDate"),
            metadata=metadata,
        )
        source = sum(len(post.body) for post in (question, *answers))
        yield Kept(document, {name: count for name, count in counters.items() if count}, source)

    def _text(
        self,
        question: Record,
        answers: list[Record],
        accepted: str | None,
        comments: dict[str, list[dict[str, Any]]],
        bodies: dict[int, Conversion],
    ) -> str:
        def part(record: Record, heading: str) -> list[str]:
            notes = []
            if self.scores:
                notes.append(f"Score: {score_of(record)}")
            if self.authors and record.head.get("author"):
                notes.append(f"Author: {inline(record.head['author'])}")
            if self.tags and record is question and record.head.get("Tags"):
                notes.append("Tags: " + ", ".join(inline(tag) for tag in parse_tags(record.head["Tags"])))
            found = [heading, " · ".join(notes), bodies[id(record)].markdown.strip()]
            if self.comments and (own := comments.get(record.head["Id"])):
                own.sort(
                    key=lambda one: (one.get("created") or "", int(one["Id"]) if one["Id"].isdigit() else 0)
                )
                found.append(
                    "\n".join(["**Comments**", "", *(f"- {comment_line(one['text'])}" for one in own)])
                )
            return [piece for piece in found if piece]

        pieces = part(
            question, "# " + (inline(question.head.get("Title", "")) or f"Question {question.head['Id']}")
        )
        for answer in answers:
            pieces += part(answer, "## Accepted answer" if answer.head["Id"] == accepted else "## Answer")
        return "\n\n".join(pieces) + "\n"

    def _metadata(self, question: Record, answers: list[Record]) -> dict[str, Any]:
        head = question.head
        site = head["site"]
        posts = [attribution(post, site) for post in (question, *answers)]
        licences = sorted({post["license"] for post in posts})
        fields = {
            "url": f"https://{site}/questions/{head['Id']}",
            "license": licences[0] if len(licences) == 1 else " AND ".join(licences),
            "title": head.get("Title"),
            "site": site,
            "tags": parse_tags(head.get("Tags", "")),
            "score": score_of(question),
            "accepted_answer": head.get("AcceptedAnswerId"),
            "answers": len(answers),
            "posts": posts,
        }
        return {key: value for key, value in fields.items() if value is not None}


def _comment(site: str, thread: str, row: dict[str, str], users: dict[str, str]) -> Record:
    head = {
        "site": site,
        "Id": row.get("Id", ""),
        "comment": row["PostId"],
        "text": row.get("Text", ""),
        "created": row.get("CreationDate"),
        "author": users.get(row.get("UserId", "")),
    }
    return Record(f"{site}/{thread}", head, b"", counted=False)


def _users(url: str) -> Iterator[tuple[str, str]]:
    for row in read_rows(url):
        if row.get("Id") and row.get("DisplayName"):
            yield row["Id"], row["DisplayName"]


def _text(record: Record) -> str:
    return record.body[: 4 * EXCERPT].decode("utf-8", "replace")


def _thread_order(key: str) -> tuple[str, int, str]:
    site, _, number = key.rpartition("/")
    return site, int(number) if number.isdigit() else -1, json.dumps(number)

"""Wikipedia from Enterprise HTML dumps: the newest revision of each article, as Markdown."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from fsspec.core import url_to_fs

from tootsie.curate.corpus import (
    EXCERPT,
    Dropped,
    Outcome,
    Pending,
    Record,
    Unit,
    too_large,
)
from tootsie.curate.enterprise_dump import ARCHIVES, LINES, read_dump
from tootsie.curate.filters import FilteredCorpus
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError

if TYPE_CHECKING:
    from tootsie.curate.markdownify import Conversion

_REDIRECT = re.compile(r"""<link\b[^>]*\brel=["'][^"']*mw:PageProp/redirect""", re.IGNORECASE)


@dataclass(frozen=True)
class Wikipedia(FilteredCorpus):
    """Enterprise HTML dumps."""

    name: ClassVar[str] = "wikipedia"

    references: str = "drop"
    """What becomes of reference lists and their marks: see the converter's option of the same name."""
    infobox: bool = True
    """Keep the infobox, as a table."""

    def units(self, inputs: Sequence[str]) -> list[Unit]:
        """Return a unit for each file; a folder stands for the dump files in it."""
        urls: list[str] = []
        for url in inputs:
            filesystem, path = url_to_fs(url)
            if not filesystem.isdir(path):
                urls.append(url)
                continue
            names = [name for name in storage.list_files(url) if name.lower().endswith(ARCHIVES + LINES)]
            if not names:
                raise InputError(
                    "no dump file in this folder",
                    file=url,
                    remedy=f"They end in {', '.join(ARCHIVES + LINES)}",
                )
            urls += [storage.join(url, name) for name in names]
        for url in urls:
            if not url.lower().endswith(ARCHIVES + LINES):
                raise InputError(
                    "not an Enterprise HTML dump",
                    file=url,
                    remedy=f"They end in {', '.join(ARCHIVES + LINES)}",
                )
        return [Unit(url.rsplit("/", 1)[-1], (url,), storage.size(url)) for url in urls]

    def split(self, unit: Unit, limit: int | None) -> Iterator[Record]:
        """Yield one record for each article revision."""
        for number, line in enumerate(read_dump(unit.urls[0], self.max_document_bytes)):
            if limit is not None and number >= limit:
                return
            yield self._record(line.where, line.size, line.content)

    def _record(self, where: str, size: int, content: bytes | None) -> Record:
        if content is None:
            return Record(
                where,
                {"id": where, "reason": "too large", "detail": too_large(size, self.max_document_bytes)},
            )
        try:
            article = _parse(content)
            if not isinstance(article, dict):
                raise ValueError(f"an article is an object, this is a {type(article).__name__}")
            number, project = article["identifier"], _project(article)
            if not isinstance(number, int | str) or number == "" or isinstance(number, bool):
                raise ValueError("identifier is neither number nor text")
            _check(article)
        except RecursionError:
            return _damaged(where, "nested too deeply", content)
        except KeyError as error:
            return _damaged(where, f"the article has no {error.args[0]}", content)
        except (ValueError, TypeError) as error:
            return _damaged(where, str(error), content)
        key = f"{project}:{number}"
        return Record(key, {"id": key, "version": _version(article)}, content)

    def documents(self, records: Iterable[Record]) -> Iterator[Outcome | Pending]:
        """Convert the newest revision of each article of a shard, in the order of the dumps."""
        newest: dict[str, list[Any]] = {}
        for record in records:
            version = record.head.get("version")
            if version is not None and version >= newest.get(record.key, version):
                newest[record.key] = version
        written: set[str] = set()
        for record in records:
            head = record.head
            if "reason" in head:
                excerpt = record.body.decode("utf-8", "replace")
                failure = head["reason"] == "damaged record"
                yield Dropped(head["reason"], head["id"], excerpt, head["detail"], failure=failure)
            elif head["version"] != newest[record.key] or record.key in written:
                yield Dropped("older revision", head["id"], show=False)
            else:
                written.add(record.key)
                yield self._article(head["id"], record.body)

    def _article(self, identity: str, line: bytes) -> Outcome | Pending:
        article = _parse(line)
        metadata = _metadata(article)
        html = _field(article, "article_body", "html")
        namespace = _field(article, "namespace", "identifier")
        if namespace not in (None, 0, "0"):
            return Dropped("other namespace", identity, detail=f"namespace {namespace}", metadata=metadata)
        if _field(article, "visibility", "text") is False:
            return Dropped("hidden revision", identity, metadata=metadata)
        if not isinstance(html, str) or not html.strip():
            return Dropped(
                "no HTML", identity, detail="article_body.html is missing or empty", metadata=metadata
            )
        if _REDIRECT.search(html[:20_000]):
            return Dropped("redirect", identity, excerpt=html[:EXCERPT], metadata=metadata)
        options = {"profile": "wikipedia", "references": self.references, "infobox": self.infobox}
        created = article.get("date_created") or article.get("date_modified")
        created = created if isinstance(created, str) else None
        size = len(html.encode("utf-8", "replace"))
        finish = partial(self._finish, identity, created, size, metadata)
        return Pending(identity, [html], options, finish, metadata)

    def _finish(
        self,
        identity: str,
        created: str | None,
        size: int,
        metadata: dict[str, Any],
        conversions: list[Conversion],
    ) -> Iterator[Outcome]:
        (conversion,) = conversions
        text, title = conversion.markdown, metadata.get("title")
        if title and not text.startswith("# "):
            text = f"# {title}\n\n{text}"
        document = Document(
            id=identity,
            text=text,
            source=self.name,
            added=self.added,
            created=created,
            metadata=metadata,
        )
        yield self.filtered(document, conversion.markdown, conversion.counters, size)


def _parse(line: bytes) -> Any:
    """Return the value of a line of JSON; ``NaN`` and numbers beyond a float's range are none, and could not be written."""

    def finite(text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"{text[:20]} is not a JSON number that can be kept")
        return number

    return json.loads(line, parse_float=finite, parse_constant=finite)


def _damaged(where: str, detail: str, content: bytes) -> Record:
    return Record(where, {"id": where, "reason": "damaged record", "detail": detail}, content[: 4 * EXCERPT])


def _field(article: dict[str, Any], name: str, inner: str) -> Any:
    value = article.get(name)
    return value.get(inner) if isinstance(value, dict) else None


def _project(article: dict[str, Any]) -> str:
    found = _field(article, "is_part_of", "identifier") or _field(article, "in_language", "identifier")
    return found if isinstance(found, str) and found else "wiki"


_TEXTS = (
    ("name", None),
    ("url", None),
    ("date_created", None),
    ("date_modified", None),
    ("in_language", "identifier"),
    ("is_part_of", "identifier"),
    ("main_entity", "identifier"),
)
"""Fields of an article, and within them, that are text where they are."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T.*)?")


def _check(article: dict[str, Any]) -> None:
    """Raise ``ValueError`` where what becomes metadata is not of its kind, so that a field is of one kind in all documents."""
    for name, inner in _TEXTS:
        value = article.get(name) if inner is None else _field(article, name, inner)
        field = name if inner is None else f"{name}.{inner}"
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{field} is no text but {str(value)[:40]!r}")
        if value and name.startswith("date_") and not _DATE.fullmatch(value):
            raise ValueError(f"{field} is no date in ISO 8601 but {value[:40]!r}")
    revision = _field(article, "version", "identifier")
    if revision is not None and (isinstance(revision, bool) or not re.fullmatch(r"\d{1,18}", str(revision))):
        raise ValueError(f"version.identifier is no number but {str(revision)[:40]!r}")
    licences = article.get("license")
    if licences is not None and not (
        isinstance(licences, list)
        and all(isinstance(one, dict) for one in licences)
        and all(
            isinstance(one.get(key), str | None) for one in licences for key in ("identifier", "name", "url")
        )
    ):
        raise ValueError(f"license is no list of licences but {str(licences)[:40]!r}")


def _version(article: dict[str, Any]) -> list[Any]:
    """Return what orders the revisions of an article: revision number, then date."""
    return [int(_field(article, "version", "identifier") or 0), article.get("date_modified") or ""]


def _metadata(article: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = next(iter(article.get("license") or ()), {})
    revision = _field(article, "version", "identifier")
    fields = {
        "url": article.get("url"),
        "license": first.get("identifier") or first.get("name") or "unknown",
        "license_url": first.get("url"),
        "title": article.get("name"),
        "language": _field(article, "in_language", "identifier"),
        "project": _field(article, "is_part_of", "identifier"),
        "revision": None if revision is None else int(revision),
        "modified": article.get("date_modified"),
        "wikidata": _field(article, "main_entity", "identifier"),
    }
    return {key: value for key, value in fields.items() if value is not None}

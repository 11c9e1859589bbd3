"""arXiv papers from ar5iv: ZIPs of HTML5 pages that LaTeXML made, ``<severity>/<yymm>/<id>.html``.

A folder of such pages, or single pages, will do as well. The pages of a dump are sorted by how LaTeXML fared:
``no-problem``, ``warning``, ``error``; that stays with the document as ``metadata.severity``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple

from fsspec.core import url_to_fs

from tootsie.curate import arxiv_metadata
from tootsie.curate.corpus import Dropped, Outcome, Pending, Record, Unit, too_large
from tootsie.curate.filters import FilteredCorpus
from tootsie.curate.zip_archive import DamagedMemberError, Member, list_members, read_member
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError

if TYPE_CHECKING:
    from tootsie.curate.markdownify import Conversion

SEVERITIES = {
    "no-problem": "no-problem",
    "no_problem": "no-problem",
    "warning": "warning",
    "warnings": "warning",
    "error": "error",
    "errors": "error",
    "fatal": "fatal",
}
# fmt: off
OLD_ARCHIVES = frozenset((
    "acc-phys", "adap-org", "alg-geom", "ao-sci", "astro-ph", "atom-ph", "bayes-an", "chao-dyn",
    "chem-ph", "cmp-lg", "comp-gas", "cond-mat", "cs", "dg-ga", "funct-an", "gr-qc", "hep-ex", "hep-lat",
    "hep-ph", "hep-th", "math", "math-ph", "mtrl-th", "nlin", "nucl-ex", "nucl-th", "patt-sol",
    "physics", "plasm-ph", "q-alg", "q-bio", "quant-ph", "solv-int", "supr-con",
))
# fmt: on
"""Archives that identifiers of before 2007 begin with (https://arxiv.org/archive)."""
PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
_NEW_ID = re.compile(r"^(\d{2})(\d{2})\.(\d{4,5})(v\d{1,4})?$")
_OLD_ID = re.compile(r"^([a-z-]+(?:\.[A-Z]{2})?)[/_]?(\d{2})(\d{2})(\d{3})(v\d{1,4})?$")


class Name(NamedTuple):
    """What a page's file name tells."""

    id: str
    """The arXiv identifier, without version; the name itself where it is none."""
    version: int | None = None
    """The version of the paper."""
    month: str | None = None
    """When the paper was submitted (``2024-04``)."""


def parse_name(stem: str) -> Name:
    """Return what a page's file name without suffix tells.

    Identifiers of before 2007 lose their slash in file names: ``hep-th9901001`` is ``hep-th/9901001``. A name that is no
    identifier is returned as it is, without a month.
    Source: https://info.arxiv.org/help/arxiv_identifier.html
    """
    for pattern, old in ((_NEW_ID, False), (_OLD_ID, True)):
        match = pattern.match(stem)
        if match is None:
            continue
        groups = list(match.groups())
        archive = groups.pop(0) if old else ""
        year, month, number, version = groups
        if not 1 <= int(month) <= 12:
            continue
        century = 1900 if old and int(year) > 90 else 2000
        identity = f"{archive}/{year}{month}{number}" if old else f"{year}{month}.{number}"
        return Name(identity, int(version[1:]) if version else None, f"{century + int(year)}-{month}")
    return Name(stem)


def _stem(path: str) -> str:
    return re.sub(r"\.x?html?$", "", path.rsplit("/", 1)[-1], flags=re.IGNORECASE)


def _name(path: str) -> Name:
    """Return what a page's path tells; identifiers of before 2007 may have their archive as a folder: ``hep-th/9901001.html``."""
    stem = _stem(path)
    archive = next(iter(path.split("/")[-2:-1]), "")
    if stem[:7].isdecimal() and archive.partition(".")[0] in OLD_ARCHIVES:
        stem = f"{archive}/{stem}"
    return parse_name(stem)


def _address(head: dict[str, Any]) -> str:
    return f"https://arxiv.org/abs/{head['id']}" + (f"v{head['version']}" if head["version"] else "")


def severity_of(path: str) -> str | None:
    """Return the severity that the folders or the archive's name in ``path`` tell, ``None`` where they do not."""
    for part in reversed(path.split("/")):
        if part.lower() in SEVERITIES:
            return SEVERITIES[part.lower()]
    match = re.search(r"no[-_]problem|warnings?|errors?", path.lower())
    return SEVERITIES[match[0]] if match else None


def _place(url: str) -> str:
    """Return the end of a page's path that belongs to the dump (``error/2404/2404.00001.html``), wherever the dump lies."""
    *folders, name = url.split("/")
    kept: list[str] = []
    if folders and _name(url) != _name(name):  # hep-th/9901001.html
        kept.append(folders.pop())
    while folders and (folders[-1].lower() in SEVERITIES or re.fullmatch(r"\d{4}", folders[-1])):
        kept.insert(0, folders.pop())
    return "/".join([*kept, name])


@dataclass(frozen=True)
class Arxiv(FilteredCorpus):
    """ar5iv archives, and arXiv's metadata where it is given."""

    name: ClassVar[str] = "arxiv"

    references: str = "cite-keys"
    """What becomes of citations and bibliographies: see the converter's option of the same name."""

    def units(self, inputs: Sequence[str]) -> list[Unit]:
        """Return a unit for each archive or file of metadata, and one for each folder or all single pages."""
        units: list[Unit] = []
        rows: list[Unit] = []
        pages: list[str] = []
        for url in inputs:
            filesystem, path = url_to_fs(url)
            name = url.rstrip("/").rsplit("/", 1)[-1]
            if filesystem.isdir(path):
                found = [one for one in storage.find_files(url) if one.lower().endswith(PAGE_SUFFIXES)]
                if not found:
                    archives = any(one.lower().endswith(".zip") for one in storage.find_files(url))
                    raise InputError(
                        "no HTML page in this folder",
                        file=url,
                        remedy=f"Name its archives: {url.rstrip('/')}/*.zip"
                        if archives
                        else "Name a ZIP, a folder of pages or pages",
                    )
                units.append(Unit(name, tuple(found), sum(storage.size(one) for one in found)))
            elif url.lower().endswith(PAGE_SUFFIXES):
                pages.append(url)
            elif url.lower().endswith(".zip"):
                units.append(Unit(name, (url,), storage.size(url), {"zip": True}))
            elif url.lower().endswith(arxiv_metadata.SUFFIXES):
                rows.append(Unit(name, (url,), storage.size(url), {"metadata": True}, joins=True))
            else:
                raise InputError(
                    "not a ZIP, folder or HTML page",
                    file=url,
                    remedy="ar5iv dumps are .zip files; metadata of arXiv is .json",
                )
        if pages:
            pages.sort(key=lambda url: url.rsplit("/", 1)[-1])
            units.append(Unit("pages", tuple(pages), sum(storage.size(url) for url in pages)))
        if not units:
            raise InputError(
                "metadata, but no pages", file=rows[0].urls[0], remedy="Name ar5iv dumps as well"
            )
        return units + rows

    def split(self, unit: Unit, limit: int | None) -> Iterator[Record]:
        """Yield where each page lies, and rows of metadata; pages are read by the worker that converts them."""
        if unit.options.get("metadata"):
            yield from arxiv_metadata.metadata_records(unit.urls[0])
            return
        if unit.options.get("zip"):
            url = unit.urls[0]
            for number, member in enumerate(list_members(url)):
                if limit is not None and number >= limit:
                    return
                yield self._record(f"{unit.name}/{member.name}", {"archive": url, **vars(member)})
            return
        for url in unit.urls[:limit]:
            yield self._record(_place(url), {"page": url, "size": storage.size(url)})

    def _record(self, path: str, head: dict[str, Any]) -> Record:
        name = _name(path)
        identity = name.id or path
        told = {"id": identity, "version": name.version, "created": name.month, "path": path}
        return Record(identity, {**head, **told})

    def documents(self, records: Iterable[Record]) -> Iterator[Outcome | Pending]:
        """Convert the pages of a shard, by identifier."""
        heads = [record.head for record in records if "path" in record.head]
        # The newest version of a paper first, then the first archive by name.
        heads.sort(key=lambda head: (head["id"], -(head["version"] or 0), head["path"]))
        rows: dict[str, dict[str, Any]] = {head["id"]: {} for head in heads}
        yield from self._join(records, rows)
        seen: dict[str, int | None] = {}
        archive: tuple[str, IO[bytes]] | None = None
        try:
            for head in heads:
                identity = head["id"]
                metadata = self._metadata(head, rows[identity])
                fault = self._fault(head, seen)
                if fault is not None:
                    yield Dropped(reason=fault[0], id=identity, detail=fault[1], metadata=metadata)
                    continue
                url = head.get("archive")
                if url and (archive is None or archive[0] != url):
                    if archive is not None:
                        archive[1].close()
                    archive = (url, storage.open_binary(url))
                try:
                    page = self._read(head, archive[1] if url and archive else None)
                except (DamagedMemberError, InputError) as error:
                    yield Dropped(
                        "damaged record", identity, detail=str(error), metadata=metadata, failure=True
                    )
                    continue
                seen[identity] = head["version"]
                options = {"profile": "arxiv", "references": self.references}
                finish = partial(self._finish, head, rows[identity], len(page), metadata)
                yield Pending(identity, [page], options, finish, metadata)
        finally:
            if archive is not None:
                archive[1].close()

    def _join(self, records: Iterable[Record], rows: dict[str, dict[str, Any]]) -> Iterator[Outcome]:
        """Put the newest row of metadata of each paper into ``rows`` and account for all rows."""
        for record in records:
            head = record.head
            if "damaged" in head:
                excerpt = record.body.decode("utf-8", "replace")
                yield Dropped("damaged metadata", head["id"], excerpt, head["damaged"], joins=True)
            elif "row" in head:
                known = rows.get(head["id"])
                if known is not None and arxiv_metadata.order(head["row"]) >= arxiv_metadata.order(known):
                    rows[head["id"]] = head["row"]
                reason = "metadata of no page" if known is None else "metadata joined to its page"
                yield Dropped(reason, head["id"], show=False, joins=True)

    def _fault(self, head: dict[str, Any], seen: dict[str, int | None]) -> tuple[str, str] | None:
        if head.get("fault"):
            return "unsafe archive member", str(head["fault"])
        if not head["path"].lower().endswith(PAGE_SUFFIXES):
            return "not a page", head["path"]
        if head["size"] > self.max_document_bytes:
            return "too large", too_large(head["size"], self.max_document_bytes)
        if head["id"] in seen:
            if head["version"] != seen[head["id"]]:
                return "older version", f"version {seen[head['id']]} is kept"
            return "duplicate id", "another page of that identifier came first"
        return None

    def _metadata(self, head: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        # Which of several versions a page was made of, only its name can tell.
        version = head["version"] or (1 if row.get("versions") == 1 else None)
        metadata: dict[str, Any] = {
            "url": _address(head) if head["created"] else None,
            "license": row.get("license", arxiv_metadata.UNKNOWN_LICENCE),
            "license_url": row.get("license_url"),
            "version": version,
            "categories": row.get("categories"),
            "doi": row.get("doi"),
            "updated": row.get("updated"),
            "severity": severity_of(head["path"]),
            "path": head["path"],
        }
        return {key: value for key, value in metadata.items() if value is not None}

    def _read(self, head: dict[str, Any], archive: IO[bytes] | None) -> bytes:
        if archive is None:
            return storage.read_bytes(head["page"])
        fields = {
            name: head[name] for name in ("name", "offset", "compressed", "size", "crc", "method", "fault")
        }
        return read_member(archive, Member(**fields), self.max_document_bytes)

    def _finish(
        self,
        head: dict[str, Any],
        row: dict[str, Any],
        size: int,
        metadata: dict[str, Any],
        conversions: list[Conversion],
    ) -> Iterator[Outcome]:
        (conversion,) = conversions
        front = {
            "title": conversion.title or row.get("title"),
            "abstract": conversion.abstract,
            "authors": row.get("authors") or list(conversion.authors),
        }
        metadata = {**{key: value for key, value in front.items() if value}, **metadata}
        document = Document(
            id=head["id"],
            text=conversion.markdown,
            source=self.name,
            added=self.added,
            created=row.get("created") or head["created"],
            metadata=metadata,
        )
        counters = conversion.counters if row else {**conversion.counters, "papers without metadata": 1}
        yield self.filtered(document, conversion.markdown, counters, size)

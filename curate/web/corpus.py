"""Pages of crawls: WARC, WET and ARC files, the main content of each page as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome, Pending, Record, Unit, too_large
from tootsie.curate.filters import FilteredCorpus
from tootsie.curate.web.archive_records import ArchiveRecord, header_metadata, payload_of, read_archive
from tootsie.curate.web.main_content import Preset
from tootsie.curate.web.page_conversion import NO_CONTENT
from tootsie.curate.web.page_statements import robots_directives
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError

if TYPE_CHECKING:
    from tootsie.curate.markdownify import Conversion

SUFFIXES = (".warc", ".wet", ".wat", ".arc")
"""Names of crawl files, before ``.gz`` or ``.zst``."""
_PACKED = ("", ".gz", ".zst", ".zstd", ".bz2", ".xz")
NAMES = tuple(f"{suffix}{packed}" for suffix in SUFFIXES for packed in _PACKED)
PAGES = frozenset(("response", "resource", "conversion"))
"""Types of records that hold pages; of the others it is counted how many there are."""
NO_PAGES = frozenset(("warcinfo", "request", "metadata", "revisit", "continuation", "filedesc"))
_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|meta|title)\b", re.IGNORECASE | re.DOTALL
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_HTML_TYPES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_UNTYPED = ("", "unknown", "application/octet-stream", "text/plain", "no-type")


@dataclass(frozen=True)
class Web(FilteredCorpus):
    """Crawls."""

    name: ClassVar[str] = "web"
    converter: ClassVar[str | None] = "tootsie.curate.web.page_conversion:convert_request"

    preset: str = Preset.BALANCED.value
    """What is done where it is in doubt whether a text is main content; see :class:`.main_content.Preset`."""
    plain_text: bool = False
    """Write trafilatura's text, as others do, in place of Markdown with formulas, tables and code."""
    identify_language: bool = True
    """Write the language of each text down; what a page declares is often wrong."""
    refused_robots: tuple[str, ...] = ()
    """Directives to robots; pages that have one of them are dropped."""

    def units(self, inputs: Sequence[str]) -> list[Unit]:
        """Return a unit for each file; a folder stands for the crawl files in it."""
        urls: list[str] = []
        for url in inputs:
            filesystem, path = storage.url_to_fs(url)
            if not filesystem.isdir(path):
                urls.append(url)
                continue
            names = [name for name in storage.list_files(url) if name.lower().endswith(NAMES)]
            if not names:
                raise InputError(
                    "no crawl file in this folder", file=url, remedy=f"They end in {', '.join(SUFFIXES)}"
                )
            urls += [storage.join(url, name) for name in names]
        for url in urls:
            if not url.lower().endswith(NAMES):
                raise InputError(
                    "not a crawl file by its name",
                    file=url,
                    remedy=f"They end in {', '.join(SUFFIXES)}, with .gz or .zst when compressed",
                )
        return [Unit(url.rsplit("/", 1)[-1], (url,), storage.size(url)) for url in urls]

    def split(self, unit: Unit, limit: int | None) -> Iterator[Record]:
        """Yield a record for each record of a crawl file, damaged ones included."""
        for record in read_archive(unit.urls[0], self.max_document_bytes):
            if limit is not None and record.number >= limit:
                return
            yield self._record(f"{unit.name}:{record.number}", record)

    def _record(self, where: str, record: ArchiveRecord) -> Record:
        def dropped(reason: str, detail: str = "", excerpt: bytes = b"") -> Record:
            return Record(
                where, {"id": where, "reason": reason, "detail": detail, **known}, excerpt[: 4 * EXCERPT]
            )

        known: dict[str, Any] = {"metadata": header_metadata(record.headers)}
        if record.kind == "damaged":
            return dropped("damaged record", record.problem)
        if record.kind not in PAGES:
            return dropped(
                f"{record.kind} record" if record.kind in NO_PAGES else "other record", record.kind
            )
        payload = payload_of(record, self.max_document_bytes)
        if payload.content is None:
            return dropped("too large", too_large(record.size, self.max_document_bytes))
        if payload.problem:
            return dropped("content coding", payload.problem)
        if payload.status is not None and payload.status != 200:
            return dropped("other status", str(payload.status), payload.content)
        stated = payload.http.get("content-type", "")
        content_type = (stated or record.headers.get("content-type", "")).split(";")[0].strip().lower()
        metadata = known["metadata"]
        robots = robots_directives([payload.http.get("x-robots-tag", "")])
        if robots:
            metadata["robots"] = robots
        if payload.cut:
            metadata.setdefault("truncated", "coding")
        identity = record.headers.get("warc-record-id", "").strip("<>")
        if not identity and "url" in metadata:
            identity = "@".join(str(metadata[name]) for name in ("url", "crawled") if name in metadata)
        text = record.kind == "conversion"
        if not text and not _is_html(content_type, payload.content):
            return dropped("not HTML", content_type, payload.content)
        if not identity:
            return dropped("no identity", "neither WARC-Record-ID nor WARC-Target-URI", payload.content)
        charset = _CHARSET.search(stated)
        head = {
            "id": identity,
            "text": text,
            "charset": charset[1] if charset else None,
            "metadata": metadata,
        }
        return Record(identity, head, payload.content)

    def documents(self, records: Iterable[Record]) -> Iterator[Outcome | Pending]:
        """Convert the pages of a shard, in the order of the crawls; a record that is there twice, once."""
        seen: set[str] = set()
        for record in records:
            head = record.head
            metadata = head["metadata"]
            if "reason" in head:
                failure = head["reason"] == "damaged record"
                excerpt = record.body.decode("utf-8", "replace")
                shown = failure or head["reason"] not in {f"{kind} record" for kind in NO_PAGES}
                yield Dropped(
                    head["reason"], head["id"], excerpt, head["detail"], metadata, failure=failure, show=shown
                )
            elif head["id"] in seen:
                yield Dropped("same record again", head["id"], show=False)
            else:
                seen.add(head["id"])
                size = len(record.body)
                if head["text"]:
                    yield self._document(head["id"], metadata, size, _text(record.body), {})
                    continue
                options = {"preset": self.preset, "charset": head["charset"], "plain": self.plain_text}
                finish = partial(self._finish, head["id"], metadata, size)
                yield Pending(head["id"], [record.body], options, finish, metadata)

    def _finish(
        self, identity: str, metadata: dict[str, Any], size: int, conversions: list[Conversion]
    ) -> Iterator[Outcome]:
        (conversion,) = conversions
        statements: dict[str, Any] = dict(conversion.metadata)
        robots = sorted({*metadata.get("robots", ()), *filter(None, statements.pop("robots", "").split(","))})
        if "nofollow_links" in statements:
            statements["nofollow_links"] = int(statements["nofollow_links"])
        if "language" in statements:
            statements["declared_language"] = statements.pop("language")
        metadata = {**metadata, **statements, **({"robots": robots} if robots else {})}
        if conversion.encoding not in ("utf-8", "str"):
            metadata["encoding"] = conversion.encoding
        refused = sorted({one.split(":")[0].strip() for one in robots} & set(self.refused_robots))
        if refused:
            yield Dropped("refused by the page", identity, conversion.markdown, ", ".join(refused), metadata)
        elif NO_CONTENT in conversion.counters:
            yield Dropped("no main content", identity, metadata=metadata)
        else:
            yield self._document(identity, metadata, size, conversion.markdown, conversion.counters)

    def _document(
        self, identity: str, metadata: dict[str, Any], size: int, text: str, counters: dict[str, int]
    ) -> Outcome:
        document = Document(
            id=identity,
            text=text,
            source=self.name,
            added=self.added,
            created=metadata.get("crawled"),
            metadata=metadata,
        )
        outcome = self.filtered(document, text, counters, size)
        if (
            isinstance(outcome, Kept)
            and self.identify_language
            and "language" not in outcome.document.metadata
        ):
            metadata = {**outcome.document.metadata, "language": self._identify(text)}
            return Kept(outcome.document.model_copy(update={"metadata": metadata}), counters, size)
        return outcome


def _is_html(content_type: str, content: bytes) -> bool:
    """Return whether a page is HTML: by its type, or by how it begins where the type does not tell."""
    if content_type in _HTML_TYPES:
        return True
    return content_type in _UNTYPED and _HTML.match(content[:2048]) is not None


def _text(content: bytes) -> str:
    """Return the text of a WET record: UTF-8 by its specification."""
    return content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\0", "")

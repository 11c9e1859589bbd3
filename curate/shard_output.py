"""Write one output shard: documents, rejects, and a receipt with the books of the shard."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome
from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, shorten
from tootsie.datasets.manifest import FileEntry, verify_file

WORK = "_work"
"""Folder inside the output that holds the state of an unfinished run."""
REJECTS = "rejects"
"""Folder inside the output that holds what was dropped, with the reason."""


class Receipt(BaseModel):
    """The books of one finished shard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: FileEntry
    """The document file."""
    rejects: FileEntry | None = None
    """The rejects file; none where nothing was rejected."""
    accounting: Accounting
    """Records read, written and dropped by reason."""
    joined: dict[str, int] = Field(default_factory=dict)
    """Those of the dropped records that come from units which only add to others."""
    failures: int = Field(default=0, ge=0)
    """Dropped records that count against the error budget."""
    source_bytes: int = Field(default=0, ge=0)
    """Bytes of markup that were converted."""
    counters: dict[str, int] = Field(default_factory=dict)
    """How often each conversion rule applied."""


def part_name(shard: int, shards: int) -> str:
    """Return the file name of a shard."""
    return f"part-{shard:05d}-of-{shards:05d}.jsonl.zst"


def receipt_url(folder: str, shard: int) -> str:
    """Return where the receipt of a shard lies while the run is unfinished."""
    return storage.join(folder, WORK, "shards", f"{shard:05d}.json")


class _Lines:
    """Counts documents and text bytes on their way into a compressed file."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.documents = 0
        self.text_bytes = 0

    def add(self, document: Document) -> None:
        line = document.to_json().encode("utf-8", "replace") + b"\n"
        self._stream.write(line)
        self.documents += 1
        self.text_bytes += len(document.text.encode("utf-8", "replace"))


def write_shard(
    folder: str, shard: int, shards: int, source: str, outcomes: Iterable[Outcome], records: int
) -> Receipt:
    """Write everything of one shard, the receipt last.

    Args:
      folder: URL of the output folder.
      shard: number of the shard.
      shards: how many there are.
      source: name of the corpus.
      outcomes: what became of the records.
      records: how many records were routed to this shard.

    Raises:
      ConservationError: ``outcomes`` do not account for all ``records``.
    """
    name = part_name(shard, shards)
    dropped: Counter[str] = Counter()
    counters: Counter[str] = Counter()
    joined: Counter[str] = Counter()
    failures = source_bytes = 0
    url, rejects_url = storage.join(folder, name), storage.join(folder, REJECTS, name)
    rejected: list[bytes] = []
    with storage.atomic_zstd(url) as stream:
        lines = _Lines(stream)
        for outcome in outcomes:
            if isinstance(outcome, Kept):
                lines.add(outcome.document)
                counters.update(outcome.counters)
                source_bytes += outcome.source_bytes
                continue
            dropped[outcome.reason] += outcome.records
            failures += outcome.records if outcome.failure else 0
            joined[outcome.reason] += outcome.records if outcome.joins else 0
            if outcome.show:
                rejected.append(_reject(outcome, source))
    rejects = None
    if rejected:
        with storage.atomic_zstd(rejects_url) as stream:
            for line in rejected:
                stream.write(line)
        rejects = _entry(folder, f"{REJECTS}/{name}", len(rejected), 0)
    else:
        storage.remove(rejects_url)
    receipt = Receipt(
        file=_entry(folder, name, lines.documents, lines.text_bytes),
        rejects=rejects,
        accounting=Accounting(read=records, written=lines.documents, dropped=dict(sorted(dropped.items()))),
        joined={reason: count for reason, count in sorted(joined.items()) if count},
        failures=failures,
        source_bytes=source_bytes,
        counters=dict(sorted(counters.items())),
    )
    receipt.accounting.check(f"{source}, shard {shard}")
    storage.write_bytes(receipt_url(folder, shard), receipt.model_dump_json().encode())
    return receipt


def _reject(outcome: Dropped, source: str) -> bytes:
    document = Document(
        id=outcome.id or "unknown",
        text=shorten(outcome.excerpt, EXCERPT),
        source=source,
        metadata={"reason": outcome.reason, "detail": outcome.detail, **outcome.metadata},
    )
    return document.to_json().encode("utf-8", "replace") + b"\n"


def _entry(folder: str, path: str, documents: int, text_bytes: int) -> FileEntry:
    url = storage.join(folder, path)
    return FileEntry(
        path=path,
        documents=documents,
        text_bytes=text_bytes,
        size=storage.size(url),
        sha256=storage.sha256(url),
    )


def finished_receipt(folder: str, shard: int) -> Receipt | None:
    """Return the receipt of a shard whose files are whole, otherwise ``None``."""
    url = receipt_url(folder, shard)
    if not storage.exists(url):
        return None
    try:
        receipt = Receipt.model_validate_json(storage.read_bytes(url))
        for entry in (receipt.file, receipt.rejects):
            if entry is not None:
                verify_file(folder, entry)
    except (ValidationError, ArtefactError):
        return None
    return receipt

"""Write one output shard: documents, rejects, and a receipt with the books of the shard."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tootsie.curate.corpus import EXCERPT, Dropped, Kept, LeftOut, Outcome
from tootsie.curate.shard_statistics import Statistics, Tally
from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, shorten
from tootsie.datasets.manifest import FileEntry, verify_file

WORK = "_work"
"""Folder inside the output that holds the state of an unfinished run."""
REJECTS = "rejects"
"""Folder inside the output that holds what was dropped, with the reason."""
DROPPED_TEXT = "dropped-text"
"""How the files in it begin that hold what was left out of documents, of a sample of them."""


class Receipt(BaseModel):
    """The books of one finished shard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: FileEntry
    """The document file."""
    rejects: FileEntry | None = None
    """The rejects file; none where nothing was rejected."""
    dropped_text: FileEntry | None = None
    """The sample of what was left out of documents; none where nothing was."""
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
    statistics: Statistics = Field(default_factory=dict)
    """Documents by licence, language, length …"""


def part_name(shard: int, shards: int) -> str:
    """Return the file name of a shard."""
    return f"part-{shard:05d}-of-{shards:05d}.jsonl.zst"


def dropped_text_name(shard: int, shards: int) -> str:
    """Return the file name of what was left out of some documents of a shard."""
    return f"{DROPPED_TEXT}-{shard:05d}-of-{shards:05d}.jsonl.zst"


def receipt_url(folder: str, shard: int) -> str:
    """Return where the receipt of a shard lies while the run is unfinished."""
    return storage.join(folder, WORK, "shards", f"{shard:05d}.json")


class _Lines:
    """A compressed file of documents, and how many it holds; without one there is no file, unless it is ``always`` there."""

    def __init__(self, folder: str, path: str, *, always: bool = False) -> None:
        self._folder = folder
        self._path = path
        self._always = always
        self._files = contextlib.ExitStack()
        self._stream: Any = None
        self.documents = 0
        self.text_bytes = 0

    def __enter__(self) -> _Lines:
        if self._always:
            self._stream = self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)
        if self._stream is None:
            storage.remove(storage.join(self._folder, self._path))

    def _open(self) -> Any:
        return self._files.enter_context(storage.atomic_zstd(storage.join(self._folder, self._path)))

    def add(self, document: Document) -> None:
        if self._stream is None:
            self._stream = self._open()
        self._stream.write(document.to_json().encode("utf-8", "replace") + b"\n")
        self.documents += 1
        self.text_bytes += len(document.text.encode("utf-8", "replace"))

    def entry(self) -> FileEntry | None:
        """Return the manifest's entry for the closed file."""
        if self._stream is None:
            return None
        url = storage.join(self._folder, self._path)
        return FileEntry(
            path=self._path,
            documents=self.documents,
            text_bytes=self.text_bytes,
            size=storage.size(url),
            sha256=storage.sha256(url),
        )


def write_shard(
    folder: str, shard: int, shards: int, source: str, outcomes: Iterable[Outcome | LeftOut], records: int
) -> Receipt:
    """Write everything of one shard, the receipt last.

    Args:
      folder: URL of the output folder.
      shard: number of the shard.
      shards: how many there are.
      source: name of the corpus.
      outcomes: what became of the records, and what was left out of some of them.
      records: how many records were routed to this shard.

    Raises:
      ConservationError: ``outcomes`` do not account for all ``records``.
    """
    name = part_name(shard, shards)
    dropped: Counter[str] = Counter()
    counters: Counter[str] = Counter()
    joined: Counter[str] = Counter()
    failures = source_bytes = 0
    tally = Tally()
    kept = _Lines(folder, name, always=True)
    rejected = _Lines(folder, f"{REJECTS}/{name}")
    left_out = _Lines(folder, f"{REJECTS}/{dropped_text_name(shard, shards)}")
    with kept, rejected, left_out:
        for outcome in outcomes:
            if isinstance(outcome, Kept):
                kept.add(outcome.document)
                tally.add(outcome.document)
                counters.update(outcome.counters)
                source_bytes += outcome.source_bytes
            elif isinstance(outcome, LeftOut):
                left_out.add(
                    Document(id=outcome.id, text=outcome.text, source=source, metadata={"rule": outcome.rule})
                )
            else:
                dropped[outcome.reason] += outcome.records
                failures += outcome.records if outcome.failure else 0
                joined[outcome.reason] += outcome.records if outcome.joins else 0
                if outcome.show:
                    rejected.add(_reject(outcome, source))
    file = kept.entry()
    assert file is not None
    receipt = Receipt(
        file=file,
        rejects=rejected.entry(),
        dropped_text=left_out.entry(),
        accounting=Accounting(read=records, written=kept.documents, dropped=dict(sorted(dropped.items()))),
        joined={reason: count for reason, count in sorted(joined.items()) if count},
        failures=failures,
        source_bytes=source_bytes,
        counters=dict(sorted(counters.items())),
        statistics=tally.result(),
    )
    receipt.accounting.check(f"{source}, shard {shard}")
    storage.write_bytes(receipt_url(folder, shard), receipt.model_dump_json().encode())
    return receipt


def _reject(outcome: Dropped, source: str) -> Document:
    return Document(
        id=outcome.id or "unknown",
        text=shorten(outcome.excerpt, EXCERPT),
        source=source,
        metadata={"reason": outcome.reason, "detail": outcome.detail, **outcome.metadata},
    )


def finished_receipt(folder: str, shard: int) -> Receipt | None:
    """Return the receipt of a shard whose files are whole, otherwise ``None``."""
    url = receipt_url(folder, shard)
    if not storage.exists(url):
        return None
    try:
        receipt = Receipt.model_validate_json(storage.read_bytes(url))
        for entry in (receipt.file, receipt.rejects, receipt.dropped_text):
            if entry is not None:
                verify_file(folder, entry)
    except (ValidationError, ArtefactError):
        return None
    return receipt

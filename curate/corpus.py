"""What a corpus has to say for itself: its inputs, how a dump falls apart into records, and how records become documents.

The three methods of :class:`Corpus` run in different places. ``units`` runs once, where the command was started. ``split``
runs in a worker, once for each unit, and never holds more than one record. ``documents`` runs in a worker, once for each
output shard, on the records that were routed there: all records with the same ``key`` meet in the same shard.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tootsie.datasets.document import Document
from tootsie.datasets.errors import shorten

if TYPE_CHECKING:
    from tootsie.curate.markdownify import Conversion

EXCERPT = 2000
"""Characters of a dropped record that are kept with the rejects."""


@dataclass(frozen=True)
class Unit:
    """A part of the input that one worker reads from begin to end."""

    name: str
    """Shown to people, and part of the order of documents: unique, without the folder the input lies in."""
    urls: tuple[str, ...]
    """Files of the unit."""
    size: int
    """Bytes as stored."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the corpus found out about it, as JSON values (the site of a dump, for instance)."""
    joins: bool = False
    """Whether it only adds to the documents of other units: read whole under ``--limit``, no reason for more shards."""


class Record(NamedTuple):
    """One record on its way from a dump to its shard."""

    key: str
    """What must meet in one shard: an article, a thread, a paper."""
    head: dict[str, Any]
    """JSON values needed before the body is."""
    body: bytes = b""
    """The payload."""
    counted: bool = True
    """Whether it counts against ``--limit``."""


@dataclass(frozen=True)
class Kept:
    """A document to write."""

    document: Document
    counters: Mapping[str, int]
    """How often each conversion rule applied."""
    source_bytes: int
    """Bytes of markup it was made from."""


@dataclass(frozen=True)
class Dropped:
    """Records that become no document of their own."""

    reason: str
    """Name under which they are counted."""
    id: str
    """Of the record, as far as it is known."""
    excerpt: str = ""
    """The begin of its content."""
    detail: str = ""
    """What exactly was wrong."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """As of a document: ``url``, ``license`` …"""
    records: int = 1
    """How many records this stands for."""
    failure: bool = False
    """Whether it counts against the error budget (``--max-failures``)."""
    show: bool = True
    """Whether it goes to the rejects; what lives on in another document does not."""
    joins: bool = False
    """Whether it comes from a unit that only adds to others: no part of what the error budget is a share of."""


Outcome = Kept | Dropped


@dataclass(frozen=True)
class LeftOut:
    """A text that a rule of the converter left out of a document; those of a sample of the documents are written down."""

    id: str
    """Of the document."""
    rule: str
    """Name of the rule."""
    text: str
    """What was left out."""


@dataclass(frozen=True)
class Pending:
    """A document whose outcome is known once its pages are converted, within the limits of a document."""

    id: str
    """Of the document."""
    pages: Sequence[str | bytes]
    """HTML, at least one page."""
    options: Mapping[str, Any]
    """``profile`` and what else :func:`tootsie.curate.markdownify.convert` is told, for all pages."""
    finish: Callable[[list[Conversion]], Iterable[Outcome]]
    """Returns what becomes of the document, given a conversion for each page."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """For the rejects, should the conversion fail."""
    records: int = 1
    """How many records the document stands for."""


class ConversionFault(Exception):  # noqa: N818
    """A document cannot be converted; the message says why."""

    reason: ClassVar[str] = "conversion failed"
    """Name under which such documents are counted."""


class TimeLimitFault(ConversionFault):
    """The conversion of a document takes longer than it may."""

    reason = "time limit"


class MemoryLimitFault(ConversionFault):
    """The conversion of a document takes more memory than it may."""

    reason = "memory limit"


@dataclass(frozen=True)
class Corpus(abc.ABC):
    """One kind of dump. Its fields are the options that change the content; a corpus travels to the workers pickled."""

    name: ClassVar[str]
    """The ``source`` field of its documents."""
    converter: ClassVar[str | None] = None
    """``module:function`` that converts its pages in the process for that; none means :mod:`.page_conversion`."""

    added: str | None = None
    """ISO-8601 date for the ``added`` field of every document."""
    max_document_bytes: int = 64 * 2**20
    """Longest source of one document in bytes; longer ones are dropped."""

    @abc.abstractmethod
    def units(self, inputs: Sequence[str]) -> list[Unit]:
        """Return the units that ``inputs`` (expanded URLs) consist of.

        Raises:
          InputError: an input is not of this corpus, or there is none.
        """

    @abc.abstractmethod
    def split(self, unit: Unit, limit: int | None) -> Iterator[Record]:
        """Yield the records of a unit in a fixed order, at most ``limit`` of them counted.

        Raises:
          InputError: the unit as a whole is truncated or damaged.
        """

    @abc.abstractmethod
    def documents(self, records: Iterable[Record]) -> Iterator[Outcome | Pending]:
        """Yield what becomes of the records of one shard.

        Args:
          records: can be iterated more than once, always in the same order.
        """


def too_large(size: int, limit: int) -> str:
    """Return the detail of a record that is over the size limit."""
    return f"{size:,} bytes, the limit is {limit:,} (--max-document-bytes)"


def failed(pending: Pending, error: Exception) -> Dropped:
    """Return the outcome of a document whose conversion ended with ``error``."""
    page = pending.pages[0]
    known = isinstance(error, ConversionFault)
    return Dropped(
        reason=error.reason if isinstance(error, ConversionFault) else ConversionFault.reason,
        id=pending.id,
        excerpt=page[:EXCERPT] if isinstance(page, str) else page[: 4 * EXCERPT].decode("utf-8", "replace"),
        detail=shorten(str(error) if known else f"{type(error).__name__}: {error}", 500),
        metadata=pending.metadata,
        records=pending.records,
        failure=True,
    )

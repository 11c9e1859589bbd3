"""``ledger.json``: what a token cache holds, shard by shard, and what made it. Written last: no ledger, not finished."""

from __future__ import annotations

import builtins
import difflib
import hashlib
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.json_text import parse_json, readable_json
from tootsie.datasets.manifest import InputEntry
from tootsie.datasets.provenance import canonical_json
from tootsie.datasets.sealed import Sealed
from tootsie.tokenize.identity import TokenizerIdentity
from tootsie.tokenize.ledger_text import SHARDS, parse_ledger
from tootsie.tokenize.shard_table import ShardEntry, Shards

__all__ = [
    "EngineInfo",
    "Ledger",
    "ShardEntry",
    "Source",
    "SourceFile",
    "TokenCount",
    "load_ledger",
    "save_ledger",
]

LEDGER_NAME = "ledger.json"
FORMAT: Literal["tootsie-tokens/2"] = "tootsie-tokens/2"
HASHED_SHARDS = 1024
"""Shards that are spelled out at a time where all are hashed."""
EDITED = "A ledger is never edited by hand: copy it again, or delete the cache and build it again"


class EngineInfo(BaseModel):
    """The library that did the encoding."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Package name, for example ``tiktoken``."""
    version: str
    """Its version."""


class SourceFile(BaseModel):
    """One file of documents that was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Relative to the corpus folder, or the file name where single files were given."""
    sha256: str
    """Of the bytes as stored."""
    documents: int = Field(ge=0)
    """Documents (lines) in it."""


class Source(BaseModel):
    """One corpus that was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    manifest_sha256: str | None
    """Identity of the corpus; ``null`` for files without a manifest."""
    source: str
    """Name of the corpus."""
    code_version: str | None = None
    """Version of the code that made the corpus; ``null`` for files without a manifest."""
    inputs: tuple[InputEntry, ...] = ()
    """The dumps that the corpus was made from, as its manifest lists them."""
    files: tuple[SourceFile, ...]
    """In the order of reading."""
    listed: bool = False
    """Whether files without a manifest were held against the list of the copy they lie in; left out where they were not."""

    @model_serializer(mode="wrap")
    def _without_default(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Older ledgers do not have the field ``listed``, and keep their hashes."""
        written: dict[str, Any] = fields(self)
        return (
            written if self.listed else {name: value for name, value in written.items() if name != "listed"}
        )


class TokenCount(BaseModel):
    """One bar of a histogram."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: int = Field(ge=0)
    """The id."""
    documents: int = Field(gt=0)
    """Documents that begin (or end) with it."""


class Ledger(Sealed):
    """The record of one finished token cache."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    format: Literal["tootsie-tokens/2"] = FORMAT
    """Version of this layout."""
    name: str = Field(min_length=1)
    """Name of the dataset."""
    split: Literal["train", "validation"] = "train"
    """Which side of the hold-out this is; without a hold-out ``train``."""
    tokenizer: TokenizerIdentity
    """Whose ids these are."""
    engine: EngineInfo
    """What encoded them."""
    sources: tuple[Source, ...]
    """What was read."""
    settings: dict[str, Any]
    """Every option that can change the content."""
    code_version: str
    """See :func:`tootsie.datasets.provenance.code_version`."""
    shards: Shards
    """In reading order."""
    documents: int = Field(ge=0)
    """Rows of all shards."""
    tokens: int = Field(ge=0)
    """Ids of all shards."""
    bytes: int = Field(ge=0)
    """UTF-8 bytes of all texts."""
    accounting: Accounting
    """Documents read, written, and dropped by reason (``empty_text``, ``other_split``)."""
    counters: dict[str, int] = Field(default_factory=dict)
    """What was mended on the way, for example ``lone_surrogates_replaced``."""
    first_tokens: tuple[TokenCount, ...] = ()
    """The most frequent first ids of documents: a lost BOS shows here."""
    last_tokens: tuple[TokenCount, ...] = ()
    """The most frequent last ids: with ``add_eos`` only the EOS."""
    hash: str = ""
    """SHA-256 of the canonical JSON of all other fields; set by :meth:`sealed`."""

    @model_validator(mode="after")
    def _consistent(self) -> Ledger:
        for field in ("documents", "tokens", "bytes"):
            total = self.shards.total(field)
            if total != getattr(self, field):
                raise ValueError(f"{field} is {getattr(self, field):,} but the shards have {total:,}")
        if self.accounting.written != self.documents:
            raise ValueError(
                f"accounting.written is {self.accounting.written:,}, not {self.documents:,} as documents"
            )
        if self.accounting.read != self.accounting.written + sum(self.accounting.dropped.values()):
            raise ValueError("accounting: read is not written + dropped")
        if (self.shards.column("body") > self.shards.column("size")).any():
            raise ValueError("shards: a body is larger than its file")
        if len(set(self.shards.paths)) != len(self.shards):
            raise ValueError("shards: a path stands there twice")
        return self

    @property
    def row_tokens(self) -> int | None:
        """Length of the rows that whole conversations are packed into; ``None``: documents follow one another."""
        value = self.settings.get("row_tokens")
        return value if isinstance(value, int) and value > 0 else None

    def content_hash(self) -> str:
        """Return what ``hash`` must be, as of any sealed artefact; of many shards only some are spelled out at a time."""
        rest, digest = self.model_dump(mode="json", exclude={"hash", "shards"}), hashlib.sha256()
        before, after = (
            {k: v for k, v in rest.items() if (k < "shards") is first} for first in (True, False)
        )
        digest.update(canonical_json(before)[:-1] + b',"shards":[')
        for start in range(0, len(self.shards), HASHED_SHARDS):
            numbers = range(start, min(start + HASHED_SHARDS, len(self.shards)))
            digest.update(b"," if start else b"")
            digest.update(canonical_json([self.shards.fields(number) for number in numbers])[1:-1])
        digest.update(b"]," + canonical_json(after)[1:])
        return digest.hexdigest()

    def to_json(self) -> builtins.bytes:
        """Return the canonical content of ``ledger.json``: equal ledgers give equal bytes."""
        return readable_json(self.model_dump(mode="json"))


def ledger_url(folder: str) -> str:
    """Return where the ledger of a cache lies."""
    return storage.join(folder, LEDGER_NAME)


def save_ledger(folder: str, ledger: Ledger) -> None:
    """Seal the ledger and write ``ledger.json`` atomically.

    Raises:
      ConservationError: documents read differ from those written and dropped.
    """
    ledger.accounting.check(f"tokenize {ledger.name}")
    storage.write_bytes(ledger_url(folder), ledger.sealed().to_json())


def load_ledger(folder: str) -> tuple[Ledger, str]:
    """Return the ledger of a finished cache and its identity, :attr:`Ledger.hash`: what it says, however the file spells it.

    Raises:
      ArtefactError: it is missing (the cache is not finished), not valid, or of another version.
    """
    url = ledger_url(folder)
    if not storage.exists(url):
        raise ArtefactError(
            "no ledger, so this is not a finished token cache",
            file=url,
            remedy="Check the path, or run tootsie tokenize build again: it continues",
        )
    content, raw = storage.read_bytes(url), None
    try:
        raw = parse_ledger(content)
        ledger = Ledger.model_validate(raw)
    except ValueError as error:
        _refuse_other_content(content, url)
        if not isinstance(error, ValidationError):
            raise ArtefactError(f"not a valid ledger: {error}", file=url, remedy=EDITED) from None
        first = error.errors()[0]
        field = ".".join(map(str, (*(() if raw else (SHARDS,)), *first["loc"])))
        value = first["input"] if isinstance(first["input"], str | int | float | bool) else None
        remedy = EDITED
        if first["type"] == "extra_forbidden" and first["loc"]:
            near = difflib.get_close_matches(str(first["loc"][-1]), _field_names(), n=1)
            remedy = (f"Did you mean {near[0]}? " if near else "") + remedy
        problem = first["msg"].removeprefix("Value error, ")
        problem = problem[:1].lower() + problem[1:]
        raise ArtefactError(
            f"not a valid ledger: {problem}", file=url, field=field or None, value=value, remedy=remedy
        ) from None
    if "format" not in ledger.model_fields_set:
        _refuse_other_content(content, url)
    if ledger.hash != ledger.content_hash():
        raise ArtefactError(
            "the ledger was changed after it was written",
            file=url,
            field="hash",
            value=ledger.hash,
            remedy=EDITED,
        )
    if not content.endswith(b"\n"):
        raise ArtefactError(
            "the ledger is cut: its last line has no end", file=url, remedy="Copy the ledger again"
        )
    return ledger, ledger.hash


def _refuse_other_content(content: builtins.bytes, url: str) -> None:
    """Say so where an invalid ledger is no JSON at all, or one of another version.

    Raises:
      ArtefactError: it is.
    """
    try:
        raw = parse_json(content)
    except ValueError as error:
        raise ArtefactError("the ledger is not JSON", file=url, value=str(error), remedy=EDITED) from None
    if isinstance(raw, dict) and raw.get("format") != FORMAT:
        raise ArtefactError(
            "another ledger version",
            file=url,
            field="format",
            value=raw.get("format"),
            remedy=f"This code reads {FORMAT}, whose shards have checksums of their blocks: delete the cache and build it again",
        )


def _field_names() -> list[str]:
    models = (Ledger, TokenizerIdentity, ShardEntry, Source, SourceFile, EngineInfo, Accounting, TokenCount)
    return sorted({name for model in models for name in model.model_fields})

"""``_manifest.json``: what a folder of document files holds, and what made it. Written last: no manifest, not finished."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError

MANIFEST_NAME = "_manifest.json"
FORMAT = "tootsie-documents/1"


class FileEntry(BaseModel):
    """One file of documents."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Relative to the manifest."""
    documents: int = Field(ge=0)
    """Lines in the file."""
    text_bytes: int = Field(ge=0)
    """UTF-8 bytes of the ``text`` fields."""
    size: int = Field(ge=0)
    """Bytes as stored (compressed)."""
    sha256: str
    """Of the bytes as stored."""


class InputEntry(BaseModel):
    """One raw input file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """File name without its folder, so that a moved input is the same input."""
    size: int
    """Bytes."""
    sha256: str
    """Of its bytes."""


class Manifest(BaseModel):
    """The record of one finished corpus."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    """Version of this layout."""
    source: str
    """Corpus name: the ``source`` field of its documents."""
    code_version: str
    """See :func:`tootsie.datasets.provenance.code_version`."""
    settings: dict[str, Any]
    """Every option that can change the content."""
    inputs: list[InputEntry]
    """The dumps that were read, sorted by name."""
    files: list[FileEntry]
    """The document files, sorted by path."""
    accounting: Accounting
    """Records read, written and dropped by reason."""
    counters: dict[str, int] = Field(default_factory=dict)
    """How often each conversion rule applied."""
    unmatched_rules: dict[str, int] = Field(default_factory=dict)
    """Conversion rules that matched nothing in some of the files that hold documents, and in how many of them."""
    statistics: dict[str, dict[str, int]] = Field(default_factory=dict)
    """How many documents there are by licence, language, length …"""
    notes: list[str] = Field(default_factory=list)
    """What a user of the corpus should know of how it was made."""

    @property
    def documents(self) -> int:
        """Documents in all files."""
        return sum(entry.documents for entry in self.files)


def write_manifest(folder: str, manifest: Manifest) -> None:
    """Check the books and write ``_manifest.json`` atomically.

    Raises:
      ConservationError: records read differ from those written and dropped.
    """
    manifest.accounting.check(manifest.source)
    if manifest.documents != manifest.accounting.written:
        raise AssertionError(
            f"{folder}: files hold {manifest.documents} documents, {manifest.accounting.written} written"
        )
    content = json.dumps(manifest.model_dump(), indent=1, ensure_ascii=False) + "\n"
    storage.write_bytes(storage.join(folder, MANIFEST_NAME), content.encode())


def read_manifest(folder: str) -> Manifest:
    """Return the manifest of a finished corpus.

    Raises:
      ArtefactError: it is missing (the corpus is not finished), not valid, or of another version.
    """
    url = storage.join(folder, MANIFEST_NAME)
    if not storage.exists(folder):
        raise ArtefactError("no such corpus", file=folder, remedy="Check the path")
    if not storage.exists(url):
        raise ArtefactError(
            "no manifest, so this corpus is not finished",
            file=url,
            remedy="Run the curate command again: it continues",
        )
    try:
        manifest = Manifest.model_validate_json(storage.read_bytes(url))
    except ValidationError as error:
        first = error.errors()[0]
        raise ArtefactError(
            f"not a valid manifest: {first['msg']}",
            file=url,
            field=".".join(map(str, first["loc"])),
            remedy="Delete it and run the curate command again",
        ) from None
    if manifest.format != FORMAT:
        raise ArtefactError("another manifest version", file=url, field="format", value=manifest.format)
    _check_consistent(manifest, url)
    return manifest


def _check_consistent(manifest: Manifest, url: str) -> None:
    """Check what holds in every manifest that was written and is broken by an edit: the books, and paths inside the folder.

    Raises:
      ArtefactError: see there.
    """
    remedy = (
        "A manifest is never edited by hand: copy it again, or delete it and run the curate command again"
    )
    books = manifest.accounting
    if manifest.documents != books.written or books.read != books.written + sum(books.dropped.values()):
        problem = (
            f"the books do not balance: the files hold {manifest.documents:,} documents, read {books.read:,}, "
            f"written {books.written:,}, dropped {sum(books.dropped.values()):,}"
        )
        raise ArtefactError(problem, file=url, field="accounting", remedy=remedy)
    seen: set[str] = set()
    for number, entry in enumerate(manifest.files):
        parts = entry.path.split("/")
        if "" in parts or ".." in parts or entry.path in seen:
            problem = "a path of a file inside the folder is needed, each once"
            raise ArtefactError(
                problem, file=url, field=f"files.{number}.path", value=entry.path, remedy=remedy
            )
        seen.add(entry.path)


def manifest_sha256(folder: str) -> str:
    """Return the SHA-256 of the manifest file: the identity of the corpus."""
    return hashlib.sha256(storage.read_bytes(storage.join(folder, MANIFEST_NAME))).hexdigest()


def verify_file(folder: str, entry: FileEntry) -> None:
    """Compare one document file with its manifest entry.

    Raises:
      ArtefactError: the file is missing, or its size or checksum differ.
    """
    url = storage.join(folder, entry.path)
    if not storage.exists(url):
        raise ArtefactError(
            "the manifest lists a file that is missing", file=url, remedy="Curate or copy it again"
        )
    found = storage.size(url)
    if found != entry.size:
        raise ArtefactError(
            f"the file has {found:,} bytes, the manifest says {entry.size:,}",
            file=url,
            remedy="Copy it again",
        )
    if storage.sha256(url) != entry.sha256:
        raise ArtefactError(
            "the checksum differs from the manifest", file=url, remedy="Curate or copy it again"
        )


def read_documents(folder: str) -> Iterator[Document]:
    """Yield all documents of a finished corpus in order, checking each file against the manifest first."""
    for entry in read_manifest(folder).files:
        verify_file(folder, entry)
        url = storage.join(folder, entry.path)
        for number, line in enumerate(storage.read_lines(url)):
            yield Document.from_json(line, file=url, record=number)

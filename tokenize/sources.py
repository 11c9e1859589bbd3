"""What is tokenized: finished corpora (their manifest is checked) or single files in Dolma's jsonl format."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field, ValidationError

from tootsie.datasets import manifest, storage
from tootsie.datasets.errors import ArtefactError, InputError, SpecError, shorten
from tootsie.datasets.json_text import parse_json
from tootsie.tokenize.identity import without_surrogates
from tootsie.tokenize.ledger import Source, SourceFile

SUFFIXES = (".jsonl", ".json", ".ndjson")
"""Names of document files, before ``.gz`` or ``.zst``."""


@dataclass(frozen=True)
class DocumentFile:
    """One file of documents, checked."""

    url: str
    """Where it lies."""
    documents: int
    """Lines."""
    weight: int
    """About the bytes of text in it: what shards are balanced by."""


@dataclass(frozen=True)
class Corpus:
    """One input: the files to read, and the ledger's record of them."""

    files: tuple[DocumentFile, ...]
    source: Source


class _Record(BaseModel):
    """What tokenizing needs of a document; other fields are left alone."""

    id: str = Field(min_length=1)
    text: str


@dataclass(frozen=True)
class TextRecord:
    """One document to tokenize."""

    id: str
    text: str
    surrogates: int
    """Lone surrogates that were replaced in it."""


def find_corpora(inputs: Sequence[str], name: str | None = None) -> tuple[Corpus, ...]:
    """Return the inputs with all their files checked: checksums where there is a manifest, whole and countable otherwise.

    Args:
      inputs: folders with ``_manifest.json``; or URLs, globs and brace ranges of jsonl files.
      name: source name of files without a manifest.

    Raises:
      ArtefactError: a manifest is damaged, or a file is not as it says.
      InputError: no such file, damaged, or not a document file.
    """
    corpora = []
    loose: list[str] = []
    for item in inputs:
        for url in storage.expand([item]):
            filesystem, path = storage.url_to_fs(url)
            if not filesystem.isdir(path):
                loose.append(url)
            elif storage.exists(storage.join(url, manifest.MANIFEST_NAME)):
                corpora.append(_finished_corpus(url))
            else:
                raise ArtefactError(
                    "no manifest, so this is not a finished corpus",
                    file=storage.join(url, manifest.MANIFEST_NAME),
                    remedy=f"Run the curate command again: it continues; or name document files: '{url.rstrip('/')}/*.jsonl.zst'",
                )
    if loose:
        corpora.append(_loose_files(list(dict.fromkeys(loose)), name or "files"))
    if not corpora:
        raise SpecError("nothing to read", field="INPUT", remedy="Name a corpus folder or jsonl files")
    return tuple(corpora)


class RecordReader:
    """Reads slices of files; a slice that goes on where an earlier one of the same file ended is not read from the start."""

    def __init__(self) -> None:
        self._url = ""
        self._lines: Iterator[bytes] = iter(())
        self._number = 0

    def read(self, url: str, first: int, stop: int) -> Iterator[TextRecord]:
        """Yield the documents ``[first, stop)`` of a file.

        A lone surrogate, which JSON can spell but UTF-8 cannot hold, becomes U+FFFD.

        Raises:
          InputError: the file is damaged, ends early, or a line is not a document.
        """
        if url != self._url or first < self._number:
            self._url, self._lines, self._number = url, storage.read_lines(url), 0
        while self._number < stop:
            line = next(self._lines, None)
            if line is None:
                raise InputError(
                    f"the file ends after {self._number:,} of {stop:,} documents",
                    file=url,
                    remedy="Was it changed meanwhile? Run again",
                )
            self._number += 1
            if self._number > first:
                yield parse_record(line, url, self._number - 1)


def parse_record(line: bytes, url: str, number: int) -> TextRecord:
    """Parse one line.

    Args:
      line: one JSON object with the strings ``id`` and ``text``.
      url: its file, for the error message.
      number: zero-based number of the document within the file, likewise.

    Raises:
      InputError: it is not a document.
    """
    try:
        record = _Record.model_validate_json(line)
        return TextRecord(record.id, record.text, 0)
    except ValidationError as error:
        mended = _spelling_surrogates(line)
        if mended is not None:
            return mended
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InputError(
            f"the record is not a document: {first['msg'][:1].lower()}{first['msg'][1:]}",
            file=url,
            field=f"record {number}" + (f", {field}" if field else ""),
            value=_shown(first["input"]),
            remedy="Each line must be a JSON object with the strings id and text",
        ) from None


def _spelling_surrogates(line: bytes) -> TextRecord | None:
    """Parse a line whose only fault is that it spells lone surrogates (``\\ud800``), in whatever field; else ``None``."""
    if b"\\u" not in line:
        return None
    try:
        value = parse_json(line)
        (name, in_name), (text, in_text) = without_surrogates(value["id"]), without_surrogates(value["text"])
        record = _Record(id=name, text=text)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return TextRecord(record.id, record.text, in_name + in_text)


def _shown(value: object) -> str:
    """Return the faulty part of a record, or its whole line, for a message."""
    return shorten(value[:400].decode(errors="replace") if isinstance(value, bytes) else str(value), 80)


def _finished_corpus(folder: str) -> Corpus:
    found = manifest.read_manifest(folder)
    with concurrent.futures.ThreadPoolExecutor(_threads()) as pool:
        list(pool.map(lambda entry: manifest.verify_file(folder, entry), found.files))
    files = tuple(
        DocumentFile(storage.join(folder, entry.path), entry.documents, entry.text_bytes + entry.documents)
        for entry in found.files
    )
    entries = tuple(SourceFile(path=e.path, sha256=e.sha256, documents=e.documents) for e in found.files)
    source = Source(
        manifest_sha256=manifest.manifest_sha256(folder),
        source=found.source,
        code_version=found.code_version,
        inputs=tuple(found.inputs),
        files=entries,
    )
    return Corpus(files, source)


def _loose_files(urls: list[str], name: str) -> Corpus:
    for url in urls:
        plain = url.removesuffix(".gz").removesuffix(".zst").removesuffix(".zstd")
        if not plain.endswith(SUFFIXES):
            raise InputError(
                "not a document file by its name",
                file=url,
                remedy=f"Names end in {', '.join(SUFFIXES)}, with .gz or .zst when compressed",
            )
    folder = (
        os.path.commonpath([os.path.dirname(url) for url in urls])
        if len(urls) > 1
        else os.path.dirname(urls[0])
    )
    with concurrent.futures.ThreadPoolExecutor(_threads()) as pool:
        surveyed = list(pool.map(_survey, urls))
    entries = tuple(
        SourceFile(path=url.removeprefix(folder).lstrip("/"), sha256=digest, documents=file.documents)
        for url, (file, digest) in zip(urls, surveyed, strict=True)
    )
    return Corpus(
        tuple(file for file, _ in surveyed), Source(manifest_sha256=None, source=name, files=entries)
    )


def _survey(url: str) -> tuple[DocumentFile, str]:
    """Read a file once: its checksum, its lines and their bytes."""
    documents = weight = 0
    for line in storage.read_lines(url):
        documents += 1
        weight += len(line)
    return DocumentFile(url, documents, weight), storage.sha256(url)


def _threads() -> int:
    return min(8, os.cpu_count() or 1)

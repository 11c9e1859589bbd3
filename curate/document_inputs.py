"""The documents that a cleaning stage reads: finished corpora, or loose jsonl files, each document with a number.

The number of a document is its place among all documents of all inputs, in the order given; it fits into eight bytes, so that
stages can speak of documents without their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from tootsie.datasets import manifest, storage
from tootsie.datasets.copies import check_listed
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.datasets.manifest import InputEntry

SUFFIXES = (".jsonl", ".json", ".ndjson")
"""Names of loose document files, before ``.gz`` or ``.zst``."""


@dataclass(frozen=True)
class InputFile:
    """One file of documents."""

    url: str
    name: str
    """Relative to its corpus."""
    first: int
    """Number of its first document."""
    documents: int
    """Lines."""
    size: int
    """Bytes as stored."""
    sha256: str
    """Of the bytes as stored."""


@dataclass(frozen=True)
class InputCorpus:
    """One corpus to clean."""

    source: str
    """Its name."""
    manifest_sha256: str | None
    """Its identity; none for loose files."""
    files: tuple[InputFile, ...]

    @property
    def documents(self) -> int:
        """Documents in all files."""
        return sum(file.documents for file in self.files)

    @property
    def entries(self) -> list[InputEntry]:
        """The files as a manifest lists its inputs."""
        return [InputEntry(path=file.name, size=file.size, sha256=file.sha256) for file in self.files]


@dataclass(frozen=True)
class Unreadable:
    """A line that is no document."""

    line: bytes
    problem: str


def find_corpora(inputs: Sequence[str], name: str = "files") -> tuple[InputCorpus, ...]:
    """Return the inputs, every file checked.

    Args:
      inputs: folders with ``_manifest.json``; or URLs, globs and brace ranges of jsonl files, which make one corpus together.
      name: source name of loose files.

    Raises:
      ArtefactError: a folder is no finished corpus, or a file is not as its manifest says.
      InputError: no such file, or no document file by its name.
      SpecError: two corpora have the same name, or one is named twice.
    """
    corpora: list[InputCorpus] = []
    loose: list[str] = []
    first = 0
    for item in inputs:
        for url in storage.expand([item]):
            filesystem, path = storage.url_to_fs(url)
            if not filesystem.isdir(path):
                loose.append(url)
            elif not storage.exists(storage.join(url, manifest.MANIFEST_NAME)):
                raise ArtefactError(
                    "no manifest, so this is not a finished corpus",
                    file=storage.join(url, manifest.MANIFEST_NAME),
                    remedy=f"Run the curate command again: it continues; or name document files: '{url.rstrip('/')}/*.jsonl.zst'",
                )
            else:
                corpora.append(_finished(url, first))
                first += corpora[-1].documents
    if loose:
        corpora.append(_loose(list(dict.fromkeys(loose)), name, first))
    for source, count in Counter(corpus.source for corpus in corpora).items():
        if count > 1:
            raise SpecError(
                f"{count} of the inputs have this name, so that their documents could not be told apart",
                field="IN...",
                value=source,
                remedy="Name each corpus once; curate one of two different ones under another name",
            )
    return tuple(corpora)


def _finished(folder: str, first: int) -> InputCorpus:
    found = manifest.read_manifest(folder)
    files = []
    for entry in found.files:
        manifest.verify_file(folder, entry)
        url = storage.join(folder, entry.path)
        files.append(InputFile(url, entry.path, first, entry.documents, entry.size, entry.sha256))
        first += entry.documents
    return InputCorpus(found.source, manifest.manifest_sha256(folder), tuple(files))


def _loose(urls: list[str], name: str, first: int) -> InputCorpus:
    files = []
    for url in urls:
        plain = url.removesuffix(".gz").removesuffix(".zst").removesuffix(".zstd")
        if not plain.endswith(SUFFIXES):
            raise InputError(
                "not a document file by its name",
                file=url,
                remedy=f"Names end in {', '.join(SUFFIXES)}, with .gz or .zst when compressed",
            )
        documents = sum(1 for _ in storage.read_lines(url))
        short = url.rsplit("/", 1)[-1]
        files.append(InputFile(url, short, first, documents, storage.size(url), storage.sha256(url)))
        first += documents
    check_listed({file.url: file.sha256 for file in files})
    return InputCorpus(name, None, tuple(files))


def read_numbered(file: InputFile) -> Iterator[tuple[int, Document | Unreadable]]:
    """Yield each document of a file with its number; a line that is none, as what it is.

    Raises:
      InputError: the file is damaged, or has another number of lines than when it was found.
    """
    found = 0
    for number, line in enumerate(storage.read_lines(file.url), file.first):
        found += 1
        try:
            yield number, Document.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "whole line"
            yield number, Unreadable(line, f"record {number - file.first}, {place}: {first['msg']}")
    if found != file.documents:
        raise InputError(
            f"the file has {found:,} documents, {file.documents:,} when the run began",
            file=file.url,
            remedy="Was it changed meanwhile? Run again with --overwrite",
        )

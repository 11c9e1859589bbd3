"""What is tokenized: finished corpora (their manifest is checked) or single files of documents."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tootsie.datasets import manifest, storage
from tootsie.datasets.copies import check_listed
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize.document_files import (
    PARQUET,
    SUFFIXES,
    DocumentFile,
    RecordReader,
    TextRecord,
    is_document_file,
    survey,
)
from tootsie.tokenize.ledger import Source, SourceFile

SAMPLE_FILES = 16
"""Files that a sample is taken from, at most."""
SAMPLE_DOCUMENTS = 32
"""Documents of each, from its beginning."""
SAMPLE_LENGTH = 2**18
"""Characters of each document."""


@dataclass(frozen=True)
class Corpus:
    """One input: the files to read, and the ledger's record of them."""

    files: tuple[DocumentFile, ...]
    source: Source


def find_corpora(inputs: Sequence[str], name: str | None = None) -> tuple[Corpus, ...]:
    """Return the inputs with all their files checked: checksums where a manifest or a list of their copy has them, and countable.

    Args:
      inputs: folders with ``_manifest.json``; or URLs, globs and brace ranges of document files.
      name: source name of files without a manifest.

    Raises:
      ArtefactError: a manifest or list is damaged, a file is not as it says, or a copy has not been fetched to its end.
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


def paths_within(urls: Sequence[str]) -> list[str]:
    """Return how a ledger names single files: from the innermost folder on that holds them all, so each has a name of its own.

    Args:
      urls: the files, no two the same; paths and URLs may be mixed.
    """
    parts = [url.split("/") for url in urls]
    levels = zip(*(part[:-1] for part in parts), strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda level: len(set(level)) == 1, levels))
    return ["/".join(part[common:]) for part in parts]


def sample(files: Sequence[DocumentFile]) -> Iterator[tuple[str, TextRecord]]:
    """Yield the first documents of files spread evenly over the input, each with the URL of its file; long ones are cut.

    Raises:
      InputError: a file is damaged, or a record is not a document.
    """
    filled = [file for file in files if file.documents]
    step = max(1, -(-len(filled) // SAMPLE_FILES))
    for file in filled[::step]:
        for record in RecordReader().read(file.url, 0, min(file.documents, SAMPLE_DOCUMENTS)):
            yield file.url, record._replace(text=record.text[:SAMPLE_LENGTH])


def _finished_corpus(folder: str) -> Corpus:
    found = manifest.read_manifest(folder)
    states = [storage.state(storage.join(folder, entry.path)) for entry in found.files]
    with concurrent.futures.ThreadPoolExecutor(_threads()) as pool:
        list(pool.map(lambda entry: manifest.verify_file(folder, entry), found.files))
    files = tuple(
        DocumentFile(
            storage.join(folder, entry.path), entry.documents, entry.text_bytes + entry.documents, state
        )
        for entry, state in zip(found.files, states, strict=True)
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
        if not is_document_file(url):
            raise InputError(
                "not a document file by its name",
                file=url,
                remedy=f"Names end in {', '.join(SUFFIXES)}, with .gz, .zst, .bz2 or .xz when compressed, or in {PARQUET}",
            )
    with concurrent.futures.ThreadPoolExecutor(_threads()) as pool:
        surveyed = list(pool.map(_survey, urls))
    listed = check_listed({url: digest for url, (_, digest) in zip(urls, surveyed, strict=True)})
    entries = tuple(
        SourceFile(path=path, sha256=digest, documents=file.documents)
        for path, (file, digest) in zip(paths_within(urls), surveyed, strict=True)
    )
    source = Source(manifest_sha256=None, source=name, files=entries, listed=len(listed) == len(urls))
    return Corpus(tuple(file for file, _ in surveyed), source)


def _survey(url: str) -> tuple[DocumentFile, str]:
    """Read a file once: its documents, and the checksum of its bytes."""
    state = storage.state(url)
    return dataclasses.replace(survey(url), state=state), storage.sha256(url)


def _threads() -> int:
    return min(8, os.cpu_count() or 1)

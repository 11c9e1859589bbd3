"""Check a finished corpus against its manifest, file by file, and name everything that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, InputError
from tootsie.datasets.manifest import FileEntry, Manifest, read_manifest, verify_file


@dataclass(frozen=True)
class Fault:
    """One thing that is not as the manifest says."""

    path: str
    """Relative to the corpus."""
    problem: str
    """What is wrong, for people."""


def verify(folder: str) -> tuple[Manifest, list[Fault]]:
    """Compare sizes, checksums, document counts and text bytes of a corpus with its manifest.

    Returns:
      The manifest, and the faults found; empty when the corpus is whole.

    Raises:
      ArtefactError: there is no valid manifest.
    """
    manifest = read_manifest(folder)
    listed = {entry.path for entry in manifest.files}
    faults = [fault for entry in manifest.files for fault in _file_faults(folder, entry)]
    faults += [
        Fault(name, "not in the manifest")
        for name in storage.list_files(folder)
        if name.startswith("part-") and name not in listed
    ]
    if manifest.documents != manifest.accounting.written:
        faults.append(
            Fault(
                "_manifest.json",
                f"its files hold {manifest.documents:,} documents, {manifest.accounting.written:,} were written",
            )
        )
    return manifest, faults


def _file_faults(folder: str, entry: FileEntry) -> Iterator[Fault]:
    try:
        verify_file(folder, entry)
    except ArtefactError as error:
        yield Fault(entry.path, error.problem)
        if "missing" in error.problem:
            return
    url = storage.join(folder, entry.path)
    documents = text_bytes = 0
    try:
        for number, line in enumerate(storage.read_lines(url)):
            document = Document.from_json(line, file=url, record=number)
            documents += 1
            text_bytes += len(document.text.encode("utf-8", "replace"))
    except InputError as error:
        yield Fault(entry.path, f"unreadable after {documents:,} documents: {error.problem}")
        return
    if documents != entry.documents:
        yield Fault(entry.path, f"{documents:,} documents, the manifest says {entry.documents:,}")
    elif text_bytes != entry.text_bytes:
        yield Fault(entry.path, f"{text_bytes:,} bytes of text, the manifest says {entry.text_bytes:,}")

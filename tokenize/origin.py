"""Where a document of a cache comes from: the source file, by its number among those that the ledger lists, and the row in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tootsie.tokenize.ledger import Source


class Origin(NamedTuple):
    """One document of a source file."""

    file: int
    """Number of the file among ``sources[].files`` of the ledger, counted through."""
    row: int
    """Zero-based number of the document (line, row) within the file; blank lines do not count."""


def file_numbers(urls: Sequence[str]) -> Mapping[str, int]:
    """Return the number of each source file.

    Args:
      urls: the files in the order in which the ledger will list them.
    """
    return {url: number for number, url in reversed(list(enumerate(urls)))}


def source_path(sources: Sequence[Source], origin: Origin) -> str:
    """Return ``corpus: path:row`` of an origin, as the ledger names them."""
    number = origin.file
    for source in sources:
        if number < len(source.files):
            return f"{source.source}: {source.files[number].path}:{origin.row}"
        number -= len(source.files)
    return f"file {origin.file}:{origin.row}"

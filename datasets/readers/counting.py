"""How many rows, tokens and bytes of text a file holds; without making objects of the rows where its format allows."""

from __future__ import annotations

from dataclasses import dataclass

from tootsie.datasets import compression, storage
from tootsie.datasets.document import Document
from tootsie.datasets.readers import columnar
from tootsie.datasets.readers.formats import Format, by_name
from tootsie.datasets.readers.reading import read_records

TOKENS = "input_ids"
"""The column of a token cache that holds the ids."""


@dataclass(frozen=True)
class Counts:
    """What a file holds."""

    rows: int
    """Records."""
    tokens: int = 0
    """Ids, where they were asked for."""
    text_bytes: int = 0
    """UTF-8 bytes of the documents' text, where they were asked for."""


def count(url: str, *, tokens: bool = False, documents: bool = False) -> Counts:
    """Count what a file holds.

    Args:
      url: a file in any format that :func:`tootsie.datasets.readers.reading.read_records` reads.
      tokens: also the ids of the column ``input_ids``.
      documents: its lines are documents: check each, and count the bytes of their text.

    Raises:
      InputError: it is truncated, damaged, or has no such column.
    """
    if documents:
        rows = size = 0
        for rows, line in enumerate(storage.read_lines(url), 1):
            document = Document.from_json(line, file=url, record=rows - 1)
            size += len(document.text.encode("utf-8", "replace"))
        return Counts(rows, text_bytes=size)
    kind, plain = compression.by_name(url)
    form = by_name(plain)
    if kind is compression.Compression.NONE and form is Format.ARROW_FILE:
        with storage.open_binary(url) as stream:
            if stream.read(6) == b"ARROW1":
                stream.seek(0)
                return Counts(*columnar.count_rows(stream, url, TOKENS if tokens else None))
    if kind is compression.Compression.NONE and form is Format.PARQUET and not tokens:
        with storage.open_binary(url) as stream:
            return Counts(columnar.count_parquet(stream, url))
    rows = ids = 0
    for record in read_records(url):
        rows += 1
        if tokens:
            value = record.fields.get(TOKENS)
            ids += len(value) if isinstance(value, list) else 0
    return Counts(rows, ids)

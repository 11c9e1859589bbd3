"""The first records of a file, for the terminal."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tootsie.datasets.errors import shorten
from tootsie.datasets.readers.reading import read_records
from tootsie.datasets.readers.record import Record, text_of
from tootsie.datasets.terminal import printable, printable_line


def preview(urls: Sequence[str], text_key: str | None, records: int, characters: int) -> Iterator[str]:
    """Yield lines that show the first records of files.

    Args:
      urls: the files, read one after another.
      text_key: key or dotted path of the text; without it every field is shown.
      records: how many.
      characters: of the text, and of each field at most.

    Raises:
      InputError: a file cannot be read, or a record has no text under the key.
    """
    found = itertools.chain.from_iterable(read_records(url) for url in urls)
    for record in itertools.islice(found, records):
        yield printable_line(f"━━ {record.source_file}, record {record.number}")
        for key, value in record.fields.items():
            if text_key is None or key != text_key.split(".", 1)[0]:
                limit = characters if text_key is None else 160
                yield printable_line(f"   {key}: {shorten(_one_line(value), max(limit, 1))}")
        if text_key is not None:
            text = text_of(record, text_key)
            yield ""
            yield printable(text[:characters].rstrip()) + (" …" if len(text) > characters else "")
        yield ""


def preview_json(urls: Sequence[str], text_key: str | None, records: int) -> list[dict[str, Any]]:
    """Return the first records as JSON objects: where they stand, their fields, and their text where a key is given."""
    found = itertools.chain.from_iterable(read_records(url) for url in urls)
    return [_as_json(record, text_key) for record in itertools.islice(found, records)]


def _as_json(record: Record, text_key: str | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"source_file": record.source_file, "record": record.number}
    if text_key is not None:
        shown["text"] = text_of(record, text_key)
    return shown | {"fields": json.loads(json.dumps(record.fields, default=_foreign))}


def _one_line(value: Any) -> str:
    if isinstance(value, bytes):
        return _foreign(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_foreign)
    return " ".join(text.split())


def _foreign(value: Any) -> str:
    """Return what JSON has no type for as text."""
    return f"{len(value):,} bytes" if isinstance(value, bytes) else str(value)

"""A record of a source file, and the document that is made of it: by a dotted path to its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError, shorten


class Record(NamedTuple):
    """One record, as its file has it."""

    source_file: str
    """URL of the file; members of archives follow with slashes."""
    number: int
    """Zero-based, within the file or member."""
    fields: dict[str, Any]
    """Key → value: JSON's types, and for columns and payloads also bytes, dates and decimals."""


@dataclass(frozen=True)
class Limits:
    """What an input that is not trusted may cost."""

    record_bytes: int = 2**28
    """Longest line, row, payload or whole JSON object; memory stays within a few times of it."""
    ratio: int = 2000
    """Unpacked over stored bytes, beyond 256 MiB: of a file with all that is within it, and of each archive."""
    depth: int = 4
    """Archives and compressions within one another."""
    spooled_bytes: int = 2**36
    """A member that must be read from its end (Parquet, ZIP …) is first copied to a temporary file of at most this size."""
    members: int = 10_000_000
    """Files in one archive."""


LIMITS = Limits()


def find(fields: Mapping[str, Any], key: str) -> Any:
    """Return the value at a key or dotted path (``meta.url``); a key that has dots itself comes first.

    Raises:
      KeyError: there is none.
    """
    if key in fields:
        return fields[key]
    value: Any = fields
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise KeyError(key)
        value = value[part]
    return value


def text_of(record: Record, text_key: str) -> str:
    """Return the text of a record.

    Raises:
      InputError: the key is missing or its value is no text.
    """
    where = f"record {record.number}"
    try:
        value = find(record.fields, text_key)
    except KeyError:
        have = list(record.fields)
        raise InputError(
            f"text_key {text_key!r} is missing; the record has: {shorten(', '.join(map(str, have)), 200) or 'no fields'}",
            file=record.source_file,
            field=where,
            remedy=_suggestion(record.fields),
        ) from None
    if isinstance(value, str):
        return value
    what = "null" if value is None else f"a value of type {type(value).__name__}"
    raise InputError(
        f"text_key {text_key!r} is {what}, a string is needed",
        file=record.source_file,
        field=f"{where}, {text_key}",
        value=shorten(repr(value), 80) if value is not None else None,
        remedy=_suggestion(record.fields, besides=text_key),
    )


def _suggestion(fields: Mapping[str, Any], besides: str = "") -> str:
    """Return what to do: the key that is likely meant, the longest string of the record."""
    strings = {
        path: len(value)
        for key, top in fields.items()
        for path, value in (
            ((f"{key}.{inner}", deep) for inner, deep in top.items())
            if isinstance(top, Mapping)
            else ((key, top),)
        )
        if isinstance(value, str) and path != besides
    }
    if not strings:
        return "No field of the record is text: is this the right file?"
    likely = "text" if "text" in strings else max(strings, key=lambda path: strings[path])
    return f"Give the key of the text, perhaps --text-key {likely}"


def to_document(record: Record, text_key: str, source: str, id_key: str | None = None) -> Document:
    """Return the document that a record is.

    Args:
      record: any.
      text_key: key or dotted path of the text.
      source: name of the corpus.
      id_key: key or dotted path of the identity (a string or whole number); without it the identity is the file with the number.

    Raises:
      InputError: the text or identity is missing or of another type.
    """
    text = text_of(record, text_key)
    identity = f"{record.source_file}#{record.number}"
    if id_key is not None:
        try:
            value = find(record.fields, id_key)
        except KeyError:
            value = None
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise InputError(
                f"id_key {id_key!r} is missing or no string; the record has: {shorten(', '.join(record.fields), 200)}",
                file=record.source_file,
                field=f"record {record.number}",
                value=value,
                remedy="Name another field, or leave it out: the number of the record then stands for it",
            )
        identity = str(value)
    return Document(id=identity, text=text, source=source)

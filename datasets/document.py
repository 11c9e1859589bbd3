"""The document record that every corpus is written in: Dolma's field names.

Source: the Dolma toolkit's data format, https://github.com/allenai/dolma/blob/main/docs/data-format.md
Files written so are read as they are by Dolma, datatrove and Hugging Face ``datasets``.
"""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tootsie.datasets.errors import InputError, shorten

CLUSTER = "duplicate_cluster"
"""Field of ``metadata``: near-duplicates have the same value, and belong on the same side of a split."""


class Document(BaseModel):
    """One document of a corpus."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = Field(min_length=1)
    """Unique within the source, stable between runs (an arXiv id, a page id, a question id)."""
    text: str
    """The content: Markdown in the corpora that Tootsie makes."""
    source: str
    """Name of the corpus, for example ``arxiv``."""
    added: str | None = None
    """ISO-8601 date on which the document entered the corpus; only where the run states it."""
    created: str | None = None
    """ISO-8601 date of the original, as far as the dump tells."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Provenance: ``url``, ``license``, ``title``, authors for attribution and corpus-specific fields."""

    def to_json(self) -> str:
        """Return the record as one line of JSON, keys in declaration order, without ``None`` values.

        Numbers in ``metadata`` that JSON does not have (not a number, infinite) are ``null``; strict parsers refuse others.
        """
        content = {key: value for key, value in self.model_dump().items() if value is not None}
        try:
            return _json(content)
        except ValueError:
            return _json(_finite(content))

    @classmethod
    def from_json(cls, line: str | bytes, *, file: str, record: int) -> Document:
        """Parse one line of a jsonl file.

        Args:
          line: one JSON object.
          file: the file it came from, for the error message.
          record: its zero-based number within the file, likewise.

        Raises:
          InputError: not JSON, or a field is missing or of the wrong type.
        """
        try:
            return cls.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(
                f"the record is not a document: {first['msg']}",
                file=file,
                field=f"record {record}, {'.'.join(map(str, first['loc'])) or 'whole line'}",
                value=shorten(str(first["input"]), 80),
                remedy="Each line must be a JSON object with the string fields id, text and source",
            ) from None


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    """Return a value with ``None`` for every number that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

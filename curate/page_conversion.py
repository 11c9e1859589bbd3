"""What the converter's process does with a document: convert its pages and, of some documents, tell what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tootsie.curate import markdownify

MAX_TEXTS = 50
"""Dropped texts that are told of one document."""
MAX_TEXT_CHARACTERS = 1_000
"""Characters of one dropped text."""
TRACE_FAILED = "tracing failed"
"""Stands for a rule where what was left out could not be told."""


class Request(NamedTuple):
    """A document to convert."""

    pages: Sequence[str | bytes]
    """HTML."""
    options: Mapping[str, Any]
    """Of :func:`tootsie.curate.markdownify.convert`, with its ``profile``."""
    trace: bool = False
    """Whether to tell what was left out."""


class Converted(NamedTuple):
    """A document that was converted."""

    conversions: list[markdownify.Conversion]
    """One for each page."""
    dropped: list[tuple[str, str]]
    """Rule and text of what was left out, where that was asked for."""


def convert_request(request: Request) -> Converted:
    """Convert the pages of a document."""
    pages, options, trace = request
    conversions = [markdownify.convert(page, **options) for page in pages]
    dropped: list[tuple[str, str]] = []
    for page in pages if trace else ():
        if len(dropped) >= MAX_TEXTS:
            break
        try:
            dropped += markdownify.dropped_text(page, **options)
        except Exception as error:  # a fault of the tracer is no reason to lose the document
            dropped.append((TRACE_FAILED, f"{type(error).__name__}: {error}"))
    return Converted(conversions, [(rule, text[:MAX_TEXT_CHARACTERS]) for rule, text in dropped[:MAX_TEXTS]])

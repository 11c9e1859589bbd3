"""What the walks are fed with: the sample dumps that come with the package, and the commands that make caches of them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

from tootsie.datasets.errors import InputError

CORPORA = ("arxiv", "wikipedia", "stackexchange")
HELD_OUT = 0.08
"""Fraction of each corpus held out, by a hash of the document id."""

SAMPLE = Path(importlib.import_module("tootsie.datasets.command_line").__file__ or "").parent / "sample"


def dumps(corpus: str) -> list[str]:
    """Return the sample dumps of one corpus.

    Raises:
      InputError: the package was installed without them.
    """
    found = sorted(str(path) for path in (SAMPLE / corpus).iterdir() if path.suffix in (".zip", ".gz", ".7z"))
    if not found:
        raise InputError(
            "the sample dumps are not installed", file=SAMPLE / corpus, remedy="Install the whole package"
        )
    return found


def curate_commands(records: int | None) -> list[list[str]]:
    """Return the commands that turn each sample dump into documents, of so many records or of all."""
    limit = [] if records is None else ["--limit", str(records)]
    return [["curate", corpus, *dumps(corpus), f"documents/{corpus}", *limit] for corpus in CORPORA]


def tokenize_commands(sources: Iterable[tuple[str, str]], tokenizer: str) -> list[list[str]]:
    """Return the commands that make caches of documents, given as (name, where they lie)."""
    return [
        ["tokenize", "build", where, f"tokens/{name}", "--tokenizer", tokenizer, "--validation-fraction"]
        + [str(HELD_OUT)]
        for name, where in sources
    ]

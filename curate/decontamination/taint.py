"""Which documents are contaminated, for whatever is made from them.

A document says what it was made from in ``metadata.derived_from``: ``SOURCE/ID``, or a list of these. Where one of them was
contaminated, so is it, however little of the leak its own words show.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError

TAINTED = "tainted.jsonl.zst"
"""File of a run that lists its contaminated documents."""
LINEAGE = "derived_from"
"""Field of ``Document.metadata``."""


def origins(document: Document) -> list[str] | None:
    """Return what a document was made from (``SOURCE/ID``); ``None`` where it does not say, or not in this form."""
    value = document.metadata.get(LINEAGE)
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values:
        return None
    if not all(isinstance(one, str) and "/" in one for one in values):
        return None
    return values


def read_taint(folders: Sequence[str]) -> dict[str, list[str]]:
    """Return the contaminated documents (``SOURCE/ID``) that earlier runs found, with the evaluation sets each leaks.

    Args:
      folders: their outputs.

    Raises:
      ArtefactError: one has no such list.
    """
    found: dict[str, set[str]] = {}
    for folder in folders:
        url = storage.join(folder, TAINTED)
        if not storage.exists(url):
            raise ArtefactError(
                "this is no finished output of 'tootsie curate decontaminate'",
                file=url,
                field="--tainted",
                remedy="Name the folder that it wrote its report to",
            )
        for line in storage.read_lines(url):
            row = json.loads(line)
            found.setdefault(row["document"], set()).update(row["evaluations"])
    return {name: sorted(sets) for name, sets in sorted(found.items())}


def inherited(document: Document, tainted: dict[str, list[str]], names: Iterable[str]) -> list[str]:
    """Return the contaminated documents that a document is, or was made from.

    Args:
      document: any.
      tainted: see :func:`read_taint`.
      names: of the document itself.
    """
    return sorted({name for name in (*names, *(origins(document) or ())) if name in tainted})

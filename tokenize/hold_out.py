"""Which documents are held out for validation: a function of the document id alone, or of its cluster of near-duplicates.

So the same documents are held out whatever the shards, the workers or the order; and a corpus that grows keeps its
held-out documents.
"""

from __future__ import annotations

import xxhash

from tootsie.datasets.errors import SpecError


def is_held_out(document_id: str, fraction: float, seed: int = 0) -> bool:
    """Return whether a document belongs to the validation split.

    Args:
      document_id: its id in the corpus; for one of a cluster of near-duplicates, the cluster.
      fraction: share of documents to hold out, 0 ≤ fraction < 1.
      seed: another seed holds out other documents.
    """
    return xxhash.xxh3_64_intdigest(document_id.encode(), seed) < int(fraction * 2**64)


def check_fraction(fraction: float) -> None:
    """Raise :class:`SpecError` unless ``fraction`` is in [0, 1)."""
    if not 0 <= fraction < 1:
        raise SpecError(
            "must be at least 0 and below 1",
            field="--validation-fraction",
            value=fraction,
            remedy="0.05 holds out one document in twenty",
        )

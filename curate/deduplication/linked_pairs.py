"""The pairs that were proposed, each once, those of one large document together; and which documents' n-grams they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Met, Records, Shuffle, filled, only, run_shuffle, spread
from tootsie.curate.deduplication.proposal import PAIR, unique_pairs

EXACT, NEAR, MARK = 0, 1, 2
LINK = (("hash", "<u8"), ("key", "<u8"), *PAIR, ("kind", "u1"))
"""A pair on its way to its large document (``EXACT``, ``NEAR``), or word to the small document of a near one (``MARK``)."""


@dataclass(frozen=True)
class _Send:
    """Sends the pairs of a bucket of proposals to their documents."""

    proposals: Met

    def __call__(self, bucket: int) -> Iterator[Records]:
        for name, kind, key in (
            ("exact", EXACT, "large"),
            ("near", NEAR, "large"),
            ("near", MARK, "small"),
        ):
            pairs = self.proposals.read(bucket, name, list(PAIR))
            fields = {field: pairs[field] for field, _ in PAIR}
            yield filled(LINK, len(pairs), hash=spread(pairs[key]), key=pairs[key], kind=kind, **fields)


def _link(records: Records) -> Mapping[str, NDArray[Any]]:
    """Return ``exact`` and ``near`` pairs by their large document, and of which documents the n-grams are ``compared``.

    Those are the documents of near pairs, and exact copies of these: one that went for a document that goes itself is compared
    with what that one went for.
    """
    found = {}
    for name, kind in (("exact", EXACT), ("near", NEAR)):
        pairs = unique_pairs(only(records[records["kind"] == kind], PAIR))
        found[name] = pairs[np.lexsort((pairs["small"], pairs["large"]))]
    near = np.unique(records["key"][records["kind"] != EXACT])
    exact = found["exact"]
    number = np.concatenate([near, exact["large"], exact["small"]])
    compared = np.concatenate([np.ones(len(near), bool), np.tile(np.isin(exact["large"], near), 2)])
    counts = {f"{name}_count": np.array([len(pairs)]) for name, pairs in found.items()}
    return {**found, **counts, "number": number, "compared": compared}


def link_pairs(folder: str, proposals: Met, buckets: int, options: Any, *, alone: bool) -> Met:
    """Return the pairs of all buckets of proposals, in buckets by their large document."""
    shuffle = Shuffle(folder, "links", LINK, _Send(proposals), _link, buckets)
    return run_shuffle(shuffle, list(range(proposals.buckets)), options, alone=alone)

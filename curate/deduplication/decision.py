"""Decide which documents go: each against one that stays.

Documents are taken from the longest on. One goes if it has passed the comparison with a longer one (ties: see
:func:`tootsie.curate.deduplication.proposal.propose`) that stays; where all it has passed with have gone themselves, the
documents that those went for are compared with it, which makes another round. Nothing follows by transitivity.

All that bears on a document is in the connected component that it belongs to by the pairs that passed. So components are decided
apart, on any worker; the largest of them has to fit in the memory of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Met, Records, Shuffle, filled, only, run_shuffle, spread
from tootsie.curate.deduplication.components import Components
from tootsie.curate.deduplication.proposal import PAIR, unique_pairs
from tootsie.curate.deduplication.verification import ComparedPairs

PASSED = (*PAIR, ("exact", "?"), ("containment", "<f8"))
"""A pair of which the small document is in the large one."""
COMPARED = (("small", "<u8"), ("large", "<u8"), ("containment", "<f8"))
"""A pair that was compared."""
SORTED = (("hash", "<u8"), *PASSED, ("passed", "?"))
"""A pair on its way to its component."""
MAX_STEPS = 64
"""Steps in which all that can be decided is; what is left is a chain, and is decided one by one."""
MAX_ROUNDS = 8
"""Rounds of comparisons; documents still undecided then are kept."""

Compare = Callable[[NDArray[Any]], NDArray[np.float64]]
"""Returns the containment of each of some pairs."""


def decide(
    passed: NDArray[Any], refused: NDArray[Any], compare: Compare, threshold: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Decide on the documents of some components.

    Args:
      passed: the pairs that passed the first comparison, or whose words are the same (:data:`PASSED`).
      refused: those that did not pass it, which need not be compared again (:data:`PAIR`).
      compare: compares more.
      threshold: containment from which a pair passes.

    Returns:
      For each document that goes the pair by which it goes (:data:`PASSED`), by number; the pairs that were compared here
      (:data:`COMPARED`).
    """
    removed = _removed(passed)
    compared = [np.empty(0, list(COMPARED))]
    for _ in range(1, MAX_ROUNDS):
        pairs = _next_pairs(passed, removed, refused)
        if not len(pairs):
            break
        shares = compare(pairs)
        compared.append(
            filled(COMPARED, len(pairs), small=pairs["small"], large=pairs["large"], containment=shares)
        )
        passes = shares >= threshold
        passed = np.concatenate([passed, passing(pairs[passes], shares[passes], exact=False)])
        refused = np.concatenate([refused, pairs[~passes]])
        removed = _removed(passed)
    assert not np.isin(removed["large"], removed["small"]).any()
    return removed, np.concatenate(compared)


def passing(pairs: NDArray[Any], shares: NDArray[np.float64], *, exact: bool) -> NDArray[Any]:
    """Return pairs with what the comparison gave (:data:`PASSED`)."""
    fields = {name: pairs[name] for name, _ in PAIR}
    return filled(PASSED, len(pairs), **fields, exact=exact, containment=shares)


@dataclass(frozen=True)
class _ToComponents:
    """Sends the pairs of a bucket to their components."""

    compared: ComparedPairs
    verified: Components
    threshold: float

    def __call__(self, bucket: int) -> Iterator[Records]:
        vertices, labels = self.verified.labels(bucket)
        if not len(vertices):
            return
        exact = self.compared.exact(bucket)
        near, shares = self.compared.near(bucket)
        for pairs in (passing(exact, np.ones(len(exact)), exact=True), passing(near, shares, exact=False)):
            # A document's own bucket is that of the pairs in which it is the large one.
            place = np.minimum(np.searchsorted(vertices, pairs["large"]), len(vertices) - 1)
            known = vertices[place] == pairs["large"]
            pairs, label = pairs[known], labels[place[known]]
            fields = {name: pairs[name] for name, _ in PASSED}
            yield filled(
                SORTED,
                len(pairs),
                hash=spread(label),
                passed=pairs["containment"] >= self.threshold,
                **fields,
            )


@dataclass(frozen=True)
class _Decide:
    """Decides on the components of a bucket."""

    compare: Compare
    threshold: float

    def __call__(self, records: Records) -> Mapping[str, NDArray[Any]]:
        """Return ``removed`` and ``compared``, see :func:`decide`."""
        passed = only(records[records["passed"]], PASSED)
        refused = only(records[~records["passed"]], PAIR)
        removed, compared = decide(passed, refused, self.compare, self.threshold)
        return {"removed": removed, "compared": compared}


def decide_all(
    compared: ComparedPairs,
    verified: Components,
    compare: Compare,
    threshold: float,
    options: Any,
    *,
    alone: bool,
) -> Met:
    """Decide on all components: ``removed`` and ``compared`` of each bucket.

    Args:
      compared: all pairs.
      verified: the components that those make which passed.
      compare: compares more.
      threshold: containment from which a pair passes.
      options: of Beam.
      alone: whether this process does it.
    """
    pairs = compared.pairs
    shuffle = Shuffle(
        pairs.folder,
        "decided",
        SORTED,
        _ToComponents(compared, verified, threshold),
        _Decide(compare, threshold),
        pairs.buckets,
    )
    return run_shuffle(shuffle, list(range(pairs.buckets)), options, alone=alone)


def _removed(passed: NDArray[Any]) -> NDArray[Any]:
    """Return for each document that goes the pair by which it goes (:data:`PASSED`), by number.

    A document that has passed with one that stays goes; one all of whose larger ones go stays. As these are longer, whether they
    stay is known without it: each step decides all documents that depend on decided ones only.
    """
    numbers, places = np.unique(np.concatenate([passed["small"], passed["large"]]), return_inverse=True)
    small, large = places[: len(passed)], places[len(passed) :]
    stays = np.ones(len(numbers), bool)
    open_ = np.zeros(len(numbers), bool)
    open_[small] = True
    left = np.arange(len(passed))
    for _ in range(MAX_STEPS):
        if not len(left):
            break
        waits = np.zeros(len(numbers), bool)
        waits[small[left][open_[large[left]]]] = True
        held = ~open_[large[left]] & stays[large[left]]
        goes = np.zeros(len(numbers), bool)
        goes[small[left][held]] = True
        decided = open_ & (goes | ~waits)
        stays[goes] = False
        open_ &= ~decided
        left = left[open_[small[left]]]
    if len(left):  # a chain as long as that: one document after another
        order = np.lexsort(
            (
                numbers[small[left]],
                *(-passed[name][left].astype(np.int64) for name in ("characters", "words")),
            )
        )
        left = left[order]
        starts = np.flatnonzero(np.concatenate([[True], small[left][1:] != small[left][:-1]]))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(left)], strict=True):
            stays[small[left[start]]] = not stays[large[left[start:stop]]].any()
    holds = passed[stays[large] & ~stays[small]]
    holds = holds[np.lexsort((holds["large"], -holds["containment"], ~holds["exact"], holds["small"]))]
    return holds[np.unique(holds["small"], return_index=True)[1]]


def _next_pairs(passed: NDArray[Any], removed: NDArray[Any], seen: NDArray[Any]) -> NDArray[Any]:
    """Return the pairs of documents that have not gone with what those went for that they had passed with, unless seen."""
    again = passed[np.isin(passed["large"], removed["small"]) & ~np.isin(passed["small"], removed["small"])]
    wanted = only(again, PAIR)
    wanted["large"] = removed["large"][np.searchsorted(removed["small"], again["large"])]
    wanted = unique_pairs(wanted)
    seen = seen[np.isin(seen["small"], wanted["small"])]
    both = np.concatenate([seen[["small", "large"]], wanted[["small", "large"]]])
    _, keys = np.unique(both, return_inverse=True)
    return wanted[~np.isin(keys[len(seen) :], keys[: len(seen)])]

"""Decide which documents go: each against one that stays.

Documents are taken from the longest on. One goes if it has passed the comparison with a longer one (ties: see
:func:`tootsie.curate.deduplication.proposal.propose`) that stays; where all it has passed with have gone themselves, the
documents that those went for are compared with it, which makes another round. Nothing follows by transitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.deduplication.proposal import PAIR, unique_pairs

BLOCK = 1 << 16
"""Pairs that are made Python's numbers at a time."""
REJECTED = (("small", "<u8"), ("large", "<u8"), ("containment", "<f8"))
PASSED = (*PAIR, ("exact", "?"), ("containment", "<f8"))
"""A pair of which the small document is in the large one."""
MAX_STEPS = 64
"""Steps in which all that can be decided is; what is left is a chain, and is decided one by one."""
MAX_ROUNDS = 8
"""Rounds of comparisons; documents still undecided then are kept."""


@dataclass(frozen=True)
class Verdict:
    """Why a document goes."""

    kept: int
    """The document that has its content, and stays."""
    exact: bool
    """Whether both have the same words."""
    containment: float
    """Share of its n-grams that the other has."""


@dataclass(frozen=True)
class Decision:
    """What becomes of the documents."""

    removed: dict[int, Verdict]
    """By number."""
    rejected: NDArray[Any]
    """Pairs that were proposed and did not pass (:data:`REJECTED`), ordered."""
    clusters: dict[int, int]
    """Cluster of each document that is in one: the smallest number of its members."""
    proposed_groups: dict[int, int]
    """Groups that follow from the proposed pairs alone: what removal without comparison would go by."""


def decide(
    exact: NDArray[Any],
    near: NDArray[Any],
    compare: Callable[[NDArray[Any]], NDArray[np.float64]],
    *,
    threshold: float,
    cluster_threshold: float,
) -> Decision:
    """Decide on the documents of all pairs.

    Args:
      exact: pairs whose words are the same.
      near: pairs that were proposed.
      compare: returns the containment of each of some pairs.
      threshold: containment from which a pair passes.
      cluster_threshold: containment from which its documents belong together.
    """
    passed = _passed(exact, np.ones(len(exact)), exact=True)
    rejected = [np.empty(0, list(REJECTED))]
    together = [exact]
    seen = np.empty(0, list(PAIR))
    removed = np.empty(0, list(PASSED))
    pairs = near
    for _ in range(MAX_ROUNDS):
        shares = compare(pairs)
        passes = shares >= threshold
        passed = np.concatenate([passed, _passed(pairs[passes], shares[passes], exact=False)])
        refused = np.empty(int((~passes).sum()), list(REJECTED))
        refused["small"], refused["large"] = pairs["small"][~passes], pairs["large"][~passes]
        refused["containment"] = shares[~passes]
        rejected.append(refused)
        # Only documents that have passed with another one are looked at again.
        again = ~passes
        again[again] = np.isin(refused["small"], passed["small"])
        seen = np.concatenate([seen, pairs[again]])
        together.append(pairs[shares >= cluster_threshold])
        removed = _removed(passed)
        pairs = _next_pairs(passed, removed, seen)
        if not len(pairs):
            break
    assert not np.isin(removed["large"], removed["small"]).any()
    found_not = np.concatenate(rejected)
    return Decision(
        {small: Verdict(large, same, share) for small, large, _, _, same, share in _rows(removed)},
        found_not[np.lexsort((found_not["large"], found_not["small"]))],
        components(together),
        components([exact, near]),
    )


def _rows(records: NDArray[Any]) -> Iterator[Any]:
    for start in range(0, len(records), BLOCK):
        yield from records[start : start + BLOCK].tolist()


def _passed(pairs: NDArray[Any], shares: NDArray[np.float64], *, exact: bool) -> NDArray[Any]:
    found = np.empty(len(pairs), list(PASSED))
    for name in ("small", "large", "words", "characters"):
        found[name] = pairs[name]
    found["exact"], found["containment"] = exact, shares
    return found


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
    wanted = np.empty(len(again), list(PAIR))
    for name in ("small", "words", "characters"):
        wanted[name] = again[name]
    wanted["large"] = removed["large"][np.searchsorted(removed["small"], again["large"])]
    wanted = unique_pairs(wanted)
    both = np.concatenate([seen[["small", "large"]], wanted[["small", "large"]]])
    _, keys = np.unique(both, return_inverse=True)
    return wanted[~np.isin(keys[len(seen) :], keys[: len(seen)])]


def components(parts: Sequence[NDArray[Any]]) -> dict[int, int]:
    """Return the smallest member of the connected component of each number that is in a pair.

    Each number takes the smallest label around it, and its label's label, until nothing changes (Zhang, Azad and Hu, "FastSV",
    2020): as many passes over the pairs as the logarithm of their number, about.
    """
    ends = [np.concatenate([pairs[name] for pairs in parts]) for name in ("small", "large")]
    numbers, places = np.unique(np.concatenate(ends), return_inverse=True)
    one, other = places[: len(ends[0])], places[len(ends[0]) :]
    label = np.arange(len(numbers))
    while True:
        above = label[label]
        found = above.copy()
        for start, stop in ((one, other), (other, one)):
            np.minimum.at(found, label[start], above[stop])
            np.minimum.at(found, start, above[stop])
        if np.array_equal(found, label):
            return dict(zip(numbers.tolist(), numbers[label].tolist(), strict=True))
        label = found

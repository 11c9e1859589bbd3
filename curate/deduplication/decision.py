"""Decide which documents go: each against one that stays.

Documents are taken from the longest on. One goes if it has passed the comparison with a longer one (ties: see
:func:`tootsie.curate.deduplication.proposal.propose`) that stays; where all it has passed with have gone themselves, the
documents that those went for are compared with it, which makes another round. Nothing follows by transitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.deduplication.proposal import PAIR

BLOCK = 1 << 16
"""Pairs that are made Python's numbers at a time."""
REJECTED = (("small", "<u8"), ("large", "<u8"), ("containment", "<f8"))
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
    passed: dict[int, list[tuple[bool, float, int]]] = {}
    length: dict[int, tuple[int, int]] = {}
    for small, large, words, characters in exact.tolist():
        passed.setdefault(small, []).append((True, 1.0, large))
        length[small] = (words, characters)
    rejected = [np.empty(0, list(REJECTED))]
    together = [exact]
    removed: dict[int, Verdict] = {}
    seen: set[tuple[int, int]] = set()
    pairs = near
    for _ in range(MAX_ROUNDS):
        shares = compare(pairs)
        passes = shares >= threshold
        for (small, large, words, characters), found in zip(
            pairs[passes].tolist(), shares[passes].tolist(), strict=True
        ):
            passed.setdefault(small, []).append((False, found, large))
            length[small] = (words, characters)
        refused = np.empty(int((~passes).sum()), list(REJECTED))
        refused["small"], refused["large"] = pairs["small"][~passes], pairs["large"][~passes]
        refused["containment"] = shares[~passes]
        rejected.append(refused)
        # Only documents that have passed with another one are looked at again.
        again = np.isin(refused["small"], np.fromiter(passed, np.uint64, len(passed)))
        seen.update(zip(refused["small"][again].tolist(), refused["large"][again].tolist(), strict=True))
        together.append(pairs[shares >= cluster_threshold])
        removed = _removed(passed, length)
        pairs = _next_pairs(passed, removed, length, seen)
        if not len(pairs):
            break
    assert all(verdict.kept not in removed for verdict in removed.values())
    found_not = np.concatenate(rejected)
    return Decision(
        removed,
        found_not[np.lexsort((found_not["large"], found_not["small"]))],
        components(_edges(together)),
        components(_edges([exact, near])),
    )


def _edges(parts: Iterable[NDArray[Any]]) -> Iterator[tuple[int, int]]:
    for pairs in parts:
        for start in range(0, len(pairs), BLOCK):
            block = pairs[start : start + BLOCK]
            yield from zip(block["small"].tolist(), block["large"].tolist(), strict=True)


def _removed(
    passed: dict[int, list[tuple[bool, float, int]]], length: dict[int, tuple[int, int]]
) -> dict[int, Verdict]:
    removed: dict[int, Verdict] = {}
    for small in sorted(passed, key=lambda number: (-length[number][0], -length[number][1], number)):
        candidates = [one for one in passed[small] if one[2] not in removed]
        if candidates:
            exact, found, kept = min(candidates, key=lambda one: (not one[0], -one[1], one[2]))
            removed[small] = Verdict(kept, exact, found)
    return removed


def _next_pairs(
    passed: dict[int, list[tuple[bool, float, int]]],
    removed: dict[int, Verdict],
    length: dict[int, tuple[int, int]],
    seen: set[tuple[int, int]],
) -> NDArray[Any]:
    wanted = {
        (small, removed[large].kept, *length[small])
        for small, candidates in passed.items()
        if small not in removed
        for _, _, large in candidates
        if large in removed and (small, removed[large].kept) not in seen
    }
    return np.array(sorted(wanted), list(PAIR))


def components(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the smallest member of the connected component of each number that is in a pair."""
    parent: dict[int, int] = {}

    def root(number: int) -> int:
        top = number
        while parent.setdefault(top, top) != top:
            top = parent[top]
        while parent[number] != top:
            parent[number], number = top, parent[number]
        return top

    for one, other in pairs:
        first, second = sorted((root(one), root(other)))
        parent[second] = first
    return {number: root(number) for number in parent}

"""Decide which documents go: each against one that stays.

Documents are taken from the longest on. One goes if it has passed the comparison with a longer one (ties: see
:func:`tootsie.curate.deduplication.proposal.propose`) that stays; where all it has passed with have gone themselves, the
documents that those went for are compared with it, which makes another round. Nothing follows by transitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.deduplication.proposal import PAIR

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
    rejected: list[tuple[int, int, float]]
    """Pairs that were proposed and did not pass: small, large, containment."""
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
    rejected: list[tuple[int, int, float]] = []
    together: list[tuple[int, int]] = []
    for small, large, words, characters in exact.tolist():
        passed.setdefault(small, []).append((True, 1.0, large))
        length[small] = (words, characters)
        together.append((small, large))
    removed: dict[int, Verdict] = {}
    seen: set[tuple[int, int]] = set()
    pairs = near
    for _ in range(MAX_ROUNDS):
        for (small, large, words, characters), found in zip(
            pairs.tolist(), compare(pairs).tolist(), strict=True
        ):
            seen.add((small, large))
            length[small] = (words, characters)
            if found >= threshold:
                passed.setdefault(small, []).append((False, found, large))
            else:
                rejected.append((small, large, found))
            if found >= cluster_threshold:
                together.append((small, large))
        removed = _removed(passed, length)
        pairs = _next_pairs(passed, removed, length, seen)
        if not len(pairs):
            break
    assert all(verdict.kept not in removed for verdict in removed.values())
    proposed = [(row[0], row[1]) for row in [*exact.tolist(), *near.tolist()]]
    return Decision(removed, sorted(rejected), components(together), components(proposed))


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

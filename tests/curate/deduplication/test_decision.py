"""Who goes for whom: never for one that goes itself, and nothing by transitivity."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.curate.array_shuffle import Met, spread, step_url
from tootsie.curate.deduplication import decision
from tootsie.curate.deduplication.components import components
from tootsie.curate.deduplication.decision import PASSED, decide, decide_all, passing
from tootsie.curate.deduplication.pipeline import Edges
from tootsie.curate.deduplication.proposal import PAIR
from tootsie.curate.deduplication.verification import ComparedPairs
from tootsie.datasets import storage

Pair = tuple[int, int]


def pairs(*rows: Pair) -> np.ndarray:
    """Pairs (small, large) of documents that are longer the smaller their number."""
    return np.array([(small, large, 1000 - small, 0) for small, large in rows], list(PAIR))


@dataclass(frozen=True)
class Compare:
    shares: dict[Pair, float]

    def __call__(self, found: np.ndarray) -> np.ndarray:
        return np.array([self.shares.get((row["small"], row["large"]), 0.0) for row in found])


def kept_for(removed: np.ndarray) -> dict[int, int]:
    assert removed.dtype.names == tuple(name for name, _ in PASSED)
    return dict(zip(removed["small"].tolist(), removed["large"].tolist(), strict=True))


def run(near, shares, exact=(), threshold=1.0):
    """``decide`` as the first comparison leaves it: for whom each document goes, and the pairs that were refused."""
    near, compare = pairs(*near), Compare(shares)
    found = compare(near)
    passes = found >= threshold
    passed = np.concatenate(
        [
            passing(pairs(*exact), np.ones(len(exact)), exact=True),
            passing(near[passes], found[passes], exact=False),
        ]
    )
    removed, compared = decide(passed, near[~passes], compare, threshold)
    later = compared[compared["containment"] < threshold]
    return kept_for(removed), {(row["small"], row["large"]) for row in (*near[~passes], *later)}


def test_a_chain_of_likenesses_removes_only_what_is_in_a_kept_one() -> None:
    # 3 is in 2 and 2 is in 1, as far as the threshold goes; but 3 is not in 1.
    removed, refused = run([(2, 1), (3, 2)], {(2, 1): 0.9, (3, 2): 0.9, (3, 1): 0.6}, threshold=0.8)
    assert removed == {2: 1}
    assert refused == {(3, 1)}


def test_one_whose_container_goes_is_compared_with_what_that_went_for() -> None:
    assert run([(2, 1), (3, 2)], {(2, 1): 1.0, (3, 2): 1.0, (3, 1): 1.0})[0] == {2: 1, 3: 1}


def test_copies_of_one_that_goes_are_compared_with_what_it_went_for() -> None:
    assert run([(2, 1)], {(2, 1): 1.0, (3, 1): 1.0}, exact=[(3, 2), (4, 2)])[0] == {2: 1, 3: 1}


def one_by_one(near: list[Pair], shares: dict[Pair, float], exact: list[Pair], threshold: float):
    """The same by definition: rounds in each of which the documents are looked at one after another, the longest first."""
    passed = dict.fromkeys(exact, (True, 1.0))
    seen: set[Pair] = set()
    todo = set(near)
    for _ in range(decision.MAX_ROUNDS):
        passed |= {
            pair: (False, shares.get(pair, 0.0)) for pair in todo if shares.get(pair, 0.0) >= threshold
        }
        seen |= todo
        kept: dict[int, int] = {}
        for small in sorted({pair[0] for pair in passed}):
            stays = [pair for pair in passed if pair[0] == small and pair[1] not in kept]
            if stays:
                kept[small] = min(stays, key=lambda pair: (not passed[pair][0], -passed[pair][1], pair[1]))[1]
        todo = {(small, kept[large]) for small, large in passed if large in kept and small not in kept} - seen
        if not todo:
            break
    return kept, {pair for pair in seen if shares.get(pair, 0.0) < threshold}


EDGES = st.dictionaries(
    st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] > pair[1]),
    st.sampled_from([0.0, 0.4, 0.7, 0.9, 1.0]),
    max_size=40,
)
CHOSEN = st.sets(st.integers(0, 39))


def split(shares: dict[Pair, float], chosen: set[int]) -> tuple[list[Pair], list[Pair]]:
    """Near pairs: those chosen; exact ones: two documents of which no other pair speaks."""
    return [pair for number, pair in enumerate(sorted(shares)) if number in chosen], [(21, 20), (22, 20)]


@given(EDGES, CHOSEN, st.sampled_from([0.7, 1.0]))
def test_as_one_by_one(shares, chosen, threshold) -> None:
    near, exact = split(shares, chosen)
    removed, refused = run(near, shares, exact, threshold)
    assert (removed, refused) == one_by_one(near, shares, exact, threshold)
    for number, kept in removed.items():
        assert kept not in removed
        assert (number, kept) in exact or shares[number, kept] >= threshold
    for small, large in near:
        # Nothing that could go stays.
        assert shares[small, large] < threshold or small in removed or large in removed


@given(EDGES, CHOSEN, st.integers(0, 2))
def test_long_chains_are_decided_one_by_one_to_the_same_end(shares, chosen, steps) -> None:
    near, exact = split(shares, chosen)
    whole = run(near, shares, exact, 0.7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision, "MAX_STEPS", steps)
        assert run(near, shares, exact, 0.7) == whole


def linked(
    folder: str, near: np.ndarray, exact: np.ndarray, shares: np.ndarray, buckets: int
) -> ComparedPairs:
    """Pairs as the steps before the decision leave them."""
    compared = ComparedPairs(Met(folder, "links", buckets))
    for bucket in range(buckets):
        mine = [
            (spread(part["large"]) >> np.uint64(32)) % np.uint64(buckets) == bucket for part in (near, exact)
        ]
        with storage.atomic_write(step_url(folder, "links-met", bucket, "npz")) as stream:
            np.savez(stream, near=near[mine[0]], exact=exact[mine[1]])
        if mine[0].any():
            storage.write_bytes(compared.url(bucket, 0), shares[mine[0]].tobytes())
    return compared


@settings(max_examples=8)
@given(EDGES, CHOSEN, st.sampled_from([0.7, 1.0]))
def test_components_apart_as_all_at_once(shares, chosen, threshold) -> None:
    near, exact = split(shares, chosen)
    compare = Compare(shares)
    with tempfile.TemporaryDirectory() as folder:
        compared = linked(folder, pairs(*near), pairs(*exact), compare(pairs(*near)), 3)
        verified = components(folder, "verified", Edges(compared, threshold), 3, None, alone=True)
        met = decide_all(compared, verified, compare, threshold, None, alone=True)
        removed = kept_for(met.gather("removed", list(PASSED)))
    assert removed == one_by_one(near, shares, exact, threshold)[0]

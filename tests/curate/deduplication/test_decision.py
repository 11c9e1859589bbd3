"""Who goes for whom: never for one that goes itself, and nothing by transitivity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.deduplication import decision
from tootsie.curate.deduplication.decision import components, decide
from tootsie.curate.deduplication.proposal import PAIR


def pairs(*rows: tuple[int, int]) -> np.ndarray:
    """Pairs (small, large) of documents that are longer the smaller their number."""
    return np.array([(small, large, 1000 - small, 0) for small, large in rows], list(PAIR))


def run(near, shares, exact=(), threshold=1.0):
    return decide(
        pairs(*exact),
        pairs(*near),
        lambda found: np.array([shares.get((row[0], row[1]), 0.0) for row in found.tolist()]),
        threshold=threshold,
        cluster_threshold=0.5,
    )


def test_a_chain_of_likenesses_removes_only_what_is_in_a_kept_one() -> None:
    # 3 is in 2 and 2 is in 1, as far as the threshold goes; but 3 is not in 1.
    found = run([(2, 1), (3, 2)], {(2, 1): 0.9, (3, 2): 0.9, (3, 1): 0.6}, threshold=0.8)
    assert set(found.removed) == {2}
    assert found.removed[2].kept == 1
    assert (3, 1, 0.6) in found.rejected.tolist()


def test_one_whose_container_goes_is_compared_with_what_that_went_for() -> None:
    found = run([(2, 1), (3, 2)], {(2, 1): 1.0, (3, 2): 1.0, (3, 1): 1.0})
    assert {number: verdict.kept for number, verdict in found.removed.items()} == {2: 1, 3: 1}


def test_copies_of_one_that_goes_are_compared_with_what_it_went_for() -> None:
    found = run([(2, 1)], {(2, 1): 1.0, (3, 1): 1.0}, exact=[(3, 2), (4, 2)])
    assert {number: verdict.kept for number, verdict in found.removed.items()} == {2: 1, 3: 1}


def test_what_does_not_pass_belongs_together_all_the_same() -> None:
    found = run([(2, 1), (4, 3)], {(2, 1): 0.7, (4, 3): 0.1})
    assert found.removed == {}
    assert found.clusters == {1: 1, 2: 1}
    assert found.proposed_groups == {1: 1, 2: 1, 3: 3, 4: 3}


EDGES = st.dictionaries(
    st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] > pair[1]),
    st.sampled_from([0.0, 0.4, 0.9, 1.0]),
    max_size=40,
)


@given(EDGES, st.sets(st.integers(0, 39)))
def test_whatever_the_pairs_each_goes_for_one_that_stays_and_holds_it(shares, chosen) -> None:
    near = [pair for number, pair in enumerate(sorted(shares)) if number in chosen]
    found = run(near, shares)
    for number, verdict in found.removed.items():
        assert verdict.kept not in found.removed
        assert shares[number, verdict.kept] == 1.0
    for small, large in near:
        # Nothing that could go stays.
        assert shares[small, large] < 1.0 or small in found.removed or large in found.removed


@given(EDGES, st.sets(st.integers(0, 39)), st.integers(0, 2))
def test_long_chains_are_decided_one_by_one_to_the_same_end(shares, chosen, steps) -> None:
    near = [pair for number, pair in enumerate(sorted(shares)) if number in chosen]
    whole = run(near, shares)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision, "MAX_STEPS", steps)
        assert run(near, shares).removed == whole.removed


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
def test_components(edges: list[tuple[int, int]]) -> None:
    found = components([pairs(*edges[:7]), pairs(*edges[7:])])
    expected = {number: number for edge in edges for number in edge}
    for _ in range(len(expected)):
        for one, other in edges:
            expected[one] = expected[other] = min(expected[one], expected[other])
    assert found == expected

"""Components found by shuffles are those of the whole graph, whatever the buckets and the shape."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.curate.array_shuffle import spread
from tootsie.curate.deduplication.components import components, local_labels


def labels(edges: list[tuple[int, int]], buckets: int) -> tuple[dict[int, int], tuple[int, int, int], int]:
    """Component of each vertex, sizes and rounds; the edges lie in tasks without an order."""
    ends = np.array(edges, np.uint64).reshape(-1, 2)

    def of_task(task: int) -> tuple[np.ndarray, np.ndarray]:
        part = ends[task::buckets]
        return part[:, 0], part[:, 1]

    with tempfile.TemporaryDirectory() as folder:
        found = components(folder, "graph", of_task, buckets, None, alone=True)
        label: dict[int, int] = {}
        for bucket in range(buckets):
            vertices, smallest = found.labels(bucket)
            assert set((spread(vertices) >> np.uint64(32)) % np.uint64(buckets)) <= {bucket}
            label |= dict(zip(vertices.tolist(), smallest.tolist(), strict=True))
        return label, found.sizes(), found.rounds


def by_hand(edges: list[tuple[int, int]]) -> dict[int, int]:
    label = {number: number for edge in edges for number in edge}
    changed = True
    while changed:
        changed = False
        for one, other in edges:
            least = min(label[one], label[other])
            changed |= label[one] != label[other]
            label[one] = label[other] = least
    return label


EDGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda edge: edge[0] != edge[1]), max_size=40
)


@given(EDGES)
def test_labels_of_edges_at_hand(edges: list[tuple[int, int]]) -> None:
    ends = np.array(edges, np.uint64).reshape(-1, 2)
    vertices, label = local_labels(ends[:, 0], ends[:, 1])
    assert dict(zip(vertices.tolist(), label.tolist(), strict=True)) == by_hand(edges)


@settings(max_examples=8)
@given(EDGES, st.sampled_from([1, 3]))
def test_as_by_hand(edges: list[tuple[int, int]], buckets: int) -> None:
    found, (count, vertices, largest), _ = labels(edges, buckets)
    expected = by_hand(edges)
    assert found == expected
    sizes = np.unique(list(expected.values()), return_counts=True)[1].tolist()
    assert (count, vertices, largest) == (len(sizes), len(expected), max(sizes, default=0))


@pytest.mark.parametrize("step", [1, 97])
def test_a_long_chain_takes_few_rounds(step: int) -> None:
    chain = [(number * step % 257, (number + 1) * step % 257) for number in range(256)]
    found, sizes, rounds = labels(chain, 3)
    assert sizes == (1, 257, 257)
    assert set(found.values()) == {0}
    assert rounds <= 2 * 8 + 1  # twice the logarithm of its length

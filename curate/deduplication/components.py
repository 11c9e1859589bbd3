"""Connected components of a graph that is larger than a process: labels by rounds of shuffles.

Source: R. Kiveris and others, "Connected Components in MapReduce and Beyond" (SoCC 2014): *large-star* ties the larger
neighbours of each vertex to the smallest vertex around it, *small-star* the smaller ones, until each component is a star around
its smallest member. Neither adds edges, and a vertex needs its neighbours only. Before the first round each task shortens its own
edges to such stars, so a graph that is in one task needs one round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Met, Records, Shuffle, filled, run_shuffle, spread

EDGE = (("hash", "<u8"), ("one", "<u8"), ("other", "<u8"))
"""A vertex, by which edges meet, and a neighbour."""
ENDS = (("high", "<u8"), ("low", "<u8"))
"""An edge from a vertex to a smaller one."""


@dataclass(frozen=True)
class Components:
    """The component of each vertex that has an edge, in buckets by ``spread(vertex)``."""

    met: Met
    rounds: int
    """Shuffles that it took."""
    shuffled_bytes: int

    def labels(self, bucket: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the vertices of a bucket, ascending, and the smallest member of the component of each."""
        return tuple(self.met.read(bucket, name, np.uint64) for name in ("vertex", "label"))  # type: ignore[return-value]

    def sizes(self) -> tuple[int, int, int]:
        """Return how many components there are, how many vertices, and those of the largest component."""
        largest = max(
            int(self.met.read(bucket, "size", np.int64).max(initial=0)) for bucket in range(self.met.buckets)
        )
        return self.met.total("roots"), self.met.total("vertices"), largest


def components(
    folder: str,
    name: str,
    edges: Callable[[int], tuple[NDArray[np.uint64], NDArray[np.uint64]]],
    buckets: int,
    options: Any,
    *,
    alone: bool,
) -> Components:
    """Return the components of a graph.

    Args:
      folder: of the run.
      name: of the graph.
      edges: returns the two ends of each edge of a task; there are as many tasks as buckets.
      buckets: of the shuffles.
      options: of Beam.
      alone: whether this process does it.
    """
    tasks = list(range(buckets))
    found = run_shuffle(
        Shuffle(folder, f"{name}-0", EDGE, _Stars(edges), large_star, buckets), tasks, options, alone=alone
    )
    rounds, shuffled = 1, found.shuffled_bytes
    while found.total("unsettled"):
        for make, meet in ((_ToHigh, small_star), (_ToBoth, large_star)):
            shuffle = Shuffle(folder, f"{name}-{rounds}", EDGE, make(found), meet, buckets)
            found = run_shuffle(shuffle, tasks, options, alone=alone)
            rounds, shuffled = rounds + 1, shuffled + found.shuffled_bytes
    return Components(found, rounds, shuffled)


def local_labels(
    one: NDArray[np.uint64], other: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the vertices of some edges, ascending, and the smallest member of the connected component of each.

    Each vertex takes the smallest label around it, and its label's label, until nothing changes (Zhang, Azad and Hu, "FastSV",
    2020): as many passes over the edges as the logarithm of their number, about.
    """
    vertices, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    start, stop = places[: len(one)], places[len(one) :]
    label = np.arange(len(vertices))
    while True:
        above = label[label]
        found = above.copy()
        for here, there in ((start, stop), (stop, start)):
            np.minimum.at(found, label[here], above[there])
            np.minimum.at(found, here, above[there])
        if np.array_equal(found, label):
            return vertices, vertices[label]
        label = found


def _both_ways(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Records:
    one, other = np.concatenate([high, low]), np.concatenate([low, high])
    return filled(EDGE, len(one), hash=spread(one), one=one, other=other)


@dataclass(frozen=True)
class _Stars:
    """Sends the edges of a task, shortened to stars, to both of their ends."""

    edges: Callable[[int], tuple[NDArray[np.uint64], NDArray[np.uint64]]]

    def __call__(self, task: int) -> Iterator[Records]:
        vertices, label = local_labels(*self.edges(task))
        leaf = vertices != label
        yield _both_ways(vertices[leaf], label[leaf])


@dataclass(frozen=True)
class _ToBoth:
    """Sends the edges of a bucket to both of their ends."""

    met: Met

    def __call__(self, bucket: int) -> Iterator[Records]:
        edges = self.met.read(bucket, "edges", list(ENDS))
        yield _both_ways(edges["high"], edges["low"])


@dataclass(frozen=True)
class _ToHigh:
    """Sends the edges of a bucket to their larger ends."""

    met: Met

    def __call__(self, bucket: int) -> Iterator[Records]:
        edges = self.met.read(bucket, "edges", list(ENDS))
        yield filled(EDGE, len(edges), hash=spread(edges["high"]), one=edges["high"], other=edges["low"])


def _distinct(
    one: NDArray[np.uint64], other: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return each edge once, ordered by ``one``, then by ``other``."""
    order = np.lexsort((other, one))
    one, other = one[order], other[order]
    again = (one[1:] == one[:-1]) & (other[1:] == other[:-1])
    first = np.concatenate([np.ones(min(1, len(one)), bool), ~again])
    return one[first], other[first]


def _neighbours(
    records: Records,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges of a bucket, where each vertex's begin, and the vertex of each edge."""
    one, other = _distinct(records["one"], records["other"])
    begins = np.concatenate([[True], one[1:] != one[:-1]])
    return one, other, np.flatnonzero(begins), np.cumsum(begins) - 1


def large_star(records: Records) -> Mapping[str, NDArray[Any]]:
    """Tie the larger neighbours of each vertex of a bucket to the smallest vertex around it.

    Returns:
      ``edges``; ``unsettled``: how many vertices show that a component is no star yet; where none does, ``vertex``, ``label``
      and ``size`` (of the component, for its smallest member, else 0) hold, with ``vertices`` and ``roots``.
    """
    one, other, starts, place = _neighbours(records)
    vertex = one[starts]
    label = np.minimum(vertex, other[starts])
    larger = other > one
    high, low = _distinct(other[larger], label[place[larger]])
    # In a star its middle has larger neighbours only, another vertex a single smaller one.
    above = np.add.reduceat(larger.astype(np.int64), starts)
    below = np.add.reduceat((~larger).astype(np.int64), starts)
    root = below == 0
    return {
        "edges": filled(ENDS, len(high), high=high, low=low),
        "unsettled": np.array([int((((above > 0) & (below > 0)) | (below > 1)).sum())]),
        "vertex": vertex,
        "label": label,
        "size": np.where(root, above + 1, 0),
        "vertices": np.array([len(vertex)]),
        "roots": np.array([int(root.sum())]),
    }


def small_star(records: Records) -> Mapping[str, NDArray[Any]]:
    """Tie each vertex of a bucket and its smaller neighbours to the smallest of these; return ``edges``."""
    one, other, starts, place = _neighbours(records)
    least = other[starts]
    rest = other != least[place]
    high, low = _distinct(
        np.concatenate([one[starts], other[rest]]), np.concatenate([least, least[place[rest]]])
    )
    return {"edges": filled(ENDS, len(high), high=high, low=low)}

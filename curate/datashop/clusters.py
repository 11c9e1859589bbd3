"""Which of a few thousand texts are near-duplicates: these must be on the same side of a split.

MinHash over runs of three tokens, bands of equal signatures, connected components.
Source: Broder, On the resemblance and containment of documents, 1997; Leskovec et al., Mining of Massive Datasets, section 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tootsie.curate.datashop.features import token_hashes

BANDS = 24
ROWS = 4
"""Hashes of a band: texts that share half of their runs meet with a chance of 79 %, three quarters of them with 99.99 %."""


def near_duplicate_clusters(contents: Sequence[bytes], known: Sequence[str | None] = ()) -> NDArray[np.int64]:
    """Return the number of each text's cluster: int64[n].

    Args:
      contents: UTF-8 texts.
      known: cluster that an earlier step found for each text, if any; equal names join.
    """
    count = len(contents)
    random = np.random.default_rng(0)
    multipliers = random.integers(0, 1 << 63, BANDS * ROWS, np.uint64) * np.uint64(2) + np.uint64(1)
    signatures = np.zeros((count, BANDS * ROWS), np.uint64)
    for number, content in enumerate(contents):
        tokens, _ = token_hashes([content], fold_digits=False)
        runs = (
            tokens
            if len(tokens) < 3
            else tokens[:-2] * np.uint64(3) + tokens[1:-1] * np.uint64(5) + tokens[2:]
        )
        runs = np.unique(runs)
        if not len(runs):
            signatures[number] = number
            continue
        for index, multiplier in enumerate(multipliers):
            mixed = runs * multiplier
            signatures[number, index] = (mixed ^ (mixed >> np.uint64(29))).min()
    left: list[NDArray[np.int64]] = []
    right: list[NDArray[np.int64]] = []
    groups = [signatures[:, band * ROWS : (band + 1) * ROWS] for band in range(BANDS)]
    for group in groups:
        _, label = np.unique(group, axis=0, return_inverse=True)
        label = label.reshape(-1)
        order = np.argsort(label, kind="stable")
        same = label[order[1:]] == label[order[:-1]]
        left.append(order[:-1][same])
        right.append(order[1:][same])
    seen: dict[str, int] = {}
    for number, name in enumerate(known):
        if name is not None:
            left.append(np.array([seen.setdefault(name, number)]))
            right.append(np.array([number]))
    rows, columns = np.concatenate(left), np.concatenate(right)
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(count, count))
    _, labels = connected_components(graph, directed=False)
    return labels.astype(np.int64)

"""What a block shuffle saves in reads of an object store, and what it costs in randomness, beside the full shuffle.

    python benchmarks/shuffle.py [--windows 1048583] [--draws 131072]

One dataset of windows of 4,096 ids of four bytes, 16 KiB each. Reads are counted, not timed: of single windows or of whole
blocks, through a cache of the last ones read. An epoch is looked at in batches of 1,024 draws:

- *requests*: reads that the cache does not serve, for 1,000 draws;
- *read for used*: bytes read for a byte drawn;
- *neighbours apart*: how many draws lie between two windows that are neighbours in the file, in parts of the epoch: the mean,
  and what the nearest hundredth of them stay below;
- *same document*: rows of a batch whose document has another row in it, where documents are 16 windows long;
- *variance*: of the mean over a batch of something that follows the place in the file, as a multiple of that of independent
  draws: of the place itself (a file sorted by date), and of a value that 1,000 windows in a row share (one sorted by site).
"""

from __future__ import annotations

import argparse
import time
from collections import OrderedDict

import numpy as np

from tootsie.mixtures.block_shuffle import BlockShuffle, Shuffle, epoch_shuffle

WINDOW = 4096 * 4
"""Bytes of a window."""
BATCH = 1024
DOCUMENT = 16
"""Windows of a document."""
SITE = 1000
"""Windows of a site."""
CACHES = (2**28, 2**30)
SHUFFLES = (
    (None, 1),
    (None, 64),
    ((16, 64), 16),
    ((64, 16), 64),
    ((64, 64), 64),
    ((64, 256), 64),
    ((256, 16), 256),
    ((256, 64), 256),
    ((1024, 64), 1024),
)
"""Block and group, and the windows of one read."""


def reads(order: np.ndarray, size: int, room: int) -> int:
    """Return how many ranges of ``size`` windows are read for the windows ``order``, with room for so many of them."""
    held: OrderedDict[int, None] = OrderedDict()
    missed = 0
    for number in (order // size).tolist():
        if number in held:
            held.move_to_end(number)
            continue
        missed += 1
        held[number] = None
        if len(held) > room:
            held.popitem(last=False)
    return missed


def variance(order: np.ndarray, value: np.ndarray) -> float:
    """Return the variance of the mean over a batch, as a multiple of that of independent draws."""
    batches = value[order[: len(order) // BATCH * BATCH]].reshape(-1, BATCH).mean(axis=1)
    return float(batches.var() / (value.var() / BATCH))


def same_document(order: np.ndarray) -> float:
    """Return the share of the rows of a batch whose document has another row in it."""
    shares = []
    for batch in (order[: len(order) // BATCH * BATCH] // DOCUMENT).reshape(-1, BATCH):
        _, counts = np.unique(batch, return_counts=True)
        shares.append(counts[counts > 1].sum() / BATCH)
    return float(np.mean(shares))


def measure(shuffle: Shuffle, read: int, draws: int, sites: np.ndarray) -> str:
    before = time.process_time()
    order = shuffle(np.arange(shuffle.n))
    seconds = time.process_time() - before
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    apart = np.abs(np.diff(place)) / len(order)
    columns = []
    for cache in CACHES:
        missed = reads(order[:draws], read, max(1, cache // (read * WINDOW)))
        columns.append(f"{1000 * missed / draws:,.1f} | {missed * read / draws:.2f}")
    file = np.arange(len(order)) / len(order)
    return (
        f"{' | '.join(columns)} | {apart.mean():.3f} | {np.quantile(apart, 0.01):.1e} | {same_document(order):.1%} | "
        f"{variance(order, file):.2f} | {variance(order, sites):.2f} | {len(order) / seconds / 1e6:.1f} M"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=2**20 + 7)
    parser.add_argument("--draws", type=int, default=2**17)
    arguments = parser.parse_args()
    sites = np.random.default_rng(0).normal(size=arguments.windows // SITE + 1)[
        np.arange(arguments.windows) // SITE
    ]
    small, large = (f"{cache // 2**20:,} MiB" for cache in CACHES)
    print(f"# {arguments.windows:,} windows of {WINDOW // 1024} KiB, batches of {BATCH:,}")
    print(f"# reads of the first {arguments.draws:,} draws\n")
    print(
        f"| shuffle | a read | requests, cache of {small} | read for used | requests, {large} | read for used | "
        "neighbours apart, mean | nearest 1 % | same document | variance, by place | by site | computed a second |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for sizes, read in SHUFFLES:
        chosen = None if sizes is None else BlockShuffle(block=sizes[0], group=sizes[1])
        title = "full" if sizes is None else f"block {sizes[0]:,}, group {sizes[1]:,}"
        shuffle = epoch_shuffle(arguments.windows, 1, "web", 0, chosen)
        print(
            f"| {title} | {read * WINDOW // 1024:,} KiB | {measure(shuffle, read, arguments.draws, sites)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

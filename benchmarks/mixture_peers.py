"""The mixers that ``benchmarks/mixture.py`` sets beside ours. Each runs in a process of its own, with the Python that has it.

    python benchmarks/mixture_peers.py NAME < task.json      # prints one JSON object

The task: ``shares`` (of the datasets, adding up to 1), ``windows`` (sequences in an epoch of each), ``positions`` (to draw),
``seed``, ``change`` (shares from position ``change_at`` on); for ours also ``plans`` (compiled, before and after the change),
``names`` of the datasets and ``offset`` of the first position.
This file imports nothing of the package but in the part that measures it: peers need other versions of what it depends on.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import itertools
import json
import os
import resource
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Draw = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
"""From [first, end) to the dataset of each position and which of its sequences it is, a number that differs between epochs."""
BATCH = 2**16
EVERY_EPOCH = 2**40
SHARD = 4096
"""Sequences of 4,096 tokens in a file of 64 MiB."""
MANY = 2**21


def megatron(task: dict[str, Any], shares: list[float], start: int, size: int) -> Draw:
    """BlendedDataset, whose index is built for the whole run by its C++ helper."""
    from megatron.core.datasets.blended_dataset import BlendedDataset
    from megatron.core.datasets.utils import Split

    class Sequences:
        """Stands for a GPTDataset: as many sequences as are drawn."""

        index_split = Split.train

        def __init__(self, name: int) -> None:
            self.unique_identifiers = {"name": name}

        def __len__(self) -> int:
            return EVERY_EPOCH

    config = types.SimpleNamespace(
        path_to_cache=None, defer_npy_index_mmap=False, fast_cache_load=False, mid_level_dataset_surplus=0.005
    )
    blend = BlendedDataset([Sequences(i) for i in range(len(shares))], shares, size, config)
    return lambda first, end: (
        blend.dataset_index[first:end].astype(np.int32),
        blend.dataset_sample_index[first:end],
    )


def streaming(task: dict[str, Any], shares: list[float], start: int, size: int) -> Draw:
    """StreamingDataset, whose order of an epoch is made as a whole; an epoch is as long as what is drawn."""
    need_no_images()
    from streaming import Stream, StreamingDataset
    from streaming.base.batching import generate_work
    from streaming.base.util import clean_stale_shared_memory
    from streaming.base.world import World

    clean_stale_shared_memory()
    folder = Path(tempfile.mkdtemp(prefix="streams-"))
    for number, share in enumerate(task["shares"]):
        # What an epoch can be chosen from is written down when it begins: no more of it than matters here.
        least = MANY if task["what"] == "change" else max(64, int(2 * share * size))
        samples = min(task["windows"][number], least)
        (folder / str(number)).mkdir()
        shards = [
            {
                "column_encodings": ["int"], "column_names": ["x"], "column_sizes": [8], "compression": None,
                "format": "mds", "hashes": [], "samples": min(SHARD, samples - first), "size_limit": None,
                "raw_data": {"basename": f"shard.{first}.mds", "bytes": 2**26, "hashes": {}}, "version": 2,
                "zip_data": None,
            }
            for first in range(0, samples, SHARD)
        ]  # fmt: skip
        (folder / str(number) / "index.json").write_text(json.dumps({"shards": shards, "version": 2}))
    streams = [Stream(local=str(folder / str(i)), proportion=share) for i, share in enumerate(shares)]
    dataset = StreamingDataset(
        streams=streams,
        epoch_size=size,
        shuffle=True,
        batch_size=1024,
        num_canonical_nodes=1,
        shuffle_block_size=4_000_000,
    )
    ids = generate_work("random", dataset, World.detect(), 0, start).reshape(-1)
    ids = ids[ids >= 0]
    bounds = np.asarray(dataset.sample_offset_per_stream)

    def draw(first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        mine = ids[first - start : end - start]
        return (np.searchsorted(bounds, mine, side="right") - 1).astype(np.int32), mine

    return draw


def need_no_images() -> None:
    """Let Streaming be imported where torchvision does not fit torch (one built for processors only, say): no images are read."""
    try:
        importlib.import_module("torchvision.datasets")
    except (ImportError, RuntimeError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        parts = {
            "": [],
            ".datasets": ["VisionDataset"],
            ".transforms": [],
            ".transforms.functional": ["to_tensor"],
        }
        for part, names in parts.items():
            module = types.ModuleType(f"torchvision{part}")
            module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
            module.__dict__.update(dict.fromkeys(names, object))
            sys.modules[module.__name__] = module


def grain(task: dict[str, Any], shares: list[float], start: int, size: int) -> Draw:
    """MapDataset.mix over shuffled, repeated ranges: computed at each access."""
    import grain as package

    bounds = np.concatenate([[0], np.cumsum(task["windows"])])
    # In what is counted after a change, the order within a dataset is left as it lies, so that a gap in it can be seen.
    parents = [
        package.MapDataset.range(int(low), int(high))
        if task["what"] == "change"
        else package.MapDataset.range(int(low), int(high)).shuffle(seed=task["seed"] + number)
        for number, (low, high) in enumerate(itertools.pairwise(bounds))
    ]
    parents = [parent.repeat() for parent in parents]
    mixed = package.MapDataset.mix(parents, weights=shares)

    def draw(first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = np.array([mixed[position] for position in range(first, end)], dtype=np.int64)
        return (np.searchsorted(bounds, drawn, side="right") - 1).astype(np.int32), drawn

    return draw


def tootsie(task: dict[str, Any], shares: list[float], start: int, size: int) -> Draw:
    from tootsie.mixtures.order import Order
    from tootsie.mixtures.plan import Plan

    plan = Plan.load(task["plans"][int(start > 0)])
    order = Order(plan)
    ours = {name: number for number, name in enumerate(task["names"])}
    number = np.array([ours.get(dataset.name, -1) for dataset in plan.datasets], dtype=np.int32)

    def draw(first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        draws = order.draw(np.arange(task["offset"] + first, task["offset"] + end, dtype=np.int64))
        return number[draws.dataset], draws.window + draws.epoch * EVERY_EPOCH

    return draw


MIXERS: dict[str, Callable[[dict[str, Any], list[float], int, int], Draw]] = {
    "tootsie": tootsie,
    "megatron": megatron,
    "streaming": streaming,
    "grain": grain,
}


def largest_distance(dataset: np.ndarray, shares: list[float]) -> float:
    """Return the largest distance of a dataset from its share, in sequences, at any prefix."""
    prefix = np.arange(1, len(dataset) + 1)
    return max(
        float(np.abs(np.cumsum(dataset == number) - share * prefix).max())
        for number, share in enumerate(shares)
    )


def peak_memory() -> int:
    """Return the most bytes that this process had in memory; ``getrusage`` would count those of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(name: str, task: dict[str, Any]) -> dict[str, Any]:
    """Draw all positions once, from the start; CPU seconds from the start of the process."""
    make, positions = MIXERS[name], task["positions"]
    make(task, task["shares"], 0, 2048)  # Imports, and whatever else is done once.
    imported = time.process_time()
    draw = make(task, task["shares"], 0, positions)
    draw(0, 1)
    built = time.process_time()
    parts = [draw(first, min(first + BATCH, positions))[0] for first in range(0, positions, BATCH)]
    ended = time.process_time()
    dataset = np.concatenate(parts)
    return {
        # What has to be built for all positions before the first can be drawn is part of the price of each.
        "rate": positions / (ended - imported),
        "start": built,
        "peak": peak_memory(),
        "distance_1k": largest_distance(dataset[:1000], task["shares"]),
        "distance": largest_distance(dataset, task["shares"]),
        "positions": positions,
    }


def change(name: str, task: dict[str, Any]) -> dict[str, Any]:
    """Change the shares in the middle of a run; count what is drawn again, and what of the past is not as it was."""
    at, make = task["change_at"], MIXERS[name]
    old = make(task, task["shares"], 0, 2 * at)
    past = set(zip(*(part.tolist() for part in old(0, at)), strict=True))
    new = make(task, task["change"], at, 2 * at)
    after = list(zip(*(part.tolist() for part in new(at, 2 * at)), strict=True))
    again = sum(pair in past for pair in after)
    if (
        name == "streaming"
    ):  # What an epoch holds is chosen anew, so there is no order that something could be left out of.
        return {"again": again, "of": at, "skipped": None}
    drawn = past | set(after)
    numbers = np.array([dataset for dataset, _ in drawn])
    distinct = np.bincount(numbers, minlength=len(task["shares"]))
    if name == "tootsie":
        return {"again": again, "of": at, "skipped": int((passed(task, 2 * at) - distinct).sum())}
    units = np.array([unit for _, unit in drawn]) - np.array(first_units(name, task))[numbers]
    last = np.zeros(len(task["shares"]), dtype=np.int64)
    np.maximum.at(last, numbers, units + 1)
    return {"again": again, "of": at, "skipped": int((last - distinct).sum())}


def first_units(name: str, task: dict[str, Any]) -> list[int]:
    """Return the number of the first sequence of each dataset."""
    return [0] * len(task["shares"]) if name == "megatron" else [0, *np.cumsum(task["windows"])[:-1].tolist()]


def passed(task: dict[str, Any], end: int) -> np.ndarray:
    """Return how many sequences of each dataset our counters pass between the first position and ``end``."""
    from tootsie.mixtures.order import Order
    from tootsie.mixtures.plan import Plan

    plan = Plan.load(task["plans"][1])
    counts = Order(plan).counts(task["offset"] + end) - Order(plan).counts(task["offset"])
    by_name = dict(zip((dataset.name for dataset in plan.datasets), counts.tolist(), strict=True))
    return np.array([by_name[name] for name in task["names"]])


def main() -> None:
    if len(sys.argv) < 2:
        print("benchmarks/mixture.py runs this")
        return
    warnings.simplefilter("ignore")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    task = json.load(sys.stdin)
    result = (change if task["what"] == "change" else measure)(sys.argv[1], task)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

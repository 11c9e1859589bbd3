"""The loaders that ``benchmarks/sampler.py`` sets beside ours. Each runs in a process of its own, with the Python that has it.

    python benchmarks/sampler_peers.py NAME write|read < task.json      # prints one JSON object

The task: ``folder`` (with ``flat/N.bin``: the tokens of dataset N, uint32, and ``flat/N.npy``: where its documents end),
``shares`` of the datasets, ``length`` of a row, ``batch`` (rows), ``steps`` (batches to read), ``seed``; for ours also ``plan``.
Every loader gets rows in a shuffled order over all datasets and makes batches of arrays [batch, length] of them.
This file imports nothing of the package but in the part that measures it: peers need other versions of what it depends on.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import json
import os
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Task = dict[str, Any]
WARM_UP = 4
"""Batches that the peers read before the clock starts: imports, files opened, threads begun.

Ours and the floor say when they are ready instead (``None``), before anything is read, so that what a first touch costs counts.
"""


def flat(task: Task, number: int) -> np.ndarray:
    return np.memmap(Path(task["folder"]) / "flat" / f"{number}.bin", np.uint32, "r")


def rows_of(task: Task) -> list[int]:
    return [len(flat(task, number)) // task["length"] for number in range(len(task["shares"]))]


# ------------------------------------------------------------------------------------------------ the floor


def memmap(task: Task) -> Iterator[np.ndarray | None]:
    """The floor: rows of memory-mapped files, in an order made before; tokens and nothing else."""
    return (found and found[0] for found in chosen_rows(task))


def chosen_rows(task: Task) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray] | None]:
    """Yield a batch of tokens, int32[B, T], and the dataset and row, int64[B], of each; first ``None``."""
    counts = rows_of(task)
    files = [
        flat(task, number)[: count * task["length"]].reshape(count, task["length"])
        for number, count in enumerate(counts)
    ]
    rng = np.random.default_rng(task["seed"])
    dataset = np.repeat(np.arange(len(counts)), counts)
    row = np.concatenate([np.arange(count) for count in counts])
    size, total = task["batch"], len(row)
    orders = [rng.permutation(total) for _ in range(-(-(task["steps"] * size + size) // total))]
    order = np.concatenate(orders)
    yield None
    for step in range(task["steps"]):
        chosen = order[step * size : (step + 1) * size]
        out = np.empty((size, task["length"]), np.uint32)
        for number in np.unique(dataset[chosen]):
            where = np.flatnonzero(dataset[chosen] == number)
            out[where] = files[number][row[chosen[where]]]
        yield out.view(np.int32), dataset[chosen], row[chosen]


def memmap_segments(task: Task) -> Iterator[np.ndarray | None]:
    """The same with segment ids and a loss mask, for who knows where documents end."""
    length, size = task["length"], task["batch"]
    ends = [np.load(Path(task["folder"]) / "flat" / f"{n}.npy") for n in range(len(task["shares"]))]
    for found in chosen_rows(task):
        if found is None:
            yield None
            continue
        tokens, dataset, row = found
        segment_ids, _ = np.empty((size, length), np.int32), np.ones((size, length), bool)
        for place in range(size):
            start = int(row[place]) * length
            mine = ends[dataset[place]]
            first, last = np.searchsorted(mine, (start + 1, start + length))
            cuts = np.concatenate([[start], mine[first:last], [start + length]])
            segment_ids[place] = np.repeat(np.arange(1, len(cuts), dtype=np.int32), np.diff(cuts))
        yield tokens


# ------------------------------------------------------------------------------------------------ ours


def tootsie(task: Task, checking: str = "FIRST_USE", segments: bool = False) -> Iterator[np.ndarray | None]:
    """Batches of the sampler: the order is drawn, and what the plan says of each row comes along."""
    from tootsie.mixtures.order import AHEAD_AFTER
    from tootsie.mixtures.plan import Plan
    from tootsie.mixtures.sampler import Sampler
    from tootsie.tokenize.cache import Checking, TokenCache

    plan = Plan.load(task["plan"])
    caches = {dataset.name: TokenCache.open(dataset.cache, Checking[checking]) for dataset in plan.datasets}
    sampler = Sampler(plan, caches)
    for step in range(AHEAD_AFTER + 1):
        sampler.draws(step)
    for cache in caches.values():
        for number in range(len(cache.ledger.shards)):
            list(cache.open_shard(number).batches)  # where documents begin; no token is read
    yield None
    for step in range(AHEAD_AFTER, task["steps"]):
        batch = sampler.batch(step)
        if segments:
            assert batch.segment_ids.shape == batch.loss_mask.shape == batch.tokens.shape
        yield batch.tokens


def drawing(task: Task) -> float:
    """Return the CPU seconds that drawing the order takes for a batch, in the stretches in which it is drawn.

    A stretch is drawn for many more batches than are read here, before the clock starts.
    """
    from tootsie.mixtures import order
    from tootsie.mixtures.plan import Plan

    draws = order.Order(Plan.load(task["plan"]))
    draws.draw(np.arange(order.AHEAD))
    before = time.process_time()
    draws.draw(np.arange(order.AHEAD, 2 * order.AHEAD))
    return (time.process_time() - before) / (order.AHEAD / task["batch"])


# ------------------------------------------------------------------------------------------------ the peers


def write_megatron(task: Task) -> None:
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

    for number in range(len(task["shares"])):
        prefix = str(Path(task["folder"]) / "megatron" / str(number))
        os.makedirs(os.path.dirname(prefix), exist_ok=True)
        tokens = flat(task, number).astype(np.int32)
        ends = np.load(Path(task["folder"]) / "flat" / f"{number}.npy")
        builder = IndexedDatasetBuilder(prefix + ".bin", dtype=np.int32)
        begin = 0
        for end in ends.tolist():
            builder.add_document(torch.from_numpy(tokens[begin:end]), [end - begin])
            begin = end
        builder.finalize(prefix + ".idx")


def megatron(task: Task) -> Iterator[np.ndarray]:
    """GPTDataset over memory-mapped files, blended; its items stacked as torch's DataLoader does."""
    import torch
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig

    class Tokenizer:
        eod = 0
        pad = -1
        vocab_size = 128_256
        unique_identifiers = {"class": "none"}  # noqa: RUF012

    folder = Path(task["folder"]) / "megatron"
    weights = (
        [str(folder / str(number)) for number in range(len(task["shares"]))],
        [float(share) for share in task["shares"]],
    )
    config = GPTDatasetConfig(
        random_seed=task["seed"],
        sequence_length=task["length"],
        blend=weights,
        split="1,0,0",
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
        tokenizer=Tokenizer(),
        path_to_cache=None,
    )
    samples = task["steps"] * task["batch"]
    train, _, _ = BlendedMegatronDatasetBuilder(GPTDataset, [samples, 0, 0], lambda: True, config).build()
    for step in range(task["steps"]):
        items = [train[step * task["batch"] + row]["tokens"] for row in range(task["batch"])]
        yield torch.stack(items).numpy()


def without_vision() -> None:
    """Stand in for torchvision, which Streaming imports for its datasets of images; its build often does not fit torch's."""
    for name, content in (
        ("", ""),
        (".datasets", "VisionDataset"),
        (".transforms", ""),
        (".transforms.functional", "to_tensor"),
    ):
        module = types.ModuleType("torchvision" + name)
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
        if content:
            setattr(module, content, object)
        sys.modules[module.__name__] = module


def write_streaming(task: Task) -> None:
    without_vision()
    from streaming import MDSWriter

    for number, count in enumerate(rows_of(task)):
        tokens = flat(task, number)
        folder = str(Path(task["folder"]) / "streaming" / str(number))
        with MDSWriter(
            out=folder, columns={"tokens": f"ndarray:uint32:{task['length']}"}, size_limit=2**26
        ) as writer:
            for row in range(count):
                writer.write({"tokens": np.array(tokens[row * task["length"] : (row + 1) * task["length"]])})


def streaming(task: Task) -> Iterator[np.ndarray]:
    without_vision()
    from streaming import Stream, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    folder = Path(task["folder"]) / "streaming"
    streams = [
        Stream(local=str(folder / str(number)), proportion=share)
        for number, share in enumerate(task["shares"])
    ]
    dataset = StreamingDataset(
        streams=streams,
        epoch_size=task["steps"] * task["batch"],
        shuffle=True,
        shuffle_seed=task["seed"],
        batch_size=task["batch"],
        num_canonical_nodes=1,
    )
    rows = []
    for sample in dataset:
        rows.append(sample["tokens"])
        if len(rows) == task["batch"]:
            yield np.stack(rows)
            rows = []


def write_grain(task: Task) -> None:
    from array_record.python.array_record_module import ArrayRecordWriter

    os.makedirs(Path(task["folder"]) / "grain", exist_ok=True)
    for number, count in enumerate(rows_of(task)):
        tokens = flat(task, number)
        writer = ArrayRecordWriter(
            str(Path(task["folder"]) / "grain" / f"{number}.array_record"), "group_size:1,uncompressed"
        )
        for row in range(count):
            writer.write(tokens[row * task["length"] : (row + 1) * task["length"]].tobytes())
        writer.close()


def grain(task: Task) -> Iterator[np.ndarray]:
    import grain as package

    parents = [
        package.MapDataset.source(
            package.sources.ArrayRecordDataSource(
                str(Path(task["folder"]) / "grain" / f"{number}.array_record")
            )
        )
        .shuffle(seed=task["seed"] + number)
        .repeat()
        for number in range(len(task["shares"]))
    ]
    mixed = package.MapDataset.mix(parents, weights=task["shares"])
    batches = (
        mixed.slice(slice(0, task["steps"] * task["batch"]))
        .map(lambda record: np.frombuffer(record, np.uint32))
        .batch(task["batch"])
    )
    # Little is read ahead, or most of it would be done before the clock starts.
    yield from iter(batches.to_iter_dataset(package.ReadOptions(num_threads=2, prefetch_buffer_size=2)))


LOADERS: dict[str, tuple[Callable[[Task], None] | None, Callable[[Task], Iterator[np.ndarray | None]]]] = {
    "memmap": (None, memmap),
    "memmap, segments": (None, memmap_segments),
    "tootsie": (None, tootsie),
    "tootsie, never": (None, functools.partial(tootsie, checking="NEVER")),
    "tootsie, segments": (None, functools.partial(tootsie, segments=True)),
    "tootsie, segments, never": (None, functools.partial(tootsie, checking="NEVER", segments=True)),
    "megatron": (write_megatron, megatron),
    "streaming": (write_streaming, streaming),
    "grain": (write_grain, grain),
}


def measure(name: str, task: Task) -> dict[str, float]:
    """Read all batches; tokens per CPU second of all threads and per second, for those after :data:`WARM_UP`.

    Ours has drawn its order by then, far ahead; what that takes for so many batches is added.
    """
    number = seen = batches = total = 0
    before = clock = None
    for tokens in LOADERS[name][1](task):
        if tokens is not None:
            assert tokens.shape == (task["batch"], task["length"]), tokens.shape
            total += int(tokens[:, ::512].sum())
            number += 1
            if before is not None:
                seen, batches = seen + tokens.size, batches + 1
        if before is None and (tokens is None or number == WARM_UP):
            before, clock = time.process_time(), time.perf_counter()
    assert before is not None
    assert clock is not None
    cpu, wall = time.process_time() - before, time.perf_counter() - clock
    if name.startswith("tootsie"):
        drawn = drawing(task) * batches
        cpu, wall = cpu + drawn, wall + drawn
    return {"rate": seen / cpu, "wall": seen / wall, "sum": total}


def main() -> None:
    if len(sys.argv) < 3:
        print("benchmarks/sampler.py runs this")
        return
    warnings.simplefilter("ignore")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    task = json.load(sys.stdin)
    write, _ = LOADERS[sys.argv[1]]
    with contextlib.redirect_stdout(sys.stderr):
        result: Any = None
        if sys.argv[2] == "write":
            if write is not None:
                write(task)
        else:
            result = measure(sys.argv[1], task)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""How fast shuffled rows of 4,096 tokens come out of 19 token caches, beside a plain memmap gather and three other loaders.

    make bench-sampler                                       # installs the peers in an environment of their own
    python benchmarks/sampler.py [--peers PYTHON] [--rounds 5] [--tokens 200M]

The floor is ``numpy.memmap``: rows of flat files, in an order made before, tokens only; no order, segment ids, loss mask or
checks. Ours draws the order and says of each row where it comes from; with and without comparing every block, with and without
asking for segment ids. The mixture is that of Starling, 19 datasets as large as their shares; ids of 32 bits, documents of some
1,000 tokens; a row is read once. Files lie in the page cache: what is compared is the loader, not the disk. Every loader reads
the same number of batches in a process of its own; tokens per CPU second of all its threads. Of the peers' the first batches
are left out; ours and the floor count from the first row on, once the files are open, so that every block is compared while the
clock runs. Loaders take turns; a ratio is the median of those of the rounds, so that what else the machine does in a round
weighs on both sides. Without the peers, or with ``--own``, only the package and the floor are measured. Data is made in
``.build/sampler-bench`` (about five times four bytes a token) and removed with ``--remove``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
RECIPE = HERE.parent / "mixtures" / "recipes" / "marin-8b.yaml"
PEERS = HERE.parent / ".build" / "mixture-peers" / "venv" / "bin" / "python"
FOLDER = HERE.parent / ".build" / "sampler-bench"
PHASE = "starling"
LENGTH, BATCH = 4096, 512
VOCABULARY = 128_256
FAR = 1_000_000
NAMES = {
    "memmap": "numpy.memmap, tokens only: the floor",
    "memmap, segments": "numpy.memmap, with segment ids and loss mask",
    "tootsie": "Tootsie, every block compared with its checksum",
    "tootsie, never": "… without that",
    "tootsie, segments": "Tootsie, compared, with segment ids and loss mask",
    "tootsie, segments, never": "… without that",
    "megatron": "Megatron GPTDataset, blended",
    "streaming": "MosaicML Streaming",
    "grain": "Grain, ArrayRecord",
}
OWN = (
    "memmap", "memmap, segments", "tootsie", "tootsie, never", "tootsie, segments", "tootsie, segments, never",
)  # fmt: skip
FLOOR = "memmap"


def shares() -> dict[str, float]:
    from tootsie.mixtures.compilation import compile_file

    phase = next(phase for phase in compile_file(str(RECIPE)).phases if phase.name == PHASE)
    return {name: count / phase.length for name, count in phase.sequences.items()}


def make_data(folder: Path, tokens: int) -> dict[str, Any]:
    """Write the datasets, flat and as caches, and compile the plan; return the task."""
    from tootsie.mixtures.compilation import compile_file

    parts = shares()
    plan = folder / "plan.json"
    task = {
        "folder": str(folder),
        "shares": list(parts.values()),
        "length": LENGTH,
        "batch": BATCH,
        "steps": tokens // (LENGTH * BATCH),
        "seed": 17,
        "plan": str(plan),
    }
    if not plan.exists():
        (folder / "flat").mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(0)
        for number, share in enumerate(parts.values()):
            ids, ends = make_documents(rng, max(16 * LENGTH, int(tokens * share)))
            ids.tofile(folder / "flat" / f"{number}.bin")
            np.save(folder / "flat" / f"{number}.npy", ends)
            write_cache(str(folder / "caches" / str(number)), str(number), ids, ends)
        (folder / "spec.json").write_text(spec_of(task))
        compile_file(str(folder / "spec.json")).save(str(plan))
    return task


def make_documents(rng: np.random.Generator, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids, uint32[N], and the ends of documents, int64[D]: lengths lognormal, 1,000 on average."""
    lengths = np.maximum(2, rng.lognormal(6.4, 1.0, tokens // 500)).astype(np.int64)
    ends = np.cumsum(lengths)
    ends = ends[: int(np.searchsorted(ends, tokens)) + 1]
    ids = rng.integers(1, VOCABULARY, int(ends[-1]), dtype=np.uint32)
    ids[ends - 1] = 0
    return ids, ends


def write_cache(folder: str, name: str, ids: np.ndarray, ends: np.ndarray, shard_tokens: int = 2**24) -> None:
    from tootsie.datasets.accounting import Accounting
    from tootsie.tokenize.identity import TokenizerIdentity
    from tootsie.tokenize.ledger import EngineInfo, Ledger, save_ledger
    from tootsie.tokenize.shard_writer import shard_path, write_shard

    identity = TokenizerIdentity(
        name="made-up", fingerprint="ab" * 32, vocabulary_size=VOCABULARY, dtype="uint32",
        bos_id=None, eos_id=0, add_bos=False, add_eos=True, golden_ids=(1, 0),
    )  # fmt: skip
    cuts = np.unique(np.searchsorted(ends, np.arange(shard_tokens, int(ends[-1]), shard_tokens)))
    groups = np.split(np.arange(len(ends)), cuts)
    entries = []
    for number, group in enumerate(groups):
        with write_shard(folder, shard_path(number, len(groups)), identity) as shard:
            for document in group.tolist():
                begin = int(ends[document - 1]) if document else 0
                end = int(ends[document])
                shard.writer.append(f"{name}-{document}", ids[begin:end], 4 * (end - begin))
        assert shard.entry is not None
        entries.append(shard.entry)
    save_ledger(
        folder,
        Ledger(
            name=name, tokenizer=identity, engine=EngineInfo(name="none", version="0"), sources=(), settings={},
            code_version="benchmark", shards=tuple(entries), documents=len(ends), tokens=int(ends[-1]),
            bytes=4 * int(ends[-1]), accounting=Accounting(read=len(ends), written=len(ends)),
        ),
    )  # fmt: skip


def spec_of(task: dict[str, Any]) -> str:
    """Return a spec of a run of more than a million steps over the caches, by the shares."""
    names = [f"dataset-{number:02d}" for number in range(len(task["shares"]))]
    weights = {
        name: {"weight": round(share * 10**9)} for name, share in zip(names, task["shares"], strict=True)
    }
    spec = {
        "name": "sampler", "seed": task["seed"], "sequence_length": LENGTH,
        "datasets": {name: {"cache": f"caches/{number}"} for number, name in enumerate(names)},
        "mixtures": {"all": {"groups": {"all": {"by": "weight", "datasets": weights}}}},
        "phases": [{"name": "all", "mixture": "all", "for": f"{FAR + 1000} steps", "batch_size": BATCH,
                    "learning_rate": 1e-3}],
    }  # fmt: skip
    return json.dumps(spec)


def run_loader(python: str, name: str, what: str, task: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(HERE / "sampler_peers.py"), name, what],
        input=json.dumps(task),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(python: str | None, rounds: int, task: dict[str, Any]) -> None:
    names = [name for name in NAMES if name in OWN or python is not None]
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    where = {name: sys.executable if name in OWN else str(python) for name in names}
    for name in names:
        done = Path(task["folder"]) / f"{name}.written"
        if not done.exists():
            run_loader(where[name], name, "write", task)
            done.touch()
    for _ in range(rounds):
        for name in names:
            results[name].append(run_loader(where[name], name, "read", task))
    if python is not None:
        versions = subprocess.run(
            [python, "-m", "pip", "list", "--format", "json"], capture_output=True, text=True, check=True
        )
        for package in json.loads(versions.stdout):
            if package["name"] in (
                "megatron-core",
                "mosaicml-streaming",
                "grain",
                "array_record",
                "torch",
                "numpy",
            ):
                print(f"# {package['name']} {package['version']}")
    print(
        f"# numpy {np.__version__} for ours and the floor; {len(task['shares'])} datasets, {task['steps']} batches of "
        f"{BATCH} rows of {LENGTH:,} tokens, {rounds} rounds\n"
    )
    print("| loader | million tokens per CPU second (spread) | of the floor (spread) |")
    print("|---|--:|--:|")
    for name in names:
        found = [result["rate"] / 1e6 for result in results[name]]
        of_floor = ratios(results, name, FLOOR)
        print(
            f"| {NAMES[name]} | {statistics.median(found):,.0f} ({min(found):,.0f} to {max(found):,.0f}) | "
            f"{statistics.median(of_floor):.0%} ({min(of_floor):.0%} to {max(of_floor):.0%}) |"
        )
    both = statistics.median(ratios(results, "tootsie, segments", "memmap, segments"))
    print(f"\nWith segment ids and loss mask, compared: {both:.0%} of the memmap's rate with these")
    others = [name for name in names if name not in OWN]
    if others:
        best = min(others, key=lambda name: statistics.median(ratios(results, "tootsie", name)))
        times = statistics.median(ratios(results, "tootsie", best))
        print(f"Tootsie is {times:.1f} times as fast as {NAMES[best]}, the fastest other")


def ratios(results: dict[str, list[dict[str, Any]]], name: str, other: str) -> list[float]:
    """Return for each round how many times as fast as another loader one was."""
    return [one["rate"] / two["rate"] for one, two in zip(results[name], results[other], strict=True)]


def resume(rounds: int, task: dict[str, Any]) -> None:
    """Print what a run that goes on at step 1,000,000 waits for its first batch."""
    code = f"""
import time
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.sampler import Sampler
before = time.perf_counter()
sampler = Sampler(Plan.load({task["plan"]!r}))
opened = time.perf_counter()
sampler.batch({FAR})
print(time.perf_counter() - before, opened - before)
"""
    found = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        found.append([float(number) for number in done.stdout.split()])
    whole, opened = (statistics.median(column) for column in zip(*found, strict=True))
    print(
        f"resume at step {FAR:,}: {whole:.2f} s to the first batch, {opened:.2f} s of it to open plan and caches"
    )


def opening(rounds: int) -> None:
    """Print how long a cache of many shards takes to open, and what memory it takes; the shards are files of holes."""
    for shards in (10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            make_many_shards(Path(folder), shards)
            code = f"""
import sys, time
sys.path.insert(0, {str(HERE)!r})
from mixture_peers import peak_memory
from tootsie.tokenize.cache import TokenCache
start, memory = time.perf_counter(), peak_memory()
cache = TokenCache.open({folder!r})
print(time.perf_counter() - start, (peak_memory() - memory) / 2**20)
"""
            found = []
            for _ in range(rounds):
                done = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True
                )
                found.append([float(number) for number in done.stdout.split()])
            seconds, memory = (statistics.median(column) for column in zip(*found, strict=True))
            print(f"open a cache of {shards:,} shards: {seconds:.2f} s, {memory:,.0f} MiB at most")


def make_many_shards(folder: Path, shards: int) -> None:
    from tootsie.datasets.accounting import Accounting
    from tootsie.tokenize.identity import TokenizerIdentity
    from tootsie.tokenize.ledger import EngineInfo, Ledger, ShardEntry, save_ledger
    from tootsie.tokenize.shard_writer import shard_path

    entries = []
    (folder / "shards").mkdir()
    for number in range(shards):
        path, size = shard_path(number, shards), 2**26 + 8 * number
        entries.append(
            ShardEntry(path=path, documents=16_000, tokens=2**24, bytes=2**26, size=size,
                       xxh3_128=f"{number:032x}", body=size - 2**16, trailer_xxh3_128=f"{number:032x}")
        )  # fmt: skip
        with (folder / path).open("wb") as stream:
            stream.truncate(size)
    identity = TokenizerIdentity(
        name="made-up", fingerprint="ab" * 32, vocabulary_size=VOCABULARY, dtype="uint32",
        bos_id=None, eos_id=0, add_bos=False, add_eos=True, golden_ids=(1, 0),
    )  # fmt: skip
    documents = 16_000 * shards
    save_ledger(
        str(folder),
        Ledger(
            name="many", tokenizer=identity, engine=EngineInfo(name="none", version="0"), sources=(), settings={},
            code_version="benchmark", shards=tuple(entries), documents=documents, tokens=2**24 * shards,
            bytes=2**26 * shards, accounting=Accounting(read=documents, written=documents),
        ),
    )  # fmt: skip


def number_of(text: str) -> int:
    return int(float(text.rstrip("MG")) * {"M": 10**6, "G": 10**9}.get(text[-1], 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default=str(PEERS), help="a Python that has the peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=number_of, default=number_of("200M"))
    parser.add_argument("--own", action="store_true", help="leave the peers out")
    parser.add_argument("--remove", action="store_true", help="remove the data afterwards")
    arguments = parser.parse_args()
    folder = FOLDER / f"{arguments.tokens}"
    task = make_data(folder, arguments.tokens)
    python = None if arguments.own or not os.path.exists(arguments.peers) else arguments.peers
    compare(python, arguments.rounds, task)
    print()
    resume(arguments.rounds, task)
    opening(min(3, arguments.rounds))
    if arguments.remove:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

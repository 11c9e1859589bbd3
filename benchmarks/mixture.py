"""How fast, large and exact the mixture order is, beside Megatron's BlendedDataset, MosaicML Streaming and Grain.

    make bench-mixture                                       # installs the peers in an environment of their own
    python benchmarks/mixture.py [--peers PYTHON] [--rounds 3]

The mixture is that of Starling, 19 datasets. Every mixer runs in its own process; CPU seconds, not seconds of the clock; medians
of rounds in which the mixers take turns. Without the peers, or with ``--own``, only what the package itself does is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
RECIPE = HERE.parent / "mixtures" / "recipes" / "marin-8b.yaml"
PEERS = HERE.parent / ".build" / "mixture-peers" / "venv" / "bin" / "python"
PHASE = "starling"
CHANGED = "dolmino/flan"
POSITIONS = 2**20
POSITIONS_GRAIN = 2**16
NAMES = {
    "tootsie": "Tootsie",
    "megatron": "Megatron BlendedDataset",
    "streaming": "MosaicML Streaming",
    "grain": "Grain mix",
}


def cpu_seconds(code: str) -> list[float]:
    """Run code in a fresh interpreter that prints numbers; return them."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def median_of(rounds: int, code: str) -> list[float]:
    return [
        statistics.median(column) for column in zip(*(cpu_seconds(code) for _ in range(rounds)), strict=True)
    ]


# ---------------------------------------------------------------------------------------------------- the peers


def make_task(folder: Path) -> dict[str, Any]:
    """Return what each mixer is asked: the shares of Starling, and the compiled plans of ours."""
    from tootsie.mixtures.compilation import compile_file

    plan = compile_file(str(RECIPE))
    phase = next(phase for phase in plan.phases if phase.name == PHASE)
    plan.save(str(folder / "plan.json"))
    (folder / "branch.yaml").write_text(branch_spec(phase.sequences, phase.first_step + 5))
    branch = compile_file(str(folder / "branch.yaml"))
    branch.save(str(folder / "branch.json"))
    names = list(phase.sequences)
    windows = {dataset.name: dataset.windows for dataset in plan.datasets}
    return {
        "names": names,
        "shares": [phase.sequences[name] / phase.length for name in names],
        "change": [branch.phases[-1].sequences[name] / branch.phases[-1].length for name in names],
        "windows": [windows[name] for name in names],
        "seed": plan.seed,
        "plans": [str(folder / "plan.json"), str(folder / "branch.json")],
        "offset": phase.start,
        "change_at": 5 * phase.batch_size,
    }


def branch_spec(sequences: dict[str, int], step: int) -> str:
    """Return a spec that goes on from Starling with twice as much of one dataset."""
    weights = {name: count * (2 if name == CHANGED else 1) for name, count in sequences.items()}
    return json.dumps(
        {
            "name": "changed",
            "branch": {"plan": "plan.json", "at": f"{step} steps"},
            "mixtures": {
                "more": {
                    "groups": {
                        "all": {
                            "by": "weight",
                            "datasets": {name: {"weight": weight} for name, weight in weights.items()},
                        }
                    }
                }
            },
            "phases": [{"name": "changed", "mixture": "more", "for": "1000 steps"}],
        }
    )


def run_mixer(python: str, name: str, task: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(HERE / "mixture_peers.py"), name], input=json.dumps(task), capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(python: str, rounds: int) -> None:
    """Print the table of the README."""
    with tempfile.TemporaryDirectory() as folder:
        task = make_task(Path(folder))
        results: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
        for _ in range(rounds):
            for name in NAMES:
                count = POSITIONS_GRAIN if name == "grain" and len(results[name]) else POSITIONS
                where = sys.executable if name == "tootsie" else python
                results[name].append(run_mixer(where, name, task | {"what": "measure", "positions": count}))
        changes = {
            name: run_mixer(sys.executable if name == "tootsie" else python, name, task | {"what": "change"})
            for name in NAMES
        }
    versions = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json"], capture_output=True, text=True, check=True
    )
    for package in json.loads(versions.stdout):
        if package["name"] in ("megatron-core", "mosaicml-streaming", "grain", "torch", "numpy"):
            print(f"# {package['name']} {package['version']}")
    print(
        f"# {len(task['names'])} datasets, {POSITIONS:,} positions from the start of {PHASE}, {rounds} rounds\n"
    )
    print(
        "| | index/s | start-up, CPU s | peak memory | off its share by 1k | by 1M | drawn again after a change | passed over |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, title in NAMES.items():
        mine = results[name]
        middle = {key: statistics.median(result[key] for result in mine) for key in ("rate", "start", "peak")}
        again = f"{changes[name]['again']:,} of {changes[name]['of']:,}"
        skipped = changes[name]["skipped"]
        print(
            f"| {title} | {middle['rate']:,.0f} | {middle['start']:.2f} | {middle['peak'] / 1e6:,.0f} MB | "
            f"{mine[0]['distance_1k']:.2f} | {mine[0]['distance']:.2f} | {again} | "
            f"{'a new epoch' if skipped is None else format(skipped, ',')} |"
        )


# ---------------------------------------------------------------------------------------------------- our own


def own_rates(rounds: int) -> None:
    """Print triples a second for one batch of contiguous positions, for one batch after another, and for random positions."""
    from tootsie.mixtures.compilation import compile_file
    from tootsie.mixtures.order import Order

    plan = compile_file(str(RECIPE))
    phase = next(phase for phase in plan.phases if phase.name == PHASE)
    rng = np.random.default_rng(0)
    sizes = {
        "contiguous": (2**12, 2**16, 2**20, 2**22),
        "read on": (2**12, 2**16),
        "random": (1, 2**6, 2**10, 2**12),
    }
    cases = [(kind, size) for kind, batches in sizes.items() for size in batches]
    rates: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    for _ in range(rounds):
        for kind, size in cases:
            order = Order(plan)  # Nothing is left over from the round before, but the tables of the shuffles.
            batches = {"read on": 2**20, "random": 2**12}.get(kind, size) // size
            first = int(rng.integers(phase.start, phase.end - batches * size))
            several = [first + number * size + np.arange(size) for number in range(batches)]
            if kind == "random":
                several = [rng.integers(0, plan.total_sequences, size) for _ in range(batches)]
            before = time.process_time()
            for positions in several:
                order.draw(positions)
            rates[kind, size].append(batches * size / (time.process_time() - before))
    for (kind, size), found in rates.items():
        print(
            f"draws, {kind:10s} {size:>9,}: {statistics.median(found):>9,.0f} a second "
            f"({min(found):,.0f} to {max(found):,.0f})"
        )


def own_times(rounds: int) -> None:
    """Print what compiling and tracing take, and that memory does not depend on the tokens of a run."""
    with tempfile.TemporaryDirectory() as folder:
        plan = f"{folder}/plan.json"
        compiled, imported = median_of(
            rounds,
            f"""
import time
from tootsie.mixtures.compilation import compile_file
imported = time.process_time()
compile_file({str(RECIPE)!r}).save({plan!r})
print(time.process_time() - imported, imported)
""",
        )
        print(f"compile {RECIPE.name}: {compiled:.3f} s, {imported:.3f} s before it to start and import")
        traced, loaded, jax = median_of(
            rounds,
            f"""
import sys, time
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.trace import trace_rows
before = time.process_time()
plan = Plan.load({plan!r})
loaded = time.process_time()
assert trace_rows(plan, 1_350_123, 7)
print(time.process_time() - loaded, loaded - before, int("jax" in sys.modules))
""",
        )
        print(
            f"trace: {traced * 1e3:.1f} ms, {loaded * 1e3:.1f} ms before it to read the plan, "
            f"JAX {'loaded' if jax else 'not loaded'}"
        )
        cache_trace(rounds, Path(folder))
        for factor in (1, 1000):
            spec = f"{folder}/spec-{factor}.yaml"
            Path(spec).write_text(large_spec(19, 3, 15 * factor / 1000))
            draw = "Order(plan).draw(np.arange(2**16) + plan.total_sequences // 2)\n"
            (peak,) = cpu_seconds(_compile_large(spec) + draw + "print(peak_memory() / 2**20)")
            print(
                f"memory, compile and draw 65,536 of {15 * factor / 1000:g}T tokens: {peak:.0f} MiB at most"
            )
        spec = f"{folder}/large.yaml"
        Path(spec).write_text(large_spec(1000, 100, 15))
        (seconds,) = median_of(rounds, _compile_large(spec) + "print(time.process_time() - imported)")
        print(f"compile 15T tokens, 1,000 datasets, 100 phases: {seconds:.2f} s")


def cache_trace(rounds: int, folder: Path) -> None:
    """Print what tracing a row to its documents and their URLs takes, from a cache of some million tokens."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(5000)]
    with open(folder / "pages.jsonl", "w") as file:
        for number in range(4000):
            record = {"id": f"page-{number}", "text": " ".join(rng.choices(words, k=200))}
            file.write(json.dumps(record | {"metadata": {"url": f"https://example.org/{number}"}}) + "\n")
    arguments = [str(folder / "pages.jsonl"), str(folder / "tokens"), "--tokenizer", "tootsie-16k"]
    subprocess.run([sys.executable, "-m", "tootsie.tokenize", *arguments], check=True, capture_output=True)
    spec = {
        "name": "pages",
        "seed": 1,
        "sequence_length": 4096,
        "datasets": {"web": {"cache": "tokens"}},
        "mixtures": {"all": {"groups": {"all": {"datasets": ["web"]}}}},
        "phases": [
            {"name": "one", "mixture": "all", "for": "40 steps", "batch_size": 16, "learning_rate": 1e-3}
        ],
    }
    (folder / "pages.yaml").write_text(json.dumps(spec))
    seconds, jax = median_of(
        rounds,
        f"""
import sys, time
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.trace import trace_rows
plan = compile_file({str(folder / "pages.yaml")!r})
before = time.process_time()
(row,) = trace_rows(plan, 17, 7)
assert all(document["url"] for document in row["documents"])
print(time.process_time() - before, int("jax" in sys.modules))
""",
    )
    loaded = "loaded" if jax else "not loaded"
    print(f"trace of a cache, documents and URLs: {seconds * 1e3:.1f} ms, JAX {loaded}")


def _compile_large(spec: str) -> str:
    return f"""
import hashlib, sys, time
import numpy as np
sys.path.insert(0, {str(HERE)!r})
from mixture_peers import peak_memory
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.measured import Measured
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan_parts import Evidence
from tootsie.mixtures.spec_file import load_spec
imported = time.process_time()
spec, source, _ = load_spec({spec!r})
sizes = {{
    name: Measured(
        url=name, identity=hashlib.sha256(name.encode()).hexdigest(), tokens=10**9 + 7919**2 * (number % 997),
        bytes=1, documents=1, evidence=Evidence.LEDGER, tokenizer=None,
    )
    for number, name in enumerate(spec.datasets)
}}
plan = compile_spec(spec, source, sizes)
"""


def large_spec(datasets: int, phases: int, tokens: float, seed: int = 0) -> str:
    """Return a spec of so many datasets and phases, in ten mixtures of ten groups, over ``tokens`` trillions of tokens."""
    rng = random.Random(seed)
    names = [f"dataset-{number:04d}" for number in range(datasets)]
    groups = min(10, datasets)
    mixtures = {
        f"mixture-{number}": {
            "groups": {
                f"group-{group}": {
                    "share": f"1/{groups}",
                    "datasets": {
                        name: {"oversample": rng.randint(1, 50) / 10} for name in names[group::groups]
                    },
                }
                for group in range(groups)
            }
        }
        for number in range(10)
    }
    stretches = [
        {
            "name": f"phase-{number}",
            "mixture": f"mixture-{number % 10}",
            "for": f"{round(tokens * 10**12 / phases)} tokens",
            "batch_size": 1024 + 16 * (number % 5),
            **({} if number else {"learning_rate": 1e-3}),
        }
        for number in range(phases)
    ]
    spec = {
        "name": "large",
        "seed": 1,
        "sequence_length": 4096,
        "datasets": {name: {"cache": f"tokens/{name}"} for name in names},
        "mixtures": mixtures,
        "phases": stretches,
    }
    return json.dumps(spec)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default=str(PEERS), help="a Python that has the peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--own", action="store_true", help="leave the peers out")
    arguments = parser.parse_args()
    own_rates(arguments.rounds)
    own_times(arguments.rounds)
    if not arguments.own and os.path.exists(arguments.peers):
        print()
        compare(arguments.peers, arguments.rounds)


if __name__ == "__main__":
    main()

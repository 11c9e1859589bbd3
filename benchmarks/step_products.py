"""How fast XLA and torch multiply matrices of the sizes of a training step on this machine's CPU.

    python benchmarks/step_products.py [--model 25m|125m] [--rounds 9] [--peers PYTHON]

The sizes are those of a model of ``train_cpu.py``: each product forward, and both of its gradients as they are computed there,
transposed operands included. One thread each, pinned to the same core, in turn: GFLOP in a second of CPU time, medians. That is
the floor of the step: what it takes beyond its products at this speed is attention, elementwise work and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import train_cpu

EQUATIONS = {"forward": "nd,df->nf", "of inputs": "nf,df->nd", "of weights": "nd,nf->df"}
"""The product of inputs [N, D] and weights [D, F], and its gradients."""


def products(model: dict[str, int]) -> Iterator[tuple[str, str, tuple[int, int, int]]]:
    """Give layer, which of the three products, and N, D and F."""
    from tootsie.train.loss import BLOCK

    tokens, size, mlp = model["rows"] * train_cpu.LENGTH, model["size"], model["mlp"]
    for layer, sizes in {
        "query, key, value, output": (tokens, size, size),
        "gate, up": (tokens, size, mlp),
        "down": (tokens, mlp, size),
        "head": (BLOCK, size, model["vocabulary"]),
    }.items():
        for which in EQUATIONS:
            yield layer, which, sizes


def product(library: str, which: str, sizes: tuple[int, int, int]) -> Callable[[], Any]:
    """Return what computes one product of random matrices."""
    of = dict(zip("ndf", sizes, strict=True))
    equation, random = EQUATIONS[which], np.random.default_rng(0)
    pair = [
        random.standard_normal([of[letter] for letter in name], dtype=np.float32)
        for name in equation.split("->")[0].split(",")
    ]
    if library == "torch":
        import torch

        torch.set_num_threads(1)
        left, right = (torch.from_numpy(x) for x in pair)
        run = {"forward": lambda: left @ right, "of inputs": lambda: left @ right.T}
        return run.get(which, lambda: left.T @ right)
    import jax

    arrays = [jax.device_put(x) for x in pair]
    compiled = jax.jit(lambda a, b: jax.numpy.einsum(equation, a, b)).lower(*arrays).compile()
    return lambda: compiled(*arrays).block_until_ready()


def serve(library: str) -> None:
    """Compute the product that a line names, ``rounds`` times; print GFLOP per second of CPU time."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for line in sys.stdin:
        which, sizes, rounds = json.loads(line)
        run, found = product(library, which, sizes), []
        for _ in range(rounds + 1):
            began = time.process_time()
            run()
            found.append(2e-9 * np.prod(sizes, dtype=float) / (time.process_time() - began))
        print(statistics.median(found[1:]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", choices=train_cpu.MODELS, default="125m")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", default=str(train_cpu.PEERS), help="Python that has torch")
    parser.add_argument("--serve", choices=("XLA", "torch"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    pythons = {"XLA": sys.executable} | ({"torch": given.peers} if Path(given.peers).exists() else {})
    running = {
        library: subprocess.Popen(
            [python, __file__, "--serve", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | train_cpu.malloc_settings() | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
        )
        for library, python in pythons.items()
    }
    print(f"{given.model}, GFLOP in a second of CPU time: " + ", ".join(running))
    for layer, which, sizes in products(train_cpu.MODELS[given.model]):
        row = f"  {layer:26} {which:11} {' x '.join(map(str, sizes)):20}"
        for process in running.values():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([which, sizes, given.rounds]) + "\n")
            process.stdin.flush()
            row += f" {float(process.stdout.readline()):6.0f}"
        print(row, flush=True)
    for process in running.values():
        process.communicate()


if __name__ == "__main__":
    main()

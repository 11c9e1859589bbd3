"""What a step of the training loop costs besides the compiled program: data, records, watching, settings.

    python benchmarks/step_overhead.py [--steps 250] [--rows 8] [--length 512] [--datasets 19]

The loop runs as it is, with its sampler, line files, TensorBoard, alarms, and an average in the state; in the place of the
compiled program stands one that returns its state at once, so what is left is the overhead. No evaluation, no checkpoint but the
first and the last. Times are of CPU: of the loop's own thread, which a device waits for, and of the whole process, reading ahead
included. The last lines say of how long a step that is 3 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from sampler import make_documents, write_cache

from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.sampler import Sampler
from tootsie.train import loop
from tootsie.train.architecture import Architecture
from tootsie.train.inputs import Inputs
from tootsie.train.norms import KINDS
from tootsie.train.rope import Rope
from tootsie.train.run_file import RunFile
from tootsie.train.step import StepMetrics

LAYERS = 16  # Groups of norms; the sizes of the layers matter to the program alone.
SKIPPED = 50  # Steps at the start, in which caches are opened and compared with their checksums.
SHARE = 0.03


class NoProgram:
    """Stands for the jitted step: compiled at once, it does nothing, and keeps the clock between its calls."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float]] = []
        one = jax.numpy.float32(1)
        self.metrics = StepMetrics(*[one] * 7, norms=jax.numpy.ones((len(KINDS), LAYERS + 2)))  # type: ignore[call-arg]

    def lower(self, *given: Any) -> Any:
        return SimpleNamespace(compile=lambda: self)

    def __call__(self, state: Any, rows: Any, settings: Any) -> Any:
        self.seen.append((time.thread_time(), time.process_time()))
        return state, self.metrics


def make_plan(folder: Path, datasets: int, rows: int, length: int, steps: int) -> Any:
    """Compile a plan over caches of random documents."""
    rng = np.random.default_rng(0)
    for number in range(datasets):
        write_cache(str(folder / str(number)), str(number), *make_documents(rng, 40 * length))
    weights = {f"dataset-{number:02d}": {"weight": 1 + number} for number in range(datasets)}
    spec = {
        "name": "overhead", "seed": 0, "sequence_length": length,
        "datasets": {name: {"cache": str(number)} for number, name in enumerate(weights)},
        "mixtures": {"all": {"groups": {"all": {"by": "weight", "datasets": weights}}}},
        "phases": [{"name": "all", "mixture": "all", "for": f"{steps} steps", "batch_size": rows, "learning_rate": 1e-3,
                    "ema_beta": 0.99}],
    }  # fmt: skip
    (folder / "spec.json").write_text(json.dumps(spec))
    return compile_file(str(folder / "spec.json"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, value in {"steps": 250, "rows": 8, "length": 512, "datasets": 19}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    architecture = Architecture(
        vocabulary_size=128_256, model_size=8, layers=LAYERS, heads=1, kv_heads=1, head_size=8, mlp_size=8,
        rope=Rope(theta=10_000, scaling=None), tied_embeddings=True,
    )  # fmt: skip
    program = NoProgram()
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(Path(folder), given.datasets, given.rows, given.length, given.steps)
        run = RunFile.model_validate(
            {
                "plan": "plan.json",
                "out": str(Path(folder) / "run"),
                "architecture": architecture.model_dump(),
                "layer_loop": "stacked",
                "export": False,
                "log_every": "20 steps",
            }
        )
        make, loop.make_update = loop.make_update, lambda *arguments: program  # type: ignore[assignment]
        try:
            loop.train(run, Inputs(plan, Sampler(plan), [], None, architecture), lambda line: None)
        finally:
            loop.make_update = make
    print(
        f"{given.rows} × {given.length} tokens, {given.datasets} datasets, {LAYERS} layers, {given.steps} steps,"
        f" {jax.default_backend()}"
    )
    for name, column in (("the loop's thread", 0), ("the process", 1)):
        times = np.diff([row[column] for row in program.seen[SKIPPED:]])
        mean, middle = float(times.mean()), statistics.median(times.tolist())
        print(
            f"  {name:<18} {mean * 1000:7.2f} ms of CPU a step (median {middle * 1000:.2f});"
            f" {SHARE:.0%} of a step of {mean / SHARE:.2f} s"
        )


if __name__ == "__main__":
    main()

"""What watching costs: the compiled step with its norms by layer, beside the same step without them.

    python benchmarks/watching.py [--repeats 8]

Floor: the step without norms. Both are compiled and warmed up in one process and timed in turns; medians are compared. What the
detectors take for a step's records is timed apart, on the host.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tootsie.train import step as training_step
from tootsie.train.alarms import Watcher
from tootsie.train.architecture import PRESETS, parameter_count
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.norms import group_names, named_norms
from tootsie.train.optimizer import StepSettings
from tootsie.train.watch_settings import WatchSettings

BATCH, LENGTH = 8, 512
SETTINGS = StepSettings(*map(np.float32, (1e-4, 0.1, 1e-4, 0.0, 1.0, 0.9, 0.95, 1e-8)))


def compiled(model: Any, rows: training_step.Rows, *, norms: bool) -> Any:
    """Return the compiled step; without ``norms`` the function that computes them is replaced while it is traced."""
    kept = training_step.step_norms
    if not norms:
        training_step.step_norms = lambda *trees: jnp.zeros(())
    try:
        state = training_step.make_init(model, average=False)(jax.random.key(0))
        update = training_step.make_update(model, None)
        update(state, rows, SETTINGS)
        return update
    finally:
        training_step.step_norms = kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--preset", default="tootsie-nano")
    options = parser.parse_args()
    architecture = PRESETS[options.preset]
    model = build(architecture, Execution("float32", LayerLoop.UNROLLED))
    tokens = (
        np.random.default_rng(0).integers(0, architecture.vocabulary_size, (BATCH, LENGTH)).astype(np.int32)
    )
    rows = training_step.Rows(tokens, np.ones_like(tokens), np.ones(tokens.shape, bool))
    steps = {"without": compiled(model, rows, norms=False), "with norms": compiled(model, rows, norms=True)}
    states = {name: training_step.make_init(model, average=False)(jax.random.key(0)) for name in steps}
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(options.repeats):
        for name in list(steps)[:: 1 if turn % 2 else -1]:
            began = time.perf_counter()
            states[name], _ = jax.block_until_ready(steps[name](states[name], rows, SETTINGS))
            seconds[name].append(time.perf_counter() - began)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    print(
        f"{options.preset}: {parameter_count(architecture):,} parameters, batch {BATCH} × {LENGTH}, {jax.default_backend()}"
    )
    for name, value in median.items():
        print(f"  {name:<12} {value * 1000:10.1f} ms a step")
    print(f"  ratio of medians {median['with norms'] / median['without']:.4f}")

    watcher = Watcher(WatchSettings(), lambda *where: 0.5)
    groups = group_names(states["with norms"].params)
    consumed = {f"dataset {number}": 100 * number for number in range(30)}
    norms = np.ones((5, len(groups)))
    train = {
        "kind": "train",
        "phase": "p",
        "position": 1,
        "loss": 2.0,
        "learning_rate": 1e-3,
        "grad_norm": 1.0,
        "ema_beta": None,
    }
    began, count = time.perf_counter(), 2000
    for step in range(count):
        watcher.observe({**train, "step": step, "consumed": consumed})
        if step % 10 == 0:
            named = named_norms(norms, groups)
            watcher.observe({"kind": "norms", "step": step, "phase": "p", "learning_rate": 1e-3, **named})
        watcher.observe({"kind": "timing", "step": step, "batch_tokens": 1, "tokens_per_second": 1.0})
    host = (time.perf_counter() - began) / count
    print(f"  detectors    {host * 1000:10.3f} ms a step, {host / median['without']:.4%} of it (30 datasets)")


if __name__ == "__main__":
    main()

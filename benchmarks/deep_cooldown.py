"""What z-loss does in a deep cooldown: head norm, log Z and alarms of a small model with it and without, over several seeds.

    python benchmarks/deep_cooldown.py [--seeds 5]

A softmax does not change where all logits move together, so the gradient along that direction is zero, and only what is wrong
with the gradient is left there. A large model in low precision has such errors; a small one in float32 has none, and shows
nothing, with z-loss or without. So one is made here: p of every token comes out too large by a part ERROR, as from a sum that is
rounded. It is a force on log Z, the same at each step. The training before the cooldown has z-loss in all arms.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tootsie.train import step as training_step
from tootsie.train.alarms import Watcher
from tootsie.train.architecture import Architecture
from tootsie.train.loss import TokenSums, cross_entropy
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.norms import group_names, named_norms
from tootsie.train.optimizer import StepSettings
from tootsie.train.rope import Rope
from tootsie.train.watch_settings import WatchSettings

MODEL = Architecture(
    vocabulary_size=64, model_size=16, layers=1, heads=2, kv_heads=1, head_size=8, mlp_size=32,
    rope=Rope(theta=10_000, scaling=None), tied_embeddings=False,
)  # fmt: skip
STABLE, COOLDOWN = 100, 100
"""Steps at the full rate, and of the way down."""
PEAK, LAST = 1e-2, 1e-4
BATCH, LENGTH = 8, 16
ERROR = 0.2
"""Part by which p is too large: in a hundred steps it does what a small one does in a hundred thousand."""
Z_LOSS = 0.1
"""Weight: log Z comes to rest at −ERROR ÷ 2 Z_LOSS."""


class Outcome(NamedTuple):
    """One arm."""

    loss: float  # Mean of the last 20 steps, nats.
    head: tuple[float, float]  # Norm of the head at the start and the end of the cooldown.
    log_z: tuple[float, float]  # Root mean square of log Z, likewise.
    alarms: list[str]  # Their ids.


def batch(rng: np.random.Generator) -> training_step.Rows:
    """Return rows in which a token's successor is known in seven of ten cases, else any: 1.8 nats, whatever is learnt."""
    successor = np.random.default_rng(0).permutation(MODEL.vocabulary_size)
    tokens = rng.integers(0, MODEL.vocabulary_size, (BATCH, LENGTH))
    known = rng.random((BATCH, LENGTH)) < 0.7
    for at in range(1, LENGTH):
        tokens[:, at] = np.where(known[:, at], successor[tokens[:, at - 1]], tokens[:, at])
    tokens = tokens.astype(np.int32)
    return training_step.Rows(tokens, np.ones_like(tokens), np.ones(tokens.shape, bool))


def with_error(error: float) -> Callable[..., TokenSums]:
    """Return the loss with a gradient in which p is too large by a part ``error``."""

    def loss(hidden: jax.Array, head: jax.Array, targets: Any, scored: jax.Array, *more: Any) -> TokenSums:
        sums = cross_entropy(hidden, head, targets, scored, *more)
        log_z = jax.nn.logsumexp(hidden @ head.T, axis=-1)
        return sums._replace(objective=sums.objective + error * jnp.sum(jnp.where(scored, log_z, 0.0)))

    return loss


def run(seed: int, error: float, weights: tuple[float, ...]) -> list[Outcome]:
    """Train with z-loss, then cool down once for each of the weights of z-loss; return what came of each."""
    kept = training_step.cross_entropy
    training_step.cross_entropy = with_error(error)
    try:
        model = build(MODEL, Execution("float32", LayerLoop.UNROLLED))
        state = training_step.make_init(model, average=False)(jax.random.key(seed))
        update = training_step.make_update(model, None)
        outcomes, groups = [], group_names(state.params)
        state = _steps(update, state, groups, range(STABLE), seed, Z_LOSS, [])
        for weight in weights:
            records: list[dict[str, Any]] = []
            begin = jax.tree.map(jnp.copy, state)  # a step takes its state with it
            _steps(update, begin, groups, range(STABLE, STABLE + COOLDOWN), seed, weight, records)
            watcher = Watcher(WatchSettings(), lambda *where: 0.0)
            alarms = [alarm.id.value for record in records for alarm in watcher.observe(record)]
            train, norms = records[::2], [record["parameter"]["head"] for record in records[1::2]]
            log_z = [row["log_z"] for row in train]
            loss = float(np.mean([row["loss"] for row in train[-20:]]))
            outcomes.append(Outcome(loss, (norms[0], norms[-1]), (log_z[0], log_z[-1]), alarms))
        return outcomes
    finally:
        training_step.cross_entropy = kept


def _steps(
    update: Any,
    state: Any,
    groups: tuple[str, ...],
    steps: range,
    seed: int,
    weight: float,
    records: list[Any],
) -> Any:
    for step in steps:
        rate = PEAK * min(1.0, (step + 1) / 20)
        if step >= STABLE:
            rate = PEAK + (LAST - PEAK) * (step - STABLE) / COOLDOWN
        settings = StepSettings(*map(np.float32, (rate, 0.1, weight, 0.0, 1.0, 0.9, 0.95, 1e-8)))
        state, metrics = update(state, batch(np.random.default_rng((seed, step))), settings)
        where = {"step": step + 1, "position": 0, "phase": "cooldown", "learning_rate": rate}
        figures = {name: float(getattr(metrics, name)) for name in ("loss", "log_z", "grad_norm")}
        records.append({"kind": "train", **where, **figures, "ema_beta": None, "consumed": {}})
        records.append({"kind": "norms", **where, **named_norms(metrics.norms, groups)})
    return state


def main() -> None:
    """Run all arms and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("error  z-loss  seed    loss   head norm              RMS of log Z      alarms")
    for error in (0.0, ERROR):
        for seed in range(options.seeds):
            for weight, found in zip((0.0, Z_LOSS), run(seed, error, (0.0, Z_LOSS)), strict=True):
                head = f"{found.head[0]:6.2f} to {found.head[1]:6.2f} ({found.head[1] / found.head[0] - 1:+6.1%})"
                log_z = f"{found.log_z[0]:5.2f} to {found.log_z[1]:5.2f}"
                alarms = ", ".join(dict.fromkeys(found.alarms)) or "none"
                print(
                    f"{error:5.2f}  {weight:6.2f}  {seed:4}  {found.loss:6.3f}   {head}  {log_z}    {alarms}"
                )


if __name__ == "__main__":
    main()

"""The run's own story: deep in a cooldown without z-loss the head grows, and the alarm says so; with z-loss it shrinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from tootsie.train.alarms import AlarmId, Watcher
from tootsie.train.architecture import Architecture
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.norms import group_names, named_norms
from tootsie.train.optimizer import StepSettings
from tootsie.train.rope import Rope
from tootsie.train.step import Rows, TrainingState, make_init, make_update
from tootsie.train.watch_settings import WatchSettings

MODEL = Architecture(
    vocabulary_size=128,
    model_size=16,
    layers=1,
    heads=2,
    kv_heads=1,
    head_size=8,
    mlp_size=32,
    rope=Rope(theta=10_000, scaling=None),
    tied_embeddings=False,
)
PEAK, STABLE, COOLDOWN = 0.05, 500, 400


def text() -> np.ndarray:
    """Letters with the frequencies and some of the order of a language: a Markov chain over 40 of 128 ids."""
    rng = np.random.default_rng(7)
    frequencies = 1 / np.arange(1, 41)
    chain = np.cumsum(rng.dirichlet(0.6 * frequencies / frequencies.sum() * 40, size=40), axis=1)
    letters = np.zeros(100_000, np.int32)
    for index, draw in enumerate(rng.random(len(letters) - 1)):
        letters[index + 1] = min(39, int(np.searchsorted(chain[letters[index]], draw)))
    return letters


LETTERS = text()


def go(
    update: Any, state: TrainingState, steps: int, rate: Callable[[int], float], z_loss: float
) -> list[dict[str, Any]]:
    """Train; return the lines of kind ``norms``."""
    groups, records, rng = group_names(state.params), [], np.random.default_rng(0)
    for step in range(steps):
        starts = rng.integers(0, len(LETTERS) - 32, 8)
        rows = np.stack([LETTERS[start : start + 32] for start in starts])
        settings = StepSettings(*map(np.float32, (rate(step), 0.1, z_loss, 0, 1, 0.9, 0.95, 1e-8)))
        state, metrics = update(state, Rows(rows, np.ones_like(rows), np.ones(rows.shape, bool)), settings)
        if step % 10 == 9:
            norms = named_norms(metrics.norms, groups)
            records.append({"kind": "norms", "step": step + 1, "learning_rate": rate(step), **norms})
    return records


@pytest.mark.slow
def test_a_deep_cooldown_without_z_loss_raises_the_alarm_and_one_with_it_does_not() -> None:
    model = build(MODEL, Execution("float32", LayerLoop.UNROLLED))
    update = make_update(model, None)

    def rate(step: int) -> float:
        if step < STABLE:
            return PEAK * min(1, (step + 1) / 50)
        return PEAK / 10 * (1 - (step - STABLE) / COOLDOWN)

    for z_loss in (0.0, 0.01):
        state = make_init(model, average=False)(jax.random.key(0))
        records = go(update, state, STABLE + COOLDOWN, rate, z_loss)
        watcher = Watcher(WatchSettings(), lambda *where: 0.0)
        alarms = [alarm for record in records for alarm in watcher.observe(record)]
        norms = [record["parameter"]["head"] for record in records if record["step"] > STABLE]
        if z_loss:
            assert norms[-1] < norms[0]
            assert not alarms
        else:
            assert norms[-1] > 1.03 * norms[0]
            assert [(alarm.id, alarm.subject) for alarm in alarms] == [(AlarmId.HEAD_NORM_GROWING, "head")]
            assert alarms[0].step > STABLE

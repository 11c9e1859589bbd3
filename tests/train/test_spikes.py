"""Spikes: which steps are skipped, that nothing changes then, and that a resumed run skips the same ones."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.train.conftest import FakePlan, make_inputs
from tests.train.test_optimizer import PARAMS, SETTINGS
from tests.train.test_step import rows
from tootsie.train.architecture import Architecture
from tootsie.train.loop import train
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.optimizer import Guard, StepSettings, adamw
from tootsie.train.run_file import RunFile
from tootsie.train.spikes import SpikeSettings, SpikeWindow
from tootsie.train.step import make_init, make_update


def test_limits_are_sigmas_above_the_mean_of_a_full_window() -> None:
    window = SpikeWindow(SpikeSettings(skip_sigmas=2, window=8))
    seen = [(3 + 0.1 * i, 1.0 + i % 2) for i in range(9)]
    for loss, norm in seen[:7]:
        window.observe(loss, norm)
        assert window.limits == (math.inf, math.inf)
    for loss, norm in seen[7:]:
        window.observe(loss, norm)
    last = np.array(seen[1:])
    np.testing.assert_allclose(window.limits, last.mean(axis=0) + 2 * last.std(axis=0, ddof=1), rtol=1e-6)
    again = SpikeWindow(SpikeSettings(skip_sigmas=2, window=8), window.record())
    assert again.limits == window.limits


def test_nothing_is_kept_or_limited_unless_asked_for() -> None:
    window = SpikeWindow(SpikeSettings(window=8))
    for _ in range(10):
        window.observe(1.0, 1.0)
    assert window.record() == ()
    assert window.limits == (math.inf, math.inf)


def test_a_skipped_step_leaves_weights_moments_count_and_average_as_they_are(tiny: Architecture) -> None:
    model = build(tiny, Execution("float32", LayerLoop.UNROLLED))
    init, update = make_init(model, average=True), make_update(model, None, guard=Guard(skips=True))
    plain = make_update(model, None)
    base = SETTINGS._replace(ema_beta=0.9)

    def take(limits: dict[str, float], step: Any) -> tuple[Any, Any, float]:
        state = init(jax.random.key(0))
        before = jax.tree.map(np.array, state)
        settings = StepSettings(*(np.float32(value) for value in base._replace(**limits)))
        after, metrics = step(state, rows(0, 2), settings)
        return before, jax.tree.map(np.array, after), float(metrics.skipped)

    for limits in ({"loss_limit": 0.1}, {"grad_norm_limit": 1e-3}):
        before, after, skipped = take(limits, update)
        assert skipped == 1
        jax.tree.map(np.testing.assert_array_equal, before, after)
    _, taken, skipped = take({"loss_limit": 100.0, "grad_norm_limit": 100.0}, update)
    assert skipped == 0
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), taken, take({}, plain)[1]
    )


def test_an_update_is_scaled_down_where_the_gradient_is_out_of_line_with_its_past() -> None:
    quiet = jax.tree.map(lambda leaf: jnp.full_like(leaf, 1e-3), PARAMS)
    loud = quiet | {"llama": quiet["llama"] | {"head": jnp.full_like(quiet["llama"]["head"], 1.0)}}
    settings = SETTINGS._replace(weight_decay=0.0, update_clip=1.01)
    bounded, free = adamw(settings, Guard(clips_updates=True)), adamw(settings)
    state = free.init(PARAMS)
    assert jax.tree.structure(state) == jax.tree.structure(bounded.init(PARAMS)), "a run may switch it on"
    for _ in range(20):
        _, state = free.update(quiet, state, PARAMS)
    wild, _ = free.update(loud, state, PARAMS)
    tame, _ = bounded.update(loud, state, PARAMS)
    second = (0.05 * 1.0 + 0.95 * (1 - 0.95**20) * 1e-6) / (1 - 0.95**21)
    head = wild["llama"]["head"] * 1.01 / np.sqrt(1 / second)
    expected = wild | {"llama": wild["llama"] | {"head": head}}
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(tame), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4)
    assert np.sqrt(1 / second) > 3


class Jolted(FakePlan):
    """A plan whose ninth update wrecks the weights."""

    def learning_rate(self, step: int) -> float:
        return 10.0 if step == 8 else 1e-3


def test_a_resumed_run_skips_the_same_steps_and_records_them(
    tmp_path: Path, run_file: Callable[..., RunFile]
) -> None:
    changes = {"spikes": {"skip_sigmas": 3, "window": 8}, "evaluation": {}, "samples": {}, "export": False}
    inputs, told = make_inputs(Jolted()), list[str]()
    train(run_file(tmp_path / "whole", **changes), inputs, told.append, limit=10)
    train(run_file(tmp_path / "parts", **changes), inputs, told.append, limit=9)
    train(run_file(tmp_path / "parts", **changes), inputs, told.append, limit=1)
    written = (tmp_path / "whole" / "metrics.jsonl").read_bytes()
    assert (tmp_path / "parts" / "metrics.jsonl").read_bytes() == written
    steps = [line for line in map(json.loads, written.splitlines()) if line["kind"] == "train"]
    assert [line["step"] for line in steps if line["skipped"]] == [10]
    assert sum("step 10: a spike, update skipped" in line for line in told) == 2

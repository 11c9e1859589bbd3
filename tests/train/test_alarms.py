"""Alarms: each with records that provoke it and records that don't."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tootsie.train.alarms import Alarm, AlarmId, Watcher
from tootsie.train.watch_settings import WatchSettings

SETTINGS = WatchSettings(loss_window=40, spike_window=20, throughput_window=20)
CONSUMED = {"papers": 0}


def steps(losses: Iterable[float], rates: Iterable[float], **more: Any) -> list[dict[str, Any]]:
    return [
        {"kind": "train", "step": step, "position": 4 * step, "phase": "cooldown", "loss": loss, "learning_rate": rate,
         "grad_norm": 1.0, "ema_beta": None, "consumed": CONSUMED, **more}
        for step, (loss, rate) in enumerate(zip(losses, rates, strict=True), 1)
    ]  # fmt: skip


def norms(values: Iterable[float], rates: Iterable[float], group: str = "head") -> list[dict[str, Any]]:
    return [
        {"kind": "norms", "step": step, "phase": "cooldown", "learning_rate": rate, "parameter": {"embedding": 1.0, group: value}}
        for step, (value, rate) in enumerate(zip(values, rates, strict=True), 1)
    ]  # fmt: skip


def evaluations(hot: float, ema: float, step: int, name: str = "held") -> list[dict[str, Any]]:
    return [
        {"kind": "evaluation", "step": step, "dataset": name, "weights": weights, "loss": loss}
        for weights, loss in (("hot", hot), ("ema", ema))
    ]


def raised(records: Iterable[dict[str, Any]], watcher: Watcher | None = None) -> list[Alarm]:
    watcher = watcher or Watcher(SETTINGS, lambda name, position, drawn: drawn / 10)
    return [alarm for record in records for alarm in watcher.observe(record)]


def noise(count: int, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(0).normal(0, spread, count)


FALLING = np.linspace(1e-3, 1e-4, 60)
CONSTANT = np.full(60, 1e-3)


@pytest.mark.parametrize(
    ("slope", "rates", "alarm"),
    [(0.002, FALLING, True), (0.002, CONSTANT, False), (-0.002, FALLING, False), (0.0, FALLING, False)],
    ids=["rises while the rate falls", "rises at a constant rate", "falls", "is noise"],
)
def test_loss_rising(slope: float, rates: np.ndarray, *, alarm: bool) -> None:
    found = raised(steps(2 + slope * np.arange(60) + noise(60), rates))
    assert [one.id for one in found] == [AlarmId.LOSS_RISING] * alarm
    if alarm:
        assert found[0].subject == "cooldown"
        assert "has risen by 0.0" in found[0].message
        assert found[0].first


@pytest.mark.parametrize(
    ("growth", "rates", "alarm"),
    [(0.01, FALLING, True), (0.01, CONSTANT, False), (-0.01, FALLING, False), (0.0001, FALLING, False)],
    ids=["grows while the rate falls", "grows at a constant rate", "shrinks", "stands still"],
)
@pytest.mark.parametrize("group", ["head", "embedding"])
def test_head_norm_growing(group: str, growth: float, rates: np.ndarray, *, alarm: bool) -> None:
    """Where there is no head of its own, the embedding is the head."""
    found = raised(norms(40 * (1 + growth) ** np.arange(60), rates, group))
    assert [(one.id, one.subject) for one in found] == [(AlarmId.HEAD_NORM_GROWING, group)] * alarm


@pytest.mark.parametrize(
    ("slope", "rates", "alarm"),
    [(0.05, FALLING, True), (0.05, CONSTANT, False), (-0.05, FALLING, False), (0.005, FALLING, False)],
    ids=["grows while the rate falls", "grows at a constant rate", "shrinks", "stands still"],
)
def test_log_z_growing(slope: float, rates: np.ndarray, *, alarm: bool) -> None:
    records = steps(2 + noise(60), rates)
    records = [{**record, "log_z": 5 + slope * record["step"]} for record in records]
    found = raised(records)
    assert [(one.id, one.subject) for one in found] == [(AlarmId.LOG_Z_GROWING, "cooldown")] * alarm


def test_a_deep_cooldown_without_z_loss_gives_alarm_and_with_it_none(
    load_script: Callable[[str], ModuleType],
) -> None:
    """The gradient has an error that pushes all logits together, which the loss does not see."""
    benchmark = load_script("benchmarks/deep_cooldown.py")
    without, with_it = benchmark.run(0, benchmark.ERROR, (0.0, benchmark.Z_LOSS))
    assert set(without.alarms) == {AlarmId.HEAD_NORM_GROWING, AlarmId.LOG_Z_GROWING}
    assert with_it.alarms == []
    assert with_it.loss < without.loss


@pytest.mark.parametrize(
    ("gap", "rates", "settled", "alarm"),
    [(0.0, CONSTANT, True, True), (-0.01, CONSTANT, True, True), (0.02, CONSTANT, True, False),
     (0.0, FALLING, True, False), (0.0, CONSTANT, False, False)],
    ids=["zero", "negative", "positive", "falling rate", "average just switched on"],
)  # fmt: skip
def test_ema_gap(gap: float, rates: np.ndarray, *, settled: bool, alarm: bool) -> None:
    records = steps(np.full(60, 2.0), rates, ema_beta=0.8)
    if not settled:
        records = [{**record, "ema_beta": None if record["step"] < 30 else 0.8} for record in records]
    found = raised([*records, *evaluations(2.0, 2.0 - gap, 60), *evaluations(2.0, 1.9, 60, "other")])
    assert [(one.id, one.subject) for one in found] == [(AlarmId.EMA_GAP, "held")] * alarm


def test_a_reversed_beta_gives_alarm() -> None:
    """The average that forgets at once is the hot weights: β = 0.01 for 0.99, as the run once had it."""
    rng = np.random.default_rng(0)
    average = {beta: np.zeros(50) for beta in (0.01, 0.99)}
    weight = np.zeros(50)
    for _ in range(1000):  # a walk around the minimum, as at a constant learning rate
        weight = 0.9 * weight + rng.normal(size=50)
        average = {beta: beta * value + (1 - beta) * weight for beta, value in average.items()}
    for beta, value in average.items():
        losses = (2 + float(np.mean(w**2)) / 100 for w in (weight, value))
        records = steps(np.full(2000, 2.0), np.full(2000, 1e-3), ema_beta=beta)
        assert bool(raised([*records, *evaluations(*losses, 2000)])) == (beta < 0.5)


@pytest.mark.parametrize(("height", "alarm"), [(1.0, True), (0.05, False)])
def test_loss_spike(height: float, *, alarm: bool) -> None:
    losses = 2 + noise(60)
    losses[45] += height
    found = raised(steps(losses, CONSTANT))
    assert [(one.id, one.step) for one in found] == [(AlarmId.LOSS_SPIKE, 46)] * alarm


def test_the_step_of_a_phase_is_no_spike_and_no_rise() -> None:
    """A new mixture has another loss: windows start anew with a phase."""
    first = steps(2 + noise(60), FALLING)
    then = [
        {**record, "step": record["step"] + 60, "phase": "dessert"}
        for record in steps(3 + noise(60), FALLING)
    ]
    assert not raised([*first, *then])


def test_dataset_wrap() -> None:
    def drawn(counts: list[int]) -> list[dict[str, Any]]:
        records = steps(np.full(len(counts), 2.0), np.full(len(counts), 1e-3))
        return [{**record, "consumed": {"papers": n}} for record, n in zip(records, counts, strict=True)]

    assert not raised(drawn([4, 8, 10])), "a first epoch may end with the run"
    found = raised(drawn([4, 8, 12, 16, 20, 24]))
    assert [(one.id, one.step, one.first) for one in found] == [
        (AlarmId.DATASET_WRAP, 3, True), (AlarmId.DATASET_WRAP, 6, False)
    ]  # fmt: skip
    assert "has begun its epoch 2" in found[0].message
    quiet = Watcher(SETTINGS.model_copy(update={"dataset_wrap": False}), lambda *where: where[2] / 10)
    assert not raised(drawn([4, 8, 12]), quiet)


@pytest.mark.parametrize(
    ("speed", "batch", "alarm"), [(500.0, 64, True), (900.0, 64, False), (500.0, 128, False)]
)
def test_throughput_drop(speed: float, batch: int, *, alarm: bool) -> None:
    def at(step: int, tokens: int, rate: float) -> dict[str, Any]:
        return {"kind": "timing", "step": step, "batch_tokens": tokens, "tokens_per_second": rate}

    records = [at(step, 64, 1000.0) for step in range(40)] + [
        at(step, batch, speed) for step in range(40, 60)
    ]
    assert [one.id for one in raised(records)] == [AlarmId.THROUGHPUT_DROP] * alarm


def test_non_finite() -> None:
    watcher = Watcher(SETTINGS, lambda *where: 0.0)
    alarm = watcher.non_finite(7, "stable", {"loss": float("nan"), "grad_norm": 1.0})
    assert (alarm.id, alarm.subject, alarm.message) == (AlarmId.NON_FINITE, "stable", "not finite: loss nan")


def test_an_alarm_is_raised_when_it_begins_to_hold_and_again_after_it_has_ceased() -> None:
    rising = steps(2 + 0.002 * np.arange(60) + noise(60), FALLING)
    watcher = Watcher(SETTINGS, lambda *where: 0.0)
    assert len(raised(rising, watcher)) == 1
    calm = steps(2 - 0.002 * np.arange(60) + noise(60), FALLING)
    again = raised([*calm, *rising], watcher)
    assert [alarm.first for alarm in again] == [False]


def test_a_watcher_that_read_the_records_goes_on_as_the_one_that_wrote_them() -> None:
    records = steps(2 + 0.002 * np.arange(60) + noise(60), FALLING)
    whole, cut = raised(records), Watcher(SETTINGS, lambda *where: 0.0)
    cut.replay(records[:30], [])
    assert raised(records[30:], cut) == whole
    after = Watcher(SETTINGS, lambda *where: 0.0)
    after.replay(records, [alarm.record() for alarm in whole])
    assert not raised(records[-1:], after)

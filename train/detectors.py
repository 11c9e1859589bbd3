"""What raises the alarms: each detector reads the records of a run in their order and says in words what is wrong.

A detector keeps a bounded window and nothing else. Its verdict follows from the records alone, so a resumed run gets the
same ones by reading its ``metrics.jsonl`` again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from tootsie.train.norms import HEAD_GROUPS
from tootsie.train.watch_settings import WatchSettings

FALLING = 0.99
"""The learning rate falls in a window at whose end it is below this part of what it was at its start."""


class Verdict(NamedTuple):
    """What a detector thinks of its subject as of a record."""

    subject: str  # Of what: a phase, a dataset, a group of parameters.
    fault: str | None  # What is wrong, in a sentence; None where all is well.


class Detector(Protocol):
    """Reads records one at a time."""

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Return a verdict on each subject that the record allows one on."""


class LossRising:
    """The loss rises while the learning rate falls: it should do the contrary."""

    def __init__(self, settings: WatchSettings) -> None:
        self._settings = settings
        self._phase = ""
        self._losses: deque[float] = deque(maxlen=settings.loss_window)
        self._rates: deque[float] = deque(maxlen=settings.loss_window)

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Hold the later half of the window against the earlier."""
        if record["kind"] != "train":
            return []
        if record["phase"] != self._phase:
            self._phase = record["phase"]
            self._losses.clear()
            self._rates.clear()
        self._losses.append(record["loss"])
        self._rates.append(record["learning_rate"])
        if len(self._losses) < self._settings.loss_window or not self._rates[-1] < FALLING * self._rates[0]:
            return []
        losses = np.array(self._losses)
        half = len(losses) // 2
        early, late = losses[:half], losses[half:]
        rise = float(late.mean() - early.mean())
        error = math.sqrt(early.var(ddof=1) / len(early) + late.var(ddof=1) / len(late))
        if rise <= max(self._settings.loss_rise, 4 * error):
            return [Verdict(self._phase, None)]
        return [
            Verdict(
                self._phase,
                f"the loss has risen by {rise:.4f} nats over {len(losses)} lines while the learning rate fell from "
                f"{self._rates[0]:.3g} to {self._rates[-1]:.3g}: look at z-loss, weight decay and the phase's data",
            )
        ]


class _LowestInCooldown:
    """The smallest value since the learning rate began to fall in earnest."""

    def __init__(self, head_rate: float, peak: float = 0.0) -> None:
        self._head_rate = head_rate
        self.peak = peak  # The highest rate so far.
        self._rate = 0.0
        self._lowest = (math.inf, 0.0)  # and the rate there

    def observe(self, value: float, rate: float) -> tuple[float, float] | None:
        """Return the smallest value and the rate there; ``None`` where the rate has not fallen since."""
        self.peak = max(self.peak, rate)
        if rate >= self._rate or rate > self._head_rate * self.peak or value < self._lowest[0]:
            self._lowest = (value, rate)
        self._rate = rate
        return self._lowest if rate < FALLING * self._lowest[1] else None


class HeadNormGrowing:
    """The head grows while the learning rate falls, as it does in a deep cooldown without z-loss."""

    def __init__(self, settings: WatchSettings) -> None:
        self._settings = settings
        self._before = _LowestInCooldown(settings.head_rate)

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Compare the norm with the smallest one since the rate began to fall."""
        if record["kind"] != "norms":
            return []
        norms, rate = record["parameter"], record["learning_rate"]
        group = next(name for name in HEAD_GROUPS if name in norms)
        before = self._before.observe(norms[group], rate)
        if before is None:
            return []
        lowest, its_rate = before
        growth = norms[group] / lowest - 1
        if growth <= self._settings.head_growth:
            return [Verdict(group, None)]
        return [
            Verdict(
                group,
                f"the norm of the {group} has grown by {growth:.2%} (to {norms[group]:.4g}) while the learning rate fell from "
                f"{its_rate:.3g} to {rate:.3g}: switch z-loss on, or raise it",
            )
        ]


class LogZGrowing:
    """log Z leaves zero while the learning rate falls: the loss does not see it, so without z-loss nothing brings it back."""

    def __init__(self, settings: WatchSettings) -> None:
        self._settings = settings
        self._phase = ""
        self._recent: deque[float] = deque(maxlen=settings.log_z_window)
        self._before = _LowestInCooldown(settings.head_rate)

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Compare the mean of the last lines with the smallest one since the rate began to fall."""
        if record["kind"] != "train" or "log_z" not in record:  # records of older runs do not have it
            return []
        if record["phase"] != self._phase:  # another mixture has another log Z
            self._phase = record["phase"]
            self._recent.clear()
            self._before = _LowestInCooldown(self._settings.head_rate, self._before.peak)
        self._recent.append(record["log_z"])
        rate = record["learning_rate"]
        self._before.peak = max(self._before.peak, rate)
        if len(self._recent) < self._settings.log_z_window:
            return []
        mean = sum(self._recent) / len(self._recent)
        before = self._before.observe(mean, rate)
        if before is None:
            return []
        lowest, its_rate = before
        if mean - lowest <= self._settings.log_z_growth:
            return [Verdict(self._phase, None)]
        return [
            Verdict(
                self._phase,
                f"the root mean square of log Z has risen from {lowest:.3g} to {mean:.3g} nats while the learning rate fell "
                f"from {its_rate:.3g} to {rate:.3g}: switch z-loss on, or raise it",
            )
        ]


class EmaGap:
    """At a constant learning rate the average should beat the hot weights; else it is broken, or there is nothing to average."""

    def __init__(self, settings: WatchSettings) -> None:
        self._settings = settings
        self._key: tuple[float, float | None] = (math.nan, None)
        self._since = 0
        self._hot: dict[str, tuple[int, float]] = {}

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Judge each held-out set by itself."""
        if record["kind"] == "train":
            key = (record["learning_rate"], record.get("ema_beta"))
            if key != self._key:
                self._key, self._since = key, record["step"]
            return []
        if record["kind"] != "evaluation":
            return []
        name, step, beta = record["dataset"], record["step"], self._key[1]
        if record["weights"] == "hot":
            self._hot[name] = (step, record["loss"])
            return []
        hot_step, hot = self._hot.get(name, (-1, math.nan))
        if hot_step != step or not beta or step - self._since < self._settings.ema_settled / (1 - beta):
            return []
        gap = hot - record["loss"]
        if gap > self._settings.ema_gap:
            return [Verdict(name, None)]
        return [
            Verdict(
                name,
                f"on {name} the average is {gap:.4f} nats better than the hot weights, at a constant learning rate of "
                f"{self._key[0]:.3g}: check its β ({beta:g}); if that is right, the rate is too low for an average to matter",
            )
        ]


class LossSpike:
    """One loss far above those before it."""

    def __init__(self, settings: WatchSettings) -> None:
        self._settings = settings
        self._phase = ""
        self._losses: deque[float] = deque(maxlen=settings.spike_window)

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Hold a loss against the window before it."""
        if record["kind"] != "train":
            return []
        if record["phase"] != self._phase:
            self._phase = record["phase"]
            self._losses.clear()
        loss, verdicts = record["loss"], []
        if 2 * len(self._losses) >= self._settings.spike_window:
            before = np.array(self._losses)
            rise, spread = loss - float(before.mean()), float(before.std(ddof=1))
            high = rise > max(self._settings.spike_rise, self._settings.spike_sigmas * spread)
            fault = (
                f"the loss is {loss:.4f}, {rise:.3f} nats above the mean of the {len(before)} lines before, which spread by "
                f"{spread:.3g}; gradient norm {record['grad_norm']:.3g}"
            )
            verdicts = [Verdict(self._phase, fault if high else None)]
        self._losses.append(loss)
        return verdicts


class DatasetWrap:
    """A dataset begins another epoch: what follows has been seen before."""

    def __init__(self, passes: Callable[[str, int, int], float]) -> None:
        """Take the function from dataset, position and sequences drawn to passes over it."""
        self._passes = passes
        self._epochs: dict[str, int] = {}

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Compare the whole epochs behind each dataset with those of the line before."""
        if record["kind"] != "train":
            return []
        verdicts = []
        for name, drawn in record["consumed"].items():
            passes = self._passes(name, record["position"], drawn) if drawn else 0.0
            begun = math.ceil(passes)  # an epoch is begun by its first sequence
            again = name in self._epochs and begun > max(1, self._epochs[name])
            fault = f"{name} has begun its epoch {begun}: what it gives now has been seen before"
            verdicts.append(Verdict(name, fault if again else None))
            self._epochs[name] = begun
        return verdicts


class ThroughputDrop:
    """Steps of the same batch have become slower."""

    def __init__(self, settings: WatchSettings) -> None:
        self._settings = settings
        self._recent_size = max(2, settings.throughput_window // 5)
        self._batch = -1
        self._seen: deque[float] = deque(maxlen=settings.throughput_window + self._recent_size)

    def observe(self, record: dict[str, Any]) -> list[Verdict]:
        """Hold the median of the last steps against that of those before."""
        if record["kind"] != "timing":
            return []
        if record["batch_tokens"] != self._batch:
            self._batch = record["batch_tokens"]
            self._seen.clear()
        self._seen.append(record["tokens_per_second"])
        if len(self._seen) < (self._seen.maxlen or 0):
            return []
        speeds = np.array(self._seen)
        before, now = np.median(speeds[: -self._recent_size]), np.median(speeds[-self._recent_size :])
        if now >= (1 - self._settings.throughput_drop) * before:
            return [Verdict("speed", None)]
        return [
            Verdict(
                "speed",
                f"the last {self._recent_size} steps ran at {now:,.0f} tokens/s, those before at {before:,.0f}: "
                "look at the machines and at where the data comes from",
            )
        ]

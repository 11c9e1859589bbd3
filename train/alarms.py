"""Alarms: what is wrong with a run, in words, as soon as its records show it.

An alarm is raised when its condition begins to hold, and again only after it has ceased to. Each goes to ``alarms.jsonl``;
the first of its kind and subject is printed and pins the newest checkpoint, so that there is something to go back to.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tootsie.train.detectors import (
    DatasetWrap,
    Detector,
    EmaGap,
    HeadNormGrowing,
    LogZGrowing,
    LossRising,
    LossSpike,
    ThroughputDrop,
)
from tootsie.train.watch_settings import WatchSettings


class AlarmId(enum.StrEnum):
    """Kinds of alarms."""

    LOSS_RISING = "loss-rising"
    """The loss rises while the learning rate falls."""
    HEAD_NORM_GROWING = "head-norm-growing"
    """The norm of the head grows while the learning rate falls."""
    LOG_Z_GROWING = "log-z-growing"
    """The softmax's log Z moves away from zero while the learning rate falls."""
    EMA_GAP = "ema-gap"
    """At a constant learning rate the average is no better than the hot weights."""
    LOSS_SPIKE = "loss-spike"
    """A loss far above those before it."""
    DATASET_WRAP = "dataset-wrap"
    """A dataset begins another epoch."""
    THROUGHPUT_DROP = "throughput-drop"
    """Steps have become slower; by the clock, so not the same in every run."""
    NON_FINITE = "non-finite"
    """The loss, its gradient or the weights are not finite; the run stops."""


class Alarm(NamedTuple):
    """One alarm."""

    id: AlarmId  # Its kind.
    subject: str  # Of what: a phase, a dataset, a group of parameters.
    step: int  # Updates done when it was raised.
    message: str  # One sentence.
    first: bool  # Whether it is the first of its kind and subject in the run: then it is printed and pins.

    def record(self) -> dict[str, Any]:
        """Return its line in ``alarms.jsonl``."""
        return {
            "step": self.step,
            "id": self.id.value,
            "subject": self.subject,
            "message": self.message,
            "first": self.first,
        }


class Watcher:
    """All detectors of a run."""

    def __init__(self, settings: WatchSettings, passes: Callable[[str, int, int], float]) -> None:
        """Begin with empty windows.

        Args:
          settings: thresholds.
          passes: from dataset, position and sequences drawn of it to passes over it.
        """
        self._detectors: dict[AlarmId, Detector] = {
            AlarmId.LOSS_RISING: LossRising(settings),
            AlarmId.HEAD_NORM_GROWING: HeadNormGrowing(settings),
            AlarmId.LOG_Z_GROWING: LogZGrowing(settings),
            AlarmId.EMA_GAP: EmaGap(settings),
            AlarmId.LOSS_SPIKE: LossSpike(settings),
            AlarmId.THROUGHPUT_DROP: ThroughputDrop(settings),
        }
        if settings.dataset_wrap:
            self._detectors[AlarmId.DATASET_WRAP] = DatasetWrap(passes)
        self._raised: set[tuple[AlarmId, str]] = set()
        self._holding: set[tuple[AlarmId, str]] = set()

    def observe(self, record: dict[str, Any]) -> list[Alarm]:
        """Return the alarms that a record raises.

        Args:
          record: a line of ``metrics.jsonl``, or one of ``timings.jsonl`` of kind ``timing``.
        """
        alarms = []
        for kind, detector in self._detectors.items():
            for subject, fault in detector.observe(record):
                if fault is not None and (kind, subject) not in self._holding:
                    alarms.append(self._raise(kind, subject, record["step"], fault))
                (self._holding.discard if fault is None else self._holding.add)((kind, subject))
        return alarms

    def replay(self, records: Iterable[dict[str, Any]], alarms: Iterable[dict[str, Any]]) -> None:
        """Take up where the records of a run end: what they raise has been told before.

        Args:
          records: lines of ``metrics.jsonl``.
          alarms: lines of ``alarms.jsonl``.
        """
        for record in records:
            self.observe(record)
        self._raised |= {(AlarmId(alarm["id"]), alarm["subject"]) for alarm in alarms}

    def non_finite(self, step: int, phase: str, figures: dict[str, float]) -> Alarm:
        """Return the alarm of a step that is not finite."""
        wrong = ", ".join(f"{name} {value}" for name, value in figures.items() if not math.isfinite(value))
        return self._raise(AlarmId.NON_FINITE, phase, step, f"not finite: {wrong}")

    def _raise(self, kind: AlarmId, subject: str, step: int, message: str) -> Alarm:
        first = (kind, subject) not in self._raised
        self._raised.add((kind, subject))
        return Alarm(kind, subject, step, message, first)

"""``tootsie report why``: what happened near a step that can move the loss, the likeliest first.

Every cause has a strength, from 0 to 1: how much of the data or of the step's size it changes. It counts less the farther it
lies from the step. The ranking is a rule of thumb; what is listed is what the plan and the records say.

Glossary: S steps logged.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.mixtures.changes import list_changes
from tootsie.mixtures.plan_parts import PlanPhase
from tootsie.train.report.records import RunRecords, Timing, read_json_lines


@dataclasses.dataclass(frozen=True)
class Cause:
    """Something that can move the loss."""

    step: int
    """Where it happened: updates done before the first step that it touches."""
    kind: str
    """``mixture``, ``learning rate``, ``batch``, ``setting``, ``epoch``, ``alarm``, ``resume``, ``lineage``."""
    what: str
    """One line."""
    score: float
    """Strength by nearness; the likeliest cause has the highest."""


@dataclasses.dataclass(frozen=True)
class Move:
    """How the loss went around a step."""

    step: int
    """Updates done at the line looked at."""
    loss: float
    """Its loss."""
    before: float
    """Mean of the lines before it."""
    after: float
    """Mean of it and the lines after it."""
    errors: float
    """The difference of the two in standard errors."""


def explain(run: RunRecords, step: int, window: int) -> tuple[Move, list[Cause]]:
    """Return how the loss moved at ``step``, and the causes within ``window`` steps of it, the likeliest first.

    Raises:
      SpecError: the run has recorded no step near it.
    """
    steps = run.series("step").astype(np.int64)
    if not len(steps) or not steps[0] - window <= step <= steps[-1]:
        raise SpecError(
            "the run has not recorded this step",
            field="--step",
            value=step,
            remedy=f"It has {steps[0]:,} to {steps[-1]:,}" if len(steps) else "It has none yet",
        )
    causes = [
        *_boundaries(run, step, window),
        *_rate(run, steps, step, window),
        *_epochs(run, steps, step, window),
        *_alarms(run),
        *_resumes(run),
        *_lineage(run),
    ]
    near = [cause for cause in causes if abs(cause.step - step) <= window and cause.score > 0]
    scored = [
        dataclasses.replace(c, score=round(c.score * math.exp(-3 * abs(c.step - step) / window), 4))
        for c in near
    ]
    return _move(run, steps, step, window), sorted(
        scored, key=lambda cause: (-cause.score, cause.step, cause.what)
    )


def _move(run: RunRecords, steps: np.ndarray, step: int, window: int) -> Move:
    losses = run.series("loss")
    at = int(np.searchsorted(steps, step))
    before = losses[(steps < step) & (steps >= step - window)]
    after = losses[(steps >= step) & (steps < step + window)]
    parts = [part for part in (before, after) if len(part) > 1]
    error = math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts))
    means = [float(part.mean()) if len(part) else math.nan for part in (before, after)]
    errors = (means[1] - means[0]) / error if error else math.nan
    return Move(int(steps[at]), float(losses[at]), means[0], means[1], errors)


def _boundaries(run: RunRecords, step: int, window: int) -> list[Cause]:
    causes = []
    for before, after in zip(run.plan.phases, run.plan.phases[1:], strict=False):
        if abs(after.first_step - step) > window:
            continue
        lengths = run.plan.length_of(before), run.plan.length_of(after)
        shares = _shares_changed(before, after)
        start = f"phase {after.name} begins"
        if shares:
            moved = sum(abs(new - old) for _, old, new in shares) / 2
            shown = ", ".join(f"{name} {old:.1%} → {new:.1%}" for name, old, new in shares[:6])
            causes.append(Cause(after.first_step, "mixture", f"{start}: {shown}", max(0.2, moved)))
        for change in list_changes(before, after, lengths):
            if change.field.startswith("share.") or change.field in ("mixture", "settings.learning_rate"):
                continue
            ratio = _ratio(change.before, change.after)
            kind = "batch" if change.field in ("batch_size", "sequence_length", "batch_tokens") else "setting"
            strength = min(1.0, 0.5 * abs(math.log2(ratio))) if ratio else 0.3
            what = f"{start}: {change.field.removeprefix('settings.')} {change.before} → {change.after}"
            causes.append(Cause(after.first_step, kind, what, strength))
        last, first = run.plan.learning_rate(after.first_step - 1), run.plan.learning_rate(after.first_step)
        if ratio := _ratio(last, first):
            what = f"{start}: learning rate {last:.3g} → {first:.3g}"
            causes.append(Cause(after.first_step, "learning rate", what, min(1.0, abs(math.log(ratio)))))
    return causes


def _shares_changed(before: PlanPhase, after: PlanPhase) -> list[tuple[str, float, float]]:
    """Datasets whose exact share changes, the largest change first, with both shares."""
    shares = [
        (name, before.sequences.get(name, 0) / before.length, after.sequences.get(name, 0) / after.length)
        for name in {**before.sequences, **after.sequences}
    ]
    return sorted(
        (row for row in shares if abs(row[2] - row[1]) > 1e-4), key=lambda row: -abs(row[2] - row[1])
    )


def _ratio(before: Any, after: Any) -> float | None:
    """After ÷ before where both are positive numbers that differ."""
    numbers = all(isinstance(value, (int, float)) and value > 0 for value in (before, after))
    return after / before if numbers and after != before else None


def _rate(run: RunRecords, steps: np.ndarray, step: int, window: int) -> list[Cause]:
    """The learning rate's way within the phase, around the step."""
    inside = (steps >= step - window) & (steps <= step + window)
    phases = [row["phase"] for row in run.train]
    here = phases[int(np.searchsorted(steps, step))]
    rates = [
        row["learning_rate"]
        for row, near in zip(run.train, inside, strict=True)
        if near and row["phase"] == here
    ]
    ratio = _ratio(rates[0], rates[-1]) if rates else None
    if ratio is None:
        return []
    what = f"the learning rate goes from {rates[0]:.3g} to {rates[-1]:.3g} within {window:,} steps on either side"
    return [Cause(step, "learning rate", what, min(1.0, 0.3 * abs(math.log(ratio))))]


def _epochs(run: RunRecords, steps: np.ndarray, step: int, window: int) -> list[Cause]:
    """Datasets that begin another epoch, weighed by their share of the phase."""
    near = np.flatnonzero((steps >= step - window) & (steps <= step + window))
    positions, consumed = run.series("position").astype(np.int64), run.consumed()
    causes = []
    for index, dataset in enumerate(run.plan.datasets):
        passes = run.plan.lengths.passes_along(dataset.name, positions[near], consumed[near, index])
        begun = np.ceil(passes - 1e-9).astype(np.int64)
        for at in np.flatnonzero(np.diff(begun) > 0) + 1:
            if begun[at] < 2:
                continue
            line = int(near[at])
            share = run.plan.phase_of_step(int(steps[line]) - 1).shares.get(dataset.name, 0.0)
            what = f"{dataset.name} ({share:.1%} of the mixture) begins its epoch {begun[at]}"
            causes.append(Cause(int(steps[line]), "epoch", what, 0.1 + 0.7 * share))
    return causes


_ALARM_STRENGTH = {"loss-spike": 0.9, "non-finite": 1.0, "dataset-wrap": 0.0}
"""Of an alarm, where it is not 0.5; an epoch is a cause of its own."""


def _alarms(run: RunRecords) -> list[Cause]:
    return [
        Cause(row["step"], "alarm", f"{row['id']}: {row['message']}", _ALARM_STRENGTH.get(row["id"], 0.5))
        for row in run.alarms
    ]


def _resumes(run: RunRecords) -> list[Cause]:
    """Where the run was continued; more of a cause where code or devices are others than before."""
    causes, before = [], None
    url = storage.join(run.folder, "timings.jsonl")
    for row in read_json_lines(url, Timing):
        if "resumed" not in row:
            continue
        now = row["resumed"]
        changed = [name for name in now if before is not None and now[name] != before.get(name)]
        told = "".join(f"; {name} {before.get(name)} → {now[name]}" for name in changed) if before else ""
        causes.append(
            Cause(row["step"], "resume", f"the run was continued here{told}", 0.5 if changed else 0.1)
        )
        before = now
    return causes


def _lineage(run: RunRecords) -> list[Cause]:
    causes = []
    for entry in run.lineage:
        if entry["kind"] == "operation":
            what = f"{entry['operation']} by hand: {entry['reason']}"
            causes.append(Cause(entry["step"], "lineage", what, 1.0))
        elif entry["kind"] == "branch":
            what = f"the run branches off {entry['run']} here"
            if "rope" in entry:
                what += f", and changes the rotary embedding from {entry['rope_before']} to {entry['rope']}"
            causes.append(Cause(entry["step"], "lineage", what, 1.0 if "rope" in entry else 0.4))
        elif entry["kind"] == "plan" and entry["step"]:
            causes.append(
                Cause(entry["step"], "lineage", f"the run follows plan {entry['hash'][:12]} from here", 0.3)
            )
    return causes


def lines_of(move: Move, causes: list[Cause], trace: str) -> list[str]:
    """Return the answer as lines.

    Args:
      move: how the loss went.
      causes: the likeliest first.
      trace: the command that names what the step saw.
    """
    difference = move.after - move.before
    lines = [
        f"step {move.step:,}: loss {move.loss:.4f}; mean before {move.before:.4f}, from here on {move.after:.4f} "
        f"({difference:+.4f}, {abs(move.errors):.1f} standard errors)"
    ]
    if abs(move.errors) < 3:
        lines.append("  that is within the noise")
    for number, cause in enumerate(causes, 1):
        where = "at this step" if cause.step == move.step else f"{cause.step - move.step:+,} steps"
        lines.append(f"{number:>3}. {cause.score:.2f}  {where:<14} {cause.kind:<13} {cause.what}")
    if not causes:
        lines.append(
            "  nothing that the plan or the records know of happened near: look at the documents themselves"
        )
    return [*lines, f"what the step saw: {trace}"]


def as_json(move: Move, causes: list[Cause]) -> dict[str, Any]:
    """Return the answer for machines."""
    figures = dataclasses.asdict(move).items()
    return {
        "move": {name: None if math.isnan(value) else value for name, value in figures},
        "causes": [dataclasses.asdict(cause) for cause in causes],
    }

"""Two plans side by side: from which sequence and which step on they differ, and in what."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.block_shuffle import how
from tootsie.mixtures.changes import list_changes
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import PlanPhase

_CHUNK = 2**20
"""Positions drawn at a time."""


@dataclass(frozen=True)
class Difference:
    """Where two plans part."""

    position: int
    """First sequence that is not the same (or in a step that is not)."""
    step: int
    """First step of the first plan that is not the same."""
    reason: str
    """What is different there, as one phrase."""


def first_difference(before: Plan, after: Plan, until: int | None = None) -> Difference | None:
    """Return where two plans part, or ``None`` if they agree on every step before ``until``.

    Two plans agree on a step when it has the same batch size and settings, the same learning rate, and draws the same
    windows of the same caches in the same order.

    Args:
      before: a plan.
      after: another; it may be longer or shorter.
      until: first step of ``before`` that no longer matters; absent: all of both, and one that ends earlier differs there.

    Time: phases that are equal are not drawn; of others as many sequences as there are up to the first difference.
    """
    for field in ("seed", "sequence_length", "span"):
        one, other = getattr(before, field), getattr(after, field)
        if one != other:
            return Difference(0, 0, f"{field} {one:,} and {other:,}")
    if before.tokenizer != after.tokenizer:
        return Difference(0, 0, "the tokenizer")
    steps = min(before.total_steps, after.total_steps)
    if until is not None:
        if until > after.total_steps or until > before.total_steps:
            return _at(before, steps, f"one of the plans ends at step {steps:,}")
        steps = min(steps, until)
    settings = _settings_difference(before, after, steps)
    horizon = settings.step if settings is not None else steps
    drawn = _draw_difference(before, after, horizon)
    if drawn is not None or settings is not None:
        return drawn or settings
    if until is None and before.total_steps != after.total_steps:
        return _at(before, steps, f"one of the plans ends at step {steps:,}")
    return None


def _at(plan: Plan, step: int, reason: str) -> Difference:
    position = plan.total_sequences if step >= plan.total_steps else plan.rows_of_step(step)[0]
    return Difference(position, step, reason)


def _stretches(before: Plan, after: Plan, steps: int) -> Iterator[tuple[int, int, PlanPhase, PlanPhase]]:
    """Yield ``(first, end)`` steps in which both plans stay in one phase, with the phases."""
    bounds = {phase.end_step for plan in (before, after) for phase in plan.phases if phase.end_step < steps}
    edges = sorted({0, steps} | bounds)
    for first, end in itertools.pairwise(edges):
        yield first, end, before.phase_of_step(first), after.phase_of_step(first)


def _settings_difference(before: Plan, after: Plan, steps: int) -> Difference | None:
    for first, end, one, other in _stretches(before, after, steps):
        if one.batch_size != other.batch_size:
            return _at(before, first, f"batch size {one.batch_size:,} and {other.batch_size:,}")
        lengths = before.length_of(one), after.length_of(other)
        if lengths[0] != lengths[1]:
            return _at(before, first, f"sequences of {lengths[0]:,} and of {lengths[1]:,} tokens")
        for field in type(one.settings).model_fields:
            mine, theirs = getattr(one.settings, field), getattr(other.settings, field)
            if field != "learning_rate" and mine != theirs:
                return _at(before, first, f"{field} {mine} and {theirs}")
        same = one.settings.learning_rate == other.settings.learning_rate
        if same and (one.first_step, one.end_step) == (other.first_step, other.end_step):
            continue
        for step in range(first, end):
            mine, theirs = before.learning_rate(step), after.learning_rate(step)
            if mine != theirs:
                digits = "g" if f"{mine:g}" != f"{theirs:g}" else ".17g"
                return _at(before, step, f"learning rate {mine:{digits}} and {theirs:{digits}}")
    return None


def _draw_difference(before: Plan, after: Plan, steps: int) -> Difference | None:
    orders = Order(before), Order(after)
    shuffles = [{dataset.name: dataset.shuffle for dataset in plan.datasets} for plan in (before, after)]
    caches = [{dataset.name: dataset.ledger_sha256 for dataset in plan.datasets} for plan in (before, after)]
    for first, end, one, other in _stretches(before, after, steps):
        start = one.start + (first - one.first_step) * one.batch_size
        stop = start + (end - first) * one.batch_size
        alike = all(
            getattr(one, key) == getattr(other, key) for key in ("start", "length", "sequences", "carried")
        ) and before.lengths.begun_in(one) == after.lengths.begun_in(other)
        swapped = [name for name in one.sequences if caches[0][name] != caches[1].get(name, caches[0][name])]
        reshuffled = [name for name in one.sequences if shuffles[0][name] != shuffles[1].get(name)]
        if alike and not swapped and not reshuffled:
            continue
        for position in range(start, stop, _CHUNK):
            positions = np.arange(position, min(position + _CHUNK, stop))
            draws = [order.draw(positions) for order in orders]
            names = [
                np.array([f"{dataset.name} {dataset.ledger_sha256}" for dataset in plan.datasets])[
                    draw.dataset
                ]
                for plan, draw in zip((before, after), draws, strict=True)
            ]
            unlike = np.flatnonzero((names[0] != names[1]) | (draws[0].window != draws[1].window))
            if unlike.size:
                at = int(unlike[0])
                what = [
                    f"window {int(draw.window[at]):,} of {str(name[at]).partition(' ')[0]}"
                    for draw, name in zip(draws, names, strict=True)
                ]
                step = first + (position + at - start) // one.batch_size
                mine = str(names[0][at]).partition(" ")[0]
                why = f" ({mine} is shuffled {how(shuffles[0][mine])}, and {how(shuffles[1].get(mine))})"
                shown = why if names[0][at] == names[1][at] and mine in reshuffled else ""
                return Difference(position + at, step, f"{what[0]} and {what[1]}{shown}")
    return None


def require_same_past(before: Plan, after: Plan, step: int) -> None:
    """Check that ``after`` leaves the steps of ``before`` ahead of ``step`` as they were.

    Raises:
      ArtefactError: it does not; the message names the first sequence that differs.
    """
    difference = first_difference(before, after, step)
    if difference is not None:
        raise ArtefactError(
            f"the plans part at sequence {difference.position:,}, in step {difference.step:,}: {difference.reason}",
            file=f"plan {after.name}",
            field="step",
            value=difference.step,
            remedy=f"Make the new plan from a spec with 'branch: {{plan: …, at: {step} steps}}', which keeps the past",
        )


def compare(before: Plan, after: Plan) -> dict[str, Any]:
    """Return all that differs between two plans, for people and machines."""
    difference = first_difference(before, after)
    sizes = [{dataset.name: dataset for dataset in plan.datasets} for plan in (before, after)]
    datasets = [
        {
            "dataset": name,
            "tokens": [None if name not in part else part[name].tokens for part in sizes],
            "same_cache": name in sizes[0]
            and name in sizes[1]
            and sizes[0][name].ledger_sha256 == sizes[1][name].ledger_sha256,
            "shuffle": [None if name not in part else how(part[name].shuffle) for part in sizes],
        }
        for name in {**sizes[0], **sizes[1]}
        if name not in sizes[0]
        or name not in sizes[1]
        or sizes[0][name].ledger_sha256 != sizes[1][name].ledger_sha256
        or sizes[0][name].shuffle != sizes[1][name].shuffle
    ]
    phases = [{phase.name: phase for phase in plan.phases} for plan in (before, after)]
    changed: list[dict[str, Any]] = []
    for name in {**phases[0], **phases[1]}:
        one, other = phases[0].get(name), phases[1].get(name)
        if one is None or other is None:
            changed.append({"phase": name, "only_in": "second" if one is None else "first"})
            continue
        changes = [
            {"field": key, "before": getattr(one, key), "after": getattr(other, key)}
            for key in ("first_step", "end_step")
            if getattr(one, key) != getattr(other, key)
        ]
        lengths = before.length_of(one), after.length_of(other)
        changes += [
            change.model_dump(mode="json", exclude={"phase"}) for change in list_changes(one, other, lengths)
        ]
        if changes:
            changed.append({"phase": name, "changes": changes})
    return {
        "hashes": [before.hash, after.hash],
        "part_at": None
        if difference is None
        else {"sequence": difference.position, "step": difference.step, "reason": difference.reason},
        "total_steps": [before.total_steps, after.total_steps],
        "total_sequences": [before.total_sequences, after.total_sequences],
        "datasets": datasets,
        "phases": changed,
    }


def differs(result: dict[str, Any]) -> bool:
    """Return whether :func:`compare` has found anything that a run does, or is measured by, otherwise."""
    return (
        result["part_at"] is not None
        or any(before != after for before, after in (result["total_steps"], result["total_sequences"]))
        or bool(result["datasets"] or result["phases"])
    )


def print_comparison(result: dict[str, Any]) -> None:
    """Print what :func:`compare` returns."""
    part = result["part_at"]
    if part is None:
        print("the plans draw the same, step for step")
    else:
        print(f"they part at sequence {part['sequence']:,}, in step {part['step']:,}: {part['reason']}")
    if result["total_steps"][0] != result["total_steps"][1]:
        print("steps: {:,} → {:,}".format(*result["total_steps"]))
    for entry in result["datasets"]:
        sizes = ["absent" if tokens is None else f"{tokens:,} tokens" for tokens in entry["tokens"]]
        shuffles = entry["shuffle"]
        if None not in shuffles and shuffles[0] != shuffles[1]:
            print(f"dataset {entry['dataset']}: shuffled {shuffles[0]} → {shuffles[1]}")
        if not entry["same_cache"]:
            print(f"dataset {entry['dataset']}: {sizes[0]} → {sizes[1]}")
    for entry in result["phases"]:
        if "only_in" in entry:
            print(f"phase {entry['phase']}: only in the {entry['only_in']} plan")
        for change in entry.get("changes", ()):
            print(f"phase {entry['phase']}: {change['field']} {change['before']} → {change['after']}")

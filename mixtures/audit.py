"""What a run has drawn against what its plan says: ``metrics.jsonl`` beside ``plan.json``."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError
from tootsie.mixtures.comparison import first_difference
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan


class _Record(BaseModel):
    """What is read of the line that a run writes after a step; more may stand there."""

    model_config = ConfigDict(frozen=True, strict=True)

    step: int
    """Updates made."""
    position: int = Field(ge=0)
    """Sequences drawn."""
    phase: str
    """Of the plan."""
    batch_size: int
    """Sequences of the step."""
    learning_rate: float
    """Of the update."""
    consumed: dict[str, int]
    """Sequences drawn of each dataset."""
    tokens: int | None = None
    """Tokens drawn."""


@dataclass(frozen=True)
class AuditRow:
    """One dataset."""

    dataset: str
    """Its name."""
    planned: int
    """Sequences that the plan draws before the run's last recorded step is over."""
    consumed: int
    """Sequences that the run recorded."""
    epochs: float
    """Passes consumed."""


@dataclass(frozen=True)
class Audit:
    """A run beside its plan."""

    step: int
    """Updates recorded."""
    rows: tuple[AuditRow, ...]
    """By dataset, in the plan's order."""
    first_deviation: int | None
    """First recorded step whose counts, batch size, phase or learning rate are not the plan's."""
    reason: str | None
    """What deviates there."""
    plans: tuple[tuple[int, str], ...] = ()
    """Where the run has followed several plans: first step of each, and its hash."""


def audit_run(plan: Plan, metrics: str) -> Audit:
    """Compare the training lines of a run's ``metrics.jsonl`` with its plan.

    Where the run has followed other plans before this one, each step is compared with the plan of its time, and each plan
    with the past of the one before it.

    Args:
      plan: the run's plan, the last one where it has been amended.
      metrics: URL of the file, or of the run's folder.

    Raises:
      InputError: there is no such file, or it records no step.
      ArtefactError: a line of it is damaged.
    """
    url = metrics if metrics.endswith(".jsonl") else storage.join(metrics, "metrics.jsonl")
    if not storage.exists(url):
        raise InputError("the run has recorded nothing", file=url, remedy="Give the folder of a run")
    followed = plans_followed(plan, url.rpartition("/")[0] if "/" in url else ".")
    orders = {one.hash: Order(one) for _, one in followed}
    deviation, last = _amended_past(followed), None
    for number, line in enumerate(storage.read_bytes(url).splitlines(), start=1):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ArtefactError("a line is not JSON", file=f"{url}:{number}", value=str(error)) from None
        if isinstance(content, dict) and content.get("kind") != "train":
            continue
        last = record = _record(content, f"{url}:{number}")
        if deviation is None:
            at_its_time = next(
                (one for step, one in reversed(followed) if step < record.step), followed[0][1]
            )
            reason = _deviation(at_its_time, orders[at_its_time.hash], record)
            if reason is not None:
                deviation = (record.step, reason)
    if last is None:
        raise InputError("the run has recorded no step", file=url, remedy="Wait for the first")
    position = min(last.position, plan.total_sequences)
    planned = orders[plan.hash].counts(position).tolist()
    rows = tuple(
        AuditRow(
            dataset.name,
            count,
            last.consumed.get(dataset.name, 0),
            float(plan.lengths.passes(dataset.name, position, last.consumed.get(dataset.name, 0))),
        )
        for dataset, count in zip(plan.datasets, planned, strict=True)
    )
    plans = tuple((step, one.hash) for step, one in followed) if len(followed) > 1 else ()
    first, reason = deviation or (None, None)
    return Audit(last.step, rows, first, reason, plans)


def plans_followed(plan: Plan, folder: str) -> list[tuple[int, Plan]]:
    """Return the plans that a run has followed, with the first step of each; the last is ``plan``.

    They are those of ``lineage`` in the run's ``config.json``, which it keeps in ``plans/``. If ``plan`` is not the last of
    them, the run is held to it alone.

    Args:
      plan: what the run follows now.
      folder: of the run.
    """
    url = storage.join(folder, "config.json")
    try:
        lineage = json.loads(storage.read_bytes(url)).get("lineage", []) if storage.exists(url) else []
        entries = [(entry["step"], entry["hash"]) for entry in lineage if entry["kind"] == "plan"]
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ArtefactError(f"not the configuration of a run: {error}", file=url, field="lineage") from None
    if not entries or entries[-1][1] != plan.hash:
        return [(0, plan)]
    kept = [(step, name, storage.join(folder, "plans", f"{name}.json")) for step, name in entries[:-1]]
    # Those of a run that this one branches off are kept there, and none of their steps is recorded here.
    return [(step, Plan.load(file)) for step, _, file in kept if storage.exists(file)] + [
        (entries[-1][0], plan)
    ]


def _amended_past(followed: list[tuple[int, Plan]]) -> tuple[int, str] | None:
    """Return the first step, counted as in a run's records, at which a plan has not the past of the one before it."""
    for (_, before), (step, after) in itertools.pairwise(followed):
        difference = first_difference(before, after, step)
        if difference is not None:
            why = (
                f"plan {after.hash[:12]}, followed from step {step:,}, has another past: {difference.reason}"
            )
            return difference.step + 1, why
    return None


def _record(content: Any, where: str) -> _Record:
    try:
        return _Record.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise ArtefactError(
            f"the line is not what a run records of a step: {first['msg'].lower()}",
            file=where,
            field=".".join(map(str, first["loc"])) or None,
            value=first["input"],
            remedy="Give the metrics.jsonl of a run of tootsie train, whole",
        ) from None


def _deviation(plan: Plan, order: Order, record: _Record) -> str | None:
    """Return what in a line is not the plan's; step n of a record means after n updates."""
    update = record.step - 1
    if not 0 <= update < plan.total_steps:
        return f"the plan has no step {record.step:,}"
    phase, (_, position) = plan.phase_of_step(update), plan.rows_of_step(update)
    expected: dict[str, Any] = {"phase": phase.name, "batch_size": phase.batch_size, "position": position}
    if record.tokens is not None:
        expected["tokens"] = plan.lengths.tokens_before(position)
    for key, value in expected.items():
        if getattr(record, key) != value:
            return f"{key} is {getattr(record, key)}, planned is {value}"
    rate = plan.learning_rate(update)
    if not abs(record.learning_rate - rate) <= 1e-6 * rate:  # Also where it is no number.
        return f"the learning rate is {record.learning_rate:g}, planned is {rate:g}"
    counts = dict(
        zip((dataset.name for dataset in plan.datasets), order.counts(position).tolist(), strict=True)
    )
    for name in {**counts, **record.consumed}:
        consumed, count = record.consumed.get(name, 0), counts.get(name, 0)
        if consumed != count:
            return f"{consumed:,} sequences of {name} are consumed, planned are {count:,}"
    return None


def print_audit(audit: Audit) -> None:
    """Print an audit: a line for each dataset, then the verdict."""
    width = max(len(row.dataset) for row in audit.rows)
    print(f"after {audit.step:,} updates")
    for step, name in audit.plans:
        print(f"  from step {step:,} by plan {name[:12]}")
    for row in audit.rows:
        mark = "" if row.planned == row.consumed else f"  planned {row.planned:,}"
        print(f"  {row.dataset:<{width}}  {row.consumed:>15,} sequences  {row.epochs:8.3f} epochs{mark}")
    if audit.first_deviation is None:
        print("every recorded step is as planned")
    else:
        print(f"the run leaves its plan at step {audit.first_deviation:,}: {audit.reason}")

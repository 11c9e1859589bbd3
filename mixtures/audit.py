"""What a run has drawn against what its plan says: ``metrics.jsonl`` beside ``plan.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan


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


def audit_run(plan: Plan, metrics: str) -> Audit:
    """Compare the training lines of a run's ``metrics.jsonl`` with its plan.

    Args:
      plan: the run's plan.
      metrics: URL of the file, or of the run's folder.

    Raises:
      InputError: there is no such file, or it records no step.
      ArtefactError: a line of it is damaged.
    """
    url = metrics if metrics.endswith(".jsonl") else storage.join(metrics, "metrics.jsonl")
    if not storage.exists(url):
        raise InputError("the run has recorded nothing", file=url, remedy="Give the folder of a run")
    order, deviation, last = Order(plan), None, None
    for number, line in enumerate(storage.read_bytes(url).splitlines(), start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ArtefactError("a line is not JSON", file=f"{url}:{number}", value=str(error)) from None
        if record.get("kind") != "train":
            continue
        last = record
        if deviation is None:
            reason = _deviation(plan, order, record)
            if reason is not None:
                deviation = (record["step"], reason)
    if last is None:
        raise InputError("the run has recorded no step", file=url, remedy="Wait for the first")
    position = min(last["position"], plan.total_sequences)
    planned = order.counts(position).tolist()
    rows = tuple(
        AuditRow(
            dataset.name,
            count,
            last["consumed"].get(dataset.name, 0),
            float(plan.lengths.passes(dataset.name, position, last["consumed"].get(dataset.name, 0))),
        )
        for dataset, count in zip(plan.datasets, planned, strict=True)
    )
    return Audit(last["step"], rows, *(deviation or (None, None)))


def _deviation(plan: Plan, order: Order, record: dict[str, Any]) -> str | None:
    """Return what in a line is not the plan's; step n of a record means after n updates."""
    update = record["step"] - 1
    if not 0 <= update < plan.total_steps:
        return f"the plan has no step {record['step']:,}"
    phase, (_, position) = plan.phase_of_step(update), plan.rows_of_step(update)
    expected: dict[str, Any] = {"phase": phase.name, "batch_size": phase.batch_size, "position": position}
    if "tokens" in record:
        expected["tokens"] = plan.lengths.tokens_before(position)
    for key, value in expected.items():
        if record[key] != value:
            return f"{key} is {record[key]}, planned is {value}"
    rate = plan.learning_rate(update)
    if abs(record["learning_rate"] - rate) > 1e-6 * rate:
        return f"the learning rate is {record['learning_rate']:g}, planned is {rate:g}"
    counts = order.counts(position).tolist()
    for dataset, count in zip(plan.datasets, counts, strict=True):
        consumed = record["consumed"].get(dataset.name, 0)
        if consumed != count:
            return f"{consumed:,} sequences of {dataset.name} are consumed, planned are {count:,}"
    return None


def print_audit(audit: Audit) -> None:
    """Print an audit: a line for each dataset, then the verdict."""
    width = max(len(row.dataset) for row in audit.rows)
    print(f"after {audit.step:,} updates")
    for row in audit.rows:
        mark = "" if row.planned == row.consumed else f"  planned {row.planned:,}"
        print(f"  {row.dataset:<{width}}  {row.consumed:>15,} sequences  {row.epochs:8.3f} epochs{mark}")
    if audit.first_deviation is None:
        print("every recorded step is as planned")
    else:
        print(f"the run leaves its plan at step {audit.first_deviation:,}: {audit.reason}")

"""A plan as tables on the terminal, as plain data, and as CSV."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from tootsie.mixtures.forecast import DatasetForecast, forecast
from tootsie.mixtures.learning_rate import describe_rate
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import PlanPhase

PLAIN_WIDTH = 140
"""Columns where the output is not a terminal."""
_PHASE_COLUMNS = (
    "phase",
    "mixture",
    "first_step",
    "end_step",
    "start",
    "end",
    "batch_size",
    "sequence_length",
    "learning_rate",
    "learning_rate_end",
)


def plan_summary(plan: Plan) -> dict[str, Any]:
    """Return what :func:`print_plan` prints, as plain data."""
    return {
        "name": plan.name,
        "hash": plan.hash,
        "steps": plan.total_steps,
        "sequences": plan.total_sequences,
        "tokens": plan.total_tokens,
        "phases": [
            {
                "name": phase.name,
                "mixture": phase.mixture,
                "steps": [phase.first_step, phase.end_step],
                "sequences": [phase.start, phase.end],
                "batch_size": phase.batch_size,
                "sequence_length": plan.length_of(phase),
                "settings": phase.settings.model_dump(mode="json"),
            }
            for phase in plan.phases
        ],
        "datasets": [asdict(row) for row in forecast(plan)],
        "unused_tail_tokens": {dataset.name: dataset.tail_tokens for dataset in plan.datasets},
        "changes": [change.model_dump(mode="json") for change in plan.changes],
        "notes": list(plan.notes),
    }


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """Print a plan for a person."""
    if console is None:
        console = Console(highlight=False, markup=False)
        if not console.is_terminal:
            console = Console(highlight=False, markup=False, width=PLAIN_WIDTH)
    lengths = list(dict.fromkeys(f"{tape.length:,}" for tape in plan.lengths.tapes))
    spans = "" if plan.span_length is None else f" in spans of {plan.span_length:,}"
    whose = f"tokenizer {plan.tokenizer.name}" if plan.tokenizer is not None else "from cards"
    console.print(
        Text.assemble(
            (plan.name, "bold"),
            f"  {plan.total_steps:,} steps, {plan.total_sequences:,} sequences of {' and '.join(lengths)}{spans}, "
            f"{amount(plan.total_tokens)} tokens; seed {plan.seed}, {whose}, "
            f"plan {plan.hash[:12]}",
        )
    )
    write = console.file.write
    rows = forecast(plan)
    at = 0
    for phase in plan.phases:
        console.print()
        console.print(_headline(plan, phase), soft_wrap=True)
        write(_phase_table(rows[at : at + len(phase.sequences)]))
        at += len(phase.sequences)
    if plan.changes:
        changes = [
            (change.phase, change.field, _shown(change.before), _shown(change.after))
            for change in plan.changes
        ]
        write("\nchanges\n" + columns(("phase", "field", "before", "after"), changes, left=4))
    for note in plan.notes:
        write(f"note: {note}\n")


def write_csv(plan: Plan, stream: TextIO) -> None:
    """Write a row for each phase and dataset drawn in it, with a row of names first."""
    writer = csv.writer(stream, lineterminator="\n")
    named = [field.name for field in fields(DatasetForecast)]
    writer.writerow([*_PHASE_COLUMNS, *named[1:]])
    rows = iter(forecast(plan))
    for phase in plan.phases:
        rate = phase.settings.learning_rate
        head = [
            phase.name,
            phase.mixture,
            phase.first_step,
            phase.end_step,
            phase.start,
            phase.end,
            phase.batch_size,
            plan.length_of(phase),
        ]
        head += [rate.at(0, phase.steps), rate.final(phase.steps)]
        for row in itertools.islice(rows, len(phase.sequences)):
            writer.writerow([*head, *(getattr(row, name) for name in named[1:])])


def columns(names: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table as lines of text, in time linear in its cells.

    Args:
      names: of the columns.
      rows: a cell for each column.
      left: how many of the first columns are aligned to the left; the others are to the right, but for the last.
    """
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    last = len(names) - 1

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.ljust(width) if number < left or number == last else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(aligned).rstrip()

    rule = "  ".join("─" * width for width in widths)
    return "".join(f" {text}\n" for text in (line(names), rule, *map(line, rows)))


def amount(count: int) -> str:
    """Return a count with three digits and a suffix: ``12.8T``."""
    for divisor, suffix in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= divisor:
            return (
                f"{count / divisor:.3g}{suffix}"
                if count < 999.5 * divisor
                else f"{count / divisor:,.0f}{suffix}"
            )
    return str(count)


def _headline(plan: Plan, phase: PlanPhase) -> Text:
    length = plan.length_of(phase)
    tokens = (phase.end - phase.start) * length
    of_length = f" of {length:,}" if plan.lengths.vary else ""
    return Text.assemble(
        (phase.name, "bold"),
        f"  mixture {phase.mixture}, steps {phase.first_step:,} to {phase.end_step:,} "
        f"of {phase.batch_size:,} sequences{of_length}, {amount(tokens)} tokens, "
        f"learning rate {describe_rate(phase.settings.learning_rate)}",
    )


def _phase_table(rows: Sequence[DatasetForecast]) -> str:
    cells = []
    for row in rows:
        if row.ends_at_step is not None:
            runway = f"first pass ends in step {row.ends_at_step:,}"
        else:
            runway = "" if row.epochs_total < 1 else "repeats"
        cells.append(
            (
                row.dataset,
                _percent(row.share),
                _percent(row.asked),
                f"{row.sequences:,}",
                amount(row.tokens),
                f"{row.epochs:.3g}",
                f"{row.epochs_total:.3g}",
                runway,
            )
        )
    names = ("dataset", "share", "asked", "sequences", "tokens", "epochs", "epochs so far", "runway")
    return columns(names, cells)


def _percent(share: float) -> str:
    return f"{share:.3%}" if share >= 1e-4 else f"{share:.2e}"


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "off" if value is None else str(value)

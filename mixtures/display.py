"""A plan as tables on the terminal, and as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tootsie.mixtures.forecast import DatasetForecast, forecast
from tootsie.mixtures.learning_rate import describe_rate
from tootsie.mixtures.plan import Plan, PlanPhase

PLAIN_WIDTH = 140
"""Columns where the output is not a terminal."""


def plan_summary(plan: Plan) -> dict[str, Any]:
    """Return what :func:`print_plan` prints, as plain data."""
    return {
        "name": plan.name,
        "hash": plan.hash,
        "steps": plan.total_steps,
        "sequences": plan.total_sequences,
        "tokens": plan.total_sequences * plan.sequence_length,
        "phases": [
            {
                "name": phase.name,
                "mixture": phase.mixture,
                "steps": [phase.first_step, phase.end_step],
                "sequences": [phase.start, phase.end],
                "batch_size": phase.batch_size,
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
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=PLAIN_WIDTH)
    total = plan.total_sequences * plan.sequence_length
    whose = f"tokenizer {plan.tokenizer.name}" if plan.tokenizer is not None else "from cards"
    console.print(
        f"[bold]{plan.name}[/bold]  {plan.total_steps:,} steps, {plan.total_sequences:,} sequences of "
        f"{plan.sequence_length:,}, {amount(total)} tokens; seed {plan.seed}, {whose}, "
        f"plan {plan.hash[:12]}"
    )
    rows = forecast(plan)
    for phase in plan.phases:
        console.print()
        console.print(_headline(plan, phase))
        console.print(_phase_table([row for row in rows if row.phase == phase.name]))
    if plan.changes:
        console.print()
        table = Table(title="changes", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for column in ("phase", "field", "before", "after"):
            table.add_column(column)
        for change in plan.changes:
            table.add_row(change.phase, change.field, Text(_shown(change.before)), Text(_shown(change.after)))
        console.print(table)
    for note in plan.notes:
        console.print(Text(f"note: {note}"))


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


def _headline(plan: Plan, phase: PlanPhase) -> str:
    tokens = (phase.end - phase.start) * plan.sequence_length
    return (
        f"[bold]{phase.name}[/bold]  mixture {phase.mixture}, steps {phase.first_step:,} to {phase.end_step:,} "
        f"of {phase.batch_size:,} sequences, {amount(tokens)} tokens, learning rate {describe_rate(phase.settings.learning_rate)}"
    )


def _phase_table(rows: list[DatasetForecast]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("dataset", no_wrap=True)
    for column in ("share", "asked", "sequences", "tokens", "epochs", "epochs so far"):
        table.add_column(column, justify="right")
    table.add_column("runway")
    for row in rows:
        if row.ends_at_step is not None:
            runway = f"first pass ends in step {row.ends_at_step:,}"
        else:
            runway = "" if row.epochs_total < 1 else "repeats"
        table.add_row(
            row.dataset,
            _percent(row.share),
            _percent(row.asked),
            f"{row.sequences:,}",
            amount(row.tokens),
            f"{row.epochs:.3g}",
            f"{row.epochs_total:.3g}",
            runway,
        )
    return table


def _percent(share: float) -> str:
    return f"{share:.3%}" if share >= 1e-4 else f"{share:.2e}"


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "off" if value is None else str(value)

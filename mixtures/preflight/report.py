"""Findings for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tootsie.mixtures.preflight.check import Finding, Severity, refusals

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def print_findings(findings: Sequence[Finding], console: Console | None = None) -> None:
    """Print findings, the worst first, and how many there are."""
    if console is None:
        console = Console(highlight=False, markup=False)
        if not console.is_terminal:
            console = Console(highlight=False, markup=False, width=160)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for finding in findings:
        mark = "acknowledged" if finding.acknowledged is not None else finding.severity.value
        colour = "green" if finding.acknowledged is not None else _COLOURS[finding.severity]
        why = f" (meant: {finding.acknowledged})" if finding.acknowledged is not None else ""
        table.add_row(
            Text(mark, colour),
            Text(finding.check),
            Text(finding.subject),
            Text.assemble(finding.message, (why, "dim")),
        )
    console.print(table)
    counts = [_count(sum(f.severity is severity for f in findings), severity.value) for severity in Severity]
    meant = sum(finding.acknowledged is not None for finding in findings)
    console.print(f"{', '.join(counts)}; {meant} acknowledged; {len(refusals(findings))} to be dealt with")


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

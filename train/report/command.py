"""``tootsie report RUN``: write the page."""

from __future__ import annotations

import typer

app = typer.Typer(add_completion=False)


@app.command()
def report(
    run: str = typer.Argument(help="Folder of the run (the `out` of its run file)."),
    output: str | None = typer.Option(None, "--output", "-o", help="The page; by default RUN/report.html."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Read the run and say what would be written."),
) -> None:
    """Write one self-contained HTML page about a run."""
    from tootsie.datasets import storage
    from tootsie.train.report.page import render
    from tootsie.train.report.records import read_run

    target = output or storage.join(run, "report.html")
    records = read_run(run)
    if dry_run:
        print(f"would write {target}: {len(records.train):,} steps, {len(records.evaluations):,} evaluations")
        return
    storage.write_bytes(target, render(records).encode())
    print(f"report: {target}")

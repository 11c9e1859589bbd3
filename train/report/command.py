"""``tootsie report RUN``: write the page. ``tootsie report why RUN --step N``: what moved the loss there."""

from __future__ import annotations

from typing import Annotated

import typer

from tootsie.datasets.default_command import with_default

app = typer.Typer(
    cls=with_default("page"),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Write one self-contained HTML page about a run: tootsie report RUN",
    context_settings={"help_option_names": ["-h", "--help"]},
)

RUN = "Folder of the run (the `out` of its run file)."


@app.command("page")
def page_command(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help=f"{RUN} Several are shown beside each other.")
    ],
    output: str | None = typer.Option(None, "--output", "-o", help="The page; by default RUN/report.html."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Read the run and say what would be written."),
) -> None:
    """Write one self-contained HTML page about a run, or about several beside each other."""
    from tootsie.datasets import storage
    from tootsie.train.report.beside import render_beside
    from tootsie.train.report.page import render
    from tootsie.train.report.records import read_run

    target = output or storage.join(runs[0], "report.html" if len(runs) == 1 else "comparison.html")
    records = [read_run(run) for run in runs]
    if dry_run:
        steps, scores = (
            sum(map(len, part)) for part in zip(*((r.train, r.evaluations) for r in records), strict=True)
        )
        print(f"would write {target}: {steps:,} steps, {scores:,} evaluations")
        return
    page = render(records[0]) if len(records) == 1 else render_beside(records)
    storage.write_bytes(target, page.encode())
    print(f"report: {target}")


@app.command("why")
def why_command(
    run: str = typer.Argument(help=RUN),
    step: int = typer.Option(..., "--step", min=1, help="The step whose loss moved: after so many updates."),
    window: int = typer.Option(
        100, "--window", min=2, help="How many steps before and after it count as near."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON for machines."),
) -> None:
    """Say what happened near a step that can move the loss, the likeliest first."""
    import json

    from tootsie.train.report import why
    from tootsie.train.report.records import read_run

    records = read_run(run)
    move, causes = why.explain(records, step, window)
    if as_json:
        print(json.dumps(why.as_json(move, causes), indent=1, ensure_ascii=False))
        return
    for line in why.lines_of(move, causes, f"tootsie mix trace {records.plan_url} --step {move.step - 1}"):
        print(line)

"""``tootsie mix``: compile a spec, show a plan, trace a step."""

from __future__ import annotations

from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Compile, show and trace a mixture plan.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="URL of a compiled plan.json.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command("compile")
def compile_command(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="URL of the YAML spec.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PLAN", help="URL to write.")
    ] = "plan.json",
    seed: Annotated[
        int | None, typer.Option(help="Use this seed instead of the spec's.", min=0, max=2**63 - 1)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and report, write nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compile a YAML spec and the ledgers of its caches into a plan."""
    from tootsie.mixtures.compiler import compile_file, refuse_other_file

    if not dry_run:
        refuse_other_file(output)
    plan = compile_file(spec)
    if seed is not None:
        plan = plan.model_copy(update={"seed": seed}).sealed()
    if not dry_run:
        plan.save(output)
    if as_json:
        _print_json({"plan": None if dry_run else output, "hash": plan.hash, "notes": list(plan.notes)})
        return
    for note in plan.notes:
        print(f"note: {note}")
    tokens = plan.total_sequences * plan.sequence_length
    print(
        f"{'checked' if dry_run else output}: {len(plan.phases)} phases, {len(plan.datasets)} datasets, "
        f"{plan.total_steps:,} steps, {plan.total_sequences:,} sequences, {tokens:,} tokens; {plan.hash[:12]}"
    )


@app.command("show")
def show_command(
    plan: PlanArgument,
    picture: Annotated[
        str | None, typer.Option("--picture", metavar="FILE", help="Also draw a timeline: .png or .svg.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a plan: per phase and dataset shares, tokens and epochs; all changes; a picture."""
    from tootsie.mixtures.display import plan_summary, print_plan
    from tootsie.mixtures.plan import Plan

    loaded = Plan.load(plan)
    if picture is not None:
        from tootsie.mixtures.picture import draw_picture

        draw_picture(loaded, picture)
    if as_json:
        _print_json(plan_summary(loaded))
        return
    print_plan(loaded)
    if picture is not None:
        print(f"picture: {picture}")


@app.command("trace")
def trace_command(
    plan: PlanArgument,
    step: Annotated[int, typer.Option("--step", help="Step of the run, from 0.", min=0)],
    row: Annotated[
        int | None, typer.Option("--row", help="Only this row of the batch, from 0.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Name the documents that a step draws: dataset, epoch, window, shard and document ids of each row."""
    from tootsie.mixtures.plan import Plan
    from tootsie.mixtures.trace import print_rows, trace_rows

    rows = trace_rows(Plan.load(plan), step, row)
    if as_json:
        _print_json(rows)
    else:
        print_rows(rows)


def _print_json(value: Any) -> None:
    import json

    print(json.dumps(value, indent=1, ensure_ascii=False))

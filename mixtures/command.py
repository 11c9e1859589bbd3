"""``tootsie mix``: compile a spec, show a plan, compare two, trace a step, find a document, audit a run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Compile, show, compare, trace and audit mixture plans.",
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
    from tootsie.mixtures.compilation import compile_in_full, refuse_other_file
    from tootsie.mixtures.preflight.check import preflight, refusal
    from tootsie.mixtures.preflight.checks import CHECKS

    if not dry_run:
        refuse_other_file(output)
    compiled = compile_in_full(spec)
    plan = compiled.plan
    findings = preflight(compiled, CHECKS)
    refused = refusal(compiled, findings)
    if refused is not None:
        raise refused
    if seed is not None:
        plan = plan.model_copy(update={"seed": seed}).sealed()
    if not dry_run:
        plan.save(output)
    if as_json:
        _print_json({"plan": None if dry_run else output, "hash": plan.hash, "notes": list(plan.notes)})
        return
    for note in plan.notes:
        print(f"note: {note}")
    for finding in findings:
        if finding.severity == "warning" and finding.acknowledged is None:
            print(f"warning: {finding.check}: {finding.subject} {finding.message}")
    tokens = plan.total_tokens
    print(
        f"{'checked' if dry_run else output}: {len(plan.phases)} phases, {len(plan.datasets)} datasets, "
        f"{plan.total_steps:,} steps, {plan.total_sequences:,} sequences, {tokens:,} tokens; {plan.hash[:12]}"
    )


@app.command("preflight")
def preflight_command(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="URL of the YAML spec.")],
    as_json: JsonOption = False,
) -> None:
    """Look for the mistakes of runs before; exit code 2 where one is found that the spec does not acknowledge."""
    import dataclasses

    from tootsie.mixtures.compilation import compile_in_full
    from tootsie.mixtures.preflight.check import preflight, refusals
    from tootsie.mixtures.preflight.checks import CHECKS
    from tootsie.mixtures.preflight.report import print_findings

    findings = preflight(compile_in_full(spec), CHECKS)
    if as_json:
        _print_json([dataclasses.asdict(finding) for finding in findings])
    else:
        print_findings(findings)
    if refusals(findings):
        raise typer.Exit(2)


@app.command("show")
def show_command(
    plan: PlanArgument,
    picture: Annotated[
        str | None, typer.Option("--picture", metavar="FILE", help="Also draw a timeline: .png or .svg.")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV: one row for each phase and dataset.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a plan: per phase and dataset shares, tokens and epochs; all changes; a picture."""
    import sys

    from tootsie.datasets.errors import SpecError
    from tootsie.mixtures.display import plan_summary, print_plan, write_csv
    from tootsie.mixtures.plan import Plan

    if as_csv and as_json:
        raise SpecError(
            "one output, two formats", field="--csv", value="--json", remedy="Leave one of them out"
        )
    loaded = Plan.load(plan)
    if picture is not None:
        from tootsie.mixtures.picture import draw_picture

        draw_picture(loaded, picture)
    if as_csv:
        write_csv(loaded, sys.stdout)
        return
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
    """Name the documents that a step draws: dataset, epoch, window, shard, document ids and URLs of each row."""
    from tootsie.mixtures.plan import Plan
    from tootsie.mixtures.trace import print_rows, trace_rows

    rows = trace_rows(Plan.load(plan), step, row)
    if as_json:
        _print_json(rows)
    else:
        print_rows(rows)


@app.command("changes")
def changes_command(
    plan: PlanArgument,
    before: Annotated[str, typer.Argument(metavar="A", help="Name of a phase.")],
    after: Annotated[str, typer.Argument(metavar="B", help="Name of another.")],
    as_json: JsonOption = False,
) -> None:
    """Say what changed between two phases of a plan: mixture, shares, batch, sequence length, learning rate, settings."""
    from tootsie.mixtures.changes import changes_between
    from tootsie.mixtures.plan import Plan

    found = changes_between(Plan.load(plan), before, after)
    if as_json:
        _print_json([change.model_dump(mode="json") for change in found])
        return
    for change in found:
        print(f"{change.field}: {change.before} → {change.after}")
    if not found:
        print(f"{before} and {after} differ in nothing but their place and length")


@app.command("diff")
def diff_command(
    before: Annotated[str, typer.Argument(metavar="A", help="URL of a compiled plan.json.")],
    after: Annotated[str, typer.Argument(metavar="B", help="URL of another.")],
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="Exit with 1 where the plans differ in anything that a run does, as git diff does.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two plans: the first sequence that differs, datasets, phases, settings."""
    from tootsie.mixtures.comparison import compare, differs, print_comparison
    from tootsie.mixtures.plan import Plan

    result = compare(Plan.load(before), Plan.load(after))
    if as_json:
        _print_json(result)
    else:
        print_comparison(result)
    if exit_code and differs(result):
        raise typer.Exit(1)


@app.command("amend")
def amend_command(
    plan: PlanArgument,
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="URL of the new spec, or of a compiled plan.")],
    step: Annotated[
        int, typer.Option("--step", help="First step that may change: where the run is now.", min=0)
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PLAN", help="Write the new plan here.")
    ] = None,
) -> None:
    """Prove that a new spec leaves the past of a running plan as it was, or name the first sequence that differs."""
    from tootsie.mixtures.comparison import require_same_past
    from tootsie.mixtures.compilation import compile_file, refuse_other_file
    from tootsie.mixtures.plan import Plan

    old = Plan.load(plan)
    new = Plan.load(spec) if spec.endswith(".json") else compile_file(spec)
    require_same_past(old, new, step)
    drawn = old.rows_of_step(step)[0] if step < old.total_steps else old.total_sequences
    if output is not None:
        refuse_other_file(output)
        new.save(output)
    print(
        f"the first {step:,} steps ({drawn:,} sequences) are the same; {new.hash[:12]} may go on from {old.hash[:12]}"
    )


@app.command("find")
def find_command(
    plan: PlanArgument,
    document: Annotated[str, typer.Option("--document", help="Id of a document.")],
    as_json: JsonOption = False,
) -> None:
    """Name every step that sees a document."""
    from tootsie.mixtures.plan import Plan
    from tootsie.mixtures.search import find_document

    draws = find_document(Plan.load(plan), document)
    if as_json:
        _print_json(draws)
        return
    for draw in draws:
        begin, end = draw["tokens"]
        print(
            f"step {draw['step']:,} row {draw['row']}  {draw['phase']}  {draw['dataset']} epoch {draw['epoch']} "
            f"window {draw['window']:,}  tokens {begin:,}-{end:,}"
        )
    print(f"{len(draws):,} times in the run")


@app.command("audit")
def audit_command(
    plan: PlanArgument,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="URL of a run's folder, or of its metrics.jsonl.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Compare what a run has drawn with what its plan says; exit code 1 where they differ."""
    import dataclasses

    from tootsie.mixtures.audit import audit_run, print_audit
    from tootsie.mixtures.plan import Plan

    audit = audit_run(Plan.load(plan), run)
    if as_json:
        _print_json(dataclasses.asdict(audit))
    else:
        print_audit(audit)
    if audit.first_deviation is not None:
        raise typer.Exit(1)


def _print_json(value: Any) -> None:
    import json

    print(json.dumps(value, indent=1, ensure_ascii=False))

"""``tootsie train lint``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

DIFFERENCE = 0.25
"""Shares of documents that differ by more are told."""


def lint_lines(run: Any, inputs: Any) -> list[str]:
    """Return the findings on the held-out sets of a run that is about to start, as lines."""
    from tootsie.tokenize.tokenizers import tokenizer_of
    from tootsie.train.evaluation_lint import lint

    if not run.evaluation.sets:
        return []
    tokenizer = tokenizer_of(inputs.plan.cache_tokenizer, file=run.plan, name=run.tokenizer)
    findings, _ = lint(run, inputs.plan, tokenizer, DIFFERENCE)
    return [f"  warning: {finding.set}: {finding.trait}: {finding.message}" for finding in findings]


def lint_command(
    run_file: Annotated[str, typer.Argument(metavar="RUN.yaml", help="The run file.")],
    difference: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Tell shares of documents that differ by more.")
    ] = DIFFERENCE,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 where anything is found.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Compare how the held-out sets are written with the training mixture: white space, ends of documents, format."""
    import json

    from tootsie.mixtures.plan import Plan
    from tootsie.tokenize.tokenizers import tokenizer_of
    from tootsie.train.evaluation_lint import lint
    from tootsie.train.run_file import load_run_file

    run = load_run_file(run_file)
    plan = Plan.load(run.plan)
    findings, profiles = lint(
        run, plan, tokenizer_of(plan.cache_tokenizer, file=run.plan, name=run.tokenizer), difference
    )
    if as_json:
        content = {
            "findings": [finding._asdict() for finding in findings],
            "profiles": {name: one._asdict() for name, one in profiles.items()},
        }
        typer.echo(json.dumps(content, indent=1, ensure_ascii=False))
    else:
        for finding in findings:
            typer.echo(f"{finding.set}: {finding.trait}: {finding.message}")
        looked = ", ".join(f"{name} {one.documents:,}" for name, one in profiles.items())
        typer.echo(f"{len(findings)} findings; documents looked at: {looked}")
    if exit_code and findings:
        raise typer.Exit(1)

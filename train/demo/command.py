"""``tootsie demo OUT``: run every stage on the sample dumps."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    out: Annotated[
        str, typer.Argument(help="Folder for everything the demo makes; run again to continue.")
    ] = "demo-run",
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A tenth of the documents and steps: to see the stages, not to learn."),
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Records read of each dump.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, help="Of the data order, the first weights and the samples."),
    ] = None,
    mini: Annotated[
        bool,
        typer.Option(
            "--mini",
            help="The Marin 8B run at a thousandth of its steps in place of the demo's: half an hour on two cores.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands, run none.")] = False,
) -> None:
    """Dumps in, a model trained through three phases and a report out. Killed anywhere and run again, it continues."""
    from tootsie.train.demo.settings import Choices, commands
    from tootsie.train.demo.walk import walk

    choices = Choices(quick, limit, seed, mini)
    if dry_run:
        for step in commands(choices):
            print(f"tootsie {shlex.join(step)}")
        return
    walk(out, choices)

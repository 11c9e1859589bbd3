"""``tootsie demo OUT``: run every stage on the sample dumps."""

from __future__ import annotations

import typer

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    out: str = typer.Argument(
        "demo-run", help="Folder for everything the demo makes; run again to continue."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="A tenth of the documents and steps: to see the stages, not to learn."
    ),
) -> None:
    """Dumps in, a model trained through three phases and a report out. Killed anywhere and run again, it continues."""
    from tootsie.train.demo.walk import walk

    walk(out, quick=quick)

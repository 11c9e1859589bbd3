"""``tootsie train state …`` and ``tootsie train pin``: what a person does to the checkpoints of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run file, or the folder of a run.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for whoever reads the report.")]
StepOption = Annotated[int, typer.Option("--step", min=0, help="Step of the checkpoint.")]


@app.callback()
def state() -> None:
    """Change the state of a run at its newest checkpoint, as an operation that is recorded. The old one is kept."""


@app.command("reset-moments")
def reset_moments_command(run: RunArgument, reason: ReasonOption) -> None:
    """Start Adam's moments and its count of updates from zero."""
    from tootsie.train.state_operations import Operation, reset_moments

    _operate(run, Operation.RESET_MOMENTS, reason, reset_moments)


@app.command("ema-on")
def ema_on_command(run: RunArgument, reason: ReasonOption) -> None:
    """Start the average anew from the weights as they are; a phase that keeps one goes on from there."""
    from tootsie.train.state_operations import Operation, ema_on

    _operate(run, Operation.EMA_ON, reason, ema_on)


@app.command("graft")
def graft_command(
    run: RunArgument,
    donor: Annotated[str, typer.Option("--from", metavar="RUN", help="The run to take parameters from.")],
    parameters: Annotated[
        str, typer.Option(help="Regular expression of their whole names, such as 'llama/layer_0/.*'.")
    ],
    reason: ReasonOption,
    step: Annotated[
        int | None, typer.Option("--step", min=0, help="Checkpoint of that run; the newest by default.")
    ] = None,
) -> None:
    """Take some parameters from another run's checkpoint; their moments start from zero."""
    from tootsie.datasets import storage
    from tootsie.train.state_operations import Operation, graft, load_state
    from tootsie.train.weights import run_folder

    source = run_folder(donor)
    record, given = load_state(storage.join(source, "checkpoints"), step)
    origin = {"from": source, "from_step": record.step, "from_checkpoint": record.hash}
    _operate(run, Operation.GRAFT, reason, lambda state: graft(state, given.params, parameters), origin)


def _operate(
    run: str, operation: Any, reason: str, change: Callable[[Any], Any], origin: dict[str, Any] | None = None
) -> None:
    from tootsie.datasets.sole_writer import sole_writer
    from tootsie.train.state_operations import operate
    from tootsie.train.weights import run_folder

    out = run_folder(run)
    with sole_writer(out):
        record = operate(out, operation, reason, change, origin)
    of = record.lineage[-1]["of"]
    typer.echo(
        f"{operation.value} at step {record.step:,}: checkpoint {record.hash[:12]} in the place of {of[:12]}, which is kept"
    )


def pin_command(run: RunArgument, step: StepOption, reason: ReasonOption = "by hand") -> None:
    """Keep a checkpoint for good, a temporary one too; the run may be under way."""
    from tootsie.datasets import storage
    from tootsie.train.pins import pin
    from tootsie.train.weights import run_folder

    pin(storage.join(run_folder(run), "checkpoints"), step, reason)
    typer.echo(f"pinned step {step:,}: {reason}")


def unpin_command(run: RunArgument, step: StepOption) -> None:
    """Take a pin away."""
    from tootsie.datasets import storage
    from tootsie.train.pins import unpin
    from tootsie.train.weights import run_folder

    unpin(storage.join(run_folder(run), "checkpoints"), step)
    typer.echo(f"step {step:,} is not pinned any more")

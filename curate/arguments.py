"""What every pipeline command reads off the command line besides its options: inputs, an output folder, options for Beam."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions


def inputs_and_output(tokens: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Return the inputs, the output folder, and what is meant for Beam.

    Args:
      tokens: what the command's own options left over; of the paths, the output comes last.

    Raises:
      SpecError: a path is missing or empty, or the output lies inside an input.
    """
    from tootsie.datasets import beam_runner

    paths, beam_arguments = beam_runner.split_arguments(tokens)
    if len(paths) < 2:
        raise SpecError("inputs and an output folder are needed", field="IN... OUT", value=list(paths))
    if "" in paths:  # an unset variable of a shell would else mean this folder
        raise SpecError("a path is empty", field="IN... OUT", value=list(paths))
    folder = paths.pop().rstrip("/") or "/"
    refuse_output_inside(folder, paths)
    return paths, folder, beam_arguments


def refuse_output_inside(folder: str, inputs: Iterable[str]) -> None:
    """Refuse an output folder inside one of the inputs: the next run would read what this one wrote.

    Raises:
      SpecError: it lies there.
    """
    place = storage.absolute(folder)
    for path in map(storage.absolute, storage.expand(inputs)):
        if f"{place}/".startswith(f"{path}/"):
            raise SpecError(
                "the output must not lie inside an input", file=folder, remedy="Name another folder"
            )


def beam_options(stage: str, arguments: Sequence[str], workers: int | None) -> PipelineOptions:
    """Return Beam's options for a command of ``tootsie curate``; a mistyped one is compared with the command's own.

    Args:
      stage: name of the command.
      arguments: what is meant for Beam.
      workers: see :func:`tootsie.datasets.beam_runner.pipeline_options`.
    """
    import typer.main

    from tootsie.curate.command import app
    from tootsie.datasets import beam_runner

    command = typer.main.get_group(app).commands[stage]
    own = [name for parameter in command.params for name in parameter.opts]
    return beam_runner.pipeline_options(
        arguments, workers=workers, job_name=f"tootsie-curate-{stage}", own_options=own
    )

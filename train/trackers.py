"""Where a run is shown besides its line files: TensorBoard, and Weights & Biases where the run file asks for it.

The line files are the record; a tracker is a view of it, and a run never depends on one.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError


class WandbSettings(BaseModel):
    """Weights & Biases (``pip install "tootsie[wandb]"``)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: str = Field(min_length=1)
    """Name of the project."""
    name: str | None = None
    """Name of the run there; absent: one is made up."""
    mode: Literal["offline", "online"] = "offline"
    """``offline`` writes below ``out/wandb``, to be sent later by ``wandb sync``."""


class Tracker(Protocol):
    """A view of a run."""

    def numbers(self, values: dict[str, float], step: int) -> None:
        """Show numbers by name; ``step`` is updates done."""

    def text(self, name: str, value: str, step: int) -> None:
        """Show a text."""

    def flush(self) -> None:
        """Make sure that all is on disk."""

    def close(self) -> None:
        """Flush and end."""


class TensorBoard:
    """Events below ``out/tensorboard``, on a local disk."""

    def __init__(self, folder: str, step: int) -> None:
        """Drop the events after ``step``."""
        from tensorboardX import SummaryWriter

        self._writer = SummaryWriter(folder, purge_step=step + 1)

    def numbers(self, values: dict[str, float], step: int) -> None:
        """Show numbers by name."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def text(self, name: str, value: str, step: int) -> None:
        """Show a text."""
        self._writer.add_text(name, value, step)

    def flush(self) -> None:
        """Make sure that all is on disk."""
        self._writer.flush()

    def close(self) -> None:
        """Flush and end."""
        self._writer.close()


class Wandb:
    """A run of Weights & Biases; each invocation that continues the run is one of its own, in the same group."""

    def __init__(self, settings: WandbSettings, folder: str, step: int) -> None:
        """Begin a run there.

        Args:
          settings: of the run file.
          folder: of the run, local.
          step: updates done before.

        Raises:
          SpecError: the package is not installed.
        """
        try:
            import wandb
        except ImportError:
            raise SpecError(
                "Weights & Biases is not installed", field="wandb", remedy='Run: pip install "tootsie[wandb]"'
            ) from None
        self._wandb: Any = wandb
        name = None if settings.name is None else settings.name + (f" from step {step}" if step else "")
        self._run: Any = wandb.init(
            project=settings.project,
            name=name,
            group=settings.name,
            dir=folder,
            mode=settings.mode,
            settings=wandb.Settings(console="off", silent=True),
        )
        self._run.define_metric("*", step_metric="step")  # records of one step come in several pieces

    def numbers(self, values: dict[str, float], step: int) -> None:
        """Show numbers by name."""
        if values:
            self._run.log({**values, "step": step})

    def text(self, name: str, value: str, step: int) -> None:
        """Show a text, in the summary."""
        self._run.summary[f"{name}/{step}"] = value

    def flush(self) -> None:
        """Nothing to do: each record is written by itself."""

    def close(self) -> None:
        """End the run there, and wait until the process that writes its files has."""
        self._run.finish()
        self._wandb.teardown()


def trackers_of(out: str, step: int, wandb: WandbSettings | None) -> list[Tracker]:
    """Return the trackers of a run.

    Args:
      out: folder of the run; trackers need it on a local disk.
      step: updates done before.
      wandb: settings of Weights & Biases, where it is wanted.

    Raises:
      SpecError: a tracker that was asked for can't run.
    """
    folder = storage.local_path(out)
    if folder is None:
        if wandb is not None:
            raise SpecError("Weights & Biases needs a local 'out'", field="wandb", value=out)
        return []
    trackers: list[Tracker] = [TensorBoard(str(folder / "tensorboard"), step)]
    if wandb is not None:
        trackers.append(Wandb(wandb, str(folder), step))
    return trackers

"""What a plan means for each dataset: shares, tokens, epochs and how long it lasts."""

from __future__ import annotations

from dataclasses import dataclass

from tootsie.mixtures.plan import WEIGHT_TOTAL, Plan, PlanPhase


@dataclass(frozen=True)
class DatasetForecast:
    """One dataset in one phase."""

    phase: str
    """Name of the phase."""
    dataset: str
    """Name of the dataset."""
    share: float
    """Part of the phase's sequences."""
    asked: float
    """Part that the spec asks for; differs from ``share`` by less than one sequence or so in the phase."""
    sequences: int
    """Sequences drawn in the phase."""
    tokens: int
    """Tokens drawn in the phase."""
    epochs: float
    """Passes in the phase."""
    epochs_total: float
    """Passes from the start of the run to the end of the phase."""
    ends_at_step: int | None
    """Step of the run in which the first pass is completed, where that is in this phase."""


def forecast(plan: Plan) -> list[DatasetForecast]:
    """Return a row for each phase and dataset drawn in it."""
    windows = {dataset.name: dataset.windows for dataset in plan.datasets}
    rows = []
    for phase in plan.phases:
        for name, planned in phase.sequences.items():
            # Exact for whole phases; of one that is cut short, within one sequence.
            count = planned * (phase.end - phase.start) // phase.length
            total = phase.carried.get(name, 0) + count
            rows.append(
                DatasetForecast(
                    phase=phase.name,
                    dataset=name,
                    share=planned / phase.length,
                    asked=phase.asked.get(name, 0) / WEIGHT_TOTAL,
                    sequences=count,
                    tokens=count * plan.sequence_length,
                    epochs=count / windows[name],
                    epochs_total=total / windows[name],
                    ends_at_step=first_pass_ends(phase, name, windows[name]),
                )
            )
    return rows


def first_pass_ends(phase: PlanPhase, name: str, windows: int) -> int | None:
    """Return the step in which a dataset's first pass is due to be complete, or ``None`` if not in this phase."""
    before, planned = phase.carried.get(name, 0), phase.sequences[name]
    if before >= windows or before + planned < windows:
        return None
    position = -(-(windows - before) * phase.length // planned)
    if position > phase.end - phase.start:
        return None
    return phase.first_step + (position - 1) // phase.batch_size

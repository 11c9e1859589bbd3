"""What a plan means for each dataset: shares, tokens, epochs and how long it lasts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL, PlanPhase


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
    tokens = {dataset.name: dataset.tokens for dataset in plan.datasets}
    lengths, rows = plan.lengths, []
    for number, (phase, tape) in enumerate(zip(plan.phases, lengths.tapes, strict=True)):
        for name, planned in phase.sequences.items():
            # Exact for whole phases; of one that is cut short, within one sequence.
            count = planned * (phase.end - phase.start) // phase.length
            carried, in_epoch = phase.carried.get(name, 0), tape.rows(tokens[name])
            before, total = (lengths.read(name, number, drawn) for drawn in (carried, carried + count))
            rows.append(
                DatasetForecast(
                    phase=phase.name,
                    dataset=name,
                    share=planned / phase.length,
                    asked=phase.asked.get(name, 0) / WEIGHT_TOTAL,
                    sequences=count,
                    tokens=count * tape.length,
                    epochs=count / in_epoch,
                    epochs_total=float(total / in_epoch),
                    ends_at_step=first_pass_ends(phase, name, before, in_epoch),
                )
            )
    return rows


def first_pass_ends(phase: PlanPhase, name: str, read: int | Fraction, in_epoch: int) -> int | None:
    """Return the step in which a dataset has been seen once, or ``None`` if that is not in this phase.

    Args:
      phase: of the plan.
      name: of a dataset that it draws.
      read: passes before the phase, in its sequences.
      in_epoch: sequences of the phase in a pass.
    """
    left, planned = math.ceil(in_epoch - read), phase.sequences[name]
    if not 0 < left <= planned:
        return None
    position = -(-left * phase.length // planned)
    if position > phase.end - phase.start:
        return None
    return phase.first_step + (position - 1) // phase.batch_size

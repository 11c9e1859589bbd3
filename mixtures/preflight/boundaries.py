"""Checks of where phases end: the same number means another place in steps, in sequences and in tokens."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator

from tootsie.mixtures.compilation import Compiled
from tootsie.mixtures.phase_part import whole_name
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.preflight.check import Check, Problem, Severity

FAR = 0.01
"""Part of the run between a boundary and where it would be in the other unit, from which on it is worth a line."""


def _other_unit(compiled: Compiled) -> Iterator[Problem]:
    """Where a schedule that counts the other unit would change the mixture."""
    plan = compiled.plan
    seen: set[str] = set()
    for before, after in itertools.pairwise(plan.phases):
        if before.asked == after.asked or (
            compiled.plan.branch and after.first_step < compiled.plan.branch.step
        ):
            continue
        name = whole_name(after.name)  # Of a ramp, the first part is where the mixture begins to change.
        if name in seen:
            continue
        seen.add(name)
        as_sequences = step_of_sequence(plan, after.first_step)
        if after.first_step - as_sequences < FAR * plan.total_steps:
            continue
        yield Problem(
            name,
            Severity.INFO,
            f"changes the mixture at step {after.first_step:,}, sequence {after.start:,}. A schedule that counts sequences "
            f"(samples) and is given {after.first_step:,} changes it at step {as_sequences:,}, after "
            f"{as_sequences / plan.total_steps:.2%} of the run: the hand-over to the first cooldown of the 8B run failed "
            "so. Follow the plan's positions, "
            "or write the unit with every number",
        )


def step_of_sequence(plan: Plan, sequence: int) -> int:
    """Return the step that draws a sequence of the run."""
    phase = plan.phases[
        min(bisect.bisect_right([phase.end for phase in plan.phases], sequence), len(plan.phases) - 1)
    ]
    return phase.first_step + (sequence - phase.start) // phase.batch_size


BOUNDARY_CHECKS = (
    Check("boundaries", (11,), "changes of the mixture that another unit would put elsewhere", _other_unit),
)

"""All that differs between two phases: nothing changes silently."""

from __future__ import annotations

from typing import Any

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.learning_rate import describe_rate
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL, Change, PlanPhase
from tootsie.mixtures.settings import PhaseSettings, RopeSettings

INHERITED = tuple(name for name in PhaseSettings.model_fields if name != "learning_rate")
"""Settings that a phase inherits as they are."""


def list_changes(before: PlanPhase, after: PlanPhase, lengths: tuple[int, int] = (0, 0)) -> list[Change]:
    """Return every difference between two phases: mixture, shares asked, batch size, sequence length, each setting.

    Args:
      before: a phase.
      after: another.
      lengths: tokens in a sequence of each.
    """

    def change(field: str, old: Any, new: Any) -> list[Change]:
        return [] if old == new else [Change(phase=after.name, field=field, before=old, after=new)]

    changes = change("mixture", before.mixture, after.mixture)
    for name in {**before.asked, **after.asked}:
        if before.asked.get(name, 0) != after.asked.get(name, 0):
            old, new = (phase.asked.get(name, 0) / WEIGHT_TOTAL for phase in (before, after))
            changes += change(f"share.{name}", float(f"{old:.6g}"), float(f"{new:.6g}"))
    changes += change("batch_size", before.batch_size, after.batch_size)
    if lengths[0] != lengths[1]:
        changes += change("sequence_length", *lengths)
        changes += change("batch_tokens", before.batch_size * lengths[0], after.batch_size * lengths[1])
    changes += change(
        "settings.learning_rate",
        describe_rate(before.settings.learning_rate),
        describe_rate(after.settings.learning_rate),
    )
    for name in INHERITED:
        first, second = (
            str(value) if isinstance(value, RopeSettings) else value
            for value in (getattr(before.settings, name), getattr(after.settings, name))
        )
        changes += change(f"settings.{name}", first, second)
    return changes


def changes_between(plan: Plan, before: str, after: str) -> list[Change]:
    """Return every difference between two phases of a plan, named by them.

    Raises:
      SpecError: the plan has no such phase.
    """
    phases = {phase.name: phase for phase in plan.phases}
    for name in (before, after):
        if name not in phases:
            raise SpecError(
                "the plan has no such phase", field="phase", value=name, remedy=f"It has {', '.join(phases)}"
            )
    one, other = phases[before], phases[after]
    return list_changes(one, other, (plan.length_of(one), plan.length_of(other)))

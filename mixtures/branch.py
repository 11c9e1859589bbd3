"""Runs that branch off another: the past is the other plan's, the future is new."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.block_shuffle import how
from tootsie.mixtures.duration import Unit, parse_duration
from tootsie.mixtures.measured import Measured, measured_in_plan, planned_shuffle
from tootsie.mixtures.order import Order
from tootsie.mixtures.phase_part import whole_name
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import Branch, PlanPhase
from tootsie.mixtures.shares import add_owed
from tootsie.mixtures.spec import Spec

_END_OF = re.compile(r"end of (?P<phase>\S.*)")


def branch_step(at: str, base: Plan) -> int:
    """Return the step of ``base`` that a branching point means: ``end of jellyfish``, ``820000 steps``, ``4.8T tokens``.

    Raises:
      ValueError: there is no such phase, the base does not get there, or it falls within a step.
    """
    match = _END_OF.fullmatch(at.strip())
    if match is not None:
        # The end of a phase is that of the last of its parts; a part has a name too.
        whole = {whole_name(phase.name): phase.end_step for phase in base.phases}
        ends = whole | {phase.name: phase.end_step for phase in base.phases}
        if match["phase"] not in ends:
            raise ValueError(
                f"the plan has no phase {match['phase']!r}; it has {', '.join(list(whole)[:50])}"
            )
        return ends[match["phase"]]
    duration = parse_duration(at)
    if duration.unit is Unit.EPOCHS:
        raise ValueError("a branching point cannot be in epochs")
    if duration.unit is Unit.STEPS:
        step = Fraction(duration.amount)
    else:
        sequences = duration.amount
        if duration.unit is Unit.TOKENS:
            sequences = base.lengths.position_of(duration.amount)
        phase = next((phase for phase in base.phases if sequences <= phase.end), base.phases[-1])
        step = phase.first_step + (sequences - phase.start) / phase.batch_size
    if step.denominator != 1:
        raise ValueError(
            f"that is within a step ({float(step):,.3f}); write it in steps, for example {math.floor(step)} steps"
        )
    if not 0 < step <= base.total_steps:
        raise ValueError(f"the plan has {base.total_steps:,} steps")
    return int(step)


def past(base: Plan, step: int) -> list[PlanPhase]:
    """Return the phases of ``base`` up to ``step`` (> 0); the last may be cut short."""
    phases = []
    for phase in base.phases:
        if phase.first_step >= step:
            break
        if phase.end_step > step:
            end = phase.start + (step - phase.first_step) * phase.batch_size
            rate = phase.settings.learning_rate.part(0, phase.steps)
            settings = phase.settings.model_copy(update={"learning_rate": rate})
            phase = phase.model_copy(update={"end": end, "end_step": step, "settings": settings})
        phases.append(PlanPhase.model_validate(phase.model_dump()))
    return phases


def drawn_by(base: Plan, step: int) -> dict[str, int]:
    """Return how many sequences of each dataset ``base`` has drawn before ``step``; zeros are left out."""
    position = base.total_sequences if step == base.total_steps else base.rows_of_step(step)[0]
    counts = Order(base).counts(position).tolist()
    return {dataset.name: count for dataset, count in zip(base.datasets, counts, strict=True) if count}


def owed_after(base: Plan, phases: list[PlanPhase], drawn: dict[str, int]) -> dict[str, int]:
    """Return tokens asked of ``phases``, the first ones of ``base``, minus those drawn, by dataset, in units of 1/2**62."""
    owed: dict[str, int] = {}
    reached = [*(phase.carried for phase in phases[1:]), drawn]
    for phase, after in zip(phases, reached, strict=True):
        here = {name: count - phase.carried.get(name, 0) for name, count in after.items()}
        owed = add_owed(owed, phase.asked, phase.end - phase.start, here, base.length_of(phase))
    return owed


def check_base(spec: Spec, source: YamlSource, base: Plan, measured: dict[str, Measured]) -> None:
    """Check that a spec can go on from a plan, and add the plan's datasets that it does not name to ``measured``.

    Raises:
      SpecError: another seed, sequence length or tokenizer, or a dataset that is another cache now.
    """
    at: Path = ("branch", "plan")
    kept = {"seed": base.seed, "sequence_length": base.sequence_length, "span_length": base.span}
    for field, value in kept.items():
        if value != (spec.span if field == "span_length" else getattr(spec, field)):
            raise source.error(
                f"the plan that it branches off has {field} {value:,}",
                (field,),
                getattr(spec, field),
                "A branch keeps it: it decides what has been drawn",
            )
    for dataset in base.datasets:
        known = measured.get(dataset.name)
        if known is None:
            measured[dataset.name] = measured_in_plan(dataset, base.tokenizer)
        elif known.identity != dataset.ledger_sha256:
            raise source.error(
                f"the dataset {dataset.name!r} is not the cache that the plan drew from "
                f"(ledger {known.identity[:12]}, then {dataset.ledger_sha256[:12]})",
                at,
                remedy="Give the new cache another name",
            )
        shuffle = planned_shuffle(dataset.name, spec, measured[dataset.name])
        if shuffle != dataset.shuffle:
            raise source.error(
                f"the plan that it branches off shuffles {dataset.name!r} {how(dataset.shuffle)}",
                ("datasets", dataset.name, "shuffle"),
                how(shuffle),
                "A branch keeps it: an epoch that has begun cannot be shuffled anew. Leave the line out",
            )


def branch_record(base: Plan, step: int) -> Branch:
    """Return what a plan says about where it comes from."""
    return Branch(plan=base.name, hash=base.hash, step=step)

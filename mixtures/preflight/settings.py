"""Checks of how it is trained: what changes between phases, and what never should."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from tootsie.mixtures.compilation import Compiled
from tootsie.mixtures.duration import Unit
from tootsie.mixtures.plan_parts import PlanPhase
from tootsie.mixtures.preflight.check import Check, Problem, Severity

SAFE_RATE_FOR_TUNING = 1e-4
"""Rate at the end of a run above which fine-tuning it was hard (the 8B run at 1.7e-4)."""


def _pairs(compiled: Compiled) -> Iterator[tuple[PlanPhase, PlanPhase]]:
    phases = compiled.plan.phases
    yield from itertools.pairwise(phases)


def _rope(compiled: Compiled) -> Iterator[Problem]:
    for before, after in _pairs(compiled):
        if before.settings.rope != after.settings.rope:
            yield Problem(
                after.name,
                Severity.ERROR,
                f"changes the rotary embedding from {before.settings.rope or 'that of the run file'} to "
                f"{after.settings.rope or 'that of the run file'} in the middle of the run. The model has to learn its positions "
                "anew: start with the right one",
            )


def _z_loss(compiled: Compiled) -> Iterator[Problem]:
    peak = max(phase.settings.learning_rate.start for phase in compiled.plan.phases)
    for phase in compiled.plan.phases:
        if phase.settings.z_loss:
            continue
        lowest = min(phase.settings.learning_rate.start, phase.settings.learning_rate.end)
        deep = lowest <= peak / 20
        yield Problem(
            phase.name,
            Severity.ERROR if deep else Severity.WARNING,
            f"has no z-loss{f' at a rate as low as {lowest:g}' if deep else ''}: the norm of the output layer grows, and in deep "
            "cooldown the loss creeps up. Write 'z_loss: 1e-4'",
        )


def _weight_decay(compiled: Compiled) -> Iterator[Problem]:
    for before, after in _pairs(compiled):
        old, new = before.settings.weight_decay, after.settings.weight_decay
        if old != new:
            times = f", {new / old:g} ×" if old else ""
            yield Problem(
                after.name,
                Severity.WARNING,
                f"changes the weight decay from {old:g} to {new:g}{times}. In the 8B run a framework's default did this in "
                "silence: acknowledge it if it is meant",
            )


def _optimizer(compiled: Compiled) -> Iterator[Problem]:
    for before, after in _pairs(compiled):
        for name in ("clip_norm", "adam_beta1", "adam_beta2", "adam_epsilon"):
            old, new = getattr(before.settings, name), getattr(after.settings, name)
            if old != new:
                shown = ["off" if value is None else f"{value:g}" for value in (old, new)]
                yield Problem(
                    after.name,
                    Severity.ERROR if new is None else Severity.WARNING,
                    f"changes {name} from {shown[0]} to {shown[1]}: acknowledge it if it is meant",
                )


def _ema(compiled: Compiled) -> Iterator[Problem]:
    for before, after in _pairs(compiled):
        if before.settings.ema_beta is None and after.settings.ema_beta is not None:
            yield Problem(
                after.name,
                Severity.INFO,
                f"switches the average on; it starts from the weights as they are then, and spans about "
                f"{1 / (1 - after.settings.ema_beta):,.0f} steps",
            )


def _batch(compiled: Compiled) -> Iterator[Problem]:
    for before, after in _pairs(compiled):
        sizes = [phase.batch_size * compiled.plan.length_of(phase) for phase in (before, after)]
        ratio = sizes[1] / sizes[0]
        if ratio == 1:
            continue
        alike = compiled.plan.length_of(before) == compiled.plan.length_of(after)
        shown, unit = ([before.batch_size, after.batch_size], "sequences") if alike else (sizes, "tokens")
        old = before.settings.learning_rate.start
        rooted = old * math.sqrt(ratio)
        new = after.settings.learning_rate.start
        if not math.isclose(new, rooted, rel_tol=0.1):
            yield Problem(
                after.name,
                Severity.WARNING,
                f"has a batch of {shown[1]:,} after {shown[0]:,} {unit}, a rate of {new:g} after {old:g}; "
                f"by the square-root rule it would be {rooted:.3g}. Write 'scale: sqrt', or acknowledge it",
            )


def _lengths(compiled: Compiled) -> Iterator[Problem]:
    """Sequences that become longer or shorter: what happens to passes, to the rotary embedding, to the batch."""
    plan = compiled.plan
    for before, after in _pairs(compiled):
        old, new = plan.tape_of(before), plan.tape_of(after)
        if old.length == new.length:
            continue
        if new.span != old.span:
            # A span that all lengths divide is what shares their epochs.
            shared = math.lcm(*(tape.length for tape in plan.lengths.tapes))
            yield Problem(
                after.name,
                Severity.WARNING,
                f"has sequences of {new.length:,} after {old.length:,} tokens, which are not cut from the same spans "
                f"({plan.span:,} tokens): passes over the datasets begin anew, so that text can be seen once more than other "
                f"text. Write 'span_length: {shared}' in a spec that has not begun to train, or acknowledge it",
            )
        if new.length > old.length and before.settings.rope == after.settings.rope:
            yield Problem(
                after.name,
                Severity.INFO,
                f"has sequences of {new.length:,} after {old.length:,} tokens with the same rotary embedding, which has to be "
                f"meant for {new.length:,} positions from the start",
            )


def _jumps(compiled: Compiled) -> Iterator[Problem]:
    for before, after in _pairs(compiled):
        reached = before.settings.learning_rate.final(before.steps)
        first = after.settings.learning_rate.at(0, after.steps)
        if reached and (first / reached > 2 or first / reached < 0.5):
            yield Problem(
                after.name,
                Severity.WARNING,
                f"starts at a learning rate of {first:g} where {before.name!r} ended at {reached:g}, without a rise between. "
                "Add 'warmup', or acknowledge it",
            )


def _units(compiled: Compiled) -> Iterator[Problem]:
    """A number of sequences that is a boundary in steps, or the other way round: one was meant as the other."""
    steps = {phase.end_step for phase in compiled.plan.phases}
    sequences = {phase.end for phase in compiled.plan.phases}
    for phase in compiled.spec.phases:
        duration = phase.until or phase.length
        if duration is None:
            continue
        other, name = (steps, "steps") if duration.unit is Unit.SEQUENCES else (sequences, "sequences")
        if (
            duration.unit in (Unit.SEQUENCES, Unit.STEPS)
            and duration.amount in other
            and len(compiled.plan.phases) > 1
        ):
            mine = sequences if duration.unit is Unit.SEQUENCES else steps
            if duration.amount in mine:
                continue
            yield Problem(
                phase.name,
                Severity.ERROR,
                f"{'runs until' if phase.until else 'lasts'} {duration}, and {int(duration.amount):,} {name} is where another "
                f"phase ends. Is it meant in {name}?",
            )
    durations = [phase.until or phase.length for phase in compiled.spec.phases]
    used = {duration.unit for duration in durations if duration is not None}
    if {Unit.STEPS, Unit.SEQUENCES} <= used:
        yield Problem(
            compiled.spec.name,
            Severity.WARNING,
            "ends some phases in steps and some in sequences, which differ by the batch size; in the 8B run one was once taken "
            "for the other. Use one of them, or tokens",
        )


def _last_rate(compiled: Compiled) -> Iterator[Problem]:
    last = compiled.plan.phases[-1]
    rate = last.settings.learning_rate.final(last.steps)
    decayed = any(
        phase.settings.learning_rate.final(phase.steps) < phase.settings.learning_rate.start
        for phase in compiled.plan.phases
    )
    if decayed and rate > SAFE_RATE_FOR_TUNING:
        yield Problem(
            last.name,
            Severity.WARNING,
            f"ends the run at a learning rate of {rate:g}. Models cooled down to {SAFE_RATE_FOR_TUNING:g} or less were easier to "
            "fine-tune: cool down further",
        )


SETTINGS_CHECKS = (
    Check("rope", (1, 34), "a rotary embedding that changes", _rope),
    Check("z-loss", (4,), "phases without z-loss", _z_loss),
    Check("weight-decay", (15,), "weight decay that changes", _weight_decay),
    Check("optimizer", (27, 15), "clipping or moments that change", _optimizer),
    Check("average", (2, 3), "where averaging begins", _ema),
    Check("batch-and-rate", (13,), "batch size and learning rate that do not go together", _batch),
    Check("sequence-length", (34,), "sequence lengths that change", _lengths),
    Check("rate-jumps", (14,), "learning rates that jump", _jumps),
    Check("units", (11,), "steps and sequences taken for one another", _units),
    Check("last-rate", (35,), "a run that ends at a high learning rate", _last_rate),
)

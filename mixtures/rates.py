"""The learning-rate segment of a phase, from what the spec says and where the phase before ended."""

from __future__ import annotations

import math
from fractions import Fraction

from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.duration import Duration
from tootsie.mixtures.learning_rate import Cycle, LearningRate, Shape
from tootsie.mixtures.plan_parts import PlanPhase
from tootsie.mixtures.spec import CycleSpec, LearningRateSpec, Scale, Spec
from tootsie.mixtures.step_size import Reached, StepSize


def compile_rate(
    spec: Spec,
    source: YamlSource,
    index: int,
    before: PlanPhase | None,
    steps: int,
    size: StepSize,
    begin: Reached,
    notes: list[str],
) -> LearningRate:
    """Return the segment of a phase; what is rounded or derived is added to ``notes``.

    Args:
      spec: what is asked for.
      source: where it stands in the file.
      index: of the phase.
      before: the phase before, if any.
      steps: of the phase, all of its parts together.
      size: of a step of the phase.
      begin: where the phase starts.
      notes: sentences for the plan.

    Raises:
      SpecError: the rate jumps without saying so, or a warm-up, decay or cycle does not fit into the phase.
    """
    given = spec.phases[index].learning_rate or LearningRateSpec()
    at: Path = ("phases", index, "learning_rate")
    length = _Length(source, begin, size, notes)
    reached = None if before is None else before.settings.learning_rate.final(before.steps)
    start = given.start if given.start is not None else reached
    scaled = given.scale is not None
    if scaled:
        if before is None:
            raise source.error(
                "there is no phase before to scale the rate of", (*at, "scale"), remedy="Write 'from: …'"
            )
        start = _scaled(given.scale, before, size.tokens / begin.step_tokens)
        alike = before.batch_size * size.length == begin.step_tokens
        unit, old, new = (
            ("sequences", before.batch_size, size.batch_size)
            if alike
            else ("tokens", begin.step_tokens, size.tokens)
        )
        notes.append(
            f"phase {spec.phases[index].name!r}: the rate is scaled from {before.settings.learning_rate.start:g} at "
            f"{old:,} {unit} a step to {start:g} at {new:,}"
        )
    if start is None:
        raise source.error("the first phase needs a rate to start from", at, remedy="Write 'from: 1e-3'")
    if start == 0:
        raise source.error("the phase before ended at 0", at, remedy="Write 'from: …' and 'jump: true'")
    warmup = length.steps(given.warmup, (*at, "warmup"))
    decay = length.steps(given.decay, (*at, "decay"))
    cycles = _cycles(given.cycles or [], length, (*at, "cycles"), warmup)
    if warmup + decay > steps:
        raise source.error(
            f"warm-up ({warmup:,} steps) and decay ({decay:,} steps) are longer than the phase ({steps:,} steps)",
            at,
            remedy="Make them shorter, or the phase longer",
        )
    if warmup == steps and given.shape is not Shape.CONSTANT:
        raise source.error("the warm-up leaves no step for the decay", at, remedy="Make it shorter")
    warmup_from = 0.0
    if warmup:
        warmup_from = given.warmup_from if given.warmup_from is not None else reached or 0.0
    first = warmup_from if warmup else start
    if reached is not None and not math.isclose(first, reached, rel_tol=1e-6) and not (given.jump or scaled):
        assert before is not None
        raise source.error(
            f"the learning rate jumps from {reached:g}, where phase {before.name!r} ends, to {first:g}",
            at,
            remedy="Write 'jump: true' if that is meant, leave 'from' out to go on from there, or add 'warmup'",
        )
    return LearningRate(
        shape=given.shape,
        start=start,
        end=start if given.end is None else given.end,
        warmup_steps=warmup,
        warmup_from=warmup_from,
        decay_steps=decay or None,
        cycles=cycles,
    )


def _scaled(scale: Scale | None, before: PlanPhase, ratio: float) -> float:
    return before.settings.learning_rate.start * (math.sqrt(ratio) if scale is Scale.SQRT else ratio)


def _cycles(given: list[CycleSpec], length: _Length, at: Path, warmup: int) -> tuple[Cycle, ...]:
    cycles, begin = [], 0
    for number, cycle in enumerate(given):
        steps = length.steps(cycle.every, (*at, number, "every"))
        decay = length.steps(cycle.decay, (*at, number, "decay"))
        until = None
        if decay > steps:
            raise length.source.error(
                f"the decay ({decay:,} steps) is longer than its cycle ({steps:,} steps)",
                (*at, number, "decay"),
                str(cycle.decay),
                "Make it shorter",
            )
        if number == 0 and warmup > steps - decay:
            raise length.source.error(
                f"the warm-up ({warmup:,} steps) is longer than the first cycle before its decay ({steps - decay:,} steps)",
                (*at, number, "every"),
                str(cycle.every),
                "Make the warm-up shorter",
            )
        last = number == len(given) - 1
        if (cycle.until is None) != last:
            raise length.source.error(
                "the last kind of cycle goes on to the end of the phase"
                if last
                else "another kind of cycle follows",
                (*at, number, "until"),
                None if cycle.until is None else str(cycle.until),
                "Leave 'until' out" if last else "Say 'until' where",
            )
        if cycle.until is not None:
            until = length.steps_until(cycle.until, (*at, number, "until"))
            if until <= begin or (until - begin) % steps:
                raise length.source.error(
                    f"from step {begin:,} to step {until:,} of the phase are no whole cycles of {steps:,} steps",
                    (*at, number, "until"),
                    str(cycle.until),
                    f"End it after a whole one, for example at step {begin + max(1, (until - begin) // steps) * steps:,}",
                )
            begin = until
        cycles.append(Cycle(steps=steps, decay_steps=decay, until=until))
    return tuple(cycles)


class _Length:
    """Turns durations within a phase into whole steps."""

    def __init__(self, source: YamlSource, begin: Reached, size: StepSize, notes: list[str]) -> None:
        self.source, self.begin, self.size, self.notes = source, begin, size, notes

    def steps(self, duration: Duration | None, at: Path) -> int:
        return 0 if duration is None else self._rounded(self.size.steps(duration), duration, at)

    def steps_until(self, duration: Duration, at: Path) -> int:
        return self._rounded(self.begin.steps_until(duration, self.size), duration, at)

    def _rounded(self, exact: Fraction, duration: Duration, at: Path) -> int:
        if math.ceil(exact) != exact:
            self.notes.append(f"{at[-1]} of {duration} is rounded up to {math.ceil(exact):,} steps")
        return math.ceil(exact)

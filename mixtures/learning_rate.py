"""The learning rate within one phase: an optional warm-up, a plateau, a decay. Pure arithmetic on the phase's own steps.

Notation: n steps in the phase, s the step counted from the phase's first, w warm-up steps, d decay steps.

    s < w            from ``warmup_from`` to ``start``, linear, reaching ``start`` at s = w
    w <= s < n - d   ``start``
    n - d <= s       ``start`` to ``end`` by ``shape``; x = (s - (n - d)) / d runs from 0 towards 1

``end`` itself is reached at s = n, which is the first step of the next phase: segments join without a step
being spent twice on one value. Without ``decay_steps`` the decay takes all of the phase after the warm-up.

With ``cycles`` (WSD-S, Wen et al. 2024) the phase is divided into cycles of c steps. Each stays at ``start`` and decays to
``end`` in its last d steps; the next begins at ``start`` again, without a rise.
"""

from __future__ import annotations

import math
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Shape(StrEnum):
    """How the rate goes from ``start`` (a) to ``end`` (b) while x goes from 0 to 1."""

    CONSTANT = "constant"
    """a; ``end`` must equal ``start``."""
    LINEAR = "linear"
    """a + (b − a)·x."""
    COSINE = "cosine"
    """b + (a − b)·(1 + cos πx)/2 (Loshchilov and Hutter 2017, equation 5)."""
    INVERSE = "inverse"
    """a / (1 + (a/b − 1)·x), linear in the reciprocal (Wen et al. 2024, WSD-S)."""
    INVERSE_SQRT = "inverse_sqrt"
    """a / √(1 + ((a/b)² − 1)·x), linear in the reciprocal square."""
    ONE_MINUS_SQRT = "one_minus_sqrt"
    """a + (b − a)·√x (Hägele et al. 2024, equation 2)."""


class Cycle(BaseModel):
    """Cycles of one length, one after the other."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int = Field(gt=0)
    """c, steps of a cycle."""
    decay_steps: int = Field(gt=0)
    """d, how many of them decay."""
    until: int | None = Field(default=None, gt=0)
    """Step of the segment where cycles of the next kind begin, after whole cycles; ``null``: the last kind."""

    @model_validator(mode="after")
    def _fits(self) -> Cycle:
        if self.decay_steps > self.steps:
            raise ValueError(
                f"a decay of {self.decay_steps:,} steps is longer than its cycle of {self.steps:,}"
            )
        return self


class LearningRate(BaseModel):
    """One segment of the schedule: the learning rate of one phase."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shape: Shape
    """Form of the decay."""
    start: float = Field(gt=0, allow_inf_nan=False)
    """Rate after the warm-up, before the decay."""
    end: float = Field(ge=0, allow_inf_nan=False)
    """Rate at the end of the phase (exclusive: the first step of the next phase is where it would be reached)."""
    warmup_steps: int = Field(default=0, ge=0)
    """w; steps from ``warmup_from`` to ``start``."""
    warmup_from: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Rate before the first warm-up step. From 0, the first update has the rate ``start / (w + 1)``, not 0."""
    decay_steps: int | None = Field(default=None, gt=0)
    """d; ``null``: all steps after the warm-up. Smaller: warm-up, stable, decay (WSD)."""

    cycles: tuple[Cycle, ...] = ()
    """Repeated decays instead of one."""
    first: int = Field(default=0, ge=0)
    """Steps of the segment that lie before this phase; above 0 in the later parts of a phase that is planned in parts."""
    span: int | None = Field(default=None, gt=0)
    """Steps of the whole segment where the phase is a part of it; ``null``: those of the phase."""

    @model_validator(mode="after")
    def _consistent(self) -> LearningRate:
        if self.shape is Shape.CONSTANT and self.end != self.start:
            raise ValueError(f"a constant rate cannot go from {self.start:g} to {self.end:g}")
        if self.shape in (Shape.INVERSE, Shape.INVERSE_SQRT) and self.end == 0:
            raise ValueError(f"an {self.shape.value} decay cannot reach 0")
        if self.cycles and (self.shape is Shape.CONSTANT or self.decay_steps is not None):
            raise ValueError("cycles need a shape that decays, and state their own decay_steps")
        begin = 0
        for cycle in self.cycles[:-1]:
            if cycle.until is None or cycle.until <= begin or (cycle.until - begin) % cycle.steps:
                raise ValueError(
                    f"cycles of {cycle.steps:,} steps that begin at step {begin:,} end after whole cycles"
                )
            begin = cycle.until
        if self.cycles and self.cycles[-1].until is not None:
            raise ValueError("the last kind of cycle goes on to the end")
        return self

    def part(self, first: int, steps: int) -> LearningRate:
        """Return this segment of ``steps`` steps as seen from its step ``first`` on."""
        return self.model_copy(update={"first": self.first + first, "span": self.span or steps})

    def final(self, steps: int) -> float:
        """Return the rate that is reached at the end of a phase of ``steps`` steps, where the next one goes on."""
        end = self.first + steps
        if end < (self.span or steps):
            return self.at(steps, steps)
        if not self.cycles:
            return self.end
        begin, cycle = self._cycle(end - 1)
        return self.end if (end - begin) % cycle.steps == 0 else self.at(steps, steps)

    def _cycle(self, step: int) -> tuple[int, Cycle]:
        begin = 0
        for cycle in self.cycles[:-1]:
            assert cycle.until is not None
            if step < cycle.until:
                return begin, cycle
            begin = cycle.until
        return begin, self.cycles[-1]

    def at(self, step: int, steps: int) -> float:
        """Return the rate of one update.

        Args:
          step: s, counted from the first step of the phase; 0 <= s <= n.
          steps: n, steps of the phase.
        """
        step, steps = step + self.first, self.span or steps
        if step < self.warmup_steps:
            # From 0 the first update would be wasted; from a positive rate it continues the phase before.
            done = (step + 1) / (self.warmup_steps + 1) if self.warmup_from == 0 else step / self.warmup_steps
            return self.warmup_from + (self.start - self.warmup_from) * done
        if self.cycles:
            begin, cycle = self._cycle(step)
            into = (step - begin) % cycle.steps - (cycle.steps - cycle.decay_steps)
            return (
                self.start
                if into <= 0
                else _decayed(self.shape, self.start, self.end, into / cycle.decay_steps)
            )
        decay = steps - self.warmup_steps if self.decay_steps is None else self.decay_steps
        into = step - (steps - decay)
        if into <= 0 or self.shape is Shape.CONSTANT:
            return self.start
        if into >= decay:
            return self.end
        return _decayed(self.shape, self.start, self.end, into / decay)


def describe_rate(rate: LearningRate) -> str:
    """Return a segment as one phrase: ``linear 0.001 → 0.0001 over the last 200 steps``."""
    text = f"{rate.shape.value} {rate.start:g}"
    if rate.shape is not Shape.CONSTANT:
        text += f" → {rate.end:g}"
        if rate.decay_steps is not None:
            text += f" over the last {rate.decay_steps:,} steps"
        if rate.cycles:
            kinds = [
                f"{cycle.decay_steps:,} of {cycle.steps:,} steps"
                + (f" to step {cycle.until:,}" if cycle.until else "")
                for cycle in rate.cycles
            ]
            text += f" in the last {', then '.join(kinds)} of each cycle"
    if rate.first:
        text += f", from its step {rate.first:,} on"
    if rate.warmup_steps:
        text += f", after {rate.warmup_steps:,} steps from {rate.warmup_from:g}"
    return text


def _decayed(shape: Shape, a: float, b: float, x: float) -> float:
    match shape:
        case Shape.LINEAR:
            return a + (b - a) * x
        case Shape.COSINE:
            return b + (a - b) * (1 + math.cos(math.pi * x)) / 2
        case Shape.INVERSE:
            return a / (1 + (a / b - 1) * x)
        case Shape.INVERSE_SQRT:
            return a / math.sqrt(1 + ((a / b) ** 2 - 1) * x)
        case Shape.ONE_MINUS_SQRT:
            return a + (b - a) * math.sqrt(x)
        case Shape.CONSTANT:
            return a

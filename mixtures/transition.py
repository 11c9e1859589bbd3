"""From one mixture to the next: the parts of a ramp, and the shares that each part asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.apportionment import largest_remainder
from tootsie.mixtures.phase_part import part_name
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL
from tootsie.mixtures.spec import Form, TransitionSpec
from tootsie.mixtures.step_size import StepSize


@dataclass(frozen=True)
class Drawn:
    """What a phase, or a part of one, draws."""

    mixture: str
    """Its name."""
    asked: Mapping[str, int]
    """Shares in units of 1/2**62."""


@dataclass(frozen=True)
class Part:
    """A stretch of a transition with constant shares: a phase of the plan."""

    name: str
    """Of the phase of the plan."""
    drawn: Drawn
    """What it draws."""
    steps: int
    """How long it is."""


def transition_parts(
    transition: TransitionSpec,
    phase: str,
    steps: int,
    size: StepSize,
    before: Drawn,
    after: Drawn,
    bridge: Drawn | None,
    at: Path,
    source: YamlSource,
) -> list[Part]:
    """Return the parts of a phase's transition.

    Args:
      transition: what is asked for.
      phase: name of the phase.
      steps: of the phase.
      size: of one of them.
      before: what is drawn ahead of the transition.
      after: what is drawn when it is over.
      bridge: what is drawn meanwhile, where that is another mixture.
      at: place of the transition.
      source: where it stands in the file.

    Raises:
      SpecError: it is longer than the phase.
    """
    over = math.ceil(size.steps(transition.over))
    if over > steps:
        raise source.error(
            f"the transition ({over:,} steps) is longer than the phase ({steps:,} steps)",
            (*at, "over"),
            str(transition.over),
            "Make it shorter, or the phase longer",
        )
    if bridge is not None:
        return [Part(f"{phase} (bridge)", bridge, over)]
    ramp = ramp_parts(transition, over, before.asked, after.asked)
    return [
        Part(
            part_name(phase, number, len(ramp)),
            Drawn(f"{before.mixture} to {after.mixture}, {float(done):.1%}", shares),
            part_steps,
        )
        for number, (done, shares, part_steps) in enumerate(ramp, start=1)
    ]


def split_steps(steps: int, parts: int) -> list[int]:
    """Divide steps into parts that differ by one at most; fewer parts where there are fewer steps.

    >>> split_steps(10, 4)
    [2, 3, 2, 3]
    """
    parts = min(parts, steps)
    return [steps * (number + 1) // parts - steps * number // parts for number in range(parts)]


def progress(shape: Form, done: Fraction) -> Fraction:
    """Return how much of the new mixture there is when ``done`` (0 to 1) of the ramp is over."""
    if shape is Form.LINEAR:
        return done
    return Fraction(round((1 - math.cos(math.pi * float(done))) / 2 * 2**40), 2**40)


def blend(before: Mapping[str, int], after: Mapping[str, int], part: Fraction) -> dict[str, int]:
    """Return ``(1 − part)·before + part·after``, shares in units of 1/2**62 that add up to 2**62; none is 0."""
    names = [
        name
        for name in {**before, **after}
        if before.get(name, 0) * (1 - part) + after.get(name, 0) * part > 0
    ]
    quotas = [before.get(name, 0) * (1 - part) + after.get(name, 0) * part for name in names]
    return dict(zip(names, largest_remainder(quotas, WEIGHT_TOTAL, [1] * len(names)), strict=True))


def ramp_parts(
    ramp: TransitionSpec, steps: int, before: Mapping[str, int], after: Mapping[str, int]
) -> list[tuple[Fraction, dict[str, int], int]]:
    """Return the parts of a ramp: how much of the new mixture there is in the middle of each, its shares, its steps."""
    parts, done = [], 0
    for size in split_steps(steps, ramp.parts):
        new = progress(ramp.shape, Fraction(2 * done + size, 2 * steps))
        parts.append((new, blend(before, after, new), size))
        done += size
    return parts

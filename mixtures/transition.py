"""From one mixture to the next: the parts of a ramp, and the shares that each part asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from tootsie.mixtures.apportionment import largest_remainder
from tootsie.mixtures.plan import WEIGHT_TOTAL
from tootsie.mixtures.spec import Form, TransitionSpec


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

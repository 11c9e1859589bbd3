"""Exact shares in whole numbers: the largest-remainder method (Hamilton), in integers and fractions, never floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def largest_remainder(
    quotas: Sequence[Fraction], total: int, minimum: Sequence[int] | None = None
) -> list[int]:
    """Round quotas to integers that add up to ``total``; see :func:`round_parts`, which this is for fractions."""
    denominator = math.lcm(*(quota.denominator for quota in quotas))
    parts = [quota.numerator * (denominator // quota.denominator) for quota in quotas]
    return round_parts(parts, denominator, total, minimum)


def round_parts(
    parts: Sequence[int], denominator: int, total: int, minimum: Sequence[int] | None = None
) -> list[int]:
    """Round the quotas ``parts / denominator`` to integers that add up to ``total``.

    Each result is the floor of its quota or one more, the ones going to the largest fractions; ties go to the
    earlier. A ``minimum`` lifts results that would be below it; what the lifted ones gain, the others give in
    proportion to what they have above their own minimum, again by largest remainder.

    Args:
      parts: quotas in units of 1/denominator; a negative one is lifted to its minimum.
      denominator: positive.
      total: what the quotas, and the results, add up to.
      minimum: least value of each result; 0 where absent.

    Raises:
      ValueError: the quotas do not add up, or the minima alone exceed the total.
    """
    if sum(parts) != total * denominator:
        raise ValueError(f"the quotas add up to {Fraction(sum(parts), denominator)}, not to {total}")
    floor = list(minimum) if minimum is not None else [0] * len(parts)
    if sum(floor) > total:
        raise ValueError(f"the least values add up to {sum(floor)}, more than {total}")
    least = [value * denominator for value in floor]
    lifted = [max(part, low) for part, low in zip(parts, least, strict=True)]
    excess = sum(lifted) - total * denominator
    if excess:
        room = sum(lifted) - sum(least)
        lifted = [
            low * room + (part - low) * (room - excess) for low, part in zip(least, lifted, strict=True)
        ]
        denominator *= room
    result, rests = [], []
    for part in lifted:
        whole, rest = divmod(part, denominator)
        result.append(whole)
        rests.append(rest)
    by_fraction = sorted(range(len(rests)), key=lambda index: (-rests[index], index))
    for index in by_fraction[: total - sum(result)]:
        result[index] += 1
    return result

"""Exact shares in whole numbers: the largest-remainder method (Hamilton), in integers and fractions, never floats."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def largest_remainder(
    quotas: Sequence[Fraction], total: int, minimum: Sequence[int] | None = None
) -> list[int]:
    """Round quotas to integers that add up to ``total``.

    Each result is the floor of its quota or one more, the ones going to the largest fractions; ties go to the
    earlier. A ``minimum`` lifts results that would be below it; what the lifted ones gain, the others give in
    proportion to what they have above their own minimum, again by largest remainder.

    Args:
      quotas: they add up to ``total``; a negative one is lifted to its minimum.
      total: what the results add up to.
      minimum: least value of each result; 0 where absent.

    Raises:
      ValueError: the quotas do not add up, or the minima alone exceed the total.
    """
    if sum(quotas) != total:
        raise ValueError(f"the quotas add up to {sum(quotas)}, not to {total}")
    floor = list(minimum) if minimum is not None else [0] * len(quotas)
    if sum(floor) > total:
        raise ValueError(f"the least values add up to {sum(floor)}, more than {total}")
    lifted = [max(quota, Fraction(least)) for quota, least in zip(quotas, floor, strict=True)]
    excess = sum(lifted, Fraction(0)) - total
    if excess:
        room = [quota - least for quota, least in zip(lifted, floor, strict=True)]
        scale = 1 - excess / sum(room, Fraction(0))
        lifted = [least + above * scale for least, above in zip(floor, room, strict=True)]
    result = [quota.numerator // quota.denominator for quota in lifted]
    for index in _by_fraction(lifted)[: total - sum(result)]:
        result[index] += 1
    return result


def _by_fraction(quotas: Sequence[Fraction]) -> list[int]:
    """Return the indices of quotas, the largest fractional part first, ties by index."""
    if all(quota.denominator < 2**64 for quota in quotas):
        # Two such fractions differ by 2**-128 at least, or not at all.
        scaled = [(quota.numerator % quota.denominator << 128) // quota.denominator for quota in quotas]
        return sorted(range(len(quotas)), key=lambda index: (-scaled[index], index))
    return sorted(range(len(quotas)), key=lambda index: (-(quotas[index] % 1), index))

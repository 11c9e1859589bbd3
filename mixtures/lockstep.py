"""Earliest deadline first for many stretches of positions at once: the schedule of
:mod:`tootsie.mixtures.phase_order`, computed with arrays.

A heap draws one position at a time. Here W *lanes*, stretches of the same phase whose starting states are known, draw one
position each in every step, so that a step is a handful of array operations on [M, W] numbers, M the datasets of a class.
The draws are the same; ``tests/mixtures/test_lockstep.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tootsie.mixtures.snapshot import LARGEST, quotient

_BITS = 62
"""Of a key: the sign is taken for units that are not released yet."""
_NARROW_BITS = 30
_TRANSPOSED = 64
"""Steps whose draws are turned from one row for each step to one row for each lane at a time."""


def fits(members: int, length: int) -> bool:
    """Return whether deadlines up to ``length``, together with a member's number, fit into 62 bits, and can be computed."""
    return (length + 1) << max(1, (members - 1).bit_length()) < 2**_BITS and length < LARGEST


def draw_in_lockstep(
    counts: Sequence[int],
    length: int,
    base: np.ndarray,
    offsets: np.ndarray,
    drawn: np.ndarray,
) -> np.ndarray:
    """Return the member that each position of W lanes draws, int32[W, S].

    Args:
      counts: n_i of the M members of the class, all positive.
      length: L, of the phase; :func:`fits`.
      base: int64[W], first position of each lane.
      offsets: int64[W, S], the positions of the class in each lane, from its base, ascending. Those past the end of a
        lane (padding, at its end only) may be anything; what they draw means nothing.
      drawn: int64[W, M], units of each member drawn before each lane.
    """
    lanes, steps = offsets.shape
    bits = max(1, (len(counts) - 1).bit_length())
    # Keys sort by deadline, then by number. Where all of them are small, half the bytes do.
    span = int(length // min(counts)) * 2 + int(offsets.max(initial=0)) + 2
    narrow = span << bits < 2**_NARROW_BITS
    signed, unsigned = (np.int32, np.uint32) if narrow else (np.int64, np.uint64)
    waiting = unsigned(2 ** (31 if narrow else 63))
    low = unsigned((1 << bits) - 1)
    release, after, remainder = _next_units(counts, length, base, drawn)
    number = np.arange(len(counts), dtype=np.int64)[:, None]
    key = (((after + (remainder > 0)) << bits) | number).astype(unsigned)
    release = release.astype(signed)
    flat_release, flat_after, flat_remainder, flat_key = (
        array.reshape(-1) for array in (release, after, remainder, key)
    )
    count = np.array(counts, dtype=np.int64)
    whole = np.array([length // n for n in counts], dtype=np.int64)
    rest = np.array([length % n for n in counts], dtype=np.int64)
    lane_number = np.arange(lanes, dtype=np.int64)
    steps_first = np.ascontiguousarray(offsets.T.astype(signed))
    result = np.empty((lanes, steps), dtype=np.int32)
    part = np.empty((_TRANSPOSED, lanes), dtype=np.int32)
    ahead = np.empty(key.shape, dtype=signed)
    eligible = ahead.view(unsigned)
    best = np.empty(lanes, dtype=unsigned)
    at, boundary, fraction, size, add = (np.empty(lanes, dtype=np.int64) for _ in range(5))
    for step in range(steps):
        # A unit that is not released yet has a negative lead, and that sign makes its key larger than all others.
        np.subtract(steps_first[step], release, out=ahead)
        np.bitwise_and(eligible, waiting, out=eligible)
        np.bitwise_or(eligible, key, out=eligible)
        np.minimum.reduce(eligible, axis=0, out=best)
        np.bitwise_and(best, low, out=best)
        chosen = best.astype(np.int64)
        part[step % _TRANSPOSED] = chosen
        if step % _TRANSPOSED == _TRANSPOSED - 1 or step == steps - 1:
            first = step - step % _TRANSPOSED
            result[:, first : step + 1] = part[: step + 1 - first].T
        np.multiply(chosen, lanes, out=at)
        np.add(at, lane_number, out=at)
        flat_after.take(at, out=boundary, mode="clip")
        flat_release[at] = boundary
        flat_remainder.take(at, out=fraction, mode="clip")
        np.add(fraction, rest.take(chosen, out=add, mode="clip"), out=fraction)
        count.take(chosen, out=size, mode="clip")
        carry = fraction >= size
        np.subtract(fraction, np.multiply(size, carry, out=size), out=fraction)
        np.add(boundary, whole.take(chosen, out=add, mode="clip"), out=boundary)
        np.add(boundary, carry, out=boundary)
        flat_remainder[at] = fraction
        flat_after[at] = boundary
        np.add(boundary, fraction > 0, out=boundary)
        np.left_shift(boundary, bits, out=boundary)
        np.bitwise_or(boundary, chosen, out=boundary)
        flat_key[at] = boundary
    return result


def _next_units(
    counts: Sequence[int], length: int, base: np.ndarray, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(release, after, remainder)``, int64[M, W], C-contiguous: the releases of each member's next unit and of the one
    after it, from the base of the lane; the fraction of the latter is ``remainder / count``.
    """
    done, count = drawn.T, np.array(counts, dtype=np.int64)[:, None]
    after, remainder = quotient(done + 1, length, count)
    parts = quotient(done, length, count)[0] - base, after - base, remainder
    return np.ascontiguousarray(parts[0]), np.ascontiguousarray(parts[1]), np.ascontiguousarray(parts[2])

"""Earliest deadline first for many stretches of positions at once: the schedule of
:mod:`tootsie.mixtures.phase_order`, computed with arrays.

A heap draws one position at a time. Here W *lanes*, stretches of the same phase whose starting states are known, draw one
position each in every step, so that a step is a handful of array operations on [M, W] numbers, M the datasets of a class.
The draws are the same; ``tests/mixtures/test_lockstep.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_NEVER = 2**62


def fits(members: int, length: int) -> bool:
    """Return whether deadlines up to ``length``, together with a member's number, fit into 62 bits."""
    return (length + 1) << max(1, (members - 1).bit_length()) < _NEVER


def draw_in_lockstep(
    counts: Sequence[int],
    length: int,
    base: Sequence[int],
    offsets: np.ndarray,
    drawn: Sequence[Sequence[int]],
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the positions of W lanes.

    Args:
      counts: n_i of the M members of the class, all positive.
      length: L, of the phase; :func:`fits`.
      base: first position of each lane, W.
      offsets: int64[W, S], the positions of the class in each lane, from its base, ascending. Those past the end of a
        lane (padding, at its end only) may be anything; what they draw means nothing.
      drawn: [W][M], units of each member drawn before each lane.

    Returns:
      ``(member, unit)``, int32[W, S] and int64[W, S]: the member that each position draws, and how many of its units were
      drawn in the phase before.
    """
    lanes, steps = offsets.shape
    bits = max(1, (len(counts) - 1).bit_length())
    number = np.arange(len(counts), dtype=np.int64)[:, None]
    count = np.array(counts, dtype=np.int64)
    whole = np.array([length // n for n in counts], dtype=np.int64)
    rest = np.array([length % n for n in counts], dtype=np.int64)
    unit = np.array(drawn, dtype=np.int64).reshape(lanes, len(counts)).T.copy()
    # The unit to be drawn next is released at `release`; the one after it at `after`, whose fraction is `remainder / count`.
    release = np.empty_like(unit)
    after = np.empty_like(unit)
    remainder = np.empty_like(unit)
    for member, n in enumerate(counts):
        for lane, start in enumerate(base):
            done = drawn[lane][member]
            release[member, lane] = done * length // n - start
            quotient, remainder[member, lane] = divmod((done + 1) * length, n)
            after[member, lane] = quotient - start
    # Keys sort by deadline, then by number. Where all of them are small, half the bytes do.
    narrow = (int(length // min(counts)) * 2 + int(offsets.max(initial=0)) + 2) << bits < 2**30
    dtype = np.int32 if narrow else np.int64
    never = 2**30 if narrow else _NEVER
    low = dtype((1 << bits) - 1)
    release = release.astype(dtype)
    key = (((after + (remainder > 0)) << bits) | number).astype(dtype)
    flat_unit, flat_release, flat_after, flat_remainder, flat_key = (
        array.reshape(-1) for array in (unit, release, after, remainder, key)
    )
    lane_number = np.arange(lanes, dtype=np.int64)
    steps_first = np.ascontiguousarray(offsets.T.astype(dtype))
    member_out = np.empty((steps, lanes), dtype=np.int32)
    unit_out = np.empty((steps, lanes), dtype=np.int64)
    waiting = np.empty(key.shape, dtype=bool)
    eligible = np.empty_like(key)
    for step in range(steps):
        np.greater(release, steps_first[step], out=waiting)
        np.copyto(eligible, key)
        np.putmask(eligible, waiting, never)
        member = eligible.min(axis=0) & low
        member_out[step] = member
        chosen = member.astype(np.int64)
        at = chosen * lanes + lane_number
        units = flat_unit[at]
        unit_out[step] = units
        flat_unit[at] = units + 1
        boundary = flat_after[at]
        flat_release[at] = boundary
        fraction = flat_remainder[at] + rest[chosen]
        size = count[chosen]
        carry = fraction >= size
        fraction -= size * carry
        boundary = boundary + whole[chosen] + carry
        flat_remainder[at] = fraction
        flat_after[at] = boundary
        flat_key[at] = ((boundary + (fraction > 0)) << bits) | chosen
    return member_out.T, unit_out.T

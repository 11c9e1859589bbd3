"""Parts of a phase: a ramp is planned as many phases of constant shares, and is one stretch of the run nevertheless."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = re.compile(r"(?P<phase>.+) \(ramp (?P<number>[0-9]+)/(?P<parts>[0-9]+)\)")


def part_name(phase: str, number: int, parts: int) -> str:
    """Return the name of part ``number`` (from 1) of the ramp of a phase; names in a spec have no blanks."""
    return f"{phase} (ramp {number}/{parts})"


def whole_name(name: str) -> str:
    """Return the name in the spec of a phase of the plan: of a part, that of the phase that it belongs to."""
    return name.partition(" (")[0]


def stretch_ends(names: Sequence[str]) -> list[bool]:
    """Return for each phase of a plan whether a stretch of the run ends with it: not where a ramp goes on to its next part."""
    result = []
    for name, following in zip(names, [*names[1:], ""], strict=True):
        part, after = _PART.fullmatch(name), _PART.fullmatch(following)
        goes_on = (
            part is not None
            and after is not None
            and (part["phase"], part["parts"]) == (after["phase"], after["parts"])
            and int(part["number"]) + 1 == int(after["number"])
        )
        result.append(not goes_on)
    return result

"""How candidates differ from a control, over seeds: paired differences with confidence intervals.

For each seed the candidate is compared with the control of the same seed, so that what both share (the start, the order of shared
data) cancels. The interval is Student's: mean ± t · s / √n with n − 1 degrees of freedom. One seed gives a difference and no
interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

MACRO = "(mean of sets)"
"""Name of the row that averages the sets, each with the same weight."""


class Effect(NamedTuple):
    """How a candidate differs from the control on one set, in bits per byte: negative is better."""

    candidate: str  # Its name.
    dataset: str  # Held-out set, or the mean of all.
    control: float  # Mean of the control over seeds.
    mean: float  # Mean of the paired differences.
    differences: tuple[float, ...]  # Candidate minus control, by seed.
    half_width: float | None  # Of the confidence interval; None with a single seed.

    @property
    def verdict(self) -> str:
        """What the interval says."""
        if self.half_width is None:
            return "one seed"
        if self.mean + self.half_width < 0:
            return "better"
        return "worse" if self.mean - self.half_width > 0 else "not told apart"

    def record(self) -> dict[str, Any]:
        """Return a JSON value."""
        low, high = (
            (None, None)
            if self.half_width is None
            else (self.mean - self.half_width, self.mean + self.half_width)
        )
        return {
            **self._asdict(),
            "differences": list(self.differences),
            "low": low,
            "high": high,
            "verdict": self.verdict,
        }


Scores = Mapping[str, Mapping[int, Mapping[str, float]]]
"""Bits per byte by arm, seed and held-out set."""


def effects(scores: Scores, control: str, confidence: float) -> list[Effect]:
    """Return the effect of each candidate on each set, then on their mean.

    Args:
      scores: of all arms; the seeds and sets of each are the same.
      control: name of the arm that the others are compared with.
      confidence: of the intervals, between 0 and 1.

    >>> scores = {"control": {0: {"web": 1.0}, 1: {"web": 1.2}}, "new": {0: {"web": 0.9}, 1: {"web": 1.1}}}
    >>> [(effect.dataset, round(effect.mean, 3), effect.verdict) for effect in effects(scores, "control", 0.95)]
    [('web', -0.1, 'better')]
    """
    found = []
    seeds = sorted(scores[control])
    names = list(scores[control][seeds[0]])
    rows = [*names, MACRO] if len(names) > 1 else names

    def value(arm: str, seed: int, name: str) -> float:
        of = scores[arm][seed]
        return statistics.fmean(of.values()) if name == MACRO else of[name]

    for arm in scores:
        if arm == control:
            continue
        for name in rows:
            base = [value(control, seed, name) for seed in seeds]
            differences = [value(arm, seed, name) - one for seed, one in zip(seeds, base, strict=True)]
            half = None
            if len(seeds) > 1:
                error = statistics.stdev(differences) / math.sqrt(len(seeds))
                half = student_quantile(confidence, len(seeds) - 1) * error
            found.append(
                Effect(
                    arm, name, statistics.fmean(base), statistics.fmean(differences), tuple(differences), half
                )
            )
    return found


def student_quantile(confidence: float, freedom: int) -> float:
    """Return t such that Student's variable lies in ±t with that probability.

    Found by halving an interval of the closed form for whole degrees of freedom (Abramowitz & Stegun 26.7.3–4).

    >>> round(student_quantile(0.95, 2), 3), round(student_quantile(0.95, 30), 3)
    (4.303, 2.042)

    Raises:
      ValueError: not a probability strictly between 0 and 1, or no degree of freedom.
    """
    if not 0 < confidence < 1 or freedom < 1:
        raise ValueError("confidence must lie between 0 and 1, with at least one degree of freedom")
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    term = total = math.cos(angle) if freedom % 2 else 1.0
    for k in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    if freedom % 2 == 0:
        return sine * total if freedom > 2 else sine
    if freedom == 1:
        return 2 * angle / math.pi
    return 2 * (angle + sine * total) / math.pi


def markdown(name: str, found: list[Effect], seeds: list[int], confidence: float, lines: list[str]) -> str:
    """Return the table as a page of Markdown.

    Args:
      name: of the comparison.
      found: what :func:`effects` returned.
      seeds: of the runs.
      confidence: of the intervals.
      lines: what is said above the table.
    """
    rows = [
        f"# {name}",
        "",
        *lines,
        "",
        f"| candidate | held-out set | control | difference | {confidence:.0%} interval | |",
        "|---|---|--:|--:|--:|---|",
    ]
    for effect in found:
        half = effect.half_width
        interval = "–" if half is None else f"{effect.mean - half:+.4f} … {effect.mean + half:+.4f}"
        figures = f"{effect.control:.4f} | {effect.mean:+.4f} | {interval} | {effect.verdict}"
        rows.append(f"| {effect.candidate} | {effect.dataset} | {figures} |")
    rows += [
        "",
        "Bits per byte; a negative difference is better than the control. Differences are paired by seed.",
    ]
    if len(seeds) > 1:
        chance = (1 - confidence) * len(found)
        rows.append(f"Of {len(found)} intervals about {chance:.2g} exclude zero by chance alone.")
    else:
        rows.append("One seed says nothing about chance: give several.")
    return "\n".join(rows) + "\n"

"""Rates that must be reached, for continuous integration: ``formulas=1.0``, ``text.precision=0.999``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tootsie.curate.fidelity.measure import Totals
from tootsie.curate.fidelity.report import share
from tootsie.curate.fidelity.scores import KINDS
from tootsie.datasets.errors import SpecError


@dataclass(frozen=True)
class Requirement:
    """A least recall or precision of one kind."""

    kind: str
    measure: str
    """``recall`` or ``precision``."""
    share: float

    def problem(self, totals: Totals) -> str | None:
        """Return why ``totals`` do not meet the requirement, ``None`` where they do.

        Pages that hold nothing of the kind meet none: a check that looks at nothing must not pass.
        """
        score = totals.scores[self.kind]
        if not (score.expected if self.measure == "recall" else score.written):
            return f"{self.kind}: required, but the {'pages' if self.measure == 'recall' else 'Markdown'} hold none"
        value = score.recall if self.measure == "recall" else score.precision
        if value >= self.share:
            return None
        return (
            f"{self.kind}: {self.measure} {share(value)} is below {share(self.share)} "
            f"({score.kept:,} of {score.expected if self.measure == 'recall' else score.written:,})"
        )


def parse(text: str) -> Requirement:
    """Read ``KIND=SHARE`` or ``KIND.precision=SHARE``; blanks in a kind's name may be hyphens.

    Raises:
      SpecError: no such kind, or not a share.
    """
    name, equals, value = text.partition("=")
    kind, dot, measure = name.strip().replace("-", " ").partition(".")
    try:
        least = float(value)
    except ValueError:
        least = -1.0
    if not equals or not 0 <= least <= 1:
        raise SpecError(
            "not a share",
            field="--require",
            value=text,
            remedy="Write KIND=SHARE, as in formulas=1.0 or text=0.999",
        )
    if kind not in KINDS or measure not in ("", "recall", "precision") or (dot and not measure):
        near = difflib.get_close_matches(kind, KINDS, 1)
        raise SpecError(
            "no such rate",
            field="--require",
            value=name,
            remedy=f"Did you mean {near[0].replace(' ', '-')}?"
            if near and near[0] != kind
            else f"Kinds: {', '.join(one.replace(' ', '-') for one in KINDS)}; each alone (recall) or with .precision",
        )
    return Requirement(kind, measure or "recall", least)

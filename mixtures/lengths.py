"""What follows from the sequence lengths of a plan's phases: tokens, places on the tapes, passes over the datasets."""

from __future__ import annotations

import bisect
import functools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tootsie.mixtures.tape import Tape

if TYPE_CHECKING:
    from tootsie.mixtures.plan import Plan
    from tootsie.mixtures.plan_parts import PlanPhase


class Lengths:
    """The sequence lengths of a plan; positions are counted in sequences, whatever their length.

    Attributes:
      tapes: how each phase reads its datasets.
      vary: whether there are several sequence lengths.
    """

    def __init__(self, plan: Plan) -> None:
        self.tapes: tuple[Tape, ...] = tuple(plan.tape_of(phase) for phase in plan.phases)
        self.vary = len({tape.length for tape in self.tapes}) > 1
        self._tokens = {dataset.name: dataset.tokens for dataset in plan.datasets}
        self._carried = [phase.carried for phase in plan.phases]
        self._ends = [phase.end for phase in plan.phases]
        self._starts = [phase.start for phase in plan.phases]
        self._names = [tuple(phase.sequences) for phase in plan.phases]
        self._token_starts = [0]
        for start, end, tape in zip(self._starts, self._ends, self.tapes, strict=True):
            self._token_starts.append(self._token_starts[-1] + (end - start) * tape.length)

    def tokens_before(self, position: int) -> int:
        """Return the tokens in the first ``position`` sequences of the run."""
        number = self.phase_at(position)
        return self._token_starts[number] + (position - self._starts[number]) * self.tapes[number].length

    def position_of(self, tokens: int | Fraction) -> Fraction:
        """Return the position at which ``tokens`` are drawn, a fraction within a sequence; past the end the last goes on."""
        number = min(max(0, bisect.bisect_left(self._token_starts, tokens) - 1), len(self.tapes) - 1)
        rest = Fraction(tokens) - self._token_starts[number]
        return self._starts[number] + rest / self.tapes[number].length

    def phase_at(self, position: int) -> int:
        """Return the number of the phase that draws the sequence before ``position``; that of the first phase for 0."""
        return min(bisect.bisect_left(self._ends, position), len(self._ends) - 1)

    @functools.cached_property
    def begun(self) -> tuple[dict[str, int], ...]:
        """For each phase, the place on each dataset's tape of its first draw, in sequences of the phase (0 is left out).

        With one length that is what is drawn before. At a change of length that shares the tape it is rounded up to a whole
        sequence: fewer tokens than one sequence are passed over.
        """
        if not self.vary:
            return tuple(self._carried)
        read: dict[tuple[str, int], int] = {}  # Tokens of the tape with these spans.
        result = []
        for number, tape in enumerate(self.tapes):
            begun = {name: -(-read.get((name, tape.span), 0) // tape.length) for name in self._names[number]}
            result.append({name: place for name, place in begun.items() if place})
            if number + 1 < len(self.tapes):
                for name, count in self._drawn_in(number).items():
                    read[name, tape.span] = (begun.get(name, 0) + count) * tape.length
        return tuple(result)

    def begun_in(self, phase: PlanPhase) -> dict[str, int]:
        """Return the entry of :attr:`begun` of a phase of the plan."""
        return self.begun[bisect.bisect_left(self._starts, phase.start)]

    def _drawn_in(self, number: int) -> dict[str, int]:
        """Return the sequences of each dataset drawn in a phase that is not the last, as the counters of the next one tell."""
        before, after = self._carried[number], self._carried[number + 1]
        return {name: after[name] - before.get(name, 0) for name in self._names[number] if name in after}

    @functools.cached_property
    def _passes_before(self) -> list[dict[str, Fraction]]:
        total: dict[str, Fraction] = {}
        result: list[dict[str, Fraction]] = [{}]
        for number, tape in enumerate(self.tapes[:-1]):
            for name, count in self._drawn_in(number).items():
                total[name] = total.get(name, Fraction(0)) + Fraction(count, tape.rows(self._tokens[name]))
            result.append(dict(total))
        return result

    def passes(self, name: str, position: int, drawn: int) -> Fraction:
        """Return how often a dataset has been passed over, all lengths together.

        Args:
          name: of the dataset.
          position: of the run, in sequences.
          drawn: sequences of the dataset drawn before, of all lengths.
        """
        number = self.phase_at(position)
        rows = self.tapes[number].rows(self._tokens[name])
        if rows:
            return Fraction(self.read(name, number, drawn)) / rows
        return self._passes_before[number].get(
            name, Fraction(0)
        )  # Too short for this phase, which does not draw it.

    def read(self, name: str, number: int, drawn: int) -> int | Fraction:
        """Return the passes over a dataset in sequences of phase ``number``, where ``drawn`` of any length are drawn in all."""
        if not self.vary:
            return drawn
        rows = self.tapes[number].rows(self._tokens[name])
        before = self._passes_before[number].get(name, Fraction(0))
        return before * rows + drawn - self._carried[number].get(name, 0)

    def passes_along(self, name: str, positions: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Return :meth:`passes` at many points, float64[n], from int64[n] positions and counts."""
        number = np.minimum(np.searchsorted(self._ends, positions, side="left"), len(self._ends) - 1)
        rows = np.array([max(1, tape.rows(self._tokens[name])) for tape in self.tapes])
        before = np.array([float(passes.get(name, 0)) for passes in self._passes_before])
        carried = np.array([phase.get(name, 0) for phase in self._carried])
        return before[number] + (drawn - carried[number]) / rows[number]

    def stretches(self, name: str, drawn: int) -> list[tuple[Tape, int, int]]:
        """Return what the first ``drawn`` sequences of a dataset read: tape, first place, sequences; joined where they can be."""
        result: list[tuple[Tape, int, int]] = []
        left = drawn
        for number, tape in enumerate(self.tapes):
            last = number + 1 == len(self.tapes)
            count = left if last else min(left, self._drawn_in(number).get(name, 0))
            if not count:
                continue
            first = self.begun[number].get(name, 0)
            if result and result[-1][0] == tape and sum(result[-1][1:]) == first:
                count_before = result.pop()[2]
                result.append((tape, first - count_before, count_before + count))
            else:
                result.append((tape, first, count))
            left -= count
        return result

    def tokens_of(self, name: str, position: int, drawn: int) -> int:
        """Return the tokens in ``drawn`` sequences of a dataset, drawn before ``position``."""
        number = self.phase_at(position)
        before = sum(
            self._drawn_in(earlier).get(name, 0) * self.tapes[earlier].length for earlier in range(number)
        )
        return before + (drawn - self._carried[number].get(name, 0)) * self.tapes[number].length

"""How a dataset is read at one sequence length, where a plan has several.

An epoch shuffles *spans* of S tokens. Read one after the other in their shuffled order they are the *tape* of the dataset,
epoch after epoch; a phase of sequences of T tokens, T a divisor of S, takes the next T tokens of the tape for each draw. So
phases whose lengths divide S read on where the one before them stopped, and no token is read twice before every other has
been read once. A phase whose length does not divide the plan's S reads a tape of its own, with spans of one sequence.
``docs/mixtures.md`` has the bounds.

Glossary of shapes:
- T: tokens in a sequence.
- S: tokens in a span.
- N: tokens in the dataset; the ⌊N/S⌋·S first ones are on the tape, the tail is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Tape:
    """A sequence length and the spans that it is cut from."""

    length: int
    """T."""
    span: int
    """S, a multiple of T."""
    is_base: bool
    """Whether S is the plan's span; the shuffling of other tapes is keyed apart."""

    @property
    def slices(self) -> int:
        """Sequences in a span, S/T."""
        return self.span // self.length

    def spans(self, tokens: int) -> int:
        """Return the spans of an epoch of a dataset of ``tokens``; 0 where it is shorter than one."""
        return tokens // self.span

    def rows(self, tokens: int) -> int:
        """Return the sequences in an epoch of a dataset of ``tokens``."""
        return tokens // self.span * self.slices

    def key(self, name: str) -> str:
        """Return what the shuffling of a dataset on this tape is keyed with, in place of its name."""
        return name if self.is_base else f"{name}\0{self.span}"

    def windows(self, shuffle: Callable[[np.ndarray], np.ndarray], row: np.ndarray) -> np.ndarray:
        """Return the windows (rows of the cache at length T) at places of the tape of one epoch.

        Args:
          shuffle: the permutation of the spans, from int64[n] to int64[n].
          row: int64[n] in [0, rows), place on the epoch's tape in sequences.
        """
        if self.slices == 1:
            return shuffle(row)
        span, part = np.divmod(row, self.slices)
        return shuffle(span) * self.slices + part

    def row(self, inverse: Callable[[int], int], window: int) -> int:
        """Return the place on the epoch's tape of a window; ``inverse`` undoes the permutation of the spans."""
        span, part = divmod(window, self.slices)
        return inverse(span) * self.slices + part


class TokensRead:
    """How often datasets have been passed over, exactly, while their tapes are read.

    Args:
      tokens: of each dataset.
      passes: over each, before.
    """

    def __init__(self, tokens: Mapping[str, int], passes: Mapping[str, Fraction] | None = None) -> None:
        self._tokens, self._before = tokens, dict(passes or {})
        self._read: dict[int, dict[str, int]] = {}

    def add(self, tape: Tape, sequences: Mapping[str, int]) -> None:
        """Count sequences drawn from a tape."""
        read = self._read.setdefault(tape.span, {})
        for name, count in sequences.items():
            read[name] = read.get(name, 0) + count * tape.length

    def passes(self, name: str) -> Fraction:
        """Return the passes over a dataset, all tapes together."""
        total = self._before.get(name, Fraction(0))
        for span, read in self._read.items():
            if name in read:
                total += Fraction(read[name], self._tokens[name] // span * span)
        return total


def tape_for(length: int, plan_span: int) -> Tape:
    """Return the tape that sequences of ``length`` tokens are read from, in a plan with spans of ``plan_span`` tokens."""
    shared = plan_span % length == 0
    return Tape(length, plan_span if shared else length, shared)

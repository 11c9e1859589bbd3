"""What a step of a phase draws, where the phases before it end, and how long a phase is in its own steps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.duration import Duration, Unit
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import MAX_BATCH_SIZE, PlanPhase
from tootsie.mixtures.spec import PhaseSpec
from tootsie.mixtures.tape import Tape


@dataclass(frozen=True)
class StepSize:
    """A batch: B sequences of T tokens."""

    batch_size: int
    """B."""
    tape: Tape
    """Where the sequences come from; its length is T."""

    @property
    def length(self) -> int:
        """T."""
        return self.tape.length

    @property
    def tokens(self) -> int:
        """Tokens in a step."""
        return self.batch_size * self.length

    def steps(self, duration: Duration) -> Fraction:
        """Return a duration in steps, sequences or tokens as an exact number of steps."""
        if duration.unit is Unit.STEPS:
            return duration.amount
        return duration.amount / (self.tokens if duration.unit is Unit.TOKENS else self.batch_size)


@dataclass(frozen=True)
class Reached:
    """Where the phases so far end; the start of the run where there is none."""

    step: int = 0
    """Steps."""
    position: int = 0
    """Sequences, of any length."""
    tokens: int = 0
    """Tokens."""
    step_tokens: int = 0
    """Tokens in a step of the last of them."""

    def after(self, steps: int, size: StepSize) -> Reached:
        """Return what ``steps`` more steps reach."""
        return Reached(
            self.step + steps,
            self.position + steps * size.batch_size,
            self.tokens + steps * size.tokens,
            size.tokens,
        )

    def steps_until(self, duration: Duration, size: StepSize) -> Fraction:
        """Return the steps from here to a point counted from the start of the run, negative where it has passed."""
        if duration.unit is Unit.STEPS:
            return duration.amount - self.step
        if duration.unit is Unit.TOKENS:
            return (duration.amount - self.tokens) / size.tokens
        return (duration.amount - self.position) / size.batch_size


def reached_by(base: Plan, phases: list[PlanPhase]) -> Reached:
    """Return where ``phases``, the first ones of ``base``, end; the last may be cut short."""
    last = phases[-1]
    step_tokens = last.batch_size * base.length_of(last)
    return Reached(last.end_step, last.end, base.lengths.tokens_before(last.end), step_tokens)


def batch_of(phase: PhaseSpec, at: Path, source: YamlSource, inherited: int | Fraction, length: int) -> int:
    """Return the sequences in a step of a phase.

    Args:
      phase: says ``batch_size`` in sequences or ``batch`` in tokens, or neither.
      at: its place.
      source: where it stands in the file.
      inherited: sequences of the phase before, where this one says nothing.
      length: T, its tokens in a sequence.

    Raises:
      SpecError: the tokens are no whole number of sequences, or too many.
    """
    if phase.batch_size is not None:
        return phase.batch_size
    exact = Fraction(inherited) if phase.batch is None else phase.batch.amount / length
    if exact.denominator != 1 or exact > MAX_BATCH_SIZE:
        least = min(MAX_BATCH_SIZE, max(1, int(exact)))
        key = "sequence_length" if phase.batch is None else "batch"
        raise source.error(
            f"a batch of {int(exact * length):,} tokens is {float(exact):,.4g} sequences of {length:,}",
            (*at, key),
            length if phase.batch is None else str(phase.batch),
            f"Write a whole number, at most {MAX_BATCH_SIZE:,}: for example 'batch: {least * length} tokens'",
        )
    return int(exact)


def refuse_unsaid_batch(
    phase: PhaseSpec, at: Path, source: YamlSource, before: StepSize, length: int
) -> None:
    """Refuse to inherit a batch from a plan at another sequence length: a plan does not say whether it was meant in tokens.

    Args:
      phase: of a spec that branches off the plan.
      at: its place.
      source: where it stands in the file.
      before: a step of the plan, where it branches off.
      length: tokens in a sequence of the phase.

    Raises:
      SpecError: the phase has another length and says no batch.
    """
    if phase.batch is None and phase.batch_size is None and length != before.length:
        raise source.error(
            f"the plan that this one branches off has a batch of {before.batch_size:,} sequences of {before.length:,} tokens; "
            "with this length either its tokens or its sequences change",
            (*at, "sequence_length"),
            length,
            f"Write 'batch: {before.tokens} tokens' or 'batch_size: {before.batch_size}'",
        )

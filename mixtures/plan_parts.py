"""What a plan is made of: its datasets, phases, changes, and what it branches off. See :mod:`tootsie.mixtures.plan`."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tootsie.mixtures.apportionment import largest_remainder
from tootsie.mixtures.block_shuffle import BlockShuffle
from tootsie.mixtures.settings import PhaseSettings

WEIGHT_TOTAL = 2**62
"""What the integer weights of a phase add up to; a share is ``weight / WEIGHT_TOTAL``."""
MAX_PHASE_LENGTH = 2**40
"""Sequences in one phase (10¹²): keeps the order's arithmetic within 64 bits."""
MAX_BATCH_SIZE = 2**20
"""Sequences in one step, which is drawn and traced as a whole."""


class Evidence(StrEnum):
    """How far a dataset's numbers can be trusted."""

    LEDGER = "ledger"
    """Counted in the token cache that the run will read."""
    MEASURED = "measured"
    """Counted by somebody with the same tokenizer, says the dataset's card."""
    CLAIMED = "claimed"
    """Claimed, or counted with another tokenizer, says the dataset's card."""


class PlanDataset(BaseModel):
    """One dataset, as its ledger (or its card) measured it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    """Its name in the spec; part of the key of its shuffling."""
    cache: str
    """URL of the token cache; in the file, a relative path is relative to the folder of ``plan.json``."""
    ledger_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Identity of the cache; of the card where there is no cache."""
    tokens: int = Field(gt=0)
    """Ids in the cache."""
    bytes: int = Field(ge=0)
    """UTF-8 bytes of the texts; 0 where a card does not say."""
    documents: int = Field(ge=0)
    """Documents in the cache; 0 where a card does not say."""
    evidence: Evidence = Evidence.LEDGER
    """Where the numbers come from."""
    windows: int = Field(gt=0)
    """Whole sequences in an epoch: ``tokens // sequence_length``; whole spans where the plan has a ``span_length``."""
    tail_tokens: int = Field(ge=0)
    """Ids left over after the last of them; never drawn."""
    max_epochs: str | None = None
    """The cap of the spec, a whole number or a fraction (``3/2``), already checked."""
    groups: tuple[str, ...] = ()
    """``mixture/group`` of each place where the spec uses it."""
    shuffle: BlockShuffle | None = None
    """How its windows are shuffled, if not in full."""


class PlanPhase(BaseModel):
    """A stretch of the run in which the mixture and the settings stay the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    """Its name in the spec."""
    mixture: str = Field(min_length=1)
    """The mixture that it draws."""
    start: int = Field(ge=0)
    """First position."""
    end: int
    """Position after the last."""
    first_step: int = Field(ge=0)
    """First step."""
    end_step: int
    """Step after the last."""
    batch_size: int = Field(gt=0, le=MAX_BATCH_SIZE)
    """Sequences in a step."""
    sequence_length: int | None = Field(default=None, gt=0)
    """Tokens in a sequence of this phase where they are not the plan's ``sequence_length``; see :meth:`Plan.length_of`."""
    length: int = Field(gt=0, le=MAX_PHASE_LENGTH)
    """Positions that ``sequences`` are spread over: ``end - start``, or more where a phase is cut short."""
    sequences: dict[str, int]
    """Sequences of each dataset in ``length`` positions, all positive; the exact share is ``sequences / length``."""
    asked: dict[str, int]
    """The shares that the spec asks for, in units of 1/2**62; they add up to 2**62 and none is 0."""
    carried: dict[str, int]
    """Sequences of each dataset drawn before ``start``; 0 is left out."""
    settings: PhaseSettings
    """For the trainer."""

    @model_validator(mode="after")
    def _consistent(self) -> PlanPhase:
        steps = self.end_step - self.first_step
        if steps < 1 or self.end - self.start != steps * self.batch_size:
            raise ValueError(
                f"phase {self.name!r}: {self.end - self.start} sequences are not {steps} whole steps"
            )
        if self.length < self.end - self.start:
            raise ValueError(f"phase {self.name!r}: length is smaller than end - start")
        if sum(self.sequences.values()) != self.length or any(count < 1 for count in self.sequences.values()):
            raise ValueError(f"phase {self.name!r}: sequences must be positive and add up to {self.length}")
        if sum(self.asked.values()) != WEIGHT_TOTAL or any(weight < 1 for weight in self.asked.values()):
            raise ValueError(f"phase {self.name!r}: asked must be positive and add up to 2**62")
        if sum(self.carried.values()) != self.start:
            raise ValueError(f"phase {self.name!r}: carried must add up to {self.start}")
        return self

    @property
    def steps(self) -> int:
        """Steps of the phase."""
        return self.end_step - self.first_step

    @cached_property
    def weights(self) -> dict[str, int]:
        """The exact shares as integers that add up to 2**62 (rounded by less than 1 where 2**62 is no multiple)."""
        names = list(self.sequences)
        quotas = [Fraction(self.sequences[name] * WEIGHT_TOTAL, self.length) for name in names]
        return dict(zip(names, largest_remainder(quotas, WEIGHT_TOTAL), strict=True))

    @cached_property
    def shares(self) -> dict[str, float]:
        """Shares for display, rounded to doubles."""
        return {name: count / self.length for name, count in self.sequences.items()}


class Branch(BaseModel):
    """Where a plan branches off another."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: str
    """Name of the other."""
    hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Its hash."""
    step: int = Field(gt=0)
    """First step that is not the other's."""


class Change(BaseModel):
    """A setting that differs from the phase before. The first phase has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phase: str
    """Name of the phase in which it is new."""
    field: str
    """Dotted path, for example ``batch_size``, ``settings.z_loss``, ``share.wikipedia``."""
    before: Any
    """Value in the phase before."""
    after: Any
    """Value from here on."""

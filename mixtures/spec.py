"""The mixture spec: the YAML file a person writes. ``docs/mixtures.md`` explains it with an example."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tootsie.mixtures.duration import Duration, Unit, parse_duration
from tootsie.mixtures.learning_rate import Shape
from tootsie.mixtures.plan_parts import MAX_BATCH_SIZE
from tootsie.mixtures.settings import RopeSettings
from tootsie.mixtures.shuffle_spec import ShuffleSpec

# Exponents of three digits are all that a double has; more would only make a number that fills the memory.
_AMOUNT = re.compile(r"-?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})? ?%?)")


def parse_amount(value: Any) -> Fraction:
    """Read an exact non-negative number: ``0.7``, ``"70%"`` or ``"1/3"``.

    Raises:
      ValueError: it is something else, negative, or not finite.
    """
    message = "not a number; write for example 0.7, 70% or 1/3"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError(message)
    text = repr(value) if isinstance(value, float) else str(value).strip()
    if len(text) > 200 or not _AMOUNT.fullmatch(text):
        raise ValueError(message)
    try:
        amount = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    except ZeroDivisionError:
        raise ValueError(message) from None
    if amount < 0:
        raise ValueError("it cannot be negative")
    return amount


def _positive(value: Any) -> Fraction:
    amount = parse_amount(value)
    if amount == 0:
        raise ValueError("it must be above 0; leave the entry out to have none of it")
    return amount


def parse_tokens(value: Any) -> Duration:
    """Read a duration in tokens.

    Raises:
      ValueError: it is another one, or none.
    """
    duration = parse_duration(value)
    if duration.unit is not Unit.TOKENS:
        raise ValueError(
            "this is in tokens; write for example '4M tokens', or 'batch_size: 1024' for sequences"
        )
    return duration


Amount = Annotated[Fraction, BeforeValidator(_positive)]
DurationField = Annotated[Duration, BeforeValidator(parse_duration)]
TokensField = Annotated[Duration, BeforeValidator(parse_tokens)]
Count = Annotated[int, Field(gt=0, strict=True)]
Real = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
Name = Annotated[
    str,
    Field(
        min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*$"
    ),
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class By(StrEnum):
    """What the natural weight of a dataset within its group is, before oversampling."""

    TOKENS = "tokens"
    """Tokens measured by the ledger: every token is equally likely."""
    BYTES = "bytes"
    """UTF-8 bytes measured by the ledger."""
    DOCUMENTS = "documents"
    """Documents measured by the ledger."""
    WEIGHT = "weight"
    """The ``weight`` written at each dataset."""


class DatasetSpec(_Section):
    """A dataset and what holds for it in every mixture."""

    cache: Annotated[str, Field(min_length=1)] | None = None
    """URL of its token cache; a relative path is relative to the spec. Either this or ``card``."""
    card: Annotated[str, Field(min_length=1)] | None = None
    """Name of a dataset card (or its YAML file): plans what has not been tokenized yet."""
    oversample: Amount = Fraction(1)
    """Factor on the natural weight, in every mixture."""
    max_epochs: Amount | None = None
    """Most passes over the dataset in the whole run; more is an error."""
    tokens: DurationField | None = None
    """What you believe the cache holds, for example ``12.3M tokens``; checked to the last digit written. Where a card
    states no number, this is assumed."""
    shuffle: ShuffleSpec | None = None
    """How its windows are shuffled; absent: as the spec says for all."""
    tags: list[Annotated[str, Field(min_length=1)]] = []
    """What it is, for ``expect``; those of its card come on top."""

    @model_validator(mode="after")
    def _one_source(self) -> DatasetSpec:
        if (self.cache is None) == (self.card is None):
            raise ValueError(
                "a dataset is a 'cache: …' (a token cache) or a 'card: …' (not tokenized yet), one of the two"
            )
        return self


class MemberSpec(_Section):
    """A dataset in a group."""

    oversample: Amount = Fraction(1)
    """Factor on its natural weight, here only; multiplies with that of the dataset."""
    weight: Amount | None = None
    """Its weight within a group ``by: weight``."""
    at_least: Amount | None = None
    """Floor: the least part of the group's share that it gets; the others give way in proportion."""


class GroupSpec(_Section):
    """Datasets that share a part of a mixture."""

    share: Amount | None = None
    """Part of the mixture. Absent in all groups: the groups' natural weights decide."""
    by: By = By.TOKENS
    """What divides the share among the datasets."""
    datasets: dict[Name, MemberSpec | None]
    """By name; a list of names is short for a mapping without settings."""

    @model_validator(mode="before")
    @classmethod
    def _names(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("datasets"), list):
            names = data["datasets"]
            if not all(isinstance(name, str) for name in names):
                raise ValueError("datasets is a list of names, or a mapping from name to settings")
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(f"the dataset {twice[0]!r} stands twice in the group")
            return {**data, "datasets": dict.fromkeys(names)}
        return data


class MixtureSpec(_Section):
    """What a phase draws: groups of datasets, or other mixtures combined by name, or another mixture changed."""

    groups: dict[Name, GroupSpec | None] = {}
    """By name. ``null`` takes away a group of the mixture that this one extends."""
    combine: dict[Name, Amount] = {}
    """Parts of other mixtures, by their names; the parts add up to 1."""
    extends: Name | None = None
    """A mixture whose groups (or parts) this one starts from; those of the same name are replaced."""
    expect: dict[Annotated[str, Field(min_length=1)], Amount] = {}
    """What its parts are meant to add up to: by name of a group, of a mixture that it combines, or ``tag:web`` for all datasets
    whose card has that tag. Checked before the run (``expectations``)."""

    @model_validator(mode="after")
    def _one_kind(self) -> MixtureSpec:
        if self.groups and self.combine:
            raise ValueError("a mixture has 'groups' of datasets or combines mixtures, not both")
        if not self.groups and not self.combine and self.extends is None:
            raise ValueError("a mixture has 'groups: …', 'combine: …' or 'extends: …'")
        return self


class Scale(StrEnum):
    """How the learning rate follows the batch size."""

    SQRT = "sqrt"
    """By the square root of the ratio of the batch sizes."""
    LINEAR = "linear"
    """By the ratio."""


class CycleSpec(_Section):
    """Cycles of the learning rate (WSD-S): each stays at ``from`` and decays to ``to`` at its end."""

    every: DurationField
    """Length of a cycle."""
    decay: DurationField
    """Length of the decay at its end."""
    until: DurationField | None = None
    """Where cycles of the next kind begin, counted from the start of the run; not for the last."""


class Form(StrEnum):
    """How shares go over from one mixture to the next."""

    LINEAR = "linear"
    """In a straight line."""
    COSINE = "cosine"
    """Slowly at both ends: (1 − cos πx)/2."""


class TransitionSpec(_Section):
    """A gradual change of the mixture at the beginning of a phase, instead of a hard switch."""

    over: DurationField
    """How long it takes."""
    shape: Form = Form.LINEAR
    """Of the ramp."""
    parts: Annotated[int, Field(gt=1, le=1000, strict=True)] = 20
    """Stretches of equal length and constant shares that the ramp is planned in."""
    through: Name | None = None
    """A mixture that is drawn all the while instead of a ramp: a bridge."""


class LearningRateSpec(_Section):
    """A segment of the learning-rate schedule; a bare number is short for a constant rate."""

    shape: Shape = Shape.CONSTANT
    """Form of the decay."""
    start: Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)] | None = Field(
        default=None, alias="from"
    )
    """Rate before the decay; absent: where the phase before ended."""
    end: Real | None = Field(default=None, alias="to")
    """Rate at the end of the phase; not for a constant rate."""
    warmup: DurationField | None = None
    """Linear rise to ``from`` over this long."""
    warmup_from: Real | None = None
    """Rate before the rise; absent: where the phase before ended, in the first phase 0."""
    decay: DurationField | None = None
    """Length of the decay at the end of the phase; absent: all of it."""
    cycles: Annotated[list[CycleSpec], Field(min_length=1)] | None = None
    """Repeated decays (WSD-S), one entry for each length of cycle."""
    scale: Scale | None = None
    """The rate before the decay is that of the phase before, scaled with the batch size; instead of ``from``."""
    jump: bool = Field(default=False, strict=True)
    """Acknowledges that the rate does not start where the phase before ended."""

    @model_validator(mode="before")
    @classmethod
    def _number(cls, data: Any) -> Any:
        if isinstance(data, int | float) and not isinstance(data, bool):
            return {"shape": "constant", "from": float(data)}
        if not isinstance(data, dict | LearningRateSpec):
            raise ValueError(
                "not a learning rate; write a number, for example 1e-3, or '{shape: linear, from: 1e-3, to: 1e-5}'"
            )
        return data

    @model_validator(mode="after")
    def _consistent(self) -> LearningRateSpec:
        if self.shape is Shape.CONSTANT and (self.end is not None or self.decay is not None):
            raise ValueError("a constant rate has no 'to' and no 'decay'; add for example 'shape: linear'")
        if self.shape is not Shape.CONSTANT and self.end is None:
            raise ValueError(f"a {self.shape.value} rate needs 'to', the rate at the end of the phase")
        if self.end == 0 and self.shape in (Shape.INVERSE, Shape.INVERSE_SQRT):
            raise ValueError(f"an {self.shape.value} decay cannot reach 0; write a small rate")
        if self.cycles is not None and (self.shape is Shape.CONSTANT or self.decay is not None):
            raise ValueError(
                "cycles need a shape that decays (for example 'inverse') and have a 'decay' of their own"
            )
        if self.scale is not None and self.start is not None:
            raise ValueError("the rate is either 'from: …' or scaled from the phase before, not both")
        if self.warmup is None and self.warmup_from is not None:
            raise ValueError("'warmup_from' needs 'warmup', how long the rise takes")
        return self


class PhaseSpec(_Section):
    """A stretch of the run. Whatever is absent is as in the phase before."""

    name: Name
    """Unique."""
    mixture: Name | None = None
    """Name of a mixture."""
    until: DurationField | None = None
    """Where it ends, counted from the start of the run. Either this or ``for``."""
    length: DurationField | None = Field(default=None, alias="for")
    """How long it lasts. Either this or ``until``."""
    batch_size: Annotated[int, Field(gt=0, le=MAX_BATCH_SIZE, strict=True)] | None = None
    """Sequences in a step."""
    batch: TokensField | None = None
    """The same in tokens, ``4M tokens``; a phase that inherits it keeps the tokens, whatever its sequence length."""
    sequence_length: Count | None = None
    """Tokens in a sequence."""
    transition: TransitionSpec | None = None
    """How the mixture changes from that of the phase before; absent: at once."""
    learning_rate: LearningRateSpec | None = None
    """Absent: constant at the rate where the phase before ended."""
    weight_decay: Real | None = None
    """See :class:`tootsie.mixtures.plan.PhaseSettings`, as all below."""
    z_loss: Real | None = None
    """Factor of the z-loss."""
    ema_beta: Annotated[float, Field(gt=0, lt=1, strict=True)] | None = None
    """``null``: no average."""
    clip_norm: Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)] | None = None
    """``null``: no clipping."""
    adam_beta1: Annotated[float, Field(ge=0, lt=1, strict=True)] | None = None
    """Decay of the first moment."""
    adam_beta2: Annotated[float, Field(ge=0, lt=1, strict=True)] | None = None
    """Decay of the second moment."""
    adam_epsilon: Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)] | None = None
    """Added to the root of the second moment."""
    rope: RopeSettings | None = None
    """``{theta: 500000, scaling: llama3}``."""
    precision: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """A remark."""
    hardware: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """A remark."""

    @model_validator(mode="after")
    def _ends_once(self) -> PhaseSpec:
        if (self.until is None) == (self.length is None):
            raise ValueError("a phase ends either 'until: …' (counted from the start of the run) or 'for: …'")
        if self.batch is not None and self.batch_size is not None:
            raise ValueError("a batch is 'batch_size: …' in sequences or 'batch: …' in tokens, not both")
        nullable = {"ema_beta", "clip_norm"}
        for field in self.model_fields_set - nullable:
            if getattr(self, field) is None:
                raise ValueError(
                    f"{field!r} has no value; leave the line out to keep the value of the phase before"
                )
        return self


class BranchSpec(_Section):
    """Another run that this one goes on from."""

    plan: Annotated[str, Field(min_length=1)]
    """URL of its compiled plan, or of its spec; a relative path is relative to this spec."""
    at: Annotated[str, Field(min_length=1, max_length=300)]
    """``end of PHASE``, or a position: ``820000 steps``, ``4.8T tokens``."""


class DecontaminationSpec(_Section):
    """What each dataset must have been searched for, else the preflight refuses the plan."""

    evaluations: Annotated[list[Name], Field(min_length=1)]
    """Names of evaluation sets."""
    reports: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    """Reports of ``tootsie curate decontaminate``, or the folders they lie in, relative to this spec."""


class Spec(_Section):
    """The whole file."""

    name: Name
    """Of the run."""
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)]
    """Key of all shuffling."""
    sequence_length: Count
    """Tokens in a sequence, until a phase says otherwise."""
    span_length: Count | None = None
    """Tokens that an epoch shuffles in one piece: a multiple of all sequence lengths that are to share epochs."""
    tokenizer: Name | None = None
    """Whose tokens the numbers of cards are meant in; needed where a dataset is named by its card."""
    shuffle: ShuffleSpec | None = None
    """How the windows of each dataset are shuffled: in full (also where absent), or in blocks that are read at once."""
    branch: BranchSpec | None = None
    """Go on from another plan: its phases up to there come before those below, which inherit from them."""
    datasets: dict[Name, DatasetSpec] = {}
    """By name; the name is part of the key of the shuffling. Those of the plan that this one branches off are known."""
    mixtures: dict[Name, MixtureSpec] = {}
    """By name."""
    phases: list[PhaseSpec] = Field(min_length=1)
    """In time order."""
    decontamination: DecontaminationSpec | None = None
    """Evaluation sets that no dataset may hold, and the reports that show it."""
    acknowledge: dict[Annotated[str, Field(min_length=1)], Annotated[str, Field(min_length=1)]] = {}
    """Findings of the preflight that are meant: ``check`` or ``check/subject``, and why."""

    @property
    def span(self) -> int:
        """Tokens in a span."""
        return self.span_length or self.sequence_length

    @model_validator(mode="after")
    def _whole_spans(self) -> Spec:
        if self.span_length is not None and self.span_length % self.sequence_length:
            raise ValueError(
                f"a span of {self.span_length:,} tokens is no whole number of sequences of {self.sequence_length:,}"
            )
        return self

    @model_validator(mode="after")
    def _something_to_draw(self) -> Spec:
        if self.branch is None and not (self.datasets and self.mixtures):
            raise ValueError("a spec needs 'datasets' and 'mixtures'")
        return self

"""The mixture spec: the YAML file a person writes. ``docs/mixtures.md`` explains it with an example."""

from __future__ import annotations

import difflib
import types
import typing
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.duration import Duration, Unit, parse_duration
from tootsie.mixtures.learning_rate import Shape
from tootsie.mixtures.yaml_source import Path, YamlSource, parse_yaml, read_yaml


def parse_amount(value: Any) -> Fraction:
    """Read an exact non-negative number: ``0.7``, ``"70%"`` or ``"1/3"``.

    Raises:
      ValueError: it is something else, negative, or not finite.
    """
    message = "not a number; write for example 0.7, 70% or 1/3"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError(message)
    text = repr(value) if isinstance(value, float) else str(value).strip()
    try:
        amount = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(message) from None
    if amount < 0:
        raise ValueError("it cannot be negative")
    return amount


def _positive(value: Any) -> Fraction:
    amount = parse_amount(value)
    if amount == 0:
        raise ValueError("it must be above 0; leave the entry out to have none of it")
    return amount


Amount = Annotated[Fraction, BeforeValidator(_positive)]
DurationField = Annotated[Duration, BeforeValidator(parse_duration)]
Count = Annotated[int, Field(gt=0, strict=True)]
Real = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
Name = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*(/[A-Za-z0-9_.+-]+)*$")
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
    """A token cache and what holds for it in every mixture."""

    cache: str = Field(min_length=1)
    """URL of the cache; a relative path is relative to the spec."""
    oversample: Amount = Fraction(1)
    """Factor on the natural weight, in every mixture."""
    max_epochs: Amount | None = None
    """Most passes over the dataset in the whole run; more is an error."""
    tokens: DurationField | None = None
    """What you believe the cache holds, for example ``12.3M tokens``; checked to the last digit written."""


class MemberSpec(_Section):
    """A dataset in a group."""

    oversample: Amount = Fraction(1)
    """Factor on its natural weight, here only; multiplies with that of the dataset."""
    weight: Amount | None = None
    """Its weight within a group ``by: weight``."""


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
    """What a phase draws."""

    groups: dict[Name, GroupSpec] = Field(min_length=1)
    """By name."""


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
    jump: bool = Field(default=False, strict=True)
    """Acknowledges that the rate does not start where the phase before ended."""

    @model_validator(mode="before")
    @classmethod
    def _number(cls, data: Any) -> Any:
        if isinstance(data, int | float) and not isinstance(data, bool):
            return {"shape": "constant", "from": float(data)}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> LearningRateSpec:
        if self.shape is Shape.CONSTANT and (self.end is not None or self.decay is not None):
            raise ValueError("a constant rate has no 'to' and no 'decay'; add for example 'shape: linear'")
        if self.shape is not Shape.CONSTANT and self.end is None:
            raise ValueError(f"a {self.shape.value} rate needs 'to', the rate at the end of the phase")
        if self.end == 0 and self.shape in (Shape.INVERSE, Shape.INVERSE_SQRT):
            raise ValueError(f"an {self.shape.value} decay cannot reach 0; write a small rate")
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
    batch_size: Count | None = None
    """Sequences in a step."""
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

    @model_validator(mode="after")
    def _ends_once(self) -> PhaseSpec:
        if (self.until is None) == (self.length is None):
            raise ValueError("a phase ends either 'until: …' (counted from the start of the run) or 'for: …'")
        nullable = {"ema_beta", "clip_norm"}
        for field in self.model_fields_set - nullable:
            if getattr(self, field) is None:
                raise ValueError(
                    f"{field!r} has no value; leave the line out to keep the value of the phase before"
                )
        return self


class Spec(_Section):
    """The whole file."""

    name: Name
    """Of the run."""
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)]
    """Key of all shuffling."""
    sequence_length: Count
    """Tokens in a sequence."""
    datasets: dict[Name, DatasetSpec] = Field(min_length=1)
    """By name; the name is part of the key of the shuffling."""
    mixtures: dict[Name, MixtureSpec] = Field(min_length=1)
    """By name."""
    phases: list[PhaseSpec] = Field(min_length=1)
    """In time order."""


def load_spec(url: str) -> tuple[Spec, YamlSource]:
    """Read and check a spec file.

    Raises:
      SpecError: see :func:`parse_spec`.
      InputError: there is no such file.
    """
    return check_spec(read_yaml(url))


def parse_spec(text: str | bytes, url: str = "spec.yaml") -> tuple[Spec, YamlSource]:
    """Check a spec given as text.

    Raises:
      SpecError: it is not YAML, has an unknown key (the nearest known one is named), a value that cannot be used, or
        names what is not there. The message has the line.
    """
    return check_spec(parse_yaml(text.encode() if isinstance(text, str) else text, url))


def check_spec(source: YamlSource) -> tuple[Spec, YamlSource]:
    """Validate parsed YAML; see :func:`parse_spec`."""
    if not isinstance(source.content, dict):
        raise source.error(
            "a spec is a mapping of keys to values", remedy="Start with 'name: …'; see docs/mixtures.md"
        )
    try:
        spec = Spec.model_validate(source.content)
    except ValidationError as error:
        raise _explain(error, source) from None
    _check_names(spec, source)
    return spec, source


def nearest(name: str, known: typing.Iterable[str]) -> str:
    """Return a remedy that names the known key nearest to an unknown one, or all known ones."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.55)
    if close:
        return f"Did you mean {close[0]!r}?"
    shown = ", ".join(known[:30]) + (", …" if len(known) > 30 else "")
    return f"Known: {shown}"


def _explain(error: ValidationError, source: YamlSource) -> SpecError:
    """Turn the first fault that pydantic found into one sentence."""
    faults = error.errors()
    # An unknown key is usually a typo, and the cause of the other faults.
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    path = _yaml_path(first["loc"], source.content)
    kind, value = first["type"], first["input"]
    shown = value if isinstance(value, str | int | float | bool) or value is None else None
    if kind == "extra_forbidden":
        known = _keys_at(tuple(part for part in path[:-1]))
        return source.error(f"unknown key {path[-1]!r}", path, remedy=nearest(str(path[-1]), known))
    if kind == "missing":
        return source.error("this key is required", path, remedy=_required(str(path[-1])))
    message = first["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return source.error(message, path, shown)
    message = message[:1].lower() + message[1:]
    if kind == "string_pattern_mismatch":
        message = "a name has letters, digits and _ . + - / only"
    return source.error(message, path, "null" if value is None else shown)


def _yaml_path(location: tuple[int | str, ...], content: Any) -> Path:
    """Return the part of a pydantic location that exists in the file, without the names of unions and keys."""
    path: list[str | int] = []
    for index, part in enumerate(location):
        if part == "[key]":
            continue
        if isinstance(content, dict) and isinstance(part, str):
            path.append(part)
            if part not in content:
                # Either a missing key, the last part; or the name of a union member.
                if index < len(location) - 1:
                    path.pop()
                    continue
                break
            content = content[part]
        elif isinstance(content, list) and isinstance(part, int) and part < len(content):
            path.append(part)
            content = content[part]
    return tuple(path)


def _required(key: str) -> str:
    return {
        "seed": "Write for example 'seed: 17'",
        "sequence_length": "Write for example 'sequence_length: 4096'",
        "name": "Give it a name of letters, digits and _ . + -",
        "cache": "Give the URL of a token cache made by tootsie tokenize",
    }.get(key, "See docs/mixtures.md for an example")


def _keys_at(path: Path) -> list[str]:
    """Return the keys that may stand at a path."""
    annotation: Any = Spec
    for part in path:
        annotation = _inner(annotation, part)
        if annotation is None:
            return []
    model = _model(annotation)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _inner(annotation: Any, part: str | int) -> Any:
    for option in _options(annotation):
        if isinstance(option, type) and issubclass(option, BaseModel):
            for name, field in option.model_fields.items():
                if part == (field.alias or name):
                    return field.annotation
        elif typing.get_origin(option) is dict:
            return typing.get_args(option)[1]
        elif typing.get_origin(option) is list:
            return typing.get_args(option)[0]
    return None


def _model(annotation: Any) -> type[BaseModel] | None:
    for option in _options(annotation):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return option
    return None


def _options(annotation: Any) -> tuple[Any, ...]:
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return typing.get_args(annotation)
    return (annotation,)


def _check_names(spec: Spec, source: YamlSource) -> None:
    """Check all that one part of a spec says about another."""
    for mixture, mixed in spec.mixtures.items():
        _check_mixture(mixture, mixed, spec, source)
    seen: dict[str, int] = {}
    for index, phase in enumerate(spec.phases):
        at: Path = ("phases", index)
        if phase.name in seen:
            raise source.error(
                "another phase has this name",
                (*at, "name"),
                phase.name,
                "Names tell phases apart: change one",
            )
        seen[phase.name] = index
        if phase.mixture is not None and phase.mixture not in spec.mixtures:
            raise source.error(
                "no such mixture", (*at, "mixture"), phase.mixture, nearest(phase.mixture, spec.mixtures)
            )
        for key, duration in (("until", phase.until), ("for", phase.length)):
            if (
                duration is not None
                and duration.dataset is not None
                and duration.dataset not in spec.datasets
            ):
                remedy = nearest(duration.dataset, spec.datasets)
                raise source.error(f"no such dataset {duration.dataset!r}", (*at, key), str(duration), remedy)
        if phase.learning_rate is not None:
            for key, duration in (
                ("warmup", phase.learning_rate.warmup),
                ("decay", phase.learning_rate.decay),
            ):
                if duration is not None and duration.unit is Unit.EPOCHS:
                    raise source.error(
                        "this length cannot be in epochs",
                        (*at, "learning_rate", key),
                        str(duration),
                        "Write it in steps, sequences or tokens",
                    )
    first = spec.phases[0]
    for key in ("mixture", "batch_size", "learning_rate"):
        if getattr(first, key) is None:
            raise source.error(
                f"the first phase needs {key!r}: there is nothing before to inherit from",
                ("phases", 0, key),
                remedy="Later phases keep it until they change it",
            )


def _check_mixture(name: str, mixture: MixtureSpec, spec: Spec, source: YamlSource) -> None:
    at: Path = ("mixtures", name, "groups")
    shares = {group: part.share for group, part in mixture.groups.items()}
    given = [share for share in shares.values() if share is not None]
    if given and len(given) < len(shares):
        lacking = next(group for group, share in shares.items() if share is None)
        raise source.error(
            "this group has no share, others have", (*at, lacking), remedy="Give every group a share, or none"
        )
    if given and sum(given) != 1:
        written = " + ".join(
            f"{group} {float(share):g}" for group, share in shares.items() if share is not None
        )
        raise source.error(
            f"the shares of the groups add up to {float(sum(given)):.10g}, not to 1",
            at,
            written,
            "Exact: write 1/3",
        )
    where: dict[str, str] = {}
    for group, part in mixture.groups.items():
        if not part.datasets:
            raise source.error(
                "the group has no datasets", (*at, group, "datasets"), remedy="Name one, or remove it"
            )
        for dataset, member in part.datasets.items():
            path = (*at, group, "datasets", dataset)
            if dataset not in spec.datasets:
                raise source.error(
                    f"no such dataset {dataset!r}", path, remedy=nearest(dataset, spec.datasets)
                )
            if dataset in where:
                raise source.error(
                    f"the dataset is in the group {where[dataset]!r} of this mixture already",
                    path,
                    remedy="Keep one",
                )
            where[dataset] = group
            weight = member.weight if member is not None else None
            if part.by is By.WEIGHT and weight is None:
                raise source.error(
                    "the group is 'by: weight', so each dataset needs a weight",
                    path,
                    remedy="Write 'weight: 3'",
                )
            if part.by is not By.WEIGHT and weight is not None:
                raise source.error(
                    f"a weight is used only in groups 'by: weight', this one is by {part.by.value}",
                    (*path, "weight"),
                    remedy="Write 'by: weight', or use oversample",
                )

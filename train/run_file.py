"""``RUN.yaml``: what to train on which plan, and what to record."""

from __future__ import annotations

import difflib
import types
import typing
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import YamlSource, read_yaml
from tootsie.train.architecture import PRESETS, Architecture
from tootsie.train.cadence import Duration, DurationField, TokensField, Unit
from tootsie.train.device_settings import DeviceSettings
from tootsie.train.evaluation_sets import EvaluationSetField
from tootsie.train.spikes import SpikeSettings
from tootsie.train.trackers import WandbSettings
from tootsie.train.watch_settings import WatchSettings

MAX_SEED = 2**32 - 1
"""Largest seed: JAX makes its keys from 32 bits."""

Url = Annotated[str, Field(min_length=1)]
"""A URL or path; an empty one would mean the root of the file system."""


def _name_or_mapping(given: Any) -> Any:
    if isinstance(given, str) or (isinstance(given, dict) and isinstance(given.get("preset", ""), str)):
        return given
    raise ValueError("write a preset's name, or a mapping of sizes with or without 'preset: NAME'")


class ComputeType(StrEnum):
    """Dtype of activations and matrix products; parameters and optimizer are float32 always."""

    FLOAT32 = "float32"
    """On CPUs."""
    BFLOAT16 = "bfloat16"
    """On TPUs and GPUs."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class EvaluationSettings(_Section):
    """Held-out loss and bits per byte. Always measured at step 0 and at the end of each phase (a ramp is one)."""

    sets: dict[str, EvaluationSetField] = {}
    """Name of each held-out set, and the URL of its token cache, or a mapping (:mod:`tootsie.train.evaluation_sets`)."""
    every: DurationField | None = None
    """How often besides."""
    limit: TokensField | None = None
    """Whole documents from the start of each set until that many tokens are reached; absent = all."""
    sequence_length: TokensField | None = None
    """Tokens in a row, the same in all phases; absent = the plan's ``sequence_length``."""
    batch_size: int = Field(default=16, gt=0)
    """Rows evaluated at once."""


class CheckpointSettings(_Section):
    """Checkpoints. One is always written at step 0 and at the end of each phase; none of those is ever deleted."""

    every: DurationField | None = None
    """How often besides; kept for good."""
    temporary_every: DurationField | None = None
    """How often a temporary one is written, deleted after the next checkpoint of any kind."""


class SampleSettings(_Section):
    """Text written by the model, at the end of each phase. The averaged weights write where there are any."""

    prompts: list[str] = []
    """Beginnings to continue."""
    every: DurationField | None = None
    """How often besides."""
    length: TokensField = Duration(64, Unit.TOKENS)
    """New tokens for each prompt."""
    temperature: float = Field(default=0.7, ge=0)
    """0 takes the likeliest token always."""


class CompilationSettings(_Section):
    """When the step is compiled: once for each shape of batch. None of it changes what is computed."""

    ahead: bool = True
    """Whether the steps of later phases are compiled in a thread while earlier ones train; otherwise at the boundary."""
    cache: Url | None = None
    """Folder that compiled programs are kept in, for the next start; absent = ``JAX_COMPILATION_CACHE_DIR`` or nowhere."""


class BranchSettings(_Section):
    """Another run that this one begins with; the plan must have the same past (``branch`` in its spec)."""

    run: Url
    """Folder of that run."""
    at: str = Field(min_length=1)
    """``end of PHASE``, ``820000 steps``, or sequences or tokens that end a step; it needs a checkpoint there."""
    change_rope: bool = False
    """Whether the model has another rotary embedding than the checkpoint from here on; stands in the lineage."""


class RunFile(_Section):
    """A training run. Relative paths are relative to the folder of the run file."""

    plan: Url
    """URL of the compiled ``plan.json``."""
    out: Url
    """URL of the folder that the run writes to."""
    architecture: Annotated[str | dict[str, Any], BeforeValidator(_name_or_mapping)]
    """A preset's name; or all fields; or ``preset: NAME`` with the fields that differ."""
    caches: dict[str, Url] = {}
    """Where token caches lie now, by dataset, if not where the plan says."""
    tokenizer: Url | None = None
    """The plan's tokenizer where its name is not enough, a ``tokenizer.json``; for samples and for held-out text."""
    branch: BranchSettings | None = None
    """Where the weights come from, if not from the seed."""
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    """Of the initial weights and of sampling; the order of the data has its own seed in the plan."""
    compute_dtype: ComputeType = ComputeType.FLOAT32
    """Precision of the forward and backward pass."""
    layer_loop: typing.Literal["unrolled", "stacked"] = "unrolled"
    """``stacked`` compiles deep models fast; ``unrolled`` runs faster on a CPU."""
    devices: DeviceSettings = DeviceSettings()
    """How a step is divided over devices, memory and time."""
    compilation: CompilationSettings = CompilationSettings()
    """When the step is compiled."""
    evaluation: EvaluationSettings = EvaluationSettings()
    """Held-out evaluation."""
    checkpoints: CheckpointSettings = CheckpointSettings()
    """When to save."""
    samples: SampleSettings = SampleSettings()
    """Sample text."""
    watch: WatchSettings = WatchSettings()
    """Norms by layer, and alarms."""
    spikes: SpikeSettings = SpikeSettings()
    """What is done about a step that is far out of line; nothing unless asked for."""
    wandb: WandbSettings | None = None
    """Weights & Biases, where the records are to be shown there too."""
    metrics_every: DurationField = Duration(1, Unit.STEPS)
    """How often a line goes to ``metrics.jsonl``."""
    log_every: DurationField = Duration(20, Unit.STEPS)
    """How often a line goes to the terminal."""
    export: bool = True
    """Whether the last weights are exported for Hugging Face at the end."""


def load_run_file(url: str) -> RunFile:
    """Read and check a run file; relative paths in it become relative to the working folder.

    Raises:
      SpecError: the file is not YAML, has an unknown key (the nearest known one is named) or a wrong value.
    """
    source = read_yaml(url)
    if not isinstance(source.content, dict):
        raise SpecError("a run file is a mapping of settings", file=url, remedy="Start with 'plan: …'")
    try:
        run = RunFile.model_validate(source.content)
    except ValidationError as error:
        raise explain(error, RunFile, source) from None
    folder = url.rsplit("/", 1)[0] if "/" in url else ""
    evaluation = run.evaluation.model_copy(
        update={"sets": {name: given.resolved(folder) for name, given in run.evaluation.sets.items()}}
    )
    resolve_architecture(run.architecture, source)
    return run.model_copy(
        update={
            "plan": storage.resolve(folder, run.plan),
            "out": storage.resolve(folder, run.out),
            "caches": {name: storage.resolve(folder, cache) for name, cache in run.caches.items()},
            "tokenizer": run.tokenizer and storage.resolve(folder, run.tokenizer),
            "evaluation": evaluation,
            "compilation": run.compilation.model_copy(
                update={"cache": run.compilation.cache and storage.resolve(folder, run.compilation.cache)}
            ),
            "branch": run.branch
            and run.branch.model_copy(update={"run": storage.resolve(folder, run.branch.run)}),
        }
    )


def resolve_architecture(given: str | dict[str, Any], source: YamlSource) -> Architecture:
    """Return the architecture that a preset's name or a mapping stands for.

    Raises:
      SpecError: no such preset, or a field that is missing, unknown or out of range.
    """
    fields = {"preset": given} if isinstance(given, str) else dict(given)
    preset = fields.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        raise source.error(
            "no such preset", ("architecture",), preset, _suggestion(str(preset), list(PRESETS))
        )
    base = PRESETS[preset].model_dump() if preset else {}
    try:
        return Architecture.model_validate(base | fields)
    except ValidationError as error:
        raise explain(error, Architecture, source, ("architecture",)) from None


def explain(
    error: ValidationError, model: type[BaseModel], source: YamlSource, above: tuple[str, ...] = ()
) -> SpecError:
    """Turn the first fault that pydantic found into one sentence for the terminal."""
    faults = error.errors()
    # A misspelt key is told before the key that it leaves missing.
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    path = [str(part) for part in first["loc"]]
    at = (*above, *first["loc"])
    if first["type"] == "extra_forbidden":
        known = _fields_at(model, path[:-1])
        return source.error("unknown setting", at, remedy=_suggestion(path[-1], known))
    if first["type"] == "missing":
        return source.error("this setting is required", at, remedy="Write it out; it has no default")
    value = first["input"] if first["loc"] else None  # a fault of the whole is told by its message
    return source.error(first["msg"].removeprefix("Value error, "), at, value)


def _fields_at(model: Any, path: list[str]) -> list[str]:
    """Names of the fields of the model that lies at ``path`` below ``model``."""
    for part in path:
        annotation = model.model_fields[part].annotation
        options = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
        inner = [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]
        if not inner:
            return []
        model = inner[0]
    return list(model.model_fields)


def _suggestion(found: str, known: list[str]) -> str:
    near = difflib.get_close_matches(found, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}"

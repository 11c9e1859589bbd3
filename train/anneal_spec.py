"""``tootsie train anneal SPEC``: which mixtures to compare, from which checkpoint, with which seeds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import YamlSource, read_yaml
from tootsie.train.run_file import BranchSettings, RunFile, Url, explain

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
"""It becomes a folder."""


class AnnealSpec(BaseModel):
    """A control and candidates × seeds, all from one checkpoint. Relative paths are relative to the spec's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    out: Url
    """Folder for the start, the plans, the runs and the table."""
    start: BranchSettings
    """The checkpoint that every run begins with, optimizer state included: of a run, or of an import (``0 steps``)."""
    seeds: tuple[Annotated[int, Field(ge=0, le=2**32 - 1)], ...] = Field(min_length=1, max_length=100)
    """Each gives every arm another order of the data."""
    control: Name
    """The arm that the others are compared with."""
    arms: dict[Name, Url] = Field(min_length=2)
    """Name of each arm, and the spec of its mixture."""
    run: dict[str, Any]
    """The other settings of a run file; held-out sets among them."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Of the intervals."""

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) != len(seeds):
            raise ValueError("a seed twice is the same run twice")
        return seeds

    @field_validator("run")
    @classmethod
    def _only_other_settings(cls, run: dict[str, Any]) -> dict[str, Any]:
        taken = sorted({"plan", "out", "branch", "seed"} & run.keys())
        if taken:
            raise ValueError(f"{', '.join(taken)}: given by the comparison, not here")
        if not (run.get("evaluation") or {}).get("sets"):
            raise ValueError("evaluation.sets is needed: there is nothing to compare without")
        return run

    @model_validator(mode="after")
    def _control_is_an_arm(self) -> AnnealSpec:
        if self.control not in self.arms:
            raise ValueError(f"control {self.control!r} is none of the arms: {', '.join(self.arms)}")
        return self


def load_anneal_spec(url: str) -> AnnealSpec:
    """Read and check a spec; relative paths in it become relative to the working folder.

    Raises:
      SpecError: the file is not YAML, has an unknown key or a wrong value.
    """
    source = read_yaml(url)
    if not isinstance(source.content, dict):
        raise SpecError("a comparison is a mapping of settings", file=url, remedy="Start with 'out: …'")
    try:
        spec = AnnealSpec.model_validate(source.content)
    except ValidationError as error:
        raise explain(error, AnnealSpec, source) from None
    folder = url.rsplit("/", 1)[0] if "/" in url else ""
    start = spec.start.model_copy(update={"run": storage.resolve(folder, spec.start.run)})
    arms = {name: storage.resolve(folder, plan) for name, plan in spec.arms.items()}
    spec = spec.model_copy(update={"out": storage.resolve(folder, spec.out), "start": start, "arms": arms})
    run_of(spec, spec.control, 0, start, source)
    return spec.model_copy(update={"run": _resolved(spec, folder, source)})


def run_of(
    spec: AnnealSpec, arm: str, seed: int, start: BranchSettings, source: YamlSource | None = None
) -> RunFile:
    """Return the run of one arm and seed, which branches off ``start``.

    Raises:
      SpecError: a setting of ``run`` is unknown or wrong; only where ``source`` is given, else they were checked before.
    """
    given = {
        **spec.run,
        "plan": plan_url(spec, arm, seed),
        "out": storage.join(spec.out, "runs", arm, str(seed)),
        "branch": start.model_dump(),
        "seed": seed,
    }
    try:
        return RunFile.model_validate(given)
    except ValidationError as error:
        assert source is not None
        raise explain(error, RunFile, source, ("run",)) from None


def plan_url(spec: AnnealSpec, arm: str, seed: int) -> str:
    """Return where the compiled plan of one arm and seed lies."""
    return storage.join(spec.out, "plans", f"{arm}-{seed}.json")


def _resolved(spec: AnnealSpec, folder: str, source: YamlSource) -> dict[str, Any]:
    run = dict(spec.run)
    evaluation = dict(run["evaluation"])
    evaluation["sets"] = {name: storage.resolve(folder, url) for name, url in evaluation["sets"].items()}
    caches = {name: storage.resolve(folder, url) for name, url in (run.get("caches") or {}).items()}
    return run | {"evaluation": evaluation, "caches": caches}

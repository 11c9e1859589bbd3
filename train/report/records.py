"""Read everything a run left on disk, and derive what the page shows.

Glossary: S steps logged, D datasets, P phases.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.tokenize.ledger import Ledger, load_ledger


@dataclasses.dataclass(frozen=True)
class RunRecords:
    """One run as read from its folder."""

    folder: str
    """URL of the run's folder."""
    config: dict[str, Any]
    """``config.json``: the resolved run file and architecture."""
    plan: Plan
    """The plan that the run follows."""
    train: list[dict[str, Any]]
    """Rows of ``metrics.jsonl`` of kind ``train``, by step."""
    evaluations: list[dict[str, Any]]
    """Rows of kind ``evaluation``, by step."""
    samples: list[dict[str, Any]]
    """Rows of ``samples.jsonl``."""
    caches: dict[str, str]
    """URL of each dataset's cache, by dataset name."""
    ledgers: dict[str, Ledger]
    """Ledger of each dataset's cache, by dataset name; missing where the cache is not at hand or is another one now."""
    plan_url: str
    """Where the plan lies."""
    averages: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Rows of kind ``average``, by step."""
    norms: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Rows of ``metrics.jsonl`` of kind ``norms``, by step."""
    alarms: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Rows of ``alarms.jsonl``."""
    lineage: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Plans followed, branches and operations, in order."""

    def series(self, key: str) -> np.ndarray:
        """Return one training metric as float64[S], NaN where a row lacks it."""
        return np.array([row.get(key, np.nan) for row in self.train], dtype=float)

    def consumed(self) -> np.ndarray:
        """Return the sequences drawn of each dataset so far: int64[S, D], datasets in the plan's order."""
        names = [dataset.name for dataset in self.plan.datasets]
        return np.array(
            [[row["consumed"].get(name, 0) for name in names] for row in self.train], dtype=np.int64
        )

    def branched_at(self) -> int:
        """Return the position at which the run branched off another; 0 where it did not."""
        steps = [entry["step"] for entry in self.lineage if entry["kind"] == "branch"]
        if not steps or not steps[-1]:
            return 0
        return self.plan.rows_of_step(steps[-1] - 1)[1]

    def bits_per_byte(self, weights: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return ``{held-out set: (tokens, bits per byte)}`` for ``weights`` ``"hot"`` or ``"ema"``."""
        rows: dict[str, list[tuple[float, float]]] = {}
        for row in self.evaluations:
            if row["weights"] == weights:
                rows.setdefault(row["dataset"], []).append((row["tokens"], row["bits_per_byte"]))
        return {name: tuple(np.array(points).T) for name, points in sorted(rows.items())}  # type: ignore[misc]


@dataclasses.dataclass(frozen=True)
class Realised:
    """One dataset in one phase: what the plan said and what was drawn, in sequences."""

    phase: str
    dataset: str
    planned: float
    drawn: int
    epochs: float


class _Row(BaseModel):
    """What the page needs of a line; other fields may follow."""

    model_config = ConfigDict(extra="ignore")


class _Train(_Row):
    step: int
    position: int
    tokens: int
    phase: str
    loss: float
    learning_rate: float
    batch_size: int
    consumed: dict[str, int]


class _Evaluation(_Row):
    step: int
    tokens: int
    weights: Literal["hot", "ema"]
    dataset: str
    bits_per_byte: float


class _Sample(_Row):
    step: int
    weights: Literal["hot", "ema"]
    prompt: str
    text: str


class Alarm(_Row):
    """A line of ``alarms.jsonl``."""

    step: int
    id: str
    subject: str
    message: str


class Timing(_Row):
    """A line of ``timings.jsonl``."""

    step: int


class _Entry(_Row):
    kind: str
    step: int


class _RunFile(_Row):
    plan: str
    out: str
    caches: dict[str, str] = {}


class _PlanName(_Row):
    hash: str


class _Config(_Row):
    run: _RunFile
    plan: _PlanName
    lineage: list[_Entry] = []


class _Norms(_Row):
    step: int
    tokens: int
    learning_rate: float
    parameter: dict[str, float]


class _Average(_Row):
    step: int
    tokens: int
    weights: Literal["hot", "ema"]
    tag: str
    sets: int
    macro_bits_per_byte: float
    micro_bits_per_byte: float


_KINDS: dict[str, type[_Row]] = {
    "train": _Train,
    "evaluation": _Evaluation,
    "average": _Average,
    "norms": _Norms,
}


def read_json_lines(url: str, kinds: dict[str, type[_Row]] | type[_Row]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a jsonl file, nothing where it does not exist.

    Args:
      url: of the file.
      kinds: what each line must hold: one model, or one for each value of the line's ``kind``.

    Raises:
      ArtefactError: a line is not JSON, or lacks a field.
    """
    if not storage.exists(url):
        return
    for number, line in enumerate(storage.read_lines(url), 1):
        where, remedy = f"{url}:{number}", "Resume the run: it mends the file, or tells what to do"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ArtefactError(f"not JSON: {error}", file=where, remedy=remedy) from None
        kind = row.get("kind") if isinstance(row, dict) else None
        model = kinds.get(str(kind)) if isinstance(kinds, dict) else kinds
        if model is None:
            raise ArtefactError("not a line of a run", file=where, field="kind", value=kind, remedy=remedy)
        _check(model, row, where, remedy)
        yield row


def _check(model: type[_Row], value: Any, where: str, remedy: str) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or None
        raise ArtefactError(first["msg"], file=where, field=field, remedy=remedy) from None


def moved_with(folder: str, out: str, path: str) -> str:
    """Return ``path`` of a run file as it lies from here, now that the run which it called ``out`` is at ``folder``.

    A run, its plan and its caches are often moved together, and the page may be made from another working folder. So the
    place relative to the run counts, where something is there; else the path as it was.
    """
    if "://" in path or "://" in folder or os.path.isabs(path) != os.path.isabs(out):
        return path
    relocated = os.path.normpath(os.path.join(folder, os.path.relpath(path, out)))
    return relocated if storage.exists(relocated) else path


def read_run(folder: str) -> RunRecords:
    """Read a run's folder.

    Raises:
      ArtefactError: it is not the folder of a run, or one of its files is damaged.
    """
    url = storage.join(folder, "config.json")
    if not storage.exists(url):
        raise ArtefactError(
            "not the folder of a run", file=folder, field="config.json", remedy="Give the `out` of a run file"
        )
    try:
        config = json.loads(storage.read_bytes(url))
    except ValueError as error:
        raise ArtefactError(
            f"not JSON: {error}", file=url, remedy="Resume the run: it writes it anew"
        ) from None
    if not isinstance(config, dict):
        raise ArtefactError(
            "not the configuration of a run", file=url, remedy="Resume the run: it writes it anew"
        )
    checked = _check(_Config, config, url, "Give the folder that a run file calls 'out'")
    plan_url = moved_with(folder, checked.run.out, checked.run.plan)
    plan = Plan.load(plan_url)
    kept = storage.join(folder, "plans", f"{checked.plan.hash}.json")
    if plan.hash != checked.plan.hash and storage.exists(kept):  # amended, and the run has not gone on yet
        plan_url, plan = kept, Plan.load(kept)
    if plan.hash != checked.plan.hash:
        raise ArtefactError(
            "the plan was compiled anew since the run began",
            file=plan_url,
            field="hash",
            value=plan.hash,
            remedy=f"The run follows {checked.plan.hash}: restore that plan",
        )
    rows = list(read_json_lines(storage.join(folder, "metrics.jsonl"), _KINDS))
    caches, ledgers = {}, {}
    for dataset in plan.datasets:
        moved = checked.run.caches.get(dataset.name)
        cache = dataset.cache if moved is None else moved_with(folder, checked.run.out, moved)
        caches[dataset.name] = cache
        with contextlib.suppress(ArtefactError):
            ledger, digest = load_ledger(cache)
            if digest == dataset.ledger_sha256:
                ledgers[dataset.name] = ledger
    return RunRecords(
        folder=folder,
        config=config,
        plan=plan,
        train=[row for row in rows if row["kind"] == "train"],
        evaluations=[row for row in rows if row["kind"] == "evaluation"],
        samples=list(read_json_lines(storage.join(folder, "samples.jsonl"), _Sample)),
        caches=caches,
        ledgers=ledgers,
        plan_url=plan_url,
        averages=[row for row in rows if row["kind"] == "average"],
        norms=[row for row in rows if row["kind"] == "norms"],
        alarms=list(read_json_lines(storage.join(folder, "alarms.jsonl"), Alarm)),
        lineage=config.get("lineage", []),
    )


def realised(run: RunRecords) -> list[Realised]:
    """Compare what was drawn with the plan, per phase reached and dataset.

    The counts come from the trainer's own log of consumption, not from the plan.
    """
    if not run.train:
        return []
    positions = run.series("position").astype(np.int64)
    consumed = run.consumed()
    rows = []
    began = run.branched_at()  # what another run has drawn is not counted here
    before = Order(run.plan).counts(began)
    for phase in run.plan.phases:
        inside = np.flatnonzero(positions <= phase.end)
        if not len(inside) or positions[inside[-1]] <= phase.start:
            continue
        last = inside[-1]
        share_total = sum(phase.weights.values())
        for index, dataset in enumerate(run.plan.datasets):
            share = phase.weights.get(dataset.name, 0) / share_total
            drawn = int(consumed[last, index] - before[index])
            if share or drawn:
                in_epoch = run.plan.tape_of(phase).rows(dataset.tokens) or 1
                planned = share * (int(positions[last]) - max(began, phase.start))
                rows.append(Realised(phase.name, dataset.name, planned, drawn, drawn / in_epoch))
        before = consumed[last]
    return rows

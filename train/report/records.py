"""Read everything a run left on disk, and derive what the page shows.

Glossary: S steps logged, D datasets, P phases.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.plan import Plan


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
    ledgers: dict[str, dict[str, Any]]
    """Ledger of each dataset's cache, by dataset name; missing where the cache is not at hand."""

    def series(self, key: str) -> np.ndarray:
        """Return one training metric as float64[S], NaN where a row lacks it."""
        return np.array([row.get(key, np.nan) for row in self.train], dtype=float)

    def consumed(self) -> np.ndarray:
        """Return the sequences drawn of each dataset so far: int64[S, D], datasets in the plan's order."""
        names = [dataset.name for dataset in self.plan.datasets]
        return np.array(
            [[row["consumed"].get(name, 0) for name in names] for row in self.train], dtype=np.int64
        )

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


def read_json_lines(url: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a jsonl file, nothing where it does not exist."""
    if storage.exists(url):
        for number, line in enumerate(storage.read_lines(url), 1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise ArtefactError(
                    f"not JSON: {error}", file=f"{url}:{number}", remedy="Resume the run"
                ) from None


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
    config = json.loads(storage.read_bytes(url))
    plan = Plan.load(config["run"]["plan"])
    rows = list(read_json_lines(storage.join(folder, "metrics.jsonl")))
    ledgers = {}
    for dataset in plan.datasets:
        ledger = storage.join(dataset.cache, "ledger.json")
        if storage.exists(ledger):
            ledgers[dataset.name] = json.loads(storage.read_bytes(ledger))
    return RunRecords(
        folder=folder,
        config=config,
        plan=plan,
        train=[row for row in rows if row["kind"] == "train"],
        evaluations=[row for row in rows if row["kind"] == "evaluation"],
        samples=list(read_json_lines(storage.join(folder, "samples.jsonl"))),
        ledgers=ledgers,
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
    before = np.zeros(len(run.plan.datasets), dtype=np.int64)
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
                planned = share * (int(positions[last]) - phase.start)
                rows.append(Realised(phase.name, dataset.name, planned, drawn, drawn / dataset.windows))
        before = consumed[last]
    return rows

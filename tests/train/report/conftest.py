"""A made-up run on a real plan: two datasets, two phases."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tootsie.mixtures.learning_rate import LearningRate, Shape
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL, Change, PlanDataset, PlanPhase
from tootsie.mixtures.settings import PhaseSettings
from tootsie.tokenize.ledger import TokenizerIdentity

SEQUENCE = 32
WINDOWS = {"papers": 50, "<answers>": 20}


def _phase(
    name: str, start: int, first_step: int, batch: int, counts: dict[str, int], carried: dict[str, int]
) -> PlanPhase:
    length = sum(counts.values())
    first = int(Fraction(next(iter(counts.values())), length) * WEIGHT_TOTAL)
    asked = dict(zip(counts, (first, WEIGHT_TOTAL - first), strict=True))
    return PlanPhase(
        name=name, mixture=name, start=start, end=start + length, first_step=first_step,
        end_step=first_step + length // batch, batch_size=batch, length=length, sequences=counts, asked=asked,
        carried=carried,
        settings=PhaseSettings(learning_rate=LearningRate(shape=Shape.CONSTANT, start=1e-3, end=1e-3)),
    )  # fmt: skip


@pytest.fixture
def plan() -> Plan:
    identity = TokenizerIdentity(
        name="toy", fingerprint="ab" * 32, vocabulary_size=1000, dtype="uint16", bos_id=None, eos_id=0,
        add_bos=False, add_eos=True, golden_ids=(5, 0),
    )  # fmt: skip
    names = list(WINDOWS)
    return Plan(
        name="made-up & run",
        seed=1,
        sequence_length=SEQUENCE,
        tokenizer=identity,
        datasets=tuple(
            PlanDataset(
                name=name, cache=f"nowhere/{name}", ledger_sha256="0" * 64, tokens=SEQUENCE * count, bytes=9, documents=7,
                windows=count, tail_tokens=0,
            )
            for name, count in WINDOWS.items()
        ),
        phases=(
            _phase("stable", 0, 0, 4, dict(zip(names, (30, 10), strict=True)), {}),
            _phase("cooldown", 40, 10, 8, dict(zip(names, (10, 30), strict=True)), dict(zip(names, (30, 10), strict=True))),
        ),
        changes=(Change(phase="cooldown", field="batch_size", before=4, after=8),),
        code_version="test",
    ).sealed()  # fmt: skip


@pytest.fixture
def run_folder(plan: Plan, tmp_path: Path) -> Path:
    """What a trainer leaves on disk after following the plan to its end."""
    folder = tmp_path / "run"
    folder.mkdir()
    plan_url = str(tmp_path / "plan.json")
    plan.save(plan_url)
    (folder / "config.json").write_text(
        json.dumps(
            {
                "run": {"plan": plan_url, "out": str(folder)},
                "plan": {"hash": plan.hash},
                "parameters": 1234,
                "code_version": "1",
            }
        )
    )
    order = Order(plan)
    rows = []
    for step in range(plan.total_steps + 1):
        position = plan.rows_of_step(step - 1)[1] if step else 0
        tokens = position * SEQUENCE
        counts = order.counts(position)
        if step:
            phase = plan.phase_of_step(step - 1)
            consumed = dict(zip((d.name for d in plan.datasets), map(int, counts), strict=True))
            rows.append(
                {"kind": "train", "step": step, "position": position, "tokens": tokens, "phase": phase.name,
                 "loss": 5 / (1 + step), "learning_rate": 1e-3, "batch_size": phase.batch_size, "consumed": consumed}
            )  # fmt: skip
        for weights, worse in (("hot", 0.0), ("ema", 0.1)):
            for number, name in enumerate(WINDOWS):
                rows.append(
                    {"kind": "evaluation", "step": step, "tokens": tokens, "weights": weights, "dataset": name,
                     "bits_per_byte": 3 - 0.1 * step * (number + 1) + worse}
                )  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "samples.jsonl").write_text(
        json.dumps({"step": 15, "prompt": "A <b>", "text": " & so on", "weights": "ema"}) + "\n"
    )
    assert np.array_equal(order.counts(80), [40, 40])
    return folder

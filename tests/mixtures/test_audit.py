"""Realised against planned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError, InputError
from tootsie.mixtures.audit import audit_run
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan


def records(plan: Plan) -> list[dict[str, Any]]:
    """What a run that follows its plan records."""
    order, lines = Order(plan), []
    for step in range(plan.total_steps):
        end = plan.rows_of_step(step)[1]
        drawn = np.bincount(order.draw(np.arange(end)).dataset, minlength=len(plan.datasets)).tolist()
        lines.append(
            {
                "kind": "train",
                "step": step + 1,
                "position": end,
                "phase": plan.phase_of_step(step).name,
                "batch_size": plan.phase_of_step(step).batch_size,
                "learning_rate": plan.learning_rate(step),
                "consumed": {d.name: n for d, n in zip(plan.datasets, drawn, strict=True)},
            }
        )
    return lines


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"batch_size": 4}, "batch_size is 4, planned is 5"),
        ({"learning_rate": 2e-3}, "the learning rate is 0.002, planned is 0.001"),
        ({"consumed": {"a": 25, "b": 0}}, "sequences of a are consumed, planned are"),
        ({"position": 24}, "position is 24, planned is 25"),
        ({"learning_rate": float("nan")}, "the learning rate is nan, planned is 0.001"),
        ({"consumed": {"a": 19, "b": 6, "c": 3}}, "3 sequences of c are consumed, planned are 0"),
    ],
)
def test_the_first_deviation(
    make_plan: Callable[..., Plan], tmp_path: Path, change: dict[str, Any], reason: str | None
) -> None:
    plan = make_plan([(8, 5, {"a": 3, "b": 1})])
    lines = records(plan)
    lines[4] |= change
    lines.insert(2, {"kind": "evaluation"})
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    audit = audit_run(plan, str(tmp_path))
    assert audit.step == 8
    assert [(row.dataset, row.planned, row.consumed) for row in audit.rows] == [("a", 30, 30), ("b", 10, 10)]
    if reason is None:
        assert audit.first_deviation is None
    else:
        assert audit.first_deviation == 5
        assert audit.reason is not None
        assert reason in audit.reason


def test_tokens_and_passes_of_several_lengths(make_plan: Callable[..., Plan], tmp_path: Path) -> None:
    plan = make_plan([(8, 5, {"a": 3, "b": 1}), (4, 6, {"a": 1, "b": 1})])
    content = plan.model_dump() | {"format": "tootsie-plan/2"}
    content["phases"][1]["sequence_length"] = 4
    plan = Plan.model_validate(content)
    lines = records(plan)
    for line in lines:
        line["tokens"] = 8 * min(line["position"], 40) + 4 * max(0, line["position"] - 40)
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    audit = audit_run(plan, str(tmp_path))
    assert audit.first_deviation is None
    assert audit.rows[0].epochs == pytest.approx(30 / 50 + 12 / 100)
    lines[9]["tokens"] += 8
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    audit = audit_run(plan, str(tmp_path))
    assert (audit.first_deviation, audit.reason) == (10, "tokens is 376, planned is 368")


def test_what_cannot_be_audited(make_plan: Callable[..., Plan], tmp_path: Path) -> None:
    plan = make_plan([(8, 5, {"a": 3, "b": 1})])
    with pytest.raises(InputError, match="has recorded nothing"):
        audit_run(plan, str(tmp_path))
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(InputError, match="has recorded no step"):
        audit_run(plan, str(tmp_path))
    (tmp_path / "metrics.jsonl").write_text('{"kind": "train"')
    with pytest.raises(ArtefactError, match=r"metrics\.jsonl:1: a line is not JSON"):
        audit_run(plan, str(tmp_path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5", r"metrics.jsonl:1: .*not what a run records .* \(found 5\)"),
        ("[]", "not what a run records"),
        ('{"kind": "train", "step": 1}', "position: .*field required"),
        ('{"kind": "train", "step": "1"}', "step: .*valid integer"),
        ("[" * 100_000, "a line is not JSON"),
        ('{"kind": "train", "st', "a line is not JSON"),
    ],
)
def test_lines_that_no_run_writes(
    make_plan: Callable[..., Plan], tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "metrics.jsonl").write_text(line + "\n")
    with pytest.raises(ArtefactError, match=message):
        audit_run(make_plan([(8, 5, {"a": 3, "b": 1})]), str(tmp_path))

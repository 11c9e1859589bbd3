"""Numbers as a person reads them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from rich.console import Console

from tootsie.mixtures.display import amount, columns, print_plan, write_csv
from tootsie.mixtures.plan import Plan


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (1234, "1.23k"),
        (12_750_700_000_000, "12.8T"),
        (999_999, "1,000k"),
    ],
)
def test_amounts(count: int, text: str) -> None:
    assert amount(count) == text


PHASES = [(50, 4, {"a": 5, "b": 1}), (25, 8, {"a": 1, "b": 2, "c": 1})]


def test_csv_has_a_row_for_each_phase_and_dataset(make_plan: Callable[..., Plan]) -> None:
    plan, stream = make_plan(PHASES), io.StringIO()
    write_csv(plan, stream)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert [(row["phase"], row["dataset"]) for row in rows] == [
        ("p0", "a"), ("p0", "b"), ("p1", "a"), ("p1", "b"), ("p1", "c"),
    ]  # fmt: skip
    assert sum(int(row["sequences"]) for row in rows) == plan.total_sequences
    assert sum(float(row["share"]) for row in rows[2:]) == pytest.approx(1)
    assert [rows[2][key] for key in ("first_step", "end_step", "start", "end", "batch_size")] == [
        "50", "75", "200", "400", "8",
    ]  # fmt: skip
    assert float(rows[0]["epochs_total"]) == plan.phases[0].sequences["a"] / 50


def test_sequence_lengths_are_shown(make_plan: Callable[..., Plan]) -> None:
    content = make_plan(PHASES).model_dump() | {"format": "tootsie-plan/2"}
    content["phases"][1]["sequence_length"] = 16
    plan, stream, table = Plan.model_validate(content), io.StringIO(), io.StringIO()
    print_plan(plan, Console(file=stream, width=200, highlight=False))
    shown = stream.getvalue()
    assert "75 steps, 400 sequences of 8 and 16, 4.8k tokens" in shown
    assert "of 8 sequences of 16, 3.2k tokens" in shown
    write_csv(plan, table)
    rows = list(csv.DictReader(io.StringIO(table.getvalue())))
    assert [row["sequence_length"] for row in rows] == ["8", "8", "16", "16", "16"]
    assert int(rows[2]["tokens"]) == 16 * int(rows[2]["sequences"])


def test_each_phase_has_its_own_rows(make_plan: Callable[..., Plan]) -> None:
    """Also where two phases of a plan have the same name, as after a branch they might."""
    plan = make_plan(PHASES)
    same = plan.model_copy(
        update={"phases": tuple(phase.model_copy(update={"name": "x"}) for phase in plan.phases)}
    )
    console = Console(file=io.StringIO(), width=140)
    print_plan(same, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("mixture m, steps") == 2
    assert [line.split()[0] for line in text.splitlines() if "%" in line] == ["a", "b", "a", "b", "c"]


def test_columns_are_aligned() -> None:
    assert columns(("name", "size", "note"), [("a", "1", "x"), ("bcdef", "1,000", "")]) == (
        " name    size  note\n ─────  ─────  ────\n a          1  x\n bcdef  1,000\n"
    )

"""What moved the loss: everything near the step, the likeliest first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tootsie.datasets.command_line import run_command
from tootsie.datasets.errors import SpecError
from tootsie.mixtures.plan import Plan
from tootsie.train.report import why
from tootsie.train.report.beside import names_of, parameters_beside, render_beside
from tootsie.train.report.command import app
from tootsie.train.report.records import read_run, realised


def edit(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "metrics.jsonl"
    rows = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_boundary_is_told_with_its_shares_and_batch(run_folder: Path) -> None:
    move, causes = why.explain(read_run(str(run_folder)), 11, 4)
    assert (move.step, move.loss) == (11, pytest.approx(5 / 12))
    assert move.after < move.before
    assert [(cause.kind, cause.step) for cause in causes] == [("epoch", 12), ("batch", 10), ("mixture", 10)]
    assert causes[2].what == "phase cooldown begins: papers 75.0% → 25.0%, <answers> 25.0% → 75.0%"
    assert causes[1].what == "phase cooldown begins: batch_size 4 → 8"


def test_far_from_everything_there_is_nothing_to_tell(run_folder: Path) -> None:
    move, causes = why.explain(read_run(str(run_folder)), 4, 3)
    assert not causes
    lines = why.lines_of(move, causes, "tootsie mix trace plan.json --step 3")
    assert "nothing that the plan or the records know of" in lines[-2]
    assert lines[-1] == "what the step saw: tootsie mix trace plan.json --step 3"


def test_a_nearer_and_stronger_cause_comes_first(run_folder: Path) -> None:
    """Alarms, epochs, operations and resumes beside the boundary."""
    (run_folder / "alarms.jsonl").write_text(
        json.dumps(
            {"step": 11, "id": "loss-spike", "subject": "cooldown", "message": "the loss is 9", "first": True}
        )
        + "\n"
    )
    resumed = [{"code_version": "1", "devices": 1}, {"code_version": "1", "devices": 4}]
    (run_folder / "timings.jsonl").write_text(
        "".join(
            json.dumps({"step": step, "resumed": by}) + "\n"
            for step, by in zip((2, 12), resumed, strict=True)
        )
    )
    config = json.loads((run_folder / "config.json").read_text())
    plan = {"kind": "plan", "step": 0, "hash": config["plan"]["hash"], "name": "x"}
    operation = {
        "kind": "operation",
        "step": 9,
        "operation": "reset-moments",
        "of": "f" * 64,
        "reason": "a test",
    }
    (run_folder / "config.json").write_text(json.dumps(config | {"lineage": [plan, operation]}))
    _, causes = why.explain(read_run(str(run_folder)), 11, 10)
    told = {cause.kind: cause for cause in reversed(causes)}
    assert causes[0].kind == "alarm"
    assert told["lineage"].what == "reset-moments by hand: a test"
    assert told["resume"].what == "the run was continued here; devices 1 → 4"
    assert told["epoch"].what == "<answers> (75.0% of the mixture) begins its epoch 2"
    assert [cause.score for cause in causes] == sorted((cause.score for cause in causes), reverse=True)


def test_a_falling_rate_is_told(run_folder: Path) -> None:
    edit(run_folder, lambda row: {**row, "learning_rate": 1e-3 / (1 + row["step"])})
    _, causes = why.explain(read_run(str(run_folder)), 5, 3)
    assert [cause.kind for cause in causes] == ["learning rate"]
    assert "goes from 0.000333 to 0.000111" in causes[0].what


def test_a_step_that_is_not_recorded_is_refused(run_folder: Path) -> None:
    with pytest.raises(SpecError, match="the run has not recorded this step"):
        why.explain(read_run(str(run_folder)), 99, 10)


def command(*arguments: str) -> int:
    return run_command(typer.main.get_command(app), list(arguments), name="tootsie report")


def test_the_commands(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("why", str(run_folder), "--step", "11") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("step 11: loss 0.4167")
    assert "phase cooldown begins" in shown
    assert "tootsie mix trace" in shown
    assert command("why", str(run_folder), "--step", "11", "--json") == 0
    assert json.loads(capsys.readouterr().out)["causes"]
    assert command(str(run_folder), "--dry-run") == 0
    assert "15 steps, 64 evaluations" in capsys.readouterr().out


def test_several_runs_stand_beside_each_other(run_folder: Path, tmp_path: Path, plan: Plan) -> None:
    other = tmp_path / "deeper" / "run"
    other.mkdir(parents=True)
    longer = plan.phases[1].settings.model_copy(update={"weight_decay": 0.1})
    phases = (plan.phases[0], plan.phases[1].model_copy(update={"settings": longer}))
    changed = plan.model_copy(update={"phases": phases}).sealed()
    changed.save(str(tmp_path / "deeper" / "plan.json"))
    config = json.loads((run_folder / "config.json").read_text())
    config["run"] = {"plan": str(tmp_path / "deeper" / "plan.json"), "out": str(other), "seed": 3}
    (other / "config.json").write_text(json.dumps(config | {"plan": {"hash": changed.hash}}))
    (other / "metrics.jsonl").write_text((run_folder / "metrics.jsonl").read_text())
    runs = [read_run(str(run_folder)), read_run(str(other))]
    assert names_of(runs) == [f"{tmp_path.name}/run", "deeper/run"]
    assert [row[0] for row in parameters_beside(runs)] == ["plan.hash", "run.plan", "run.seed"]
    page = render_beside(runs)
    assert "step 10: weight_decay" in page
    for chart in ("loss", "held-out-0", "held-out-1"):
        assert f'id="{chart}"' in page
    assert "<answers>" not in page.replace("<answers>&", "").split("</script>")[-1]


def test_what_another_run_drew_is_not_counted_for_a_branch(run_folder: Path) -> None:
    """From step 10 on; the counts of the records go on from those of the run it branches off."""
    config = json.loads((run_folder / "config.json").read_text())
    branch = {
        "kind": "branch",
        "step": 10,
        "run": "elsewhere",
        "checkpoint": "f" * 64,
        "plan": config["plan"]["hash"],
    }
    (run_folder / "config.json").write_text(json.dumps(config | {"lineage": [branch]}))
    path = run_folder / "metrics.jsonl"
    path.write_text(
        "".join(line for line in path.read_text().splitlines(keepends=True) if json.loads(line)["step"] > 10)
    )
    rows = realised(read_run(str(run_folder)))
    assert [(row.phase, row.dataset, row.drawn) for row in rows] == [
        ("cooldown", "papers", 10),
        ("cooldown", "<answers>", 30),
    ]

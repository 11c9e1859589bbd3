"""The loop on a made-up plan: phases, records, resuming."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tootsie.datasets.errors import ArtefactError, UserError
from tootsie.train import checkpoint, pins
from tootsie.train.inputs import Inputs
from tootsie.train.loop import TrainingStoppedError, progress_at, settings_of, train
from tootsie.train.run_file import RunFile

MakeRun = Callable[..., RunFile]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, run_file: MakeRun, inputs: Inputs) -> Path:
    """An uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    summary = train(run_file(out), inputs, print)
    assert summary.finished
    assert summary.progress == (12, 80, 1280)
    assert summary.resumed_from is None
    return out


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may damage."""
    return shutil.copytree(whole, tmp_path / "copy")


def test_every_step_is_recorded_and_the_loss_falls(whole: Path) -> None:
    rows = [row for row in lines(whole / "metrics.jsonl") if row["kind"] == "train"]
    assert [row["step"] for row in rows] == list(range(1, 13))
    assert [row["batch_size"] for row in rows] == [4] * 4 + [8] * 8
    assert [row["position"] for row in rows] == [4, 8, 12, 16, *range(24, 81, 8)]
    assert [row["tokens"] for row in rows] == [16 * row["position"] for row in rows]
    assert [row["phase"] for row in rows] == ["phase0"] * 4 + ["phase1"] * 4 + ["phase2"] * 4
    assert rows[-1]["consumed"] == {"even": 40, "odd": 40}
    assert rows[-1]["loss"] < rows[0]["loss"] - 0.5
    assert [row["learning_rate"] for row in rows[7:9]] == pytest.approx([1e-2, 1e-3])
    assert rows[7]["z_loss"] > 0
    assert rows[8]["z_loss"] == 0
    assert "seconds" not in rows[0]
    assert len(lines(whole / "timings.jsonl")) == 12


def test_held_out_sets_are_measured_at_the_start_in_between_and_at_each_phase_end(whole: Path) -> None:
    rows = [row for row in lines(whole / "metrics.jsonl") if row["kind"] == "evaluation"]
    hot = [row["step"] for row in rows if row["weights"] == "hot"]
    ema = [row["step"] for row in rows if row["weights"] == "ema"]
    assert hot == [0, 3, 4, 6, 8, 9, 12]
    assert ema == [6, 8, 9, 12], "the average is looked at only in phases that keep one"
    assert {row["tokens_scored"] for row in rows} == {sum(range(6, 12))}


def test_checkpoints_stand_at_the_start_at_each_phase_end_and_at_the_interval(whole: Path) -> None:
    assert checkpoint.steps_in(str(whole / "checkpoints")) == [12, 10, 8, 5, 4, 0]


def test_a_ramp_is_one_stretch(tmp_path: Path, run_file: MakeRun, inputs: Inputs) -> None:
    """Where a phase is a part of a ramp that goes on, nothing stops: no checkpoint, no evaluation, no sample, but a line."""

    class Ramped(type(inputs.plan)):  # type: ignore[misc]
        boundaries = frozenset({8, 12})

    run = run_file(
        tmp_path / "run", evaluation={"sets": {"held": "x"}}, checkpoints={}, metrics_every="100 steps"
    )
    train(run, inputs._replace(plan=Ramped()), print)
    assert checkpoint.steps_in(str(tmp_path / "run" / "checkpoints")) == [12, 8, 0]
    rows = lines(tmp_path / "run" / "metrics.jsonl")
    assert [row["step"] for row in rows if row["kind"] == "evaluation" and row["weights"] == "hot"] == [
        0,
        8,
        12,
    ]
    assert [row["step"] for row in rows if row["kind"] == "train"] == [4, 8, 12]
    assert {row["step"] for row in lines(tmp_path / "run" / "samples.jsonl")} == {8, 12}


def test_samples_are_written_at_each_phase_end(whole: Path) -> None:
    rows = lines(whole / "samples.jsonl")
    assert [(row["step"], row["prompt"]) for row in rows] == [(s, p) for s in (4, 8, 12) for p in ("ab", "c")]
    assert all(len(row["text"]) <= 5 for row in rows)


def test_config_names_every_default(whole: Path) -> None:
    config = json.loads((whole / "config.json").read_text())
    assert config["run"]["seed"] == 0
    assert config["phases"][0]["settings"]["adam_beta2"] == 0.95
    assert "llama/embedding" in config["optimizer"]["not_decayed"]


@pytest.mark.parametrize("step", [0, 4, 10])
def test_a_run_that_lost_its_end_finishes_with_the_same_bytes(
    copy: Path, whole: Path, step: int, run_file: MakeRun, inputs: Inputs
) -> None:
    """As after kill -9: a later checkpoint half written, lines after the last good one."""
    for later in checkpoint.steps_in(str(copy / "checkpoints")):
        if later > step:
            (copy / "checkpoints" / str(later) / "record.json").unlink()
    shutil.rmtree(copy / "export")
    summary = train(run_file(copy), inputs, print)
    assert summary.resumed_from == step
    for name in ("metrics.jsonl", "samples.jsonl", "export/model.safetensors"):
        assert (copy / name).read_bytes() == (whole / name).read_bytes(), name
    assert checkpoint.steps_in(str(copy / "checkpoints")) == [12, 10, 8, 5, 4, 0]


def test_an_average_in_host_memory_is_the_same_to_the_bit(
    copy: Path, whole: Path, run_file: MakeRun, inputs: Inputs
) -> None:
    """Restored to there, updated, looked at, saved, restored from there, exported."""
    for later in (8, 10, 12):
        (copy / "checkpoints" / str(later) / "record.json").unlink()
    on_host = run_file(copy, devices={"ema_memory": "host"})
    assert train(on_host, inputs, print, limit=3).resumed_from == 5
    assert train(on_host, inputs, print).resumed_from == 8
    for name in ("metrics.jsonl", "samples.jsonl", "export/model.safetensors"):
        assert (copy / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_finished_run_has_nothing_to_do(copy: Path, whole: Path, run_file: MakeRun, inputs: Inputs) -> None:
    summary = train(run_file(copy), inputs, print)
    assert summary.resumed_from == 12
    assert (copy / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_limit_stops_with_a_checkpoint_and_the_next_run_goes_on(
    tmp_path: Path, whole: Path, run_file: MakeRun, inputs: Inputs
) -> None:
    out = tmp_path / "limited"
    summary = train(run_file(out), inputs, print, limit=3)
    assert not summary.finished
    assert checkpoint.steps_in(str(out / "checkpoints")) == [3, 0]
    assert not (out / "export").exists()
    train(run_file(out), inputs, print)
    assert (out / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    assert 3 not in checkpoint.steps_in(str(out / "checkpoints")), "it was temporary"


def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    copy: Path, whole: Path, run_file: MakeRun, inputs: Inputs
) -> None:
    _flip_a_bit(copy / "checkpoints" / "12")
    told: list[str] = []
    summary = train(run_file(copy), inputs, told.append)
    assert summary.resumed_from == 10
    assert any("checkpoint 12 is not usable" in line and "damaged" in line for line in told)
    assert (copy / "checkpoints" / "damaged-12").is_dir()
    assert (copy / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_it_never_starts_from_scratch_over_a_run(copy: Path, run_file: MakeRun, inputs: Inputs) -> None:
    shutil.copytree(copy / "checkpoints", copy / "kept")
    for folder in (copy / "checkpoints").iterdir():
        _flip_a_bit(folder)
    with pytest.raises(ArtefactError, match="none of 6 checkpoints is good"):
        train(run_file(copy), inputs, print)
    shutil.rmtree(copy / "checkpoints")
    with pytest.raises(UserError, match="its checkpoints are missing"):
        train(run_file(copy), inputs, print)


def test_another_model_or_seed_is_refused_by_its_name(copy: Path, run_file: MakeRun, inputs: Inputs) -> None:
    """Another plan is refused by the first thing that differs in it: ``test_lineage.py``."""
    with pytest.raises(ArtefactError, match="seed: the checkpoint was made with 0, this run has 7"):
        train(run_file(copy, seed=7), inputs, print)
    wider = inputs.architecture.model_copy(update={"mlp_size": 32})
    with pytest.raises(ArtefactError, match=r"architecture\.mlp_size: .* 24, this run has 32"):
        train(run_file(copy), inputs._replace(architecture=wider), print)


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path: Path, run_file: MakeRun, inputs: Inputs) -> None:
    class Wild(type(inputs.plan)):  # type: ignore[misc]
        def learning_rate(self, step: int) -> float:
            return 1e30

    with pytest.raises(TrainingStoppedError, match="not finite at step"):
        train(run_file(tmp_path), inputs._replace(plan=Wild()), print)


def test_progress_and_settings_follow_the_plan(inputs: Inputs) -> None:
    assert progress_at(inputs.plan, 0) == (0, 0, 0)
    assert progress_at(inputs.plan, 5) == (5, 24, 384)
    first, later = settings_of(inputs.plan, 3), settings_of(inputs.plan, 4)
    assert (first.ema_beta, later.ema_beta) == (0.0, pytest.approx(0.9))
    assert first.clip_norm.dtype == "float32"


def test_consumption_that_is_not_the_plans_is_a_fault(
    tmp_path: Path, run_file: MakeRun, inputs: Inputs
) -> None:
    class Wrong(type(inputs.sampler)):  # type: ignore[misc]
        def consumed(self, position: int) -> dict[str, int]:
            return {"even": position, "odd": 0}

    with pytest.raises(AssertionError, match="step 4: drew"):
        train(run_file(tmp_path), inputs._replace(sampler=Wrong(inputs.plan)), print)


def test_norms_stand_beside_the_steps_by_group(whole: Path) -> None:
    rows = [row for row in lines(whole / "metrics.jsonl") if row["kind"] == "norms"]
    assert [row["step"] for row in rows] == [10]
    assert list(rows[0]["parameter"]) == ["embedding", "final_norm", "layer_0", "layer_1"]
    step = next(row for row in lines(whole / "metrics.jsonl") if row["kind"] == "train" and row["step"] == 10)
    for kind, total in (("gradient", "grad_norm"), ("parameter", "param_norm")):
        assert sum(value**2 for value in rows[0][kind].values()) == pytest.approx(step[total] ** 2, rel=1e-5)


def test_an_alarm_is_recorded_told_once_and_pins_the_newest_checkpoint(
    tmp_path: Path, run_file: MakeRun, inputs: Inputs
) -> None:
    class Small(type(inputs.plan)):  # type: ignore[misc]
        lengths = SimpleNamespace(passes=lambda name, position, drawn: drawn / (17 if name == "odd" else 100))

    told: list[str] = []
    run = run_file(tmp_path / "run", checkpoints={"temporary_every": "1 step"})
    changed = inputs._replace(plan=Small())
    train(run, changed, told.append)
    raised = lines(tmp_path / "run" / "alarms.jsonl")
    assert [(row["id"], row["subject"], row["step"], row["first"]) for row in raised] == [
        ("dataset-wrap", "odd", 7, True), ("dataset-wrap", "odd", 11, False)
    ]  # fmt: skip
    assert len([line for line in told if line.startswith("ALARM")]) == 1
    assert checkpoint.steps_in(str(tmp_path / "run" / "checkpoints")) == [12, 8, 6, 4, 0], "6 was temporary"
    assert "odd has begun its epoch 2" in pins.reasons(str(tmp_path / "run" / "checkpoints"), 6)[0]
    # Resumed from before the second, it raises the same ones and calls none of them the first.
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "12")
    train(run, changed, told.append)
    assert lines(tmp_path / "run" / "alarms.jsonl") == raised


def _flip_a_bit(folder: Path) -> None:
    largest = max(
        (path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)


def test_records_that_were_edited_are_refused_and_nothing_is_deleted(
    copy: Path, run_file: MakeRun, inputs: Inputs
) -> None:
    metrics = copy / "metrics.jsonl"
    content = metrics.read_text()
    metrics.write_text(content.replace('"step": 3', '"step": 9', 1))
    (copy / "checkpoints" / "11" / "state").mkdir(parents=True)
    with pytest.raises(ArtefactError, match=r"metrics\.jsonl: the file was changed since the checkpoint"):
        train(run_file(copy), inputs, print)
    metrics.write_text(content[:-5])
    with pytest.raises(ArtefactError, match=r"metrics\.jsonl: the file has .* bytes, the checkpoint"):
        train(run_file(copy), inputs, print)
    for record in (copy / "checkpoints").glob("*/record.json"):
        record.unlink()
    with pytest.raises(UserError, match="its checkpoints are missing"):
        train(run_file(copy), inputs, print)
    assert len(list((copy / "checkpoints").iterdir())) == 7, "weights without a record are left for a person"


def test_a_folder_of_something_else_is_refused(tmp_path: Path, run_file: MakeRun, inputs: Inputs) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(UserError, match="holds something else than a run"):
        train(run_file(tmp_path), inputs, print)
    assert (tmp_path / "config.json").read_text() == '{"model_type": "llama"}'

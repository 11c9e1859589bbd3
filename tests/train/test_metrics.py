"""Line files that only grow, and are cut to a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import fsspec
import pytest

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.train.metrics import LineFile, Recorder, read_lines


@pytest.mark.parametrize("remote", [False, True])
def test_lines_after_the_checkpoint_are_cut(tmp_path: Path, *, remote: bool) -> None:
    url = "memory://metrics-test/metrics.jsonl" if remote else str(tmp_path / "metrics.jsonl")
    file = LineFile(url)
    file.append({"step": 1})
    kept = file.written
    file.append({"step": 2})
    file.close()
    assert read_lines(url) == [{"step": 1}, {"step": 2}]
    again = LineFile(url, kept)
    again.append({"step": 2, "again": True})
    again.close()
    assert read_lines(url) == [{"step": 1}, {"step": 2, "again": True}]
    with pytest.raises(ArtefactError, match="the checkpoint was written when it had 999"):
        LineFile(url, kept.model_copy(update={"size": 999}))
    storage.write_bytes(url, b'{"step": 7}\n')
    with pytest.raises(ArtefactError, match="was changed since the checkpoint"):
        LineFile(url, kept)
    if remote:
        fsspec.filesystem("memory").rm("/metrics-test", recursive=True)


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"st')
    assert read_lines(str(path)) == [{"step": 1}]


def test_a_number_that_is_not_finite_is_never_written(tmp_path: Path) -> None:
    file = LineFile(str(tmp_path / "x.jsonl"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        file.append({"loss": float("nan")})
    file.close()


def test_everything_is_recorded_and_tensorboard_has_events(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), {}, 0)
    figures = {
        "loss": 1.0,
        "z_loss": 0.0,
        "log_z": 5.0,
        "learning_rate": 1e-3,
        "batch_size": 4,
        "grad_norm": 1.0,
        "param_norm": 2.0,
    }
    recorder.record("train", {"step": 1, **figures, "consumed": {"a": 4}})
    recorder.record(
        "evaluation", {"step": 1, "weights": "ema", "dataset": "a", "loss": 1.0, "bits_per_byte": 0.5}
    )
    recorder.record("sample", {"step": 1, "prompt": "x", "text": "y"})
    recorder.record("timing", {"step": 1, "seconds": 0.1, "tokens_per_second": 10.0})
    recorder.sync()
    assert recorder.written["metrics.jsonl"].size == (tmp_path / "metrics.jsonl").stat().st_size
    recorder.close()
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert kinds == ["train", "evaluation"]
    assert list((tmp_path / "tensorboard").iterdir())

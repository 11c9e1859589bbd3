"""Where a run is shown; Weights & Biases only where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.train.metrics import Recorder, read_lines
from tootsie.train.trackers import TensorBoard, WandbSettings, trackers_of

EVALUATION = {"step": 1, "weights": "hot", "dataset": "a", "loss": 1.0, "bits_per_byte": 0.5}


def test_tensorboard_is_there_on_a_local_disk_only(tmp_path: Path) -> None:
    (tracker,) = trackers_of(str(tmp_path), 0, None)
    assert isinstance(tracker, TensorBoard)
    tracker.close()
    assert trackers_of("memory://trackers", 0, None) == []
    with pytest.raises(SpecError, match="needs a local 'out'"):
        trackers_of("memory://trackers", 0, WandbSettings(project="p"))


def test_without_the_package_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(SpecError, match=r'pip install "tootsie\[wandb\]"'):
        trackers_of(str(tmp_path), 0, WandbSettings(project="p"))


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed")
@pytest.mark.filterwarnings("ignore")
def test_offline_everything_lies_below_the_run(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), {}, 0, WandbSettings(project="tootsie", name="test"))
    recorder.record("evaluation", EVALUATION)
    recorder.record(
        "alarm", {"step": 1, "id": "loss-spike", "subject": "x", "message": "high", "first": True}
    )
    recorder.close()
    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    (events,) = folder.glob("run-*.wandb")
    content = events.read_bytes()
    assert b"eval/a/bits_per_byte" in content
    assert b"loss-spike: high" in content
    assert read_lines(str(tmp_path / "metrics.jsonl")) == [{"kind": "evaluation", **EVALUATION}]

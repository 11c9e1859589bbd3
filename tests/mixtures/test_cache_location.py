"""Where a plan says that its datasets lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.plan import Plan

SPEC = """\
name: run
seed: 1
sequence_length: 100
tokenizer: llama3
datasets: {flan: {card: dolmino/flan}}
mixtures: {all: {groups: {all: {datasets: [flan]}}}}
phases: [{name: one, mixture: all, for: 10 steps, batch_size: 20, learning_rate: 1e-3}]
"""


def test_a_card_has_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan from cards has the same bytes wherever it is written, and names its cards when it is read."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "below").mkdir()
    plan = compile_file(str(tmp_path / "spec.yaml"))
    urls = [str(tmp_path / "plan.json"), str(tmp_path / "below" / "plan.json"), "plan.json"]
    monkeypatch.chdir(tmp_path / "below")
    written = []
    for url in urls:
        plan.save(url)
        written.append(Path(url).read_bytes())
        assert [dataset.cache for dataset in Plan.load(url).datasets] == ["card:dolmino/flan"]
    assert len(set(written)) == 1

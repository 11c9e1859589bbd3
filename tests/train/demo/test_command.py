"""The demo's options: what it would run, and what it writes into its settings."""

from __future__ import annotations

import pytest
import typer.main

from tootsie.datasets.command_line import run_command
from tootsie.mixtures.spec_file import parse_spec
from tootsie.train.demo.command import app
from tootsie.train.demo.settings import Choices, run_file, spec_file


def test_dry_run_prints_the_commands_and_runs_none(
    capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    assert run_command(typer.main.get_command(app), [f"{tmp_path}/x", "--dry-run", "--limit", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["curate"] * 3 + ["tokenize"] * 3 + [
        "mix",
        "mix",
        "train",
        "report",
    ]
    assert lines[0].endswith("documents/arxiv --limit 7")
    assert not (tmp_path / "x").exists()  # type: ignore[operator]


def test_choices_reach_the_settings() -> None:
    full, _ = parse_spec(spec_file(Choices()))
    quick, _ = parse_spec(spec_file(Choices(quick=True, seed=5)))
    assert [str(phase.length) for phase in quick.phases] == ["20 steps", "10 steps", "10 steps"]
    assert [str(phase.length) for phase in full.phases] == ["200 steps", "100 steps", "100 steps"]
    assert (full.seed, quick.seed) == (600, 5)
    assert "seed: 8\n" in run_file(Choices())
    assert "seed: 5\n" in run_file(Choices(seed=5))

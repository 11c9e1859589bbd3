"""A tiny model trained through a phase of longer sequences, killed on both sides of the boundary and on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer.main

from tests.train.conftest import write_text_cache
from tootsie.datasets.command_line import run_command
from tootsie.mixtures import command as mixtures_command
from tootsie.mixtures.audit import audit_run
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.sampler import Sampler

SPEC = """
name: longer
seed: 1
sequence_length: 128
span_length: 256
datasets: {prose: {cache: caches/prose, max_epochs: 8}, code: {cache: caches/code, max_epochs: 8}}
mixtures: {base: {groups: {all: {share: 1.0, datasets: [prose, code]}}}}
phases:
  - {name: short, mixture: base, for: 4 steps, batch: 512 tokens, learning_rate: 3e-3}
  - {name: long, mixture: base, for: 2048 tokens, sequence_length: 256}
"""
RUN = """
plan: plan.json
out: OUT
architecture:
  {vocabulary_size: 16384, model_size: 16, layers: 1, heads: 2, kv_heads: 1, head_size: 8, mlp_size: 16,
   rope: {theta: 10000, scaling: null}, tied_embeddings: true}
evaluation: {sets: {prose: caches/held-out}, every: 3 steps, batch_size: 2, sequence_length: 64 tokens}
checkpoints: {every: 1 step}
"""
CACHE = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Caches, a compiled plan, and an uninterrupted run."""
    folder = tmp_path_factory.mktemp("longer")
    words = np.random.default_rng(0).choice(
        ["the", "quick", "brown", "fox", "sleeps", "and", "then"], (40, 60)
    )
    prose = [" ".join(row) for row in words]
    write_text_cache(folder / "caches" / "prose", prose[:35])
    write_text_cache(folder / "caches" / "held-out", prose[35:])
    write_text_cache(
        folder / "caches" / "code", [f"def f{n}(x):\n    return x + {n}\n" * 5 for n in range(30)]
    )
    (folder / "spec.yaml").write_text(SPEC)
    compile_plan = ["compile", str(folder / "spec.yaml"), "-o", str(folder / "plan.json")]
    assert run_command(typer.main.get_command(mixtures_command.app), compile_plan, name="tootsie mix") == 0
    train(folder, "whole")
    return folder


def start(folder: Path, out: str) -> subprocess.Popen[bytes]:
    (folder / f"{out}.yaml").write_text(RUN.replace("OUT", out))
    environment = os.environ | CACHE | {"JAX_COMPILATION_CACHE_DIR": str(folder / "compiled")}
    command = [sys.executable, "-m", "tootsie.train", f"{out}.yaml"]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def train(folder: Path, out: str) -> None:
    assert start(folder, out).wait() == 0


def train_rows(folder: Path, out: str) -> list[dict]:
    rows = map(json.loads, (folder / out / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if row["kind"] == "train"]


def test_it_trains_through_the_boundary_as_planned(walk: Path) -> None:
    plan, rows = Plan.load(str(walk / "plan.json")), train_rows(walk, "whole")
    assert [(row["phase"], row["batch_size"]) for row in rows] == [("short", 4)] * 4 + [("long", 2)] * 4
    assert [row["position"] for row in rows] == [4, 8, 12, 16, 18, 20, 22, 24]
    assert [row["tokens"] for row in rows] == [512 * step for step in range(1, 9)]
    assert rows[-1]["loss"] < rows[0]["loss"]
    audit = audit_run(plan, str(walk / "whole"))
    assert audit.first_deviation is None
    config = json.loads((walk / "whole" / "config.json").read_text())
    assert config["evaluation_length"] == 64
    assert [phase["sequence_length"] for phase in config["phases"]] == [128, 256]
    assert (
        json.loads((walk / "whole" / "export" / "config.json").read_text())["max_position_embeddings"] == 256
    )


def test_rows_are_pieces_of_the_caches_and_none_is_read_twice(walk: Path) -> None:
    plan = Plan.load(str(walk / "plan.json"))
    sampler, seen = Sampler(plan), set()
    caches = [sampler._caches[number] for number in range(2)]
    shapes = []
    for batch in sampler.batches(0, plan.total_steps):
        length = batch.tokens.shape[1]
        shapes.append(batch.tokens.shape)
        drawn = (batch.dataset.tolist(), batch.epoch.tolist(), batch.window.tolist())
        for row, number, epoch, window in zip(batch.tokens, *drawn, strict=True):
            cache = caches[number]
            assert cache is not None
            piece = cache.read(window * length, (window + 1) * length)  # type: ignore[attr-defined]
            assert row.tolist() == piece.tolist()
            tokens = {(number, epoch, token) for token in range(window * length, (window + 1) * length)}
            assert not tokens & seen
            seen |= tokens
    assert shapes == [(4, 128)] * 4 + [(2, 256)] * 4


def test_killed_before_on_and_after_the_boundary_it_ends_with_the_same_bytes(walk: Path) -> None:
    """kill -9 as soon as the checkpoint of the step appears; then the same command again."""
    for wanted in (3, 4, 6):
        process = start(walk, "killed")
        while process.poll() is None and not (walk / "killed" / "checkpoints" / str(wanted)).exists():
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    train(walk, "killed")
    for name in ("metrics.jsonl", "export/model.safetensors"):
        assert (walk / "killed" / name).read_bytes() == (walk / "whole" / name).read_bytes(), name

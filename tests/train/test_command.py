"""``tootsie train`` on a real plan and real caches, killed and continued."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer.main

from tests.train.conftest import write_text_cache
from tootsie.datasets.command_line import run_command
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.sole_writer import sole_writer
from tootsie.mixtures import command as mixtures_command
from tootsie.mixtures.plan import Plan
from tootsie.tokenize.hold_out import is_held_out
from tootsie.train.command import app
from tootsie.train.export import read_export
from tootsie.train.inputs import refuse_leak

SPEC = """
name: small
seed: 1
sequence_length: 16
datasets:
  prose: {cache: caches/prose, max_epochs: 20}
  code: {cache: caches/code, max_epochs: 20}
mixtures:
  base:
    groups:
      all: {share: 1.0, datasets: [prose, code]}
phases:
  - name: stable
    mixture: base
    for: "6 steps"
    batch_size: 2
    learning_rate: {shape: constant, from: 0.003}
    weight_decay: 0.05
    z_loss: 0.0
    ema_beta: 0.9
  - name: cooldown
    mixture: base
    for: "4 steps"
    batch_size: 4
    learning_rate: {shape: linear, to: 0.0001}
acknowledge: {z-loss: ten steps}
"""
RUN = """
plan: plan.json
out: OUT
architecture:
  vocabulary_size: 16384
  model_size: 16
  layers: 1
  heads: 2
  kv_heads: 1
  head_size: 8
  mlp_size: 16
  rope: {theta: 10000, scaling: null}
  tied_embeddings: true
evaluation:
  sets: {prose: caches/held-out}
  every: 4 steps
  batch_size: 2
checkpoints: {every: 1 step}
samples: {prompts: ["The"], length: 3 tokens}
"""


def train(*arguments: str) -> int:
    return run_command(typer.main.get_command(app), list(arguments), name="tootsie train")


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small caches, a compiled plan, and the folder of a whole run."""
    folder = tmp_path_factory.mktemp("walk")
    rng = np.random.default_rng(0)
    words = [
        "the",
        "quick",
        "brown",
        "fox",
        "jumps",
        "over",
        "a",
        "lazy",
        "dog",
        "and",
        "then",
        "it",
        "sleeps",
    ]
    prose = [" ".join(rng.choice(words, 60)) for _ in range(40)]
    write_text_cache(folder / "caches" / "prose", prose[:35])
    write_text_cache(folder / "caches" / "held-out", prose[35:])
    write_text_cache(
        folder / "caches" / "code", [f"def f{n}(x):\n    return x + {n}\n" * 5 for n in range(30)]
    )
    (folder / "spec.yaml").write_text(SPEC)
    (folder / "RUN.yaml").write_text(RUN.replace("OUT", "run"))
    before = Path.cwd()
    os.chdir(folder)
    try:
        mix = typer.main.get_command(mixtures_command.app)
        assert run_command(mix, ["compile", "spec.yaml", "-o", "plan.json"], name="tootsie mix") == 0
        assert train("RUN.yaml") == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def _inside(walk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(walk)


def records(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(out, "metrics.jsonl").read_text().splitlines()]


def test_a_run_leaves_all_it_should(walk: Path) -> None:
    rows = [row for row in records("run") if row["kind"] == "train"]
    assert [row["phase"] for row in rows] == ["stable"] * 6 + ["cooldown"] * 4
    plan = Plan.load("plan.json")
    rates = [np.float32(plan.learning_rate(step)) for step in range(plan.total_steps)]
    assert [row["learning_rate"] for row in rows] == rates
    assert rows[-1]["loss"] < rows[0]["loss"]  # type: ignore[operator]
    config = json.loads(Path("run/config.json").read_text())
    assert config["run"]["plan"] == "plan.json"
    params, architecture = read_export("run/export")
    assert architecture.model_size == 16
    assert params["llama"]["embedding"].shape == (16384, 16)
    origin = json.loads(Path("run/export/tootsie.json").read_text())
    assert (origin["weights"], origin["step"]) == ("ema", 10)


def test_killed_without_warning_and_run_again_it_ends_with_the_same_bytes(walk: Path) -> None:
    """kill -9 as soon as a checkpoint appears, wherever in the step that is; then the same command again."""
    Path("KILLED.yaml").write_text(RUN.replace("OUT", "killed"))
    command = [sys.executable, "-m", "tootsie.train", "KILLED.yaml"]
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(walk / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    environment = os.environ | cache
    for wanted in (2, 5):
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and not Path(f"killed/checkpoints/{wanted}").exists():
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    for name in ("metrics.jsonl", "samples.jsonl", "export/model.safetensors"):
        assert Path("killed", name).read_bytes() == Path("run", name).read_bytes(), name


def test_ctrl_c_ends_cleanly_and_the_same_command_continues(walk: Path) -> None:
    """Interrupted while it trains: one line, exit code 1, no crash of a thread; nothing is lost."""
    Path("STOPPED.yaml").write_text(RUN.replace("OUT", "stopped"))
    heeding = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # also in the background
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"{heeding}; runpy.run_module('tootsie.train', run_name='__main__')",
            "STOPPED.yaml",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not Path("stopped/checkpoints/1/record.json").exists():
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert (process.returncode, told) == (1, "interrupted; the same command continues\n")
    assert train("STOPPED.yaml") == 0
    assert Path("stopped/metrics.jsonl").read_bytes() == Path("run/metrics.jsonl").read_bytes()


def test_a_second_trainer_and_a_file_in_the_way_are_refused(
    walk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sole_writer("run"):
        assert train("RUN.yaml") == 2
    assert "run: another process writes into this folder" in capsys.readouterr().err
    Path("BLOCKED.yaml").write_text(RUN.replace("OUT", "plan.json"))
    assert train("BLOCKED.yaml") == 2
    assert "plan.json: File exists. A file stands where a folder is needed" in capsys.readouterr().err


def test_dry_run_shows_the_phases_and_writes_nothing(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("DRY.yaml").write_text(RUN.replace("OUT", "dry"))
    assert train("--dry-run", "DRY.yaml") == 0
    shown = capsys.readouterr().out
    assert "stable: steps 0 to 6, batch 2 × 16" in shown
    assert "held out: prose, 5 documents" in shown
    assert not Path("dry").exists()


def test_export_and_sample_read_any_checkpoint(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("export", "run", "elsewhere", "--weights", "hot", "--step", "6") == 0
    assert "exported step 6 (hot)" in capsys.readouterr().out
    assert train("export", "RUN.yaml", "again") == 0
    whole = Path("run/export/model.safetensors").read_bytes()
    assert Path("again/model.safetensors").read_bytes() == whole
    assert Path("elsewhere/model.safetensors").read_bytes() != whole
    assert train("sample", "run", "--prompt", "The quick", "--length", "4 tokens") == 0
    assert "The quick" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "run", "x", "--step", "77"], "no checkpoint of that step (found 77)"),
        (["export", "run", "x", "--weights", "warm"], "no such weights (found 'warm')"),
        (["export", "caches", "x"], "not the folder of a run"),
        (["sample", "run", "--prompt", "a", "--length", "4"], "is not a duration"),
        (["missing.yaml"], "no such file"),
    ],
)
def test_user_errors_are_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert train(*arguments) == 2
    assert message in capsys.readouterr().err


def test_held_out_data_that_is_trained_on_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("LEAK.yaml").write_text(RUN.replace("OUT", "leak").replace("caches/held-out", "caches/prose"))
    assert train("LEAK.yaml") == 2
    assert "the held-out set 'prose' is the training data 'prose'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("held_out", "trained", "leaks"),
    [
        (("validation", 0, 0.08), ("train", 0, 0.08), False),
        (("validation", 0, 0.05), ("train", 0, 0.08), False),
        (("validation", 0, 0.08), ("train", 0, 0.05), True),
        (("validation", 1, 0.08), ("train", 0, 0.08), True),
        (("validation", 0, 0.08), ("train", 0, 0.0), True),
        (("train", 0, 0.0), ("train", 0, 0.08), True),
    ],
)
def test_two_cuts_of_one_corpus_share_documents(
    held_out: tuple[str, int, float], trained: tuple[str, int, float], *, leaks: bool
) -> None:
    def ledger(split: str, seed: int, fraction: float, corpus: str = "c" * 64) -> SimpleNamespace:
        settings = {"seed": seed, "validation_fraction": fraction}
        return SimpleNamespace(
            split=split, settings=settings, sources=[SimpleNamespace(manifest_sha256=corpus)]
        )

    ids = [str(number) for number in range(2000)]

    def documents(split: str, seed: int, fraction: float) -> set[str]:
        return {name for name in ids if is_held_out(name, fraction, seed) == (split == "validation")}

    assert bool(documents(*held_out) & documents(*trained)) == leaks
    expected = pytest.raises(ArtefactError, match="share documents") if leaks else contextlib.nullcontext()
    with expected:
        refuse_leak("held", "url", ledger(*held_out), "data", ledger(*trained))
    refuse_leak("held", "url", ledger(*held_out), "data", ledger(*trained, corpus="d" * 64))


def test_a_vocabulary_that_is_not_the_plans_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("WRONG.yaml").write_text(RUN.replace("16384", "512"))
    assert train("WRONG.yaml") == 2
    assert (
        "architecture.vocabulary_size: the plan's tokenizer 'tootsie-16k' has 16,384 ids"
        in capsys.readouterr().err
    )


def test_held_out_texts_are_held_against_the_training_mixture(capsys: pytest.CaptureFixture[str]) -> None:
    """Documents with a space at their end, beside a cache that is written as the training data is."""
    lines = [json.dumps({"text": f"the quick brown fox number {number} "}) for number in range(20)]
    Path("spaced.jsonl").write_text("\n".join(lines) + "\n")
    sets = "{prose: caches/held-out, spaced: {documents: spaced.jsonl, tags: [web]}}"
    Path("LINT.yaml").write_text(RUN.replace("OUT", "lint").replace("{prose: caches/held-out}", sets))
    assert train("lint", "LINT.yaml") == 0
    shown = capsys.readouterr().out
    assert (
        "spaced: ends-with-space: 100% of its documents end in a space or tab, 0% of the training mixture's"
        in shown
    )
    assert "prose: ends-with-space" not in shown
    assert train("lint", "LINT.yaml", "--exit-code") == 1
    assert train("lint", "LINT.yaml", "--json", "--difference", "1.0", "--exit-code") == 0
    capsys.readouterr()
    assert train("--dry-run", "LINT.yaml") == 0
    shown = capsys.readouterr().out
    assert "held out: spaced, 20 documents" in shown
    assert "warning: spaced: ends-with-space" in shown

"""Comparisons on real plans and caches: every arm from the same checkpoint, the same schedule, another mixture."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import typer.main

from tests.train.conftest import write_cache
from tootsie.datasets.command_line import run_command
from tootsie.mixtures.audit import audit_run
from tootsie.mixtures.plan import Plan
from tootsie.tokenize.ledger import TokenizerIdentity
from tootsie.train.command import app
from tootsie.train.inputs import open_inputs
from tootsie.train.loop import train
from tootsie.train.run_file import load_run_file
from tootsie.train.weights import load_weights

IDENTITY = TokenizerIdentity(
    name="toy", fingerprint="ab" * 32, vocabulary_size=64, dtype="uint16", bos_id=None, eos_id=0, add_bos=False,
    add_eos=True, golden_ids=(5, 0),
)  # fmt: skip
MIXTURE = """
name: NAME
seed: 1
sequence_length: 16
datasets:
  up: {cache: up, max_epochs: 99}
  down: {cache: down, max_epochs: 99}
mixtures:
  only: {groups: {all: {share: 1.0, datasets: [DATA]}}}
phases:
  - {name: annealing, mixture: only, for: 12 steps, batch_size: 4, learning_rate: {shape: linear, from: 1e-2, to: 0}, EMA}
"""
MODEL = (
    "{vocabulary_size: 64, model_size: 8, layers: 1, heads: 2, kv_heads: 1, head_size: 4, mlp_size: 8, "
    "rope: {theta: 10000, scaling: null}, tied_embeddings: true}"
)
SPEC = """
out: compared
start: {run: base, at: end of annealing}
seeds: [3, 4]
control: same
arms: {same: same.yaml, other: other.yaml}
run:
  architecture: MODEL
  evaluation: {sets: {up: up-held, down: down-held}, batch_size: 4}
  log_every: 100 steps
  export: false
"""


def counting_documents(seed: int, step: int) -> list[tuple[str, list[int], int]]:
    """Documents that count by ``step``."""
    rng = np.random.default_rng(seed)
    documents = []
    for number in range(40):
        ids = (rng.integers(0, 60) + step * np.arange(rng.integers(8, 24))) % 60 + 1
        documents.append((f"{seed}-{number}", [*ids.tolist(), 0], 40))
    return documents


def mixture(name: str, data: str, ema: str = "ema_beta: null") -> None:
    Path(f"{name}.yaml").write_text(MIXTURE.replace("NAME", name).replace("DATA", data).replace("EMA", ema))


def tootsie(*arguments: str) -> int:
    return run_command(typer.main.get_command(app), list(arguments), name="tootsie train")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    from tootsie.mixtures.compilation import compile_file

    folder = tmp_path_factory.mktemp("anneal")
    with contextlib.chdir(folder):
        for number, (name, step) in enumerate((("up", 1), ("down", -1), ("up-held", 1), ("down-held", -1))):
            write_cache(name, counting_documents(number, step), IDENTITY)
        for name, data in (("base", "up, down"), ("same", "up, down"), ("other", "down")):
            mixture(name, data)
        compile_file("base.yaml").save("base.json")
        Path("run.yaml").write_text(
            f"plan: base.json\nout: base\narchitecture: {MODEL}\nlog_every: 100 steps\n"
        )
        run = load_run_file("run.yaml")
        train(run, open_inputs(run, "run.yaml"), print)
        Path("compare.yaml").write_text(SPEC.replace("MODEL", MODEL))
        assert tootsie("anneal", "compare.yaml") == 0
        yield folder


def rows(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(out, "metrics.jsonl").read_text().splitlines()]


def test_each_arm_begins_with_the_same_weights_and_moments(world: Path) -> None:
    base = load_weights("base", 12, None)
    starts = []
    for arm in ("same", "other"):
        for seed in ("3", "4"):
            loaded = load_weights(f"compared/runs/{arm}/{seed}", 0, None)
            jax.tree.map(np.testing.assert_array_equal, loaded.params, base.params)
            kinds = [entry["kind"] for entry in loaded.record.lineage]
            assert kinds == ["plan", "import", "branch", "plan"]
            starts.append([row for row in rows(f"compared/runs/{arm}/{seed}") if row["step"] == 0])
    assert all(start == starts[0] for start in starts)


def test_arms_differ_in_their_data_and_seeds_in_its_order(world: Path) -> None:
    orders = {}
    for arm in ("same", "other"):
        for seed in (3, 4):
            plan = Plan.load(f"compared/plans/{arm}-{seed}.json")
            assert plan.seed == seed
            assert audit_run(plan, f"compared/runs/{arm}/{seed}").first_deviation is None
            orders[arm, seed] = [
                row["loss"] for row in rows(f"compared/runs/{arm}/{seed}") if row["kind"] == "train"
            ]
    assert orders["same", 3] != orders["same", 4]
    assert orders["same", 3] != orders["other", 3]


def test_the_table_says_what_the_runs_recorded(world: Path) -> None:
    table = json.loads(Path("compared/effects.json").read_text())
    assert (table["control"], table["seeds"], table["weights"]) == ("same", [3, 4], "hot")
    by_set = {effect["dataset"]: effect for effect in table["effects"]}
    assert list(by_set) == ["up", "down", "(mean of sets)"]
    for name in ("up", "down"):
        last = {
            (arm, seed): next(
                row["bits_per_byte"]
                for row in rows(f"compared/runs/{arm}/{seed}")
                if row["kind"] == "evaluation" and row["step"] == 12 and row["dataset"] == name
            )
            for arm in ("same", "other")
            for seed in (3, 4)
        }
        wanted = [last["other", seed] - last["same", seed] for seed in (3, 4)]
        assert by_set[name]["differences"] == pytest.approx(wanted)
    assert by_set["down"]["mean"] < 0 < by_set["up"]["mean"], (
        "it learns what it is shown and forgets the rest"
    )
    assert "| other | down | " in Path("compared/effects.md").read_text()


def test_a_finished_comparison_is_not_run_again(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {
        path: path.stat().st_mtime_ns for path in Path("compared/runs").rglob("checkpoints/*/record.json")
    }
    table = Path("compared/effects.json").read_bytes()
    assert tootsie("anneal", "compare.yaml") == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert Path("compared/effects.json").read_bytes() == table
    assert "| other | up |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("arms: {same: same.yaml, other: other.yaml}", "arms: {same: same.yaml, other: longer.yaml}"),
         r"arms\.other: it differs from the control in more than its data: steps of phase 1"),
        (("arms: {same: same.yaml, other: other.yaml}", "arms: {same: same.yaml, other: decayed.yaml}"),
         r"arms\.other: it differs from the control in more than its data: weight_decay of phase 1"),
        (("arms: {same: same.yaml, other: other.yaml}", "arms: {same: same.yaml, other: branching.yaml}"),
         r"arms\.other: it continues another plan than the control"),
        (("arms: {same: same.yaml, other: other.yaml}", "arms: {same: branching.yaml, other: branching.yaml}"),
         r"arms\.same: its plan continues another one, whose seed it keeps.*Give one seed"),
        (("arms: {same: same.yaml, other: other.yaml}", "arms: {same: same.yaml, other: broken.yaml}"),
         r"arms\.other: this mixture does not compile"),
        (("control: same", "control: missing"), "control 'missing' is none of the arms"),
        (("seeds: [3, 4]", "seeds: [3, 3]"), "a seed twice"),
        (("seeds: [3, 4]", "seeds: []"), "at least 1 item"),
        (("other: other.yaml", "../x: other.yaml"), "pattern"),
        (("  export: false", "  exprot: false"), "Did you mean 'export'"),
        (("  export: false", "  plan: x.json"), "given by the comparison"),
        (("evaluation: {sets: {up: up-held, down: down-held}, batch_size: 4}", "seed: 3"), "given by the comparison"),
        (("evaluation: {sets: {up: up-held, down: down-held}, batch_size: 4}", ""), r"evaluation\.sets is needed"),
        (("at: end of annealing", "at: 11 steps"), "no checkpoint of step 11"),
        (("at: end of annealing", "at: 12 steps"), None),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(
    world: Path, change: tuple[str, str], message: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MIXTURE.replace("NAME", "odd").replace("DATA", "down").replace("EMA", "ema_beta: null")
    Path("longer.yaml").write_text(text.replace("12 steps", "13 steps"))
    Path("decayed.yaml").write_text(text.replace("ema_beta: null", "weight_decay: 0.3"))
    Path("broken.yaml").write_text(text.replace("[down]", "[nothing]"))
    Path("branching.yaml").write_text(
        "name: b\nseed: 1\nsequence_length: 16\nbranch: {plan: base.json, at: end of annealing}\n"
        "mixtures: {only: {groups: {all: {share: 1.0, datasets: [down]}}}}\n"
        "phases: [{name: more, mixture: only, for: 12 steps, batch_size: 4, learning_rate: {shape: linear, from: 1e-2, to: 0, jump: true}}]\n"
    )
    spec = SPEC.replace("MODEL", MODEL)
    assert change[0] in spec
    Path("odd.yaml").write_text(
        spec.replace(*change).replace("out: compared", "out: odd" if message else "out: compared")
    )
    assert tootsie("anneal", "odd.yaml") == (2 if message else 0)
    if message:
        import re

        assert re.search(message, capsys.readouterr().err)


def test_another_start_in_the_same_folder_is_refused(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("again.yaml").write_text(SPEC.replace("MODEL", MODEL).replace("at: end of annealing", "at: 0 steps"))
    assert tootsie("anneal", "again.yaml") == 2
    text = SPEC.replace("MODEL", MODEL).replace(
        "run: base, at: end of annealing", "run: compared/start, at: 0 steps"
    )
    Path("again.yaml").write_text(text)
    assert tootsie("anneal", "again.yaml") == 2
    assert "this folder holds another start" in capsys.readouterr().err


def test_mixtures_that_continue_the_plan_of_the_run_are_compared_with_one_seed(world: Path) -> None:
    """Nothing that the run has drawn is forgotten: the plans have its past."""
    for arm, data in (("kept", "up, down"), ("swapped", "down")):
        Path(f"{arm}.yaml").write_text(
            f"name: {arm}\nseed: 1\nsequence_length: 16\nbranch: {{plan: base.json, at: end of annealing}}\n"
            f"mixtures: {{more: {{groups: {{all: {{share: 1.0, datasets: [{data}]}}}}}}}}\n"
            "phases: [{name: more, mixture: more, for: 6 steps, batch_size: 4, "
            "learning_rate: {shape: linear, from: 1e-2, to: 0, jump: true}}]\n"
        )
    spec = SPEC.replace("MODEL", MODEL).replace("out: compared", "out: continued").replace("[3, 4]", "[1]")
    spec = spec.replace("control: same", "control: kept").replace(
        "{same: same.yaml, other: other.yaml}", "{kept: kept.yaml, swapped: swapped.yaml}"
    )
    Path("continue.yaml").write_text(spec)
    assert tootsie("anneal", "continue.yaml") == 0
    table = json.loads(Path("continued/effects.json").read_text())
    assert (table["steps"], table["tokens"]) == (6, 6 * 4 * 16)
    assert {effect["verdict"] for effect in table["effects"]} == {"one seed"}
    plan = Plan.load("continued/plans/swapped-1.json")
    assert (plan.seed, plan.branch and plan.branch.step) == (1, 12)
    assert rows("continued/runs/swapped/1")[-1]["step"] == 18
    assert not Path("continued/start").exists()

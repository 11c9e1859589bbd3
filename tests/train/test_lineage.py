"""Amended plans, branches and operations on the state, on real plans and caches."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import typer.main

from tests.train.conftest import write_cache
from tootsie.datasets.command_line import run_command
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.mixtures.audit import audit_run
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.plan import Plan
from tootsie.tokenize.ledger import TokenizerIdentity
from tootsie.train import checkpoint, pins, state_operations
from tootsie.train.command import app
from tootsie.train.inputs import open_inputs
from tootsie.train.loop import Summary, train
from tootsie.train.run_file import load_run_file
from tootsie.train.state_operations import Operation, graft, load_state, operate, reset_moments

SPEC = """
name: small
seed: 1
sequence_length: 8
datasets:
  prose: {cache: prose, max_epochs: 20}
  code: {cache: code, max_epochs: 20}
mixtures:
  base: {groups: {all: {share: 1.0, datasets: [prose, code]}}}
  richer: {groups: {prose: {share: 0.8, datasets: [prose]}, code: {share: 0.2, datasets: [code]}}}
phases:
  - name: stable
    mixture: base
    for: "4 steps"
    batch_size: 4
    learning_rate: {shape: constant, from: 0.01}
    weight_decay: 0.05
    z_loss: 0.0001
    ema_beta: null
  - name: cooldown
    mixture: base
    for: "4 steps"
    batch_size: 4
    learning_rate: {shape: linear, to: 0.0001}
acknowledge: {z-loss: eight steps, average: eight steps}
"""
AMENDED = SPEC.replace(
    "  - name: cooldown\n    mixture: base", "  - name: dessert\n    ema_beta: 0.9\n    mixture: richer"
)
RUN = """
plan: PLAN.json
out: OUT
architecture: {vocabulary_size: 64, model_size: 8, layers: 1, heads: 2, kv_heads: 1, head_size: 4, mlp_size: 8,
  rope: {theta: 10000, scaling: null}, tied_embeddings: false}
evaluation: {sets: {held: held}, batch_size: 2}
checkpoints: {every: 1 step}
log_every: 100 steps
export: false
"""
IDENTITY = TokenizerIdentity(
    name="toy", fingerprint="ab" * 32, vocabulary_size=64, dtype="uint16", bos_id=None, eos_id=0, add_bos=False,
    add_eos=True, golden_ids=(5, 0),
)  # fmt: skip


def random_documents(seed: int) -> list[tuple[str, list[int], int]]:
    rng = np.random.default_rng(seed)
    return [
        (f"{seed}-{number}", [*rng.integers(1, 64, rng.integers(4, 20)).tolist(), 0], 40)
        for number in range(20)
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Three caches, both plans, a run that stands in the middle of the first, and one that followed the second all along."""
    folder = tmp_path_factory.mktemp("world")
    for seed, name in enumerate(("prose", "code", "held")):
        write_cache(str(folder / name), random_documents(seed), IDENTITY)
    with contextlib.chdir(folder):
        for name, spec in (("first", SPEC), ("second", AMENDED)):
            Path(f"{name}.yaml").write_text(spec)
            compile_file(f"{name}.yaml").save(f"{name}.json")
        go("first", "begun", limit=4)
        go("second", "throughout")
        yield folder


def go(
    plan: str, out: str, limit: int | None = None, more: str = "", told: list[str] | None = None
) -> Summary:
    Path(f"{out}.run.yaml").write_text(RUN.replace("PLAN", plan).replace("OUT", out) + more)
    run = load_run_file(f"{out}.run.yaml")
    tell = print if told is None else told.append
    return train(run, open_inputs(run, f"{out}.run.yaml"), tell, limit)


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(out, "metrics.jsonl").read_text().splitlines()]


def lineage(out: str) -> list[dict[str, Any]]:
    return json.loads(Path(out, "config.json").read_text())["lineage"]


def test_a_run_goes_on_under_a_plan_with_the_same_past_as_if_it_had_followed_it_all_along(
    world: Path,
) -> None:
    """Another mixture, another name of the phase, and an average where there was none."""
    shutil.copytree("begun", "amended")
    summary = go("second", "amended")
    assert (summary.resumed_from, summary.finished) == (4, True)
    first, second = (Plan.load(f"{name}.json") for name in ("first", "second"))
    later = [[row for row in lines(out) if row["step"] > 4] for out in ("amended", "throughout")]
    assert later[0] == later[1]
    assert {row["weights"] for row in later[0] if row["kind"] == "evaluation"} == {"hot", "ema"}
    assert [(entry["kind"], entry["step"], entry["hash"]) for entry in lineage("amended")] == [
        ("plan", 0, first.hash), ("plan", 4, second.hash)
    ]  # fmt: skip
    audit = audit_run(second, "amended")
    assert audit.first_deviation is None
    assert audit.plans == ((0, first.hash), (4, second.hash))
    assert audit_run(first, "amended").first_deviation == 5, "held to the first plan alone, it leaves it"
    record = checkpoint.verify("amended/checkpoints", 8)
    assert [entry["hash"] for entry in record.lineage] == [first.hash, second.hash]
    assert go("second", "amended").resumed_from == 8, "and it may be resumed again"
    assert len(lineage("amended")) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("from: 0.01", "from: 0.02"), r"in step 0: learning rate 0\.01 and 0\.02"),
        (("batch_size: 4\n    learning_rate: {shape: constant", "batch_size: 2\n    learning_rate: {shape: constant"),
         r"in step 0: batch size 4 and 2"),
        (("  base: {groups: {all: {share: 1.0, datasets: [prose, code]}}}", "  base: {groups: {all: {share: 1.0, datasets: [prose]}}}"),
         r"in step 0: window \d+ of "),
        (("seed: 1", "seed: 2"), "the plans part at sequence 0, in step 0: seed 1 and 2"),
    ],
    ids=["learning rate", "batch size", "mixture", "seed"],
)  # fmt: skip
def test_a_plan_with_another_past_is_refused_by_the_first_difference(
    world: Path, tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    assert change[0] in SPEC
    Path("other.yaml").write_text(SPEC.replace(*change, 1))
    compile_file("other.yaml").save("other.json")
    before = Path("begun/metrics.jsonl").read_bytes()
    with pytest.raises(ArtefactError, match=message):
        go("other", "begun")
    assert Path("begun/metrics.jsonl").read_bytes() == before


def test_without_the_old_plan_nothing_can_be_proved(world: Path) -> None:
    shutil.copytree("begun", "forgetful")
    shutil.rmtree("forgetful/plans")
    config = json.loads(Path("forgetful/config.json").read_text())
    Path("forgetful/config.json").write_text(
        json.dumps(config | {"run": config["run"] | {"plan": "gone.json"}})
    )
    with pytest.raises(ArtefactError, match="the plan that the run has followed is not at hand"):
        go("second", "forgetful")


BRANCH = "branch: {run: begun, at: AT}\n"


def test_a_branch_begins_with_the_checkpoint_of_another_run(world: Path) -> None:
    summary = go("second", "branched", more=BRANCH.replace("AT", "end of stable"))
    assert (summary.resumed_from, summary.finished) == (None, True)
    later = [[row for row in lines(out) if row["step"] > 4] for out in ("branched", "throughout")]
    assert later[0] == later[1]
    assert min(row["step"] for row in lines("branched")) == 4, "held-out sets are measured at its start"
    first, second = (Plan.load(f"{name}.json") for name in ("first", "second"))
    parent = checkpoint.verify("begun/checkpoints", 4)
    assert lineage("branched") == [
        *parent.lineage,
        {"kind": "branch", "step": 4, "run": "begun", "checkpoint": parent.hash, "plan": first.hash},
        {"kind": "plan", "step": 4, "hash": second.hash, "name": "small"},
    ]
    assert checkpoint.steps_in("branched/checkpoints") == [8, 7, 6, 5, 4]
    assert audit_run(second, "branched").first_deviation is None
    assert go("second", "branched", more=BRANCH.replace("AT", "end of stable")).resumed_from == 8


@pytest.mark.parametrize(
    ("at", "error", "message"),
    [
        ("end of breakfast", SpecError, "the plan has no phase 'breakfast'; it has stable, cooldown"),
        ("7 steps", ArtefactError, "has no checkpoint of step 7.*There are: 4, 3, 2, 1, 0"),
        ("10 tokens", SpecError, "within a step"),
    ],
)
def test_a_branch_needs_a_checkpoint(world: Path, at: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        go("second", "nowhere", more=BRANCH.replace("AT", at))
    assert not Path("nowhere/checkpoints").exists()


def test_a_branch_with_another_past_is_refused(world: Path) -> None:
    Path("other.yaml").write_text(SPEC.replace("from: 0.01", "from: 0.02"))
    compile_file("other.yaml").save("other.json")
    with pytest.raises(ArtefactError, match="learning rate"):
        go("other", "nowhere", more=BRANCH.replace("AT", "4 steps"))


def test_a_branch_of_another_model_is_refused(world: Path) -> None:
    """Such as one with the rotary embedding of Llama 3 from a checkpoint of Llama 2."""
    other = RUN.replace("PLAN", "second").replace("OUT", "nowhere").replace("theta: 10000", "theta: 500000")
    Path("rope.run.yaml").write_text(other + BRANCH.replace("AT", "4 steps"))
    run = load_run_file("rope.run.yaml")
    message = r"architecture\.rope\.theta: .* 10000.0, this run has 500000.0.*change_rope: true"
    with pytest.raises(ArtefactError, match=message):
        train(run, open_inputs(run, "rope.run.yaml"), print)


def test_a_branch_may_say_that_it_changes_the_rotary_embedding(world: Path) -> None:
    """As the 8B run did after Kestrel: one run with each, the second a branch that says so."""
    stable, cooldown = SPEC.split("  - name: cooldown")
    stable += "    rope: {theta: 10000, scaling: none}\n"
    turned = f"{stable}  - name: cooldown{cooldown}".replace(
        "to: 0.0001}", "to: 0.0001}\n    rope: {theta: 500000, scaling: none}"
    )
    acknowledged = "acknowledge: {rope: meant, z-loss: short, average: short}"
    Path("kestrel.yaml").write_text(f"{stable}{acknowledged}")
    Path("ocelot.yaml").write_text(turned.replace("acknowledge: {", "acknowledge: {rope: meant, "))
    for name in ("kestrel", "ocelot"):
        compile_file(f"{name}.yaml").save(f"{name}.json")
    go("kestrel", "kestrel")
    branch = "branch: {run: kestrel, at: end of stable, change_rope: true}\n"
    with pytest.raises(SpecError, match="has this rotary embedding already"):
        go("kestrel", "nowhere", more=branch)
    text = RUN.replace("PLAN", "ocelot").replace("OUT", "ocelot").replace("theta: 10000", "theta: 500000")
    Path("ocelot.run.yaml").write_text(text)
    with pytest.raises(SpecError, match=r"'stable' of the plan is meant for .*change_rope: true"):
        open_inputs(load_run_file("ocelot.run.yaml"), "ocelot.run.yaml")
    Path("ocelot.run.yaml").write_text(text + branch)
    run = load_run_file("ocelot.run.yaml")
    for _ in range(2):  # and once more, resumed
        assert train(run, open_inputs(run, "ocelot.run.yaml"), print).finished
    entry = next(entry for entry in lineage("ocelot") if entry["kind"] == "branch")
    assert (entry["step"], entry["rope_before"]["theta"], entry["rope"]["theta"]) == (4, 10_000, 500_000)
    before = leaves(load_state("kestrel/checkpoints", 4)[1].params)
    after = leaves(load_state("ocelot/checkpoints", 4)[1].params)
    assert all(map(np.array_equal, before, after)), "the weights are those of the checkpoint"
    held = [
        next(row["loss"] for row in lines(out) if row["kind"] == "evaluation" and row["step"] == 4)
        for out in ("kestrel", "ocelot")
    ]
    assert held[0] != held[1], "and mean something else with other positions"


def command(*arguments: str) -> int:
    return run_command(typer.main.get_command(app), list(arguments), name="tootsie train")


def leaves(tree: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_operations_are_recorded_and_the_run_goes_on_from_them(world: Path) -> None:
    shutil.copytree("begun", "changed")
    before, old = load_state("changed/checkpoints", None)
    assert command("state", "reset-moments", "changed", "--reason", "a spike") == 0
    assert command("state", "ema-on", "changed", "--reason", "for the cooldown") == 0
    assert command(
        "state", "graft", "changed", "--from", "throughout", "--parameters", "llama/head", "--reason", "a better head"
    ) == 0  # fmt: skip
    record, new = load_state("changed/checkpoints", None)
    operations = [entry for entry in record.lineage if entry["kind"] == "operation"]
    assert [(entry["operation"], entry["reason"]) for entry in operations] == [
        ("reset-moments", "a spike"), ("ema-on", "for the cooldown"), ("graft", "a better head")
    ]  # fmt: skip
    assert operations[0]["of"] == before.hash
    assert operations[2]["parameters"] == ["llama/head"]
    assert all(not leaf.any() for leaf in leaves(new.opt_state))
    _, donor = load_state("throughout/checkpoints", None)
    np.testing.assert_array_equal(new.params["llama"]["head"], donor.params["llama"]["head"])
    np.testing.assert_array_equal(new.params["llama"]["embedding"], old.params["llama"]["embedding"])
    np.testing.assert_array_equal(new.ema["llama"]["head"], new.params["llama"]["head"])
    kept = sorted(path.name for path in Path("changed/checkpoints").glob("replaced-*"))
    assert len(kept) == 3
    assert f"replaced-4-{before.hash[:12]}" in kept
    assert go("second", "changed").finished
    assert [entry["kind"] for entry in lineage("changed")] == ["plan", *["operation"] * 3, "plan"]


@pytest.mark.parametrize(("interrupted", "survivor"), [(0, "old"), (1, "new"), (2, "new")])
def test_an_operation_that_was_interrupted_leaves_one_or_the_other(
    world: Path, monkeypatch: pytest.MonkeyPatch, interrupted: int, survivor: str
) -> None:
    out = f"interrupted-{interrupted}"
    shutil.copytree("begun", out)
    moves, move = [], checkpoint._move

    def fail(*arguments: str) -> None:
        if len(moves) == interrupted:
            raise KeyboardInterrupt
        moves.append(arguments)
        move(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_move", fail)
        with contextlib.suppress(KeyboardInterrupt):
            operate(out, Operation.RESET_MOMENTS, "test", reset_moments)
    record = checkpoint.newest_good(f"{out}/checkpoints", print)
    assert record is not None
    assert record.step == 4
    assert ("operation" in [entry["kind"] for entry in record.lineage]) == (survivor == "new")
    assert not Path(out, "checkpoints", "replacing").exists()


def test_what_can_not_be_done_is_refused(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, state = load_state("begun/checkpoints", 2)
    with pytest.raises(SpecError, match="no parameter has such a name"):
        graft(state, state.params, "llama/tail")
    with pytest.raises(SpecError, match="not a regular expression"):
        graft(state, state.params, "(")
    donor = {"llama": {"head": np.zeros((3, 5))}}
    with pytest.raises(SpecError, match=r"llama/head is \[64, 8\] here and \[3, 5\] there"):
        graft(state, donor, "llama/head")
    assert command("state", "reset-moments", "begun", "--reason", " ") == 2
    assert "an operation needs a reason" in capsys.readouterr().err
    with pytest.raises(ArtefactError, match="no checkpoint of that step"):
        state_operations.load_state("begun/checkpoints", 77)


def test_a_pinned_checkpoint_is_never_removed(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("begun", "pinned")
    folder = "pinned/checkpoints"
    assert command("pin", "pinned", "--step", "2", "--reason", "good samples") == 0
    assert command("pin", "pinned", "--step", "2", "--reason", "good samples") == 0
    assert pins.reasons(folder, 2) == ["good samples"]
    checkpoint.remove(folder, 2)
    checkpoint.remove(folder, 1)
    assert checkpoint.steps_in(folder) == [4, 3, 2, 0]
    assert checkpoint.verify(folder, 2)
    assert command("pin", "pinned", "--step", "77") == 2
    assert "no checkpoint of that step" in capsys.readouterr().err
    assert command("unpin", "pinned", "--step", "2") == 0
    assert command("unpin", "pinned", "--step", "2") == 2
    checkpoint.remove(folder, 2)
    assert checkpoint.steps_in(folder) == [4, 3, 0]


def test_a_record_of_before_is_still_read(world: Path, tmp_path: Path) -> None:
    """Without the fields that records have got since; its hash is over what it holds."""
    from tootsie.datasets.provenance import fingerprint

    shutil.copytree("begun/checkpoints/4", tmp_path / "4")
    path = tmp_path / "4" / "record.json"
    content = {
        k: v for k, v in json.loads(path.read_text()).items() if k not in ("lineage", "averaged", "hash")
    }
    path.write_text(json.dumps(content | {"hash": fingerprint(content)}))
    record = checkpoint.verify(str(tmp_path), 4)
    assert (record.has_average, record.lineage) == (False, ())

"""What the page is made from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.plan import Plan
from tootsie.train.report.records import read_run, realised


def test_series_and_bits_per_byte(run_folder: Path) -> None:
    run = read_run(str(run_folder))
    assert run.series("loss")[0] == 2.5
    assert np.isnan(run.series("no such metric")).all()
    assert run.consumed()[-1].tolist() == [40, 40]
    assert list(run.bits_per_byte("ema")) == ["<answers>", "papers"]
    tokens, values = run.bits_per_byte("hot")["papers"]
    assert tokens[0] == 0
    assert values[-1] == pytest.approx(3 - 0.1 * 15)


def test_plan_against_reality(run_folder: Path) -> None:
    rows = realised(read_run(str(run_folder)))
    assert [(row.phase, row.dataset, row.planned, row.drawn) for row in rows] == [
        ("stable", "papers", 30.0, 30),
        ("stable", "<answers>", 10.0, 10),
        ("cooldown", "papers", 10.0, 10),
        ("cooldown", "<answers>", 30.0, 30),
    ]
    assert rows[3].epochs == 1.5


def test_a_run_under_way_is_compared_up_to_where_it_is(run_folder: Path) -> None:
    lines = (run_folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"step": 15' not in line and '"step": 14' not in line]
    (run_folder / "metrics.jsonl").write_text("".join(kept))
    last = realised(read_run(str(run_folder)))[-1]
    assert last.planned == 18.0
    assert abs(last.drawn - last.planned) < 2


def test_what_is_no_run_is_refused(tmp_path: Path, run_folder: Path) -> None:
    with pytest.raises(ArtefactError, match="not the folder of a run"):
        read_run(str(tmp_path))
    with (run_folder / "metrics.jsonl").open("a") as stream:
        stream.write("{half")
    with pytest.raises(ArtefactError, match=r"metrics\.jsonl:\d+"):
        read_run(str(run_folder))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "{", r"config\.json: not JSON"),
        ("config.json", "[]", r"config\.json: not the configuration of a run"),
        ("config.json", '{"model_type": "llama"}', r"config\.json: run: Field required"),
        ("metrics.jsonl", "[]\n", r"metrics\.jsonl:1: kind: not a line of a run"),
        ("metrics.jsonl", '{"kind": "train"}\n', r"metrics\.jsonl:1: step: Field required"),
        ("samples.jsonl", "3\n", r"samples\.jsonl:1: Input should be"),
    ],
)
def test_damaged_files_are_named(run_folder: Path, name: str, content: str, message: str) -> None:
    (run_folder / name).write_text(content)
    with pytest.raises(ArtefactError, match=message):
        read_run(str(run_folder))


def test_a_run_that_was_moved_with_its_plan_is_found(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((run_folder / "config.json").read_text())
    config["run"] = {
        "plan": "plan.json",
        "out": "run",
    }  # as a run file that was named without a folder leaves it
    (run_folder / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir("/")
    assert read_run(str(run_folder)).plan_url == str(tmp_path / "plan.json")


def test_a_plan_that_was_compiled_anew_is_refused(run_folder: Path, tmp_path: Path, plan: Plan) -> None:
    plan.model_copy(update={"seed": 2}).sealed().save(str(tmp_path / "plan.json"))
    with pytest.raises(
        ArtefactError, match=r"plan\.json: hash: the plan was compiled anew since the run began"
    ):
        read_run(str(run_folder))

"""The plan file: hash, round trip, damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.cache_location import seen_from
from tootsie.mixtures.plan import Plan, add_counts
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL


@pytest.fixture
def plan(make_plan: Callable[..., Plan]) -> Plan:
    return make_plan([(10, 4, {"a": 2, "b": 1}), (5, 7, {"b": 1, "c": 1})])


def test_round_trip_gives_equal_bytes(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = str(tmp_path / "plan.json")
    plan.save(url)
    loaded = Plan.load(url)
    loaded.save(str(tmp_path / "again.json"))
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "plan.json").read_bytes()
    assert loaded.hash == plan.hash == plan.content_hash()


def test_caches_are_found_from_wherever_the_plan_is_read(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    plan.save("out/plan.json")
    assert json.loads((tmp_path / "out/plan.json").read_bytes())["datasets"][0]["cache"] == "../tokens/a"
    assert Plan.load("out/plan.json").datasets[0].cache == "tokens/a"
    monkeypatch.chdir(tmp_path / "out")
    assert Plan.load("plan.json").datasets[0].cache == "../tokens/a"
    assert Plan.load(str(tmp_path / "out/plan.json")).datasets[0].cache == str(tmp_path / "tokens/a")


@pytest.mark.parametrize("cache", ["/data/a", "gs://bucket/a"])
def test_absolute_places_stay(plan: Plan, tmp_path: Path, cache: str) -> None:
    first = plan.datasets[0].model_copy(update={"cache": cache})
    moved = plan.model_copy(update={"datasets": (first, *plan.datasets[1:])})
    moved.save(str(tmp_path / "plan.json"))
    assert Plan.load(str(tmp_path / "plan.json")).datasets[0].cache == cache
    assert moved.content_hash() == plan.hash


@pytest.mark.parametrize(
    ("plan_url", "cache", "written"),
    [
        ("/runs/plan.json", "file:///runs/tokens/a", "tokens/a"),
        ("file:///runs/plan.json", "/runs/tokens/a", "tokens/a"),
        ("/runs/plan.json", "file:///elsewhere/a", "file:///elsewhere/a"),
        ("memory://runs/plan.json", "memory://runs/tokens/a", "tokens/a"),
        ("memory://runs/plan.json", "memory://elsewhere/a", "memory://elsewhere/a"),
        ("memory://runs/plan.json", "/data/a", "/data/a"),
        ("memory://runs/plan.json", "data/a", "/here/data/a"),
    ],
)
def test_a_folder_with_plan_and_caches_can_move(
    plan_url: str, cache: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    assert seen_from(plan_url, cache) == written


def test_numbers_of_a_list_stand_on_one_line(plan: Plan) -> None:
    assert b'"golden_ids": [5, 0]' in plan.to_json()
    assert Plan.model_validate_json(plan.to_json()) == plan


def edit(path: Path, change: Callable[[Any], None]) -> None:
    raw = json.loads(path.read_bytes())
    change(raw)
    path.write_text(json.dumps(raw))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.update(seed=8), "hash: the plan was changed after it was compiled"),
        (lambda raw: raw["phases"][0]["settings"].update(z_loss=0.5), "hash: the plan was changed"),
        (lambda raw: raw.update(hash="0" * 64), "hash: the plan was changed"),
        (lambda raw: raw.pop("hash"), "hash: the plan was changed"),
        (lambda raw: raw.update(format="tootsie-plan/9"), r"format: not a plan, or one of another version \(found 'tootsie-plan/9'"),
        (lambda raw: raw["phases"][0].update(end=41), "phases.0: not a valid plan: phase 'p0': 41 sequences are not 10 whole steps"),
        (lambda raw: raw["phases"][0]["sequences"].update(a=1), "sequences must be positive and add up to 40"),
        (lambda raw: raw["phases"][1]["carried"].update(a=26, b=14), "carried is not what the phases before draw"),
        (lambda raw: raw["phases"][1]["carried"].update(a=1), "carried must add up to 40"),
        (lambda raw: raw["phases"].pop(0), "does not start where the phase before ends"),
        (lambda raw: raw["phases"][0]["asked"].update(a=1), r"asked must be positive and add up to 2\*\*62"),
        (lambda raw: raw["datasets"].pop(), "draws 'c', which is no dataset of the plan"),
        (lambda raw: raw["datasets"].append(raw["datasets"][0]), "a name stands there twice"),
        (lambda raw: raw["datasets"][0].update(windows=7), "windows and tail_tokens do not fit"),
        (lambda raw: raw.update(extra=1), "extra: not a valid plan"),
    ],
)  # fmt: skip
def test_damage_is_found(plan: Plan, tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    plan.save(str(tmp_path / "plan.json"))
    edit(tmp_path / "plan.json", change)
    with pytest.raises(ArtefactError, match=message):
        Plan.load(str(tmp_path / "plan.json"))


def test_every_cut_is_found(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan.save(str(path))
    whole = path.read_bytes()
    for size in range(0, len(whole) - 2, 97):
        path.write_bytes(whole[:size])
        with pytest.raises(ArtefactError, match="the plan is not JSON"):
            Plan.load(str(path))


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"no such plan\. Compile it"):
        Plan.load(str(tmp_path / "plan.json"))


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff\xfe", b'{"a": "\xff"}', b""])
def test_what_is_not_json(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    with pytest.raises(ArtefactError, match="the plan is not JSON"):
        Plan.load(str(tmp_path / "plan.json"))


@pytest.mark.parametrize("content", [b"[]", b"3", b"null", b"{}"])
def test_other_json(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    with pytest.raises(ArtefactError, match="not a plan"):
        Plan.load(str(tmp_path / "plan.json"))


def test_steps_rows_and_rates(plan: Plan) -> None:
    assert (plan.total_steps, plan.total_sequences) == (15, 75)
    assert [plan.phase_of_step(step).name for step in (0, 9, 10, 14)] == ["p0", "p0", "p1", "p1"]
    assert [plan.rows_of_step(step) for step in (0, 9, 10, 14)] == [(0, 4), (36, 40), (40, 47), (68, 75)]
    assert plan.learning_rate(12) == 1e-3


@pytest.mark.parametrize("step", [-1, 15])
def test_no_such_step(plan: Plan, step: int) -> None:
    with pytest.raises(IndexError, match=f"has no step {step}"):
        plan.rows_of_step(step)


def test_shares_and_weights(plan: Plan) -> None:
    phase = plan.phases[0]
    assert sum(phase.weights.values()) == WEIGHT_TOTAL
    assert phase.shares == {"a": 27 / 40, "b": 13 / 40}
    assert plan.phases[1].carried == {"a": 27, "b": 13}


def test_what_does_not_change_the_run_is_not_in_the_hash(plan: Plan) -> None:
    """So a plan compiled again by a later version of the code still fits its checkpoints."""
    assert plan.model_copy(update={"code_version": "9", "notes": ("hello",)}).content_hash() == plan.hash
    assert plan.model_copy(update={"name": "other"}).content_hash() != plan.hash


def test_frozen(plan: Plan) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        plan.seed = 9  # type: ignore[misc]


def test_adding_counts() -> None:
    assert add_counts({"a": 1, "b": 2}, {"b": 3, "c": 0}) == {"a": 1, "b": 5}

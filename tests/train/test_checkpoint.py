"""Checkpoints: whole or not at all, verified, refused when foreign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.train import checkpoint
from tootsie.train.checkpoint import CheckpointRecord
from tootsie.train.step import TrainingState


def state(value: float = 1.0) -> TrainingState:
    return TrainingState(
        {"llama": {"w": jnp.full((3, 4), value)}}, (jnp.int32(7), {"m": jnp.arange(5.0)}), None
    )


def record(step: int, **changes: Any) -> CheckpointRecord:
    fields: dict[str, Any] = {
        "step": step,
        "position": 4 * step,
        "tokens": 64 * step,
        "phase": "one",
        "consumed": {"a": step},
        "binding": {"plan": "abc", "architecture": {"layers": 2}},
        "config": {},
        "lines": {},
    }
    return CheckpointRecord(**(fields | changes))


def shapes(of: Any) -> Any:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), of)


def test_arrays_come_back_bit_for_bit_in_their_structure(tmp_path: Path) -> None:
    saved = state(1 / 3)
    checkpoint.save(str(tmp_path), saved, record(5))
    found = checkpoint.restore(str(tmp_path), 5, shapes(saved))
    assert isinstance(found, TrainingState)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(saved), strict=True):
        np.testing.assert_array_equal(a, b)
    assert checkpoint.verify(str(tmp_path), 5).files


def test_the_newest_is_that_of_the_highest_step(tmp_path: Path) -> None:
    for step in (10, 9, 100):
        checkpoint.save(str(tmp_path), state(), record(step))
    checkpoint.save(str(tmp_path), state(), record(9))  # the latest in time
    assert checkpoint.steps_in(str(tmp_path)) == [100, 10, 9]
    found = checkpoint.newest_good(str(tmp_path), print)
    assert found is not None
    assert found.step == 100


def test_without_a_record_it_is_not_finished_and_is_removed(tmp_path: Path) -> None:
    assert checkpoint.newest_good(str(tmp_path), print) is None
    checkpoint.save(str(tmp_path), state(), record(1))
    checkpoint.save(str(tmp_path), state(), record(2))
    (tmp_path / "2" / "record.json").unlink()
    assert checkpoint.steps_in(str(tmp_path)) == [1]
    assert checkpoint.remove_unfinished(str(tmp_path)) == ["2"]
    assert not (tmp_path / "2").exists()


def test_temporary_ones_that_were_replaced_are_deleted(tmp_path: Path) -> None:
    for step, temporary in ((1, False), (2, True), (3, True)):
        checkpoint.save(str(tmp_path), state(), record(step, temporary=temporary))
    assert checkpoint.remove_replaced(str(tmp_path), 3) == [2]
    assert checkpoint.steps_in(str(tmp_path)) == [3, 1]


@pytest.mark.parametrize("damage", ["missing", "truncated", "added", "record", "digit"])
def test_any_damage_is_found(tmp_path: Path, damage: str) -> None:
    checkpoint.save(str(tmp_path), state(), record(1))
    victim = next(path for path in sorted((tmp_path / "1" / "state").rglob("*")) if path.is_file())
    if damage == "missing":
        victim.unlink()
    elif damage == "truncated":
        victim.write_bytes(victim.read_bytes()[:-1])
    elif damage == "added":
        (tmp_path / "1" / "state" / "extra").write_bytes(b"x")
    elif damage == "digit":
        content = (tmp_path / "1" / "record.json").read_text()
        (tmp_path / "1" / "record.json").write_text(content.replace('"position": 4', '"position": 5'))
    else:
        (tmp_path / "1" / "record.json").write_text("{")
    with pytest.raises(
        ArtefactError, match=r"missing|damaged|not in the record|not a valid checkpoint record"
    ):
        checkpoint.verify(str(tmp_path), 1)


def test_the_first_difference_is_named(tmp_path: Path) -> None:
    checkpoint.save(str(tmp_path), state(), record(1))
    found = checkpoint.verify(str(tmp_path), 1)
    checkpoint.check_binding(found.binding, found, str(tmp_path))
    with pytest.raises(ArtefactError, match=r"1: architecture\.layers: .* made with 2, this run has 3"):
        checkpoint.check_binding({"plan": "abc", "architecture": {"layers": 3}}, found, str(tmp_path))
    assert checkpoint.first_difference({"a": 1}, {}) == ("a", 1, None)
    assert checkpoint.first_difference({"a": {"b": [1]}}, {"a": {"b": [1]}}) is None


@pytest.mark.parametrize("change", ["shape", "leaf"])
def test_arrays_of_another_model_are_refused(tmp_path: Path, change: str) -> None:
    checkpoint.save(str(tmp_path), state(), record(1))
    other = state()
    params = {"llama": {"w" if change == "shape" else "v": jnp.ones((3, 5))}}
    with pytest.raises(ArtefactError, match=r"params/llama/[wv]: the stored array is .*, this model needs"):
        checkpoint.restore(str(tmp_path), 1, shapes(other._replace(params=params)))

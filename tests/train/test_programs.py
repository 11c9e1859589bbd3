"""Programs that are compiled ahead: which thread compiles, and that nothing else differs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.train.inputs import Inputs
from tootsie.train.loop import train
from tootsie.train.programs import BatchShape, StepPrograms, keep_programs
from tootsie.train.run_file import RunFile
from tootsie.train.step import Rows

SMALL, LARGE = BatchShape(2, 4), BatchShape(6, 4)


def batch(shape: BatchShape) -> Rows:
    return Rows(np.ones(shape, np.int32), np.ones(shape, np.int32), np.ones(shape, bool))


@pytest.fixture
def compiled() -> Iterator[list[str]]:
    """Names of the threads that have compiled a function called ``update``."""
    seen: list[str] = []

    def listen(event: str, duration: float, **about: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration" and "update" in str(about.get("fun_name")):
            seen.append(threading.current_thread().name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield seen
    jax.monitoring.unregister_event_duration_listener(listen)


def make_update() -> Any:
    """A step that has not been compiled yet."""

    def update(state: jax.Array, rows: Rows, settings: jax.Array) -> tuple[jax.Array, jax.Array]:
        new = state + settings * jnp.sum(rows.tokens)
        return new, new

    return jax.jit(update)


def programs(told: list[str], ahead: bool, step: Any = None) -> StepPrograms:
    return StepPrograms(
        step or make_update(),
        jax.ShapeDtypeStruct((), jnp.float32),
        None,
        [SMALL, LARGE, SMALL],
        told.append,
        ahead,
    )


@pytest.mark.parametrize("ahead", [True, False])
def test_each_shape_is_compiled_once_and_only_the_first_by_the_run_itself(
    ahead: bool, compiled: list[str]
) -> None:
    told: list[str] = []
    take = programs(told, ahead)
    state = jnp.float32(0)
    for shape in (SMALL, SMALL, LARGE, SMALL):
        state, _ = take(state, batch(shape), np.float32(1))
    take.close()
    assert float(state) == 3 * 8 + 24
    here = threading.current_thread().name
    assert compiled == [here, "compile-ahead" if ahead else here]
    assert told[0].startswith("compiled the step for 2 × 4 tokens in ")
    assert ("was compiled ahead in" in told[1]) == ahead
    assert len(told) == 2
    assert not any(thread.name == "compile-ahead" for thread in threading.enumerate())


def test_a_program_that_is_ready_is_told_so() -> None:
    told: list[str] = []
    take = programs(told, ahead=True)
    take(jnp.float32(0), batch(SMALL), np.float32(1))
    assert take._thread is not None
    take._thread.join()
    take(jnp.float32(0), batch(LARGE), np.float32(1))
    assert told[1].startswith("the step for 6 × 4 tokens was compiled ahead in ")
    assert "waited" not in told[1]


def test_what_fails_in_the_thread_fails_where_it_is_called_for() -> None:
    @jax.jit
    def only_small(state: jax.Array, rows: Rows, settings: jax.Array) -> tuple[jax.Array, jax.Array]:
        if rows.tokens.shape[0] > 2:
            raise ValueError("too many rows")
        return state, state

    take = programs([], ahead=True, step=only_small)
    take(jnp.float32(0), batch(SMALL), np.float32(1))
    with pytest.raises(ValueError, match="too many rows"):
        take(jnp.float32(0), batch(LARGE), np.float32(1))


def test_a_run_is_the_same_to_the_bit_and_compiles_nothing_at_the_boundary(
    tmp_path: Path, run_file: Callable[..., RunFile], inputs: Inputs, compiled: list[str]
) -> None:
    lines = {}
    for ahead in (True, False):
        out = tmp_path / str(ahead)
        settings = {"evaluation": {}, "samples": {}, "checkpoints": {}, "compilation": {"ahead": ahead}}
        train(run_file(out, **settings), inputs, print, limit=6)
        rows = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
        lines[ahead] = [row for row in rows if row["kind"] == "train"]
    here = threading.current_thread().name
    assert compiled == [here, "compile-ahead", here, here]
    assert [row["batch_size"] for row in lines[True]] == [4, 4, 4, 4, 8, 8]
    assert lines[True] == lines[False]


def test_programs_are_kept_for_the_next_start(tmp_path: Path) -> None:
    before = jax.config.jax_compilation_cache_dir
    keep_programs(str(tmp_path))
    try:
        programs([], ahead=False)(jnp.float32(0), batch(SMALL), np.float32(1))
        assert any("update" in path.name for path in tmp_path.iterdir())
    finally:
        keep_programs(str(before))

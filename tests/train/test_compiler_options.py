"""Options of the compiler: that they reach the program of the step, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tootsie.datasets.errors import SpecError
from tootsie.train.architecture import Architecture
from tootsie.train.device_settings import DeviceSettings
from tootsie.train.devices import plan_computation
from tootsie.train.inputs import Inputs
from tootsie.train.loop import train
from tootsie.train.optimizer import StepSettings, adamw
from tootsie.train.run_file import RunFile
from tootsie.train.step import Rows, TrainingState, make_update

SETTINGS = StepSettings(0.0, 0.0, 0.0, 0.0, 1.0, 0.9, 0.95, 1e-8)


def test_options_reach_the_compiler_of_the_step(tmp_path: Path, tiny: Architecture) -> None:
    """It is told to write down what it compiles, and does."""
    model: Any = SimpleNamespace(
        apply=lambda params, *rows: SimpleNamespace(hidden=params["w"]["w"], head=params["w"]["w"])
    )
    sizes = {"w": {"w": jax.ShapeDtypeStruct((4, 4), jnp.float32)}}
    state = TrainingState(sizes, jax.eval_shape(adamw(SETTINGS).init, sizes), None)
    rows = Rows(*(jax.ShapeDtypeStruct((1, 4), dtype) for dtype in (jnp.int32, jnp.int32, jnp.bool_)))
    dumps = tmp_path / "dump"
    splits = []
    for options in ({}, {"xla_dump_to": str(dumps), "xla_embed_ir_in_executable": True}):
        settings = DeviceSettings(compiler_options=options)
        of_phases = (tiny, "float32", "unrolled", [(1, 4)])
        splits.append(plan_computation(settings, *of_phases, jax.devices(), print).split)
    assert splits[0].compiler_options is None
    update: Any = make_update(model, None, splits[1])
    update.lower(state, rows, SETTINGS).compile()
    assert {path.name.split(".")[1] for path in dumps.iterdir()} == {"jit_negative", "jit_update"}


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"xla_cpu_enable_fast_maths": True}, r"fast_maths: .*No such compile option.*\(found True\)"),
        ({"xla_cpu_enable_fast_math": "often"}, r"fast_math: .*not a valid bool value.*\(found 'often'\)"),
    ],
)
def test_an_option_that_the_compiler_does_not_take_is_refused_before_anything_is_written(
    option: dict[str, object], reason: str, tmp_path: Path, run_file: Callable[..., RunFile], inputs: Inputs
) -> None:
    options = {"xla_cpu_enable_fast_math": False, **option}
    with pytest.raises(SpecError, match=rf"devices\.compiler_options\.xla_cpu_enable_{reason}.*leave it out"):
        train(run_file(tmp_path / "out", devices={"compiler_options": options}), inputs, print)
    assert not (tmp_path / "out").exists()

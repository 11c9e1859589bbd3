"""The same step on one device and on four, split in every way; and what lies where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.train.conftest import FakePlan, make_inputs
from tootsie.datasets.errors import SpecError
from tootsie.train.architecture import PRESETS, Architecture
from tootsie.train.loop import train
from tootsie.train.mesh import MeshSettings, MeshShape, check_length, check_mesh, mesh_shape
from tootsie.train.metrics import read_lines
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.sharding import partition, partition_tree, replicated_leaves, shard_shape
from tootsie.train.step import make_init, microbatches

FOUR_DEVICES = {
    **os.environ,
    "XLA_FLAGS": "--xla_force_host_platform_device_count=4 --xla_cpu_use_fusion_emitters=false",
    "JAX_PLATFORMS": "cpu",
}
ONE = "1.1.1.1.0.unrolled.none.untied"
CASES = [
    ONE,
    "1.1.1.1.0.unrolled.none.tied",
    "1.1.1.1.2.unrolled.none.untied",  # accumulation alone
    "1.2.1.2.0.unrolled.none.untied",
    "1.4.1.1.1.stacked.block.untied",  # accumulation on each device, recomputation in a scan
    "2.2.1.1.0.unrolled.attention.tied",
    "1.2.2.1.0.stacked.projections.untied",
    "1.1.2.2.2.unrolled.block.untied",
]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What each case computed, in one process with four devices."""
    script = Path(__file__).with_name("mesh_cases.py")
    done = subprocess.run(
        [sys.executable, str(script), *CASES], env=FOUR_DEVICES, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", [case for case in CASES[2:] if "stacked" not in case])
def test_every_split_computes_the_loss_and_gradients_of_one_device(found: dict[str, Any], case: str) -> None:
    """Rows with very different numbers of scored tokens lie on different devices and in different parts of the step."""
    wanted = found[CASES[1] if case.endswith(".tied") else ONE]
    assert found[case]["gradient"].keys() == wanted["gradient"].keys()
    for name, values in wanted["gradient"].items():
        np.testing.assert_allclose(found[case]["gradient"][name], values, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(found[case]["metrics"], wanted["metrics"], rtol=2e-6)


def test_stacked_layers_on_meshes_agree_with_each_other(found: dict[str, Any]) -> None:
    fsdp, tensor = (found[case] for case in CASES if "stacked" in case)
    for name, values in fsdp["gradient"].items():
        np.testing.assert_allclose(tensor["gradient"][name], values, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(tensor["metrics"], fsdp["metrics"], rtol=2e-6)


def test_the_parts_are_as_small_as_the_mesh_allows(found: dict[str, Any]) -> None:
    parts = found["1.2.1.2.0.unrolled.none.untied"]["parts"]  # weights are split over both
    assert parts["llama/embedding"] == [64, 8]
    assert parts["llama/layer_0/query"] == [8, 32]
    assert parts["llama/layer_0/down"] == [48, 8]
    assert found["1.2.2.1.0.stacked.projections.untied"]["parts"][
        "llama/__layer_stack_no_per_layer/layer/down"
    ] == [
        2,
        24,
        16,
    ]


@pytest.mark.parametrize("name", ["tootsie-1b", "tootsie-8b"])
@pytest.mark.parametrize("mesh", [MeshShape(2, 256, 1), MeshShape(1, 1024, 1), MeshShape(4, 64, 4)])
def test_no_large_leaf_of_the_state_lies_whole_on_every_device(name: str, mesh: MeshShape) -> None:
    model = build(PRESETS[name], Execution("bfloat16", LayerLoop.STACKED))
    state = jax.eval_shape(make_init(model, True), jax.random.key(0))
    assert replicated_leaves(state, mesh) == []
    specs = jax.tree.leaves(partition_tree(state, mesh))
    assert len(specs) == len(jax.tree.leaves(state))


def test_a_model_size_that_does_not_divide_is_split_along_the_other_dimension() -> None:
    assert shard_shape("query", (36, 64), MeshShape(1, 8, 1)) == (36, 8)
    assert shard_shape("query", (5, 36, 64), MeshShape(1, 8, 2)) == (5, 36, 4)
    assert shard_shape("query", (5, 36, 64), MeshShape(1, 2, 2, 4)) == (5, 36, 4)
    assert shard_shape("query", (32, 64), MeshShape(1, 2, 2, 4)) == (4, 32)
    # Never the vocabulary: a device that lacked the rows of other devices' tokens computed nan.
    assert shard_shape("embedding", (64, 36), MeshShape(1, 8, 2)) == (32, 36)
    with pytest.raises(SpecError, match=r"'head' of shape \[50000, 4099\] can't be split over 8 devices"):
        partition("head", (50_000, 4099), MeshShape(1, 8, 1))


def test_the_mesh_follows_from_the_devices_where_it_is_not_written() -> None:
    assert mesh_shape(MeshSettings(), 8) == MeshShape(1, 8, 1)
    assert mesh_shape(MeshSettings(), 512, slices=2) == MeshShape(2, 256, 1)
    assert mesh_shape(MeshSettings(tensor=4), 512, slices=2) == MeshShape(2, 64, 4)
    assert mesh_shape(MeshSettings(sequence=4), 512, slices=2) == MeshShape(2, 64, 1, 4)
    assert mesh_shape(MeshSettings(fsdp=64), 512, slices=2) == MeshShape(8, 64, 1)
    assert mesh_shape(MeshSettings(), 1024, model_size=4096, tile=16) == MeshShape(4, 256, 1)
    assert mesh_shape(MeshSettings(), 512, slices=2, model_size=4096, tile=16) == MeshShape(2, 256, 1)
    assert mesh_shape(MeshSettings(fsdp=1024), 1024, model_size=4096, tile=16) == MeshShape(1, 1024, 1)
    # Weights are split over both axes, and no thinner for that.
    assert mesh_shape(MeshSettings(sequence=4), 1024, model_size=4096, tile=16) == MeshShape(4, 64, 1, 4)
    with pytest.raises(SpecError, match="the mesh needs 6 devices, there are 8"):
        mesh_shape(MeshSettings(replica=2, fsdp=3), 8)
    for settings in (MeshSettings(sequence=16), MeshSettings(sequence=3), MeshSettings(fsdp=2, tensor=16)):
        with pytest.raises(SpecError, match="tensor and sequence so that their product divides 8"):
            mesh_shape(settings, 8)
    for settings in (MeshSettings(replica=1), MeshSettings(sequence=512)):
        with pytest.raises(SpecError, match="must not be spread over two"):
            mesh_shape(settings, 512, slices=2)


def test_rows_that_do_not_divide_into_two_chunks_a_device_are_refused() -> None:
    check_length(17, MeshShape(8, 1, 1))
    check_length(24, MeshShape(1, 1, 1, 4))
    with pytest.raises(SpecError, match=r"rows of 4,100 tokens.*over 4 devices.*multiple of 8 tokens"):
        check_length(4100, MeshShape(1, 2, 1, 4))


def test_heads_that_a_tensor_axis_cannot_share_are_named(tiny: Architecture) -> None:
    check_mesh(MeshShape(1, 1, 2), tiny)
    with pytest.raises(SpecError, match="kv_heads is 2, which 4 devices can't share"):
        check_mesh(MeshShape(1, 1, 4), tiny)


def test_rows_are_divided_into_the_fewest_equal_parts() -> None:
    assert [microbatches(12, limit) for limit in (None, 12, 5, 4, 1)] == [1, 1, 3, 3, 12]
    assert microbatches(7, 3) == 7


def same_but_for_rounding(one: Any, other: Any) -> bool:
    """Say whether two values of a metrics line are the same, figures within 1e-4 of each other, however deep they stand."""
    if isinstance(other, float):
        return isinstance(one, float) and one == pytest.approx(other, rel=1e-4)
    if isinstance(other, list):
        return len(one) == len(other) and all(map(same_but_for_rounding, one, other))
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same_but_for_rounding(one[key], other[key]) for key in other
        )
    return bool(one == other)


def test_a_run_may_change_its_mesh_between_two_checkpoints(
    tmp_path: Path, run_file: Callable[..., Any]
) -> None:
    """Begun on fsdp 4 and ended on sequence 4: the same rows, and the same figures but for rounding, as on one device.

    Evaluation and averaged weights included.
    """
    steps = (0, 6, 6)  # no batch size but eight, so that each mesh compiles one step
    script = Path(__file__).with_name("mesh_run.py")
    out, alone = tmp_path / "mesh", tmp_path / "alone"
    said = []
    for limit, devices in ((6, {"rows_per_device": 1}), (0, {"sequence": 4, "remat": "block"})):
        done = subprocess.run(
            [sys.executable, str(script), str(out), str(limit), json.dumps(devices)],
            env=FOUR_DEVICES | {"PLAN": json.dumps(steps)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        said.append(done.stdout)
    assert "4 devices: 1 replica × 4 fsdp × 1 tensor" in said[0]
    assert "4 devices: 1 replica × 1 fsdp × 1 tensor × 4 sequence" in said[1]
    assert "attention: xla" in said[0]
    assert '"resumed_from": 6' in said[1]
    train(run_file(alone), make_inputs(FakePlan(steps=steps)), lambda line: None)
    found, wanted = (read_lines(str(folder / "metrics.jsonl")) for folder in (out, alone))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        for key, value in other.items():
            assert same_but_for_rounding(one[key], value), (key, other["step"], one[key], value)
    assert json.loads((out / "config.json").read_text())["attention"] == "xla"

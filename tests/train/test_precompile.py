"""The floor against programs compiled here, and what precompile says where it can't go on; no TPU compiler is needed."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.train import chips
from tootsie.train.architecture import PRESETS, flops_per_token, parameter_count
from tootsie.train.device_settings import DeviceSettings
from tootsie.train.floor import floor, layer_matrices
from tootsie.train.mesh import MeshShape
from tootsie.train.precompile import Shape, _does_not_fit, axis_of, candidates, further_candidates, shapes_of
from tootsie.train.remat import Remat

LLAMA = PRESETS["llama3.1-8b"]
POD = MeshShape(2, 256, 1)


def of_kestrel(remat: Remat = Remat.NONE, microbatches: int = 1, mesh: MeshShape = POD) -> Any:
    return floor(LLAMA, mesh, 1024, 4096, remat, microbatches, True, 4)


def test_model_flops_of_the_floor_are_those_of_mfu() -> None:
    whole = of_kestrel().model_flops * POD.devices
    assert whole == flops_per_token(LLAMA, 4096) * 1024 * 4096


def test_the_floor_of_the_8b_on_two_v5e_pods_by_hand() -> None:
    least, numbers = of_kestrel(), parameter_count(LLAMA)
    assert least.state == numbers * 16 / 256
    matrices, table = 32 * layer_matrices(LLAMA), 128_256 * 4096
    assert least.fsdp_bytes == pytest.approx(
        255 / 256 * (4 * (matrices + table) + 4 * (matrices + 2 * table))
    )
    assert least.replica_bytes == numbers * 4 / 256
    assert least.tensor_bytes == 0
    assert of_kestrel(microbatches=2).fsdp_bytes == 2 * least.fsdp_bytes


def test_rows_that_are_divided_cost_the_gathers_of_keys_and_values() -> None:
    """Four chips have the rows of one: the same work for each, weights spread as far, eight heads of keys and of values in bfloat16."""
    rows, divided = of_kestrel(), of_kestrel(mesh=MeshShape(2, 64, 1, 4))
    wanted = 3 / 4 * 1024 * 4096 / 128 * 32 * 2 * 8 * 128 * (2 + 2 + 4)
    assert divided.sequence_bytes == wanted
    assert divided == rows._replace(sequence_bytes=wanted)


def test_a_policy_that_keeps_less_computes_more_again() -> None:
    again = [of_kestrel(remat).flops for remat in (Remat.PROJECTIONS, Remat.ATTENTION, Remat.BLOCK)]
    assert again == sorted(again)
    assert again[0] == of_kestrel().flops
    assert 1.15 < again[1] / of_kestrel().model_flops < 1.25
    assert 1.2 < again[2] / of_kestrel().model_flops < 1.4


def test_groups_are_named_by_the_axes_they_run_along() -> None:
    mesh = MeshShape(2, 4, 2)
    assert axis_of((0, 1), mesh) == "tensor"
    assert axis_of((0, 2, 4, 6), mesh) == "fsdp"
    assert axis_of((0, 8), mesh) == "replica"
    assert axis_of(tuple(range(0, 16, 2)), mesh) == "replica and fsdp"
    assert axis_of((3,), mesh) == "none"
    divided = MeshShape(1, 4, 2, 2)
    assert axis_of((0, 1), divided) == "sequence"
    assert axis_of((0, 2), divided) == "tensor"
    assert axis_of((0, 1, 4, 5, 8, 9, 12, 13), divided) == "fsdp and sequence"


def test_where_rows_are_too_few_a_search_divides_layers_or_rows() -> None:
    chip, shape = chips.CHIPS["v5e"], Shape(128, 32_768)
    tried = further_candidates(DeviceSettings(), LLAMA, 512, 2, shape, chip)
    assert {(one.tensor, one.sequence) for one in tried} >= {(1, 4), (4, 1), (2, 2)}
    assert all(one.tensor * one.sequence >= 4 for one in tried)  # 128 rows leave four chips to each
    assert further_candidates(DeviceSettings(fsdp=64, sequence=4), LLAMA, 512, 2, shape, chip) == []


def test_a_search_begins_with_what_would_be_fastest() -> None:
    tried = candidates(DeviceSettings(), LLAMA, POD, Shape(1024, 4096), chips.CHIPS["v5e"])
    assert (tried[0].remat, tried[0].rows_per_device) == (Remat.PROJECTIONS, 2)
    assert len({(one.remat, one.rows_per_device) for one in tried}) == len(tried) == 6
    assert tried[-1].rows_per_device == 1


def test_phases_of_one_batch_share_a_program(plan: Any) -> None:
    assert shapes_of(plan) == {Shape(4, 16): ["phase0"], Shape(8, 16): ["phase1", "phase2"]}
    assert shapes_of(plan, ["phase2"]) == {Shape(8, 16): ["phase2"]}
    with pytest.raises(SpecError, match=r"no such phase.*phase9.*Known: phase0"):
        shapes_of(plan, ["phase9"])


@pytest.mark.parametrize(
    "message",
    [
        "RESOURCE_EXHAUSTED: Ran out of memory. Used 20.15G of 15.75G hbm. Exceeded",
        "RESOURCE_EXHAUSTED: the total memory required for HLO temporaries (20.15G) exceeds available HBM (15.75G).",
    ],
)
def test_a_step_that_does_not_fit_says_by_how_much(message: str) -> None:
    fault = str(_does_not_fit(message, chips.CHIPS["v5e"], DeviceSettings(remat=Remat.BLOCK)))
    assert "does not fit a v5e chip" in fault
    assert "20.15GiB of 15.75GiB; remat block" in fault
    assert "--search" in fault


def test_a_topology_that_is_none_is_refused() -> None:
    for topology in ("v5e", "v5e:16by16", "v9:2x2", ":4x4"):
        with pytest.raises(SpecError, match=r"not a topology.*generations: v4, v5e, v5p, v6e"):
            chips.chip_of(topology)


def test_without_the_compiler_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "libtpu" else find(name, *rest)
    )
    with pytest.raises(SpecError, match=r"libtpu.*pip install 'tootsie\[tpu\]'"):
        chips.describe("v5e:2x2", 1)


def test_every_field_of_the_floor_is_for_one_chip(tiny: Any) -> None:
    """Twice the chips with the same batch: half of everything but the gathers."""
    one, two = (floor(tiny, MeshShape(1, n, 1), 8, 16, Remat.NONE, 1, False, 4) for n in (2, 4))
    for name in ("state", "matrix_flops", "attention_flops"):
        assert getattr(two, name) == getattr(one, name) / 2
    assert one.fsdp_bytes < two.fsdp_bytes

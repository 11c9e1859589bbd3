"""Parameter counts: the formula, the real tree, the name."""

from __future__ import annotations

import jax
import pytest
from pydantic import ValidationError

from tootsie.train.architecture import PRESETS, Architecture, flops_per_token, parameter_count
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.step import make_init, parameter_total

NAMED = {"llama3.1-8b": 8e9, "tootsie-8b": 8e9, "tootsie-1b": 1.2e9, "tootsie-125m": 125e6}
NAMED |= {"tootsie-24b": 24e9, "tootsie-32b": 32e9, "tootsie-70b": 70e9}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("loop", list(LayerLoop))
def test_the_formula_counts_the_real_tree(name: str, loop: LayerLoop) -> None:
    if loop is LayerLoop.UNROLLED and PRESETS[name].layers > 16:
        pytest.skip("the stacked tree says the same, faster")
    model = build(PRESETS[name], Execution("float32", loop))
    state = jax.eval_shape(make_init(model, average=False), jax.random.key(0))
    assert parameter_total(state.params) == parameter_count(PRESETS[name])


@pytest.mark.parametrize("name", NAMED)
def test_a_name_with_a_number_means_it(name: str) -> None:
    assert parameter_count(PRESETS[name]) == pytest.approx(NAMED[name], rel=0.04)
    assert {name for name in PRESETS if name[-2].isdigit()} == NAMED.keys()


def test_llama_8b_has_the_published_number_of_parameters() -> None:
    assert parameter_count(PRESETS["llama3.1-8b"]) == 8_030_261_248


def test_the_demo_is_small_enough_for_two_cores() -> None:
    assert 1e6 < parameter_count(PRESETS["tootsie-demo"]) < 3e6


def test_flops_are_six_per_matrix_parameter_and_causal_attention() -> None:
    # 45 GFLOP of matrices and 6.4 / 2 of causal attention per token at 4,096, for Llama 3.1 8B.
    flops = flops_per_token(PRESETS["llama3.1-8b"], 4096)
    attention = 3 * 2 * 32 * 32 * 128 * 4096
    assert attention == pytest.approx(3.2e9, rel=0.02)
    assert flops - attention == pytest.approx(45e9, rel=0.01)


def test_sizes_that_do_not_fit_are_refused(tiny: Architecture) -> None:
    with pytest.raises(ValidationError, match=r"heads \(4\) must be a multiple of kv_heads \(3\)"):
        Architecture.model_validate(tiny.model_dump() | {"kv_heads": 3})
    with pytest.raises(ValidationError, match="must be even"):
        Architecture.model_validate(tiny.model_dump() | {"head_size": 5})

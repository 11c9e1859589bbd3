"""The model: shapes, document borders, agreement with reference logits."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.train.architecture import Architecture
from tootsie.train.export import read_export
from tootsie.train.model import Execution, LayerLoop, build, rms_norm, with_gradients_kept

FLOAT32 = Execution("float32", LayerLoop.UNROLLED)


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = _load("make_golden_logits")


def logits(
    architecture: Architecture, params: Any, tokens: Any, execution: Execution = FLOAT32
) -> np.ndarray:
    tokens = jnp.asarray(tokens, jnp.int32)
    output = jax.jit(build(architecture, execution).apply)(params, tokens, jnp.ones_like(tokens))
    return np.asarray(output.hidden.astype(jnp.float32) @ output.head.T)


@pytest.mark.parametrize("name", golden.CASES)
def test_logits_equal_those_of_transformers(name: str) -> None:
    """Our export, loaded and run by transformers; see make_golden_logits.py."""
    seed, architecture = list(golden.CASES).index(name), golden.CASES[name]
    found = logits(architecture, golden.case_params(architecture, seed), golden.case_tokens(seed))
    with np.load(golden.GOLDEN) as stored:
        np.testing.assert_allclose(found, stored[name], atol=1e-4)


def test_imported_model_gives_the_reference_logits(shared_data: Path) -> None:
    folder = shared_data / "models" / "llama_tiny_random"
    params, architecture = read_export(str(folder))
    with np.load(folder / "reference.npz") as reference:
        np.testing.assert_allclose(
            logits(architecture, params, reference["input_ids"]), reference["logits"], atol=1e-4
        )


def test_a_position_sees_only_its_own_document_up_to_there(tiny: Architecture) -> None:
    model = build(tiny, FLOAT32)
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 64, 5), rng.integers(0, 64, 7)
    tokens = jnp.asarray(np.concatenate([first, second])[None], jnp.int32)
    segments = jnp.asarray([[1] * 5 + [2] * 7], jnp.int32)
    params, apply = jax.jit(model.init)(jax.random.key(0), tokens, segments), jax.jit(model.apply)
    apart = apply(params, tokens, segments).hidden[0, 5:]
    alone = apply(params, tokens[:, 5:], segments[:, 5:]).hidden[0]
    np.testing.assert_allclose(apart, alone, atol=1e-5)
    changed = tokens.at[0, 11].set((tokens[0, 11] + 1) % 64)
    later = apply(params, changed, segments).hidden[0]
    np.testing.assert_array_equal(later[:11], apply(params, tokens, segments).hidden[0, :11])


def test_stacked_layers_compute_the_same(tiny: Architecture) -> None:
    tokens = jnp.asarray(np.random.default_rng(1).integers(0, 64, (2, 9)), jnp.int32)
    plain, stacked = build(tiny, FLOAT32), build(tiny, Execution("float32", LayerLoop.STACKED))
    params = jax.jit(stacked.init)(jax.random.key(0), tokens, tokens)
    (module,) = [name for name in params if "layer_stack" in name]
    layers = {
        f"llama/layer_{index}": {name: leaf[index] for name, leaf in params[module].items()}
        for index in range(tiny.layers)
    }
    expected = jax.jit(stacked.apply)(params, tokens, jnp.ones_like(tokens)).hidden
    found = jax.jit(plain.apply)({"llama": params["llama"], **layers}, tokens, jnp.ones_like(tokens)).hidden
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_bfloat16_computes_in_bfloat16_and_keeps_float32_parameters(tiny: Architecture) -> None:
    model = build(tiny, Execution("bfloat16", LayerLoop.UNROLLED))
    tokens = jnp.ones((1, 8), jnp.int32)
    params = jax.jit(model.init)(jax.random.key(0), tokens, tokens)
    output = jax.jit(model.apply)(params, tokens, tokens)
    assert output.hidden.dtype == jnp.bfloat16
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}


def test_matrices_start_at_the_initializer_scale(tiny: Architecture) -> None:
    wide = tiny.model_copy(update={"vocabulary_size": 4096})
    tokens = jnp.ones((1, 8), jnp.int32)
    params = build(wide, FLOAT32).init(jax.random.key(0), tokens, tokens)
    assert float(jnp.std(params["llama"]["embedding"])) == pytest.approx(0.02, rel=0.02)
    assert float(jnp.std(params["llama"]["final_norm"])) == 0


def test_gradients_that_are_kept_are_the_same_behind_one_barrier() -> None:
    def loss(keep: Any, gate: jax.Array, up: jax.Array) -> jax.Array:
        gate, up = keep(gate, up)
        return jnp.sum(jax.nn.silu(gate) * up)

    given = jnp.linspace(-3.0, 3.0, 8), jnp.linspace(2.0, -1.0, 8)
    kept, plain = (
        jax.grad(lambda *x, keep=keep: loss(keep, *x), (0, 1)) for keep in (with_gradients_kept, lambda *x: x)
    )
    assert str(jax.make_jaxpr(kept)(*given)).count("optimization_barrier") == 1
    np.testing.assert_array_equal(kept(*given), plain(*given))


def test_rms_norm_is_the_formula() -> None:
    x = jnp.asarray([[3.0, 4.0]])
    expected = np.array([[3.0, 4.0]]) / np.sqrt(12.5 + 1e-5) * np.array([1.0, 2.0])
    np.testing.assert_allclose(rms_norm(x, jnp.asarray([1.0, 2.0]), 1e-5), expected, rtol=1e-6)


def test_shapes_are_checked_in_these_tests() -> None:
    with pytest.raises(Exception, match="Type-check error"):
        rms_norm(jnp.ones((2, 3)), jnp.ones((4,)), 1e-5)

"""AdamW: against the formula, with settings that change, decaying what it should."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tootsie.train.optimizer import StepSettings, adamw, decay_lists, global_norm

SETTINGS = StepSettings(1e-2, 0.1, 0.0, 0.0, np.inf, 0.9, 0.95, 1e-8)
PARAMS = {
    "llama": {"embedding": jnp.ones((2, 3)), "final_norm": jnp.ones(3), "head": jnp.ones((2, 3))},
    "llama/layer_0": {"query": jnp.ones((3, 3)), "attention_norm": jnp.ones(3)},
}


def test_embeddings_and_norms_are_not_decayed_and_the_list_says_so() -> None:
    assert decay_lists(PARAMS) == {
        "decayed": ["llama/head", "llama/layer_0/query"],
        "not_decayed": ["llama/embedding", "llama/final_norm", "llama/layer_0/attention_norm"],
    }
    optimizer = adamw(SETTINGS)
    zeros = jax.tree.map(jnp.zeros_like, PARAMS)
    updates, _ = optimizer.update(zeros, optimizer.init(PARAMS), PARAMS)
    np.testing.assert_allclose(updates["llama"]["head"], -1e-2 * 0.1)
    np.testing.assert_array_equal(updates["llama"]["embedding"], 0)
    np.testing.assert_array_equal(updates["llama/layer_0"]["attention_norm"], 0)


def test_updates_follow_the_paper_while_settings_change_and_moments_stay() -> None:
    rng = np.random.default_rng(0)
    weights = {"llama": {"head": jnp.asarray(rng.normal(size=(2, 3)), jnp.float32)}}
    update = jax.jit(lambda s, g, o, w: adamw(s).update(g, o, w))
    state = adamw(SETTINGS).init(weights)
    w, m, v = np.asarray(weights["llama"]["head"], np.float64), 0.0, 0.0
    for step in range(1, 7):
        now = SETTINGS._replace(learning_rate=1e-2 / step, weight_decay=0.05 * step, clip_norm=0.5 * step)
        now = StepSettings(*(np.float32(value) for value in now))
        gradient = rng.normal(size=(2, 3))
        updates, state = update(now, {"llama": {"head": jnp.asarray(gradient, jnp.float32)}}, state, weights)
        weights = optax.apply_updates(weights, updates)
        clipped = gradient * min(1.0, 0.5 * step / np.linalg.norm(gradient))
        m, v = 0.9 * m + 0.1 * clipped, 0.95 * v + 0.05 * clipped**2
        direction = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.95**step)) + 1e-8)
        w = w - 1e-2 / step * (direction + 0.05 * step * w)
        np.testing.assert_allclose(weights["llama"]["head"], w, rtol=2e-4, atol=1e-6)
    assert update._cache_size() == 1, "changing the settings must not compile again"


def test_the_norm_is_over_all_leaves() -> None:
    assert float(global_norm({"a": jnp.asarray([3.0]), "b": {"c": jnp.asarray([4.0])}})) == 5

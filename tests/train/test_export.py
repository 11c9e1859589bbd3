"""Hugging Face folders: there and back, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.train.architecture import PRESETS, Architecture
from tootsie.train.export import (
    SpecialTokens,
    from_config,
    layer_params,
    read_export,
    to_config,
    write_export,
)
from tootsie.train.model import Execution, LayerLoop, build

SPECIAL = SpecialTokens(None, 63)


@pytest.mark.parametrize("loop", list(LayerLoop))
@pytest.mark.parametrize("tied", [True, False])
def test_weights_come_back_the_same(
    tmp_path: Path, tiny: Architecture, loop: LayerLoop, *, tied: bool
) -> None:
    architecture = tiny.model_copy(update={"tied_embeddings": tied})
    ones = jnp.ones((1, 4), jnp.int32)
    params = build(architecture, Execution("float32", loop)).init(jax.random.key(0), ones, ones)
    write_export(str(tmp_path), params, architecture, 128, SPECIAL, {"step": 5})
    found, read = read_export(str(tmp_path))
    assert read == architecture
    np.testing.assert_array_equal(found["llama"]["embedding"], params["llama"]["embedding"])
    for index in range(architecture.layers):
        for name, array in layer_params(params, index).items():
            np.testing.assert_array_equal(found[f"llama/layer_{index}"][name], array)
    before = (tmp_path / "model.safetensors").read_bytes()
    write_export(str(tmp_path), found, architecture, 128, SPECIAL, {"step": 5})
    assert (tmp_path / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("name", PRESETS)
def test_configs_come_back_the_same_new_way_and_old_way(name: str) -> None:
    config = to_config(PRESETS[name], 4096, SPECIAL)
    assert from_config(config, "config.json") == PRESETS[name]
    old = {key: value for key, value in config.items() if key != "rope_parameters"}
    assert from_config(old, "config.json") == PRESETS[name]


def test_rotary_settings_are_never_guessed(tiny: Architecture) -> None:
    config = to_config(tiny, 128, SPECIAL)
    config.pop("rope_parameters")
    config.pop("rope_theta")
    with pytest.raises(ArtefactError, match="rope_theta must be given"):
        from_config(config, "config.json")
    config = to_config(tiny, 128, SPECIAL) | {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}
    with pytest.raises(ArtefactError, match="rope_type default or llama3"):
        from_config(config, "config.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"model_type": "mistral"}, "model_type"), ({"attention_bias": True}, "attention_bias")],
)
def test_other_families_are_refused(tiny: Architecture, change: dict[str, object], message: str) -> None:
    with pytest.raises(ArtefactError, match=message):
        from_config(to_config(tiny, 128, SPECIAL) | change, "config.json")


def test_tensors_that_do_not_fit_are_named(tmp_path: Path, tiny: Architecture) -> None:
    ones = jnp.ones((1, 4), jnp.int32)
    params = build(tiny, Execution("float32", LayerLoop.UNROLLED)).init(jax.random.key(0), ones, ones)
    write_export(str(tmp_path), params, tiny, 128, SPECIAL, {})
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(ArtefactError, match=r"model\.layers\.2\..*: a tensor is missing"):
        read_export(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    with pytest.raises(ArtefactError, match="tensors that no Llama has"):
        read_export(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": 65}))
    with pytest.raises(ArtefactError, match=r"embed_tokens.*the config asks for"):
        read_export(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(ArtefactError, match="not a safetensors file"):
        read_export(str(tmp_path))

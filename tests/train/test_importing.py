"""Models from elsewhere: every weight once, every setting honoured or refused, the same logits, and a run on top."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import typer.main

from tootsie.datasets.command_line import run_command
from tootsie.datasets.errors import ArtefactError, UserError
from tootsie.train import checkpoint, reference
from tootsie.train.architecture import Architecture
from tootsie.train.command import app
from tootsie.train.export import (
    ExportDtype,
    layer_params,
    read_export,
    rounded,
    to_hugging_face,
    write_export,
)
from tootsie.train.importing import import_model, read_source
from tootsie.train.llama_config import SpecialTokens, from_config, to_config
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.safetensors_folder import read_tensors, write_tensors
from tootsie.train.weights import load_weights

NO_IDS = SpecialTokens(None, None)


def weights_of(architecture: Architecture, *, as_bfloat16: bool = False) -> Any:
    ones = jnp.ones((1, 4), jnp.int32)
    params = build(architecture, Execution("float32", LayerLoop.UNROLLED)).init(jax.random.key(0), ones, ones)
    if not as_bfloat16:
        return params
    return jax.tree.map(lambda leaf: rounded(np.asarray(leaf), ExportDtype.BFLOAT16), params)


def folder_of(folder: Path, architecture: Architecture, **options: Any) -> Path:
    write_export(str(folder), weights_of(architecture, **options), architecture, 128, NO_IDS, {})
    return folder


def tootsie(*arguments: str) -> int:
    return run_command(typer.main.get_command(app), list(arguments), name="tootsie train")


def imported(
    source: Path, out: Path, loop: LayerLoop = LayerLoop.UNROLLED, compared: Any = None
) -> checkpoint.CheckpointRecord:
    found = read_source(str(source), (), None, True)
    return import_model(str(source), found, str(out), loop, compared, reference.TOLERANCE, print)


@pytest.fixture
def theirs(tmp_path: Path, tiny: Architecture) -> Path:
    return folder_of(tmp_path / "theirs", tiny.model_copy(update={"tied_embeddings": False}))


@pytest.mark.parametrize("loop", list(LayerLoop))
@pytest.mark.parametrize("tied", [True, False])
def test_what_is_imported_is_exported_as_the_same_bytes(
    tmp_path: Path, tiny: Architecture, loop: LayerLoop, *, tied: bool
) -> None:
    source = folder_of(tmp_path / "theirs", tiny.model_copy(update={"tied_embeddings": tied}))
    record = imported(source, tmp_path / "ours", loop)
    assert record.lineage[0]["kind"] == "import"
    assert tootsie("export", str(tmp_path / "ours"), str(tmp_path / "again")) == 0
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (source / name).read_bytes()


def test_narrow_weights_are_widened_without_loss_and_come_back_as_they_were(
    tmp_path: Path, tiny: Architecture
) -> None:
    params = weights_of(tiny, as_bfloat16=True)
    assert write_export(str(tmp_path / "a"), params, tiny, 128, NO_IDS, {}, ExportDtype.BFLOAT16) == 0
    tensors, kinds = read_tensors(str(tmp_path / "a"))
    assert set(kinds.values()) == {"BF16"}
    for name, array in to_hugging_face(params, tiny).items():
        np.testing.assert_array_equal(tensors[name], array)
    imported(tmp_path / "a", tmp_path / "ours")
    assert tootsie("export", str(tmp_path / "ours"), str(tmp_path / "b"), "--dtype", "bfloat16") == 0
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()


def test_half_precision_is_widened(tmp_path: Path, theirs: Path) -> None:
    import safetensors.numpy

    halves = {name: array.astype(np.float16) for name, array in read_tensors(str(theirs))[0].items()}
    safetensors.numpy.save_file(halves, theirs / "model.safetensors")
    imported(theirs, tmp_path / "ours")
    found = load_weights(str(tmp_path / "ours"), None, None)
    np.testing.assert_array_equal(found.params["llama"]["head"], halves["lm_head.weight"].astype(np.float32))


def test_rounding_is_to_the_nearest_and_counted(tmp_path: Path, tiny: Architecture) -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, -1.004, 3e-39, 0.0], np.float32)
    wanted = np.array([1.0, 1.0, 1.015625, -1.0078125, 3.0306e-39, 0.0], np.float32)
    np.testing.assert_allclose(rounded(values, ExportDtype.BFLOAT16), wanted, rtol=1e-4)
    with pytest.raises(ArtefactError, match="too large for bfloat16"):
        rounded(np.array([3.4e38], np.float32), ExportDtype.BFLOAT16)
    assert write_export(str(tmp_path), weights_of(tiny), tiny, 128, NO_IDS, {}, ExportDtype.BFLOAT16) > 1000


def shard(folder: Path) -> dict[str, str]:
    """Split the file in two with an index; return which tensor lies where."""
    tensors, _ = read_tensors(str(folder))
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    placed = {name: f"model-0000{1 + index % 2}-of-00002.safetensors" for index, name in enumerate(names)}
    for file in set(placed.values()):
        write_tensors(str(folder / file), {name: tensors[name] for name in names if placed[name] == file})
    write_index(folder, placed)
    return placed


def write_index(folder: Path, placed: dict[str, str]) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": placed}))


def test_shards_are_read_by_their_index_each_tensor_once(tmp_path: Path, theirs: Path) -> None:
    whole, _ = read_export(str(theirs))
    placed = shard(theirs)
    parts, _ = read_export(str(theirs))
    jax.tree.map(np.testing.assert_array_equal, parts, whole)
    (theirs / "old.safetensors").write_bytes(b"not named by the index, so not read")
    read_export(str(theirs))

    name = "model.norm.weight"
    other = next(file for file in placed.values() if file != placed[name])
    write_index(theirs, placed | {name: other})
    with pytest.raises(ArtefactError, match=rf"{name}.*the index puts this tensor in {other}"):
        read_export(str(theirs))
    write_index(theirs, {key: file for key, file in placed.items() if key != name})
    with pytest.raises(ArtefactError, match="the index puts this tensor in no file"):
        read_export(str(theirs))
    write_index(theirs, placed | {"model.extra": other})
    with pytest.raises(ArtefactError, match=r"model\.extra.*in no file"):
        read_export(str(theirs))
    write_index(theirs, placed | {"model.extra": "../escape.safetensors"})
    with pytest.raises(ArtefactError, match="a file beside it"):
        read_export(str(theirs))
    write_index(theirs, placed | {"model.extra": "gone.safetensors"})
    with pytest.raises(ArtefactError, match=r"that the index names is missing.*gone"):
        read_export(str(theirs))
    (theirs / "model.safetensors.index.json").unlink()
    (theirs / "old.safetensors").unlink()
    write_tensors(str(theirs / "third.safetensors"), {name: np.ones(16, np.float32)})
    with pytest.raises(ArtefactError, match=rf"{name}.*two files hold the same tensor"):
        read_export(str(theirs))


def test_a_tied_head_that_is_stored_too_must_be_the_embedding(tmp_path: Path, tiny: Architecture) -> None:
    source = folder_of(tmp_path / "theirs", tiny)
    tensors, _ = read_tensors(str(source))
    for change, message in ((0.0, None), (1.0, r"lm_head\.weight.*another head is stored")):
        head = tensors["model.embed_tokens.weight"] + np.float32(change)
        write_tensors(str(source / "model.safetensors"), tensors | {"lm_head.weight": head})
        with contextlib.nullcontext() if message is None else pytest.raises(ArtefactError, match=message):
            read_export(str(source))


def test_stored_rotary_frequencies_must_be_those_of_theta(tmp_path: Path, tiny: Architecture) -> None:
    source = folder_of(tmp_path / "theirs", tiny)
    tensors, _ = read_tensors(str(source))
    for turns, message in (([1, 0.01], None), ([1, 0.02], "rotary frequencies"), ([1], "rotary frequencies")):
        name = "model.layers.1.self_attn.rotary_emb.inv_freq"
        write_tensors(str(source / "model.safetensors"), tensors | {name: np.array(turns, np.float32)})
        with contextlib.nullcontext() if message is None else pytest.raises(ArtefactError, match=message):
            read_export(str(source))


def test_quantised_weights_are_refused(tmp_path: Path, theirs: Path) -> None:
    import safetensors.numpy

    tensors = dict(read_tensors(str(theirs))[0])
    tensors["model.norm.weight"] = tensors["model.norm.weight"].astype(np.int8)
    safetensors.numpy.save_file(tensors, theirs / "model.safetensors")
    with pytest.raises(ArtefactError, match=r"model\.norm\.weight.*float32, bfloat16 or float16.*I8"):
        read_export(str(theirs))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"model_type": "qwen3"}, "model_type"),
        ({"attention_bias": True}, "attention_bias"),
        ({"attention_bias": 1}, "attention_bias"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"sliding_window": 4096}, "sliding_window"),
        ({"attention_dropout": 0.1}, "attention_dropout"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "architectures"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"final_logit_softcapping": 30.0}, r"final_logit_softcapping.*not known.*--ignore final_logit_softcapping"),
        ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "yarn", "factor": 4.0}}, "rope_type default or llama3"),
        ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "default", "factor": 4.0}}, "Not of type default: factor"),
        ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "llama3", "factor": 4.0}}, "needs high_freq_factor"),
        ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
        ({"rms_norm_eps": None}, "rms_norm_eps"),
        ({"hidden_size": "16"}, "hidden_size"),
        ({"num_attention_heads": 3, "head_dim": None}, "no multiple of the 3 heads"),
        ({"num_key_value_heads": 3}, "must be a multiple of kv_heads"),
    ],
)  # fmt: skip
def test_settings_that_would_be_another_model_are_refused_by_name(
    tiny: Architecture, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArtefactError, match=message):
        from_config(to_config(tiny, 128, NO_IDS) | change, "config.json")


def test_unknown_settings_that_say_nothing_or_are_ignored_pass(tiny: Architecture) -> None:
    config = to_config(tiny, 128, NO_IDS) | {"some_new_feature": False, "another": None}
    assert from_config(config, "config.json") == tiny
    config["note"] = "made on a Tuesday"
    assert from_config(config, "config.json", ["note"]) == tiny


def test_logits_are_compared_in_the_command_and_nothing_is_written_where_they_differ(
    tmp_path: Path, theirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params, architecture = read_export(str(theirs))
    ids = np.arange(24).reshape(2, 12) % 60
    logits = reference.compute_logits(params, architecture, ids)
    file = tmp_path / "reference.npz"
    np.savez(file, input_ids=ids, logits=logits + 1e-6)
    out = tmp_path / "ours"
    arguments = ("import", str(theirs), str(out), "--reference", str(file))
    assert tootsie(*arguments) == 0
    assert "logits at 24 positions: largest difference 1" in capsys.readouterr().out
    assert json.loads((out / "config.json").read_text())["imported"]["reference"]["same_first"] == 1.0
    assert tootsie(*arguments) == 2, "the folder holds a run"
    logits[1, 3, 5] += 0.01
    np.savez(file, input_ids=ids, logits=logits)
    out = tmp_path / "other"
    assert tootsie("import", str(theirs), str(out), "--reference", str(file)) == 2
    assert "the model computes something else than the reference" in capsys.readouterr().err
    assert not out.exists()
    logits[1, 3, 5] = np.nan
    np.savez(file, input_ids=ids, logits=logits)
    assert tootsie("import", str(theirs), str(out), "--reference", str(file)) == 2
    np.savez(file, input_ids=ids, logits=logits[..., :5])
    with pytest.raises(ArtefactError, match="the model has 64 ids"):
        reference.compare(params, architecture, reference.read_reference(str(file)))
    np.savez(file, tokens=ids, logits=logits)
    with pytest.raises(ArtefactError, match="input_ids: an array is missing"):
        reference.read_reference(str(file))


def test_query_and_key_swapped_is_seen_in_the_logits(tmp_path: Path, theirs: Path) -> None:
    """The reference is what tells weights that fit from weights that are right."""
    params, architecture = read_export(str(theirs))
    ids = np.arange(12)[None] % 60
    np.savez(
        tmp_path / "reference.npz", input_ids=ids, logits=reference.compute_logits(params, architecture, ids)
    )
    tensors, _ = read_tensors(str(theirs))
    gate, up = (f"model.layers.0.mlp.{name}_proj.weight" for name in ("gate", "up"))
    write_tensors(str(theirs / "model.safetensors"), tensors | {gate: tensors[up], up: tensors[gate]})
    with pytest.raises(ArtefactError, match="computes something else"):
        imported(
            theirs, tmp_path / "ours", compared=reference.read_reference(str(tmp_path / "reference.npz"))
        )


def test_a_real_reference_is_met(tmp_path: Path, shared_data: Path) -> None:
    """Logits that transformers computed with torch."""
    source = shared_data / "models" / "llama_tiny_random"
    compared = reference.read_reference(str(source / "reference.npz"))
    record = imported(source, tmp_path / "ours", compared=compared)
    assert record.config["imported"]["reference"]["relative"] < 1e-4
    assert record.config["imported"]["reference"]["same_first"] == 1.0
    assert tootsie("export", str(tmp_path / "ours"), str(tmp_path / "again")) == 0
    mine, theirs = ((folder / "model.safetensors").read_bytes() for folder in (tmp_path / "again", source))
    assert mine == theirs


def test_stacked_blocks_hold_the_same_weights(tmp_path: Path, theirs: Path) -> None:
    plain, _ = read_export(str(theirs))
    imported(theirs, tmp_path / "ours", LayerLoop.STACKED)
    found = load_weights(str(tmp_path / "ours"), None, None)
    for index in range(2):
        for name, array in layer_params(found.params, index).items():
            np.testing.assert_array_equal(array, plain[f"llama/layer_{index}"][name])


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, theirs: Path) -> None:
    imported(theirs, tmp_path / "ours")
    with pytest.raises(UserError, match="holds a run already"):
        imported(theirs, tmp_path / "ours")

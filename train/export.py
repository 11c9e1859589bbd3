"""Hugging Face Llama: our weights to ``model.safetensors`` and ``config.json``, and theirs to ours, bit for bit.

Names and layout follow ``transformers``' LlamaForCausalLM. Their projection matrices are ``[outputs, inputs]``, ours
``[inputs, outputs]``; the rotary halves have the same order, so nothing is permuted.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Collection
from typing import Any

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.json_text import parse_json
from tootsie.train.architecture import Architecture
from tootsie.train.llama_config import SpecialTokens, from_config, to_config
from tootsie.train.rope import frequencies
from tootsie.train.safetensors_folder import read_tensors, write_tensors

LAYER_NAMES = {
    "attention_norm": "input_layernorm",
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "mlp_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
"""Our parameter names within a block, and theirs."""
STACKED_MODULE = "llama/__layer_stack_no_per_layer/layer"


def layer_params(params: Any, index: int) -> dict[str, np.ndarray]:
    """Return the parameters of one block, whether the tree is unrolled or stacked."""
    if STACKED_MODULE in params:
        return {name: np.asarray(leaf[index]) for name, leaf in params[STACKED_MODULE].items()}
    return {name: np.asarray(leaf) for name, leaf in params[f"llama/layer_{index}"].items()}


def to_hugging_face(params: Any, architecture: Architecture) -> dict[str, np.ndarray]:
    """Return the tensors by their names in Hugging Face's layout, float32."""
    top = params["llama"]
    tensors = {
        "model.embed_tokens.weight": np.asarray(top["embedding"]),
        "model.norm.weight": np.asarray(top["final_norm"]),
    }
    if not architecture.tied_embeddings:
        tensors["lm_head.weight"] = np.asarray(top["head"])
    for index in range(architecture.layers):
        for name, array in layer_params(params, index).items():
            tensors[f"model.layers.{index}.{LAYER_NAMES[name]}.weight"] = np.ascontiguousarray(array.T)
    return tensors


def from_hugging_face(tensors: dict[str, np.ndarray], architecture: Architecture, file: str) -> Any:
    """Return the (unrolled) parameter tree that Hugging Face tensors stand for, float32.

    Raises:
      ArtefactError: a tensor is missing, left over, or of another shape.
    """
    a, left = architecture, dict(tensors)
    shapes = {
        "attention_norm": (a.model_size,),
        "query": (a.model_size, a.heads * a.head_size),
        "key": (a.model_size, a.kv_heads * a.head_size),
        "value": (a.model_size, a.kv_heads * a.head_size),
        "output": (a.heads * a.head_size, a.model_size),
        "mlp_norm": (a.model_size,),
        "gate": (a.model_size, a.mlp_size),
        "up": (a.model_size, a.mlp_size),
        "down": (a.mlp_size, a.model_size),
    }

    def take(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if name not in left:
            raise ArtefactError("a tensor is missing", file=file, field=name)
        array = np.asarray(left.pop(name), dtype=np.float32)
        if array.shape != shape:
            raise ArtefactError(
                f"the tensor has shape {array.shape}, the config asks for {shape}", file=file, field=name
            )
        return array

    vocabulary = (a.vocabulary_size, a.model_size)
    top = {
        "embedding": take("model.embed_tokens.weight", vocabulary),
        "final_norm": take("model.norm.weight", (a.model_size,)),
    }
    if not a.tied_embeddings:
        top["head"] = take("lm_head.weight", vocabulary)
    params: dict[str, Any] = {"llama": top}
    for index in range(a.layers):
        params[f"llama/layer_{index}"] = {
            ours: np.ascontiguousarray(take(f"model.layers.{index}.{theirs}.weight", shapes[ours][::-1]).T)
            for ours, theirs in LAYER_NAMES.items()
        }
    head = left.pop("lm_head.weight", None)  # some writers store the tied head as well
    if head is not None and not np.array_equal(head, top["embedding"]):
        raise ArtefactError(
            "the config ties the head to the embedding, yet another head is stored",
            file=file,
            field="lm_head.weight",
            remedy="Set tie_word_embeddings to false in config.json if that head is meant",
        )
    turns = frequencies(a.rope.model_copy(update={"scaling": None}), a.head_size)
    for index in range(a.layers):
        stored = left.pop(f"model.layers.{index}.self_attn.rotary_emb.inv_freq", None)  # of old writers
        if stored is not None and not (
            np.shape(stored) == turns.shape and np.allclose(stored, turns, rtol=1e-2)
        ):
            raise ArtefactError(
                "the stored rotary frequencies are not those of rope_theta", file=file, field="inv_freq"
            )
    if left:
        raise ArtefactError("tensors that no Llama has", file=file, value=sorted(left))
    return params


def stacked(params: Any, layers: int) -> Any:
    """Return an unrolled parameter tree with its blocks stacked, as ``layer_stack`` holds them: ``[L, …]``."""
    blocks = [params[f"llama/layer_{index}"] for index in range(layers)]
    joined = {name: np.stack([np.asarray(block[name]) for block in blocks]) for name in blocks[0]}
    return {"llama": params["llama"], STACKED_MODULE: joined}


class ExportDtype(enum.StrEnum):
    """How weights are written."""

    FLOAT32 = "float32"
    """As they are."""
    BFLOAT16 = "bfloat16"
    """Rounded to the nearest, half the size; weights that are bfloat16 numbers already stay the same."""


def rounded(array: np.ndarray, dtype: ExportDtype) -> np.ndarray:
    """Return the values that a file of this dtype holds of ``array``, float32: the nearest, ties to even."""
    array = np.ascontiguousarray(array, np.float32)
    if dtype is ExportDtype.FLOAT32:
        return array
    bits = array.view(np.uint32).astype(np.uint64)
    wide = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    if not np.isfinite(wide).all():
        raise ArtefactError("a weight is too large for bfloat16", value=float(np.abs(array).max()))
    return wide


def write_export(
    folder: str,
    params: Any,
    architecture: Architecture,
    length: int,
    special: SpecialTokens,
    origin: dict[str, Any],
    dtype: ExportDtype = ExportDtype.FLOAT32,
) -> int:
    """Write ``model.safetensors``, ``config.json`` and ``tootsie.json`` (tokenizer, plan, step), in that order.

    Equal weights give equal bytes. What was written is read again and compared bit for bit.

    Returns:
      How many weights were rounded.

    Raises:
      ArtefactError: what is read again is not what was written.
    """
    tensors = to_hugging_face(params, architecture)
    written = {name: rounded(array, dtype) for name, array in sorted(tensors.items())}
    changed = sum(int(np.count_nonzero(written[name] != tensors[name])) for name in written)
    write_tensors(storage.join(folder, "model.safetensors"), written, dtype is ExportDtype.BFLOAT16)
    config = to_config(architecture, length, special, dtype.value)
    for name, value in (("config.json", config), ("tootsie.json", origin)):
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        storage.write_bytes(storage.join(folder, name), text.encode())
    again, same = read_export(folder)
    if same != architecture:
        raise ArtefactError("the config that was written describes another model", file=folder, value=same)
    require_equal(to_hugging_face(again, architecture), written, folder)
    return changed


def require_equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], file: str) -> None:
    """Compare two sets of tensors bit for bit.

    Raises:
      ArtefactError: names the first tensor that is missing, left over or different.
    """
    for name in sorted(found.keys() | wanted.keys()):
        if name not in found or name not in wanted:
            raise ArtefactError("a tensor was lost or made up on the way", file=file, field=name)
        one, other = np.ascontiguousarray(found[name]), np.ascontiguousarray(wanted[name])
        if one.shape != other.shape or not np.array_equal(one.view(np.uint32), other.view(np.uint32)):
            raise ArtefactError("a tensor does not come back the same", file=file, field=name)


def read_export(folder: str, ignored: Collection[str] = ()) -> tuple[Any, Architecture]:
    """Return parameters (unrolled) and architecture of a Hugging Face Llama folder, one or several safetensors files.

    Args:
      folder: with ``config.json``.
      ignored: settings of the config that the user takes to be without effect.

    Raises:
      ArtefactError: a file is missing or damaged, or the model is of another family.
    """
    architecture = from_config(read_json(storage.join(folder, "config.json")), folder, ignored)
    return from_hugging_face(read_tensors(folder)[0], architecture, folder), architecture


def read_json(url: str) -> Any:
    """Return the content of a JSON file.

    Raises:
      ArtefactError: it is not JSON.
    """
    try:
        return parse_json(storage.read_bytes(url))
    except ValueError as error:
        raise ArtefactError(f"not JSON: {error}", file=url) from None

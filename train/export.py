"""Hugging Face Llama: our weights to ``model.safetensors`` and ``config.json``, and theirs to ours.

Names and layout follow ``transformers``' LlamaForCausalLM. Their projection matrices are ``[outputs, inputs]``, ours
``[inputs, outputs]``; the rotary halves have the same order, so nothing is permuted.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.train.architecture import Architecture
from tootsie.train.rope import Llama3Scaling, Rope

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


class SpecialTokens(NamedTuple):
    """Ids that a config names."""

    bos_id: int | None  # Beginning of a document.
    eos_id: int | None  # End of a document.


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
    left.pop("lm_head.weight", None)  # some writers store the tied head as well
    if left:
        raise ArtefactError("tensors that no Llama has", file=file, value=sorted(left))
    return params


def to_config(architecture: Architecture, length: int, special: SpecialTokens) -> dict[str, Any]:
    """Return ``config.json`` for ``transformers``: rotary settings as version 5 writes them, and as version 4 did.

    Args:
      architecture: the model.
      length: longest row trained on, in tokens.
      special: ids of the tokenizer.
    """
    a, scaling = architecture, architecture.rope.scaling
    theirs: dict[str, Any] = {"rope_type": "default"}
    if scaling is not None:
        theirs = {
            "rope_type": "llama3",
            "factor": scaling.factor,
            "low_freq_factor": scaling.low_frequency_factor,
            "high_freq_factor": scaling.high_frequency_factor,
            "original_max_position_embeddings": scaling.original_length,
        }
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": special.bos_id,
        "dtype": "float32",
        "eos_token_id": special.eos_id,
        "head_dim": a.head_size,
        "hidden_act": "silu",
        "hidden_size": a.model_size,
        "initializer_range": a.initializer_scale,
        "intermediate_size": a.mlp_size,
        "max_position_embeddings": length,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": a.heads,
        "num_hidden_layers": a.layers,
        "num_key_value_heads": a.kv_heads,
        "pad_token_id": None,
        "rms_norm_eps": a.norm_epsilon,
        "rope_parameters": {"rope_theta": a.rope.theta, **theirs},
        "rope_scaling": None if scaling is None else theirs,
        "rope_theta": a.rope.theta,
        "tie_word_embeddings": a.tied_embeddings,
        "torch_dtype": "float32",
        "use_cache": True,
        "vocab_size": a.vocabulary_size,
    }


def from_config(config: dict[str, Any], file: str) -> Architecture:
    """Return the architecture that a ``config.json`` describes, new or old way of writing the rotary settings.

    Raises:
      ArtefactError: not a Llama, or with a feature that this model does not have.
    """

    def refuse(field: str, remedy: str | None = None) -> ArtefactError:
        return ArtefactError(
            "not a model of this family", file=file, field=field, value=config.get(field), remedy=remedy
        )

    for field, wanted in (("model_type", "llama"), ("hidden_act", "silu")):
        if config.get(field) != wanted:
            raise refuse(field, f"It must be {wanted!r}")
    for field in ("attention_bias", "mlp_bias"):
        if config.get(field):
            raise refuse(field)
    rotary = config.get("rope_parameters") or {
        "rope_theta": config.get("rope_theta"),
        **(config.get("rope_scaling") or {}),
    }
    kind = rotary.get("rope_type", rotary.get("type", "default"))
    if rotary.get("rope_theta") is None or kind not in ("default", "llama3"):
        raise refuse("rope_parameters", "rope_theta must be given, rope_type default or llama3")
    scaling = None
    if kind == "llama3":
        scaling = Llama3Scaling(
            factor=rotary["factor"],
            low_frequency_factor=rotary["low_freq_factor"],
            high_frequency_factor=rotary["high_freq_factor"],
            original_length=rotary["original_max_position_embeddings"],
        )
    heads = config["num_attention_heads"]
    return Architecture(
        vocabulary_size=config["vocab_size"],
        model_size=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_size=config.get("head_dim") or config["hidden_size"] // heads,
        mlp_size=config["intermediate_size"],
        rope=Rope(theta=rotary["rope_theta"], scaling=scaling),
        tied_embeddings=config.get("tie_word_embeddings", False),
        norm_epsilon=config["rms_norm_eps"],
        initializer_scale=config.get("initializer_range", 0.02),
    )


def write_export(
    folder: str,
    params: Any,
    architecture: Architecture,
    length: int,
    special: SpecialTokens,
    origin: dict[str, Any],
) -> None:
    """Write ``model.safetensors``, ``config.json`` and ``tootsie.json`` (tokenizer, plan, step), in that order.

    Equal weights give equal bytes.
    """
    import safetensors.numpy

    tensors = to_hugging_face(params, architecture)
    content = safetensors.numpy.save(dict(sorted(tensors.items())), metadata={"format": "pt"})
    storage.write_bytes(storage.join(folder, "model.safetensors"), content)
    for name, value in (("config.json", to_config(architecture, length, special)), ("tootsie.json", origin)):
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        storage.write_bytes(storage.join(folder, name), text.encode())


def read_export(folder: str) -> tuple[Any, Architecture]:
    """Return parameters (unrolled) and architecture of a Hugging Face Llama folder, one or several safetensors files.

    Raises:
      ArtefactError: a file is missing or damaged, or the model is of another family.
    """
    import safetensors
    import safetensors.numpy

    file = storage.join(folder, "config.json")
    try:
        config = json.loads(storage.read_bytes(file))
    except json.JSONDecodeError as error:
        raise ArtefactError(f"not JSON: {error}", file=file) from None
    architecture = from_config(config, file)
    names = [name for name in storage.list_files(folder) if name.endswith(".safetensors")]
    if not names:
        raise ArtefactError("no safetensors file", file=folder)
    tensors: dict[str, np.ndarray] = {}
    for name in names:
        try:
            tensors |= safetensors.numpy.load(storage.read_bytes(storage.join(folder, name)))
        except safetensors.SafetensorError as error:
            raise ArtefactError(f"not a safetensors file: {error}", file=storage.join(folder, name)) from None
    return from_hugging_face(tensors, architecture, folder), architecture

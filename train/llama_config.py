"""``config.json`` of a Hugging Face Llama, from our architecture and to it; what we cannot honour is refused by name.

A field is one of four kinds: read; of a fixed value, because another one would be another model; without effect on what the
model computes; or unknown. An unknown one is refused unless it says nothing (``null`` or ``false``) or is to be ignored.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from pydantic import ValidationError

from tootsie.datasets.errors import ArtefactError
from tootsie.train.architecture import Architecture
from tootsie.train.rope import Llama3Scaling, Rope


class SpecialTokens(NamedTuple):
    """Ids that a config names."""

    bos_id: int | None  # Beginning of a document.
    eos_id: int | None  # End of a document.


FIXED: dict[str, tuple[Any, ...]] = {
    "model_type": ("llama",),
    "hidden_act": ("silu",),
    "architectures": (["LlamaForCausalLM"], ["LlamaModel"], None),
    "add_cross_attention": (False, None),
    "attention_bias": (False, None),
    "attention_dropout": (0, None),
    "is_encoder_decoder": (False, None),
    "mlp_bias": (False, None),
    "partial_rotary_factor": (1, None),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
    "rope_interleaved": (False, None),
    "sliding_window": (None, False),
    "use_sliding_window": (False, None),
}
"""Fields and the values that mean what this model does."""

READ = frozenset(
    {
        "head_dim",
        "hidden_size",
        "initializer_range",
        "intermediate_size",
        "num_attention_heads",
        "num_hidden_layers",
        "num_key_value_heads",
        "rms_norm_eps",
        "rope_parameters",
        "rope_scaling",
        "rope_theta",
        "tie_word_embeddings",
        "vocab_size",
    }
)

WITHOUT_EFFECT = frozenset(
    {
        "_attn_implementation_autoset",
        "_name_or_path",
        "bos_token_id",
        "chunk_size_feed_forward",
        "dtype",
        "eos_token_id",
        "finetuning_task",
        "id2label",
        "is_decoder",
        "is_llama_config",
        "label2id",
        "max_position_embeddings",
        "pad_token_id",
        "prefix",
        "pretraining_tp",
        "problem_type",
        "return_dict",
        "task_specific_params",
        "tokenizer_class",
        "torch_dtype",
        "transformers.js_config",
        "transformers_version",
        "unk_token_id",
        "use_cache",
    }
)
"""``pretraining_tp`` changes only the order of a sum."""

_ROPE_FIELDS = {
    "default": {"rope_theta", "rope_type", "type"},
    "llama3": {
        "rope_theta",
        "rope_type",
        "type",
        "factor",
        "low_freq_factor",
        "high_freq_factor",
        "original_max_position_embeddings",
    },
}


def to_config(
    architecture: Architecture, length: int, special: SpecialTokens, dtype: str = "float32"
) -> dict[str, Any]:
    """Return ``config.json`` for ``transformers``: rotary settings as version 5 writes them, and as version 4 did.

    Args:
      architecture: the model.
      length: longest row trained on, in tokens.
      special: ids of the tokenizer.
      dtype: of the tensors beside it.
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
        "dtype": dtype,
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
        "torch_dtype": dtype,
        "use_cache": True,
        "vocab_size": a.vocabulary_size,
    }


def from_config(config: Any, file: str, ignored: Collection[str] = ()) -> Architecture:
    """Return the architecture that a ``config.json`` describes, new or old way of writing the rotary settings.

    Args:
      config: its content.
      file: where it lies, for errors.
      ignored: unknown fields that the user takes to be without effect.

    Raises:
      ArtefactError: not a Llama, or with a feature that this model does not have, or a field that is not known.
    """
    if not isinstance(config, dict):
        raise ArtefactError("a config is a mapping of settings", file=file)
    _refuse_what_we_cannot_honour(config, file, ignored)
    rope = _rope(config, file)

    def integer(field: str) -> int:
        value = config.get(field)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ArtefactError("a whole number is needed here", file=file, field=field, value=value)
        return value

    heads, width = integer("num_attention_heads"), integer("hidden_size")
    if config.get("head_dim") is None and width % heads:
        raise ArtefactError(
            f"hidden_size {width} is no multiple of the {heads} heads, and there is no head_dim", file=file
        )
    if not isinstance(config.get("rms_norm_eps"), float):
        raise ArtefactError(
            "needed: there is no safe default",
            file=file,
            field="rms_norm_eps",
            value=config.get("rms_norm_eps"),
        )
    fields = {
        "vocabulary_size": integer("vocab_size"),
        "model_size": width,
        "layers": integer("num_hidden_layers"),
        "heads": heads,
        "kv_heads": heads if config.get("num_key_value_heads") is None else integer("num_key_value_heads"),
        "head_size": width // heads if config.get("head_dim") is None else integer("head_dim"),
        "mlp_size": integer("intermediate_size"),
        "rope": rope,
        "tied_embeddings": config.get("tie_word_embeddings", False),
        "norm_epsilon": config["rms_norm_eps"],
        "initializer_scale": config.get("initializer_range", 0.02),
    }
    return _validated(Architecture, fields, file)


def _refuse_what_we_cannot_honour(config: dict[str, Any], file: str, ignored: Collection[str]) -> None:
    for field, allowed in FIXED.items():
        value = config.get(field)
        # Compared by type too: 1 == True in Python.
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            wanted = " or ".join(repr(one) for one in allowed if one is not None) or "null"
            raise ArtefactError(
                "not a model of this family",
                file=file,
                field=field,
                value=value,
                remedy=f"It must be {wanted}",
            )
    kinds = config.get("layer_types")
    if kinds is not None and (not isinstance(kinds, list) or set(map(str, kinds)) != {"full_attention"}):
        raise ArtefactError(
            "not a model of this family",
            file=file,
            field="layer_types",
            value=kinds,
            remedy="Every layer must have full_attention",
        )
    known = READ | WITHOUT_EFFECT | FIXED.keys() | {"layer_types"} | set(ignored)
    for field, value in sorted(config.items()):
        if field not in known and value is not None and value is not False:
            raise ArtefactError(
                "a setting that is not known here, so what it would change is not known either",
                file=file,
                field=field,
                value=value,
                remedy=f"If it changes nothing that the model computes, pass --ignore {field}",
            )


def _rope(config: dict[str, Any], file: str) -> Rope:
    given = config.get("rope_parameters")
    if given is None:
        given = {"rope_theta": config.get("rope_theta"), **(config.get("rope_scaling") or {})}
    elif isinstance(given, dict) and given.get("rope_theta") is None:
        given = given | {"rope_theta": config.get("rope_theta")}

    def refuse(remedy: str) -> ArtefactError:
        return ArtefactError(
            "rotary settings that this model cannot honour",
            file=file,
            field="rope_parameters",
            value=given,
            remedy=remedy,
        )

    if not isinstance(given, dict):
        raise refuse("Write a mapping")
    kind = given.get("rope_type", given.get("type", "default"))
    if given.get("rope_theta") is None or kind not in _ROPE_FIELDS:
        raise refuse("rope_theta must be given, rope_type default or llama3")
    given = {name: value for name, value in given.items() if (name, value) != ("partial_rotary_factor", 1)}
    fields = {name for name in given if given[name] is not None}
    if fields - _ROPE_FIELDS[kind]:
        raise refuse(f"Not of type {kind}: {', '.join(sorted(fields - _ROPE_FIELDS[kind]))}")
    scaling = None
    if kind == "llama3":
        missing = _ROPE_FIELDS[kind] - {"rope_type", "type"} - fields
        if missing:
            raise refuse(f"Type llama3 needs {', '.join(sorted(missing))} too")
        factors = {
            "factor": given["factor"],
            "low_frequency_factor": given["low_freq_factor"],
            "high_frequency_factor": given["high_freq_factor"],
            "original_length": given["original_max_position_embeddings"],
        }
        scaling = _validated(Llama3Scaling, factors, file)
    return _validated(Rope, {"theta": given["rope_theta"], "scaling": scaling}, file)


def _validated(model: Any, fields: dict[str, Any], file: str) -> Any:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise ArtefactError(
            f"not a possible model: {first['msg']}",
            file=file,
            field=".".join(map(str, first["loc"])) or None,
            value=first["input"] if first["loc"] else None,
        ) from None

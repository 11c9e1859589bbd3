"""A Llama in a GGUF file (llama.cpp), as the Hugging Face config and float32 tensors that it was made from.

llama.cpp rotates neighbouring elements of a head, Hugging Face element i with i + P/2: its converter interleaves the rows of the
query and key matrices, and here that is undone. Llama-3 scaling of the rotary frequencies lies in a tensor of divisors,
``rope_freqs.weight``, from which the settings are found again and checked.

Source: the GGUF specification and ``gguf-py`` of llama.cpp; the package ``gguf`` (extra ``gguf``) reads and dequantises.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.train.rope import Llama3Scaling, Rope, frequencies

_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.weight")
_IN_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_READ = frozenset(
    {
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.layer_norm_rms_epsilon",
        "attention.value_length",
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "rope.dimension_count",
        "rope.freq_base",
        "vocab_size",
    }
)
"""Settings of a Llama that are read; any other one is refused."""


class GgufModel(NamedTuple):
    """What a GGUF file holds."""

    config: dict[str, Any]  # As in a Hugging Face config.json.
    tensors: dict[str, np.ndarray]  # By their names there, float32.
    kinds: dict[str, int]  # How many tensors of each GGML type there were.
    metadata: dict[str, Any]  # All key-value pairs.


def read_gguf(url: str) -> GgufModel:
    """Read a Llama from a local GGUF file.

    Raises:
      SpecError: the package ``gguf`` is not installed.
      InputError: not a GGUF file, or damaged.
      ArtefactError: another family than Llama, or a setting, a tensor or a quantisation that is not known.
    """
    try:
        import gguf
    except ImportError:
        raise SpecError(
            "a GGUF file needs the package gguf",
            field="SOURCE",
            value=url,
            remedy='Run: pip install "tootsie[gguf]"',
        ) from None
    path = storage.local_path(url)
    if path is None:
        raise SpecError("a GGUF file is mapped into memory", file=url, remedy="Copy it to a local disk first")
    if not path.exists():
        raise InputError("no such file", file=url)
    try:
        reader = gguf.GGUFReader(str(path))
        metadata = {name: field.contents() for name, field in reader.fields.items()}
    except Exception as error:  # the reader checks little: what a damaged file raises is anything
        raise InputError(f"not a GGUF file, or damaged: {error}", file=url) from None
    config = config_of(metadata, url)
    tensors: dict[str, np.ndarray] = {}
    kinds: dict[str, int] = {}
    divisors = None
    for tensor in reader.tensors:
        kind = tensor.tensor_type.name
        kinds[kind] = kinds.get(kind, 0) + 1
        shape = tuple(int(size) for size in reversed(tensor.shape))
        try:
            values = np.asarray(gguf.quants.dequantize(tensor.data, tensor.tensor_type), np.float32)
            values = values.reshape(shape)
        except (NotImplementedError, ValueError) as error:
            raise ArtefactError(
                f"this quantisation cannot be undone: {error}", file=url, field=tensor.name, value=kind
            ) from None
        if tensor.name == "rope_freqs.weight":
            divisors = values
            continue
        name = tensor_name(tensor.name, url)
        if name in tensors:
            raise ArtefactError("the file holds a tensor twice", file=url, field=tensor.name)
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = config["num_attention_heads" if name.endswith("q_proj.weight") else "num_key_value_heads"]
            values = uninterleave(values, heads, url, tensor.name)
        tensors[name] = values
    config["tie_word_embeddings"] = "lm_head.weight" not in tensors
    if divisors is not None:
        config["rope_parameters"] |= scaling_of(divisors, config["rope_parameters"]["rope_theta"], url)
    return GgufModel(config, tensors, kinds, metadata)


def tensor_name(name: str, file: str) -> str:
    """Return Hugging Face's name of a tensor.

    Raises:
      ArtefactError: a Llama has no such tensor.
    """
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    match = _BLOCK.fullmatch(name)
    if match is None or match[2] not in _IN_BLOCK:
        raise ArtefactError("a tensor that no Llama has", file=file, field=name)
    return f"model.layers.{int(match[1])}.{_IN_BLOCK[match[2]]}.weight"


def uninterleave(matrix: np.ndarray, heads: int, file: str = "", name: str = "") -> np.ndarray:
    """Return a query or key matrix ``[H·P, D]`` with each head's rows in Hugging Face's order: even ones, then odd ones.

    Raises:
      ArtefactError: the rows do not make up that many heads of even size.
    """
    if matrix.ndim != 2 or matrix.shape[0] % (2 * heads):
        raise ArtefactError(
            f"the matrix does not fit {heads} heads", file=file, field=name, value=list(matrix.shape)
        )
    pairs = matrix.reshape(heads, matrix.shape[0] // heads // 2, 2, matrix.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(matrix.shape))


def config_of(metadata: dict[str, Any], file: str) -> dict[str, Any]:
    """Return the Hugging Face config that the settings of a GGUF file stand for, ``tie_word_embeddings`` left out.

    Raises:
      ArtefactError: another family, or a setting that is missing, unknown or not honoured here.
    """
    family = metadata.get("general.architecture")
    if family != "llama":
        raise ArtefactError(
            "not a model of this family",
            file=file,
            field="general.architecture",
            value=family,
            remedy="It must be llama",
        )
    settings = {name[6:]: value for name, value in metadata.items() if name.startswith("llama.")}
    scaling = settings.pop("rope.scaling.type", "none")  # Llama 3's lies in a tensor instead
    for name in sorted(settings.keys() - _READ):
        raise ArtefactError(
            "a setting that is not known here", file=file, field=f"llama.{name}", value=settings[name]
        )
    if scaling != "none":
        raise ArtefactError(
            "rotary scaling of another kind", file=file, field="llama.rope.scaling.type", value=scaling
        )

    def needed(name: str) -> Any:
        if name not in settings:
            raise ArtefactError("a setting is missing", file=file, field=f"llama.{name}")
        value = settings[name]
        if not isinstance(value, int | float):
            raise ArtefactError(
                "one number is needed, the same for all layers", file=file, field=f"llama.{name}", value=value
            )
        return value

    heads, width = needed("attention.head_count"), needed("embedding_length")
    head_size = settings.get("attention.key_length", width // heads if heads else 0)
    for name in ("attention.value_length", "rope.dimension_count"):
        if settings.get(name, head_size) != head_size:
            raise ArtefactError(
                f"it must be the size of a head, {head_size}",
                file=file,
                field=f"llama.{name}",
                value=settings[name],
            )
    # Stored as float32: 1e-5 comes back as 9.999999747378752e-06.
    epsilon, theta = (
        float(str(np.float32(needed(n)))) for n in ("attention.layer_norm_rms_epsilon", "rope.freq_base")
    )
    vocabulary = settings.get("vocab_size", len(metadata.get("tokenizer.ggml.tokens", ())))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": needed("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": settings.get("attention.head_count_kv", heads),
        "head_dim": head_size,
        "intermediate_size": needed("feed_forward_length"),
        "rms_norm_eps": epsilon,
        "rope_parameters": {"rope_theta": theta, "rope_type": "default"},
        "max_position_embeddings": needed("context_length"),
    }


def scaling_of(divisors: np.ndarray, theta: float, file: str) -> dict[str, Any]:
    """Return the Llama-3 scaling, as in a config's ``rope_parameters``, whose divisors of the frequencies ``[P/2]`` these are.

    Raises:
      ArtefactError: they are not those of Llama 3 (low 1, high 4, original length 8192) for any factor.
    """
    size = 2 * divisors.size
    plain = frequencies(Rope(theta=theta, scaling=None), size)
    factor = float(divisors.max())
    if np.isfinite(divisors).all() and divisors.min() >= 1:
        scaling = Llama3Scaling(
            factor=factor, low_frequency_factor=1, high_frequency_factor=4, original_length=8192
        )
        wanted = plain / frequencies(Rope(theta=theta, scaling=scaling), size)
        if np.allclose(divisors, wanted, rtol=1e-4):
            return {
                "rope_type": "llama3",
                "factor": factor,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            }
    raise ArtefactError(
        "rotary divisors that no scaling of Llama 3 gives",
        file=file,
        field="rope_freqs.weight",
        value=divisors.tolist(),
    )

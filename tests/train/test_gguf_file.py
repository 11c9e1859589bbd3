"""GGUF files made here as llama.cpp's converter makes them: the model comes back, and what is not known is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError, InputError
from tootsie.tokenize.tokenizers import load_tokenizer
from tootsie.train import reference
from tootsie.train.architecture import Architecture
from tootsie.train.export import from_hugging_face, to_hugging_face
from tootsie.train.gguf_file import read_gguf, scaling_of, uninterleave
from tootsie.train.gguf_tokenizer import tokenizer_files, write_tokenizer
from tootsie.train.importing import import_model, read_source
from tootsie.train.llama_config import from_config
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.rope import LLAMA3_SCALING, Llama3Scaling, Rope, frequencies

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")

WIDE = Architecture(
    vocabulary_size=300,
    model_size=256,  # a whole block of the K quantisations
    layers=2,
    heads=8,
    kv_heads=4,
    head_size=32,
    mlp_size=256,
    rope=Rope(theta=10_000, scaling=None),
    tied_embeddings=True,
)
THEIRS = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


def weights(architecture: Architecture) -> dict[str, np.ndarray]:
    ones = jnp.ones((1, 4), jnp.int32)
    model = build(architecture, Execution("float32", LayerLoop.UNROLLED))
    return to_hugging_face(model.init(jax.random.key(3), ones, ones), architecture)


def interleaved(matrix: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp's order: of each head row 0, row P/2, row 1, row P/2 + 1, …"""
    size = matrix.shape[0] // heads
    order = [
        head * size + half * size // 2 + i
        for head in range(heads)
        for i in range(size // 2)
        for half in (0, 1)
    ]
    return matrix[order]


def write_gguf(
    path: Path,
    architecture: Architecture,
    tensors: dict[str, np.ndarray],
    kind: Any = None,
    changes: dict[str, Any] | None = None,
    more: dict[str, np.ndarray] | None = None,
) -> None:
    a = architecture
    writer = gguf.GGUFWriter(str(path), "llama")
    for name, value in {
        "context_length": 128, "embedding_length": a.model_size, "block_count": a.layers,
        "feed_forward_length": a.mlp_size, "attention.head_count": a.heads, "attention.head_count_kv": a.kv_heads,
        "vocab_size": a.vocabulary_size, "rope.dimension_count": a.head_size, **(changes or {}),
    }.items():  # fmt: skip
        if isinstance(value, str):
            writer.add_string(f"llama.{name}", value)
        else:
            writer.add_uint32(f"llama.{name}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", a.norm_epsilon)
    writer.add_float32("llama.rope.freq_base", a.rope.theta)
    for name, array in tensors.items():
        given = {
            "model.embed_tokens.weight": "token_embd",
            "model.norm.weight": "output_norm",
            "lm_head.weight": "output",
        }
        if name not in given:
            _, _, layer, rest = name.removesuffix(".weight").split(".", 3)
            given[name] = f"blk.{layer}.{THEIRS[rest]}"
            if rest.endswith(("q_proj", "k_proj")):
                array = interleaved(array, a.heads if rest.endswith("q_proj") else a.kv_heads)
        if kind is None or array.ndim == 1:
            writer.add_tensor(given[name] + ".weight", array)
        else:
            writer.add_tensor(given[name] + ".weight", gguf.quants.quantize(array, kind), raw_dtype=kind)
    for name, array in (more or {}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("tied", [True, False])
def test_a_model_comes_back_with_query_and_key_in_order(tmp_path: Path, *, tied: bool) -> None:
    architecture = WIDE.model_copy(update={"tied_embeddings": tied})
    tensors = weights(architecture)
    write_gguf(tmp_path / "a.gguf", architecture, tensors)
    found = read_gguf(str(tmp_path / "a.gguf"))
    assert from_config(found.config, "a") == architecture
    assert found.tensors.keys() == tensors.keys()
    for name, array in tensors.items():
        np.testing.assert_array_equal(found.tensors[name], array)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_quantised_weights_are_as_near_as_their_bits(tmp_path: Path, kind: str) -> None:
    tensors = weights(WIDE)
    write_gguf(tmp_path / "a.gguf", WIDE, tensors, gguf.GGMLQuantizationType[kind])
    found = read_gguf(str(tmp_path / "a.gguf"))
    assert found.kinds[kind] == 15
    name = "model.layers.1.self_attn.q_proj.weight"
    error = np.abs(found.tensors[name] - tensors[name]).max() / np.abs(tensors[name]).max()
    assert (
        error
        < {"F16": 1e-3, "BF16": 1e-2, "Q8_0": 1e-2, "Q4_0": 0.2, "Q4_1": 0.1, "Q5_0": 0.1, "Q5_1": 0.1}[kind]
    )


@pytest.mark.parametrize("kind", ["Q4_K", "Q5_K", "Q6_K", "Q2_K", "Q3_K"])
def test_k_quantisations_are_read(tmp_path: Path, kind: str) -> None:
    """The package cannot write them: bytes of zeros, which stand for weights of zero."""
    tensors = {name: array for name, array in weights(WIDE).items() if "down" not in name}
    of = gguf.GGMLQuantizationType[kind]
    size = gguf.GGML_QUANT_SIZES[of][1]
    path = tmp_path / "a.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    write_gguf(path, WIDE, tensors)
    reader = gguf.GGUFReader(str(path))
    for name, field in reader.fields.items():
        if name.startswith("llama."):
            writer.add_key_value(name, field.contents(), field.types[-1])
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, np.array(tensor.data))
    for layer in range(2):
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", np.zeros((256, size), np.uint8), raw_dtype=of)
    other = tmp_path / "b.gguf"
    writer.write_header_to_file(other)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = read_gguf(str(other))
    assert found.kinds[kind] == 2
    assert not found.tensors["model.layers.0.mlp.down_proj.weight"].any()
    from_hugging_face(found.tensors, WIDE, "b")


def test_an_imported_file_computes_the_same_logits(tmp_path: Path) -> None:
    """Query and key in the wrong order fit the shapes; only the logits tell."""
    tensors = weights(WIDE)
    params = from_hugging_face(tensors, WIDE, "a")
    ids = np.arange(20)[None]
    np.savez(tmp_path / "logits.npz", input_ids=ids, logits=reference.compute_logits(params, WIDE, ids))
    compared = reference.read_reference(str(tmp_path / "logits.npz"))
    write_gguf(tmp_path / "a.gguf", WIDE, tensors)
    source = read_source(str(tmp_path / "a.gguf"), (), None, True)
    assert (
        import_model("a", source, str(tmp_path / "out"), LayerLoop.UNROLLED, compared, 1e-3, print).step == 0
    )
    for name in [name for name in source.tensors if "q_proj" in name]:
        source.tensors[name][:] = interleaved(source.tensors[name], 8)
    with pytest.raises(ArtefactError, match="computes something else"):
        import_model("a", source, str(tmp_path / "b"), LayerLoop.UNROLLED, compared, 1e-3, print)


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama3_scaling_is_found_from_its_divisors(tmp_path: Path, factor: float) -> None:
    scaling = Llama3Scaling(**{**LLAMA3_SCALING.model_dump(), "factor": factor})
    plain, scaled = (frequencies(Rope(theta=500_000, scaling=s), 64) for s in (None, scaling))
    divisors = (plain / scaled).astype(np.float32)
    architecture = WIDE.model_copy(
        update={"head_size": 64, "heads": 4, "rope": Rope(theta=500_000, scaling=scaling)}
    )
    write_gguf(
        tmp_path / "a.gguf", architecture, weights(architecture),
        changes={"attention.key_length": 64, "attention.value_length": 64}, more={"rope_freqs.weight": divisors},
    )  # fmt: skip
    assert from_config(read_gguf(str(tmp_path / "a.gguf")).config, "a") == architecture
    with pytest.raises(ArtefactError, match="no scaling of Llama 3 gives"):
        scaling_of(divisors * 1.01, 500_000, "a.gguf")
    with pytest.raises(ArtefactError, match="no scaling of Llama 3 gives"):
        scaling_of(np.full(32, np.nan, np.float32), 500_000, "a.gguf")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope.scaling.type": "yarn"}, r"llama\.rope\.scaling\.type"),
        ({"expert_count": 8}, r"llama\.expert_count.*not known here"),
        ({"rope.dimension_count": 16}, "must be the size of a head, 32"),
        ({"attention.sliding_window": 4096}, "sliding_window"),
    ],
)
def test_settings_that_are_not_honoured_are_refused_by_name(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    write_gguf(tmp_path / "a.gguf", WIDE, {"model.norm.weight": np.ones(256, np.float32)}, changes=changes)
    with pytest.raises(ArtefactError, match=message):
        read_gguf(str(tmp_path / "a.gguf"))


def test_tensors_that_no_llama_has_are_refused_by_name(tmp_path: Path) -> None:
    write_gguf(
        tmp_path / "a.gguf", WIDE, weights(WIDE), more={"blk.0.attn_q.bias": np.zeros(256, np.float32)}
    )
    with pytest.raises(ArtefactError, match=r"blk\.0\.attn_q\.bias: a tensor that no Llama has"):
        read_gguf(str(tmp_path / "a.gguf"))
    with pytest.raises(ArtefactError, match="does not fit 3 heads"):
        uninterleave(np.zeros((8, 4), np.float32), 3)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf", WIDE, weights(WIDE))
    content = (tmp_path / "a.gguf").read_bytes()
    for damaged in (b"", b"GGUF", b"nothing of the kind", content[:200], content[: len(content) // 2]):
        (tmp_path / "b.gguf").write_bytes(damaged)
        with pytest.raises(InputError, match="not a GGUF file, or damaged"):
            read_gguf(str(tmp_path / "b.gguf"))
    with pytest.raises(InputError, match="no such file"):
        read_gguf(str(tmp_path / "c.gguf"))


def byte_tokenizer(pre: str = "smollm") -> dict[str, Any]:
    """All bytes, one merge, and two control tokens."""
    from tootsie.tokenize.rank_merges import byte_alphabet

    tokens = [*byte_alphabet().values(), "Ġt", "<|endoftext|>", "<|turn|>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": ["Ġ t"],
        "tokenizer.ggml.token_type": [1] * 257 + [3, 3],
        "tokenizer.ggml.bos_token_id": 258,
        "tokenizer.ggml.eos_token_id": 258,
        "tokenizer.ggml.add_bos_token": False,
    }


@pytest.mark.parametrize("pre", ["smollm", "gpt-2", "llama-bpe"])
def test_the_tokenizer_becomes_one_that_tokenize_takes(tmp_path: Path, pre: str) -> None:
    pytest.importorskip("tokenizers")
    write_tokenizer(str(tmp_path), tokenizer_files(byte_tokenizer(pre), "a.gguf", "<|endoftext|>"))
    tokenizer = load_tokenizer(str(tmp_path / "tokenizer.json"))
    identity = tokenizer.identity
    assert (identity.vocabulary_size, identity.bos_id, identity.eos_id, identity.add_bos) == (
        259,
        258,
        257,
        False,
    )
    text = "It's to 123 wörds\n\n  of text <|turn|>\t☃"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode("a to")[1] == 256
    assert 258 not in tokenizer.encode("<|turn|>"), "no text spells a control token"


def test_of_an_instruction_tuned_model_the_end_of_a_turn_is_eos_unless_told_otherwise(tmp_path: Path) -> None:
    files = tokenizer_files(byte_tokenizer(), "a.gguf")
    assert files["tokenizer_config.json"]["eos_token"] == "<|turn|>"
    with pytest.raises(ArtefactError, match="--eos: the vocabulary has no such token"):
        tokenizer_files(byte_tokenizer(), "a.gguf", "</s>")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "llama"}, "only byte-level BPE"),
        ({"pre": "qwen2"}, r"pre-tokenizer that is not known.*Known: gpt-2, smollm, llama-bpe"),
        ({"merges": ["Ġ x"]}, "a merge is two tokens that make a third"),
        ({"merges": ["Ġ t t"]}, "a merge is two tokens"),
        ({"merges": None}, "a list of texts"),
        ({"token_type": [1]}, "one type for each token"),
        ({"tokens": ["a", "a"]}, "two ids have the same token"),
        ({"eos_token_id": 1000}, "no such id"),
    ],
)
def test_tokenizers_that_are_not_understood_are_refused(change: dict[str, Any], message: str) -> None:
    metadata = byte_tokenizer() | {f"tokenizer.ggml.{name}": value for name, value in change.items()}
    with pytest.raises(ArtefactError, match=message):
        tokenizer_files(metadata, "a.gguf")
    assert tokenizer_files({}, "a.gguf") == {}

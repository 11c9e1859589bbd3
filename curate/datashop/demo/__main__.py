"""``python -m tootsie.curate.datashop.demo [FOLDER]``: from the sample dumps to questions, a scorer, a card and a token cache.

A model of 135 million parameters, served on this machine, reads some 500 documents of the three sample dumps (papers, wiki
pages, threads): it grades a sample, a scorer learns from that, the best documents become questions and answers, and these a token
cache that a plan can use. Every step goes on where it was stopped.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import yaml

SAMPLES = {
    "arxiv": ("ar5iv-sample-no-problem.zip", "ar5iv-sample-warning.zip"),
    "wikipedia": ("samplewiki-NS0-20240501-ENTERPRISE-HTML.json.tar.gz",),
    "stackexchange": ("sampleoverflow.stackexchange.com.7z",),
}
SPEC = {
    "name": "demo-science-qa",
    "subjects": [
        {
            "name": "science and mathematics",
            "description": "Texts that explain a fact, a law or a proof of natural science or mathematics.",
        }
    ],
    "model": {"concurrency": 2, "temperature": 0.0, "timeout": 600, "reasks": 0},
    "annotate": {"sample": 120, "rubric": "likelihood", "excerpt_characters": 700},
    "scorer": {"positive_share": 0.35},
    "filter": {"keep": 0.08},
    "rephrase": {
        "protocol": "two-step",
        "answers": "quoted",
        "tries": 3,
        "division": "prose",
        "passage_characters": 600,
        "passages": 2,
        "items": 1,
        "max_tokens": 60,
        "temperature": 0.4,
    },
    "check": {"max_question_characters": 160},
    "max_failures": 0.9,  # so small a model often does not come to an end
}


def main(folder: str) -> None:
    """Run the demonstration below ``folder``."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    samples = Path(__file__).resolve().parents[3] / "datasets" / "sample"
    start = time.monotonic()
    corpora = []
    for kind, names in SAMPLES.items():
        out = root / "corpora" / kind
        _tootsie("tootsie.curate", kind, *(str(samples / kind / name) for name in names), str(out))
        corpora.append(str(out.resolve()))
    spec = root / "spec.yaml"
    spec.write_text(yaml.safe_dump({**SPEC, "inputs": corpora}, sort_keys=False))
    _tootsie("tootsie.curate", "datashop", str(spec), str(root / "datashop"))
    _tootsie("tootsie.tokenize", "build", str(root / "datashop" / "check"), str(root / "cache"))
    print(f"{time.monotonic() - start:.0f} s: card in {root}/datashop/README.md, token cache in {root}/cache")


def _tootsie(*arguments: str) -> None:
    print("tootsie", *arguments[:2], flush=True)
    subprocess.run([sys.executable, "-m", *arguments], check=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo-run/datashop")

"""``python -m tootsie.curate.datashop.demo [FOLDER]``: from real text to questions, a scorer, a card and a token cache.

A model of 135 million parameters, served on this machine, reads 460 documents (:mod:`.real_text`: articles, news, the chemical
elements): it grades a sample, a scorer learns from that, the best documents become questions and answers, these a token cache,
and a plan draws from that. Every step goes on where it was stopped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from tootsie.curate.datashop.demo import real_text
from tootsie.curate.datashop.prompts import SHOTS
from tootsie.datasets.manifest import read_documents

FRAGMENTS = [
    {
        "title": "Vinegar",
        "text": "Vinegar: Sour liquid made of wine or cider by bacteria. Used to preserve food and to remove limescale.",
        "question": "What is vinegar used for?",
        "answer": "Used to preserve food and to remove limescale.",
    },
    {
        "title": "Table salt",
        "text": "Table salt: White crystals, soluble in water. Obtained by evaporating sea water or from mines.",
        "question": "How is table salt obtained?",
        "answer": "Obtained by evaporating sea water or from mines.",
    },
]
"""Examples of sentences as the database of the elements has them."""
SPEC: dict[str, Any] = {
    "name": "demo-science-qa",
    "subjects": [
        {
            "name": "science and mathematics",
            "description": "Texts that explain a fact, a law or a proof of natural science or mathematics.",
        }
    ],
    "model": {"concurrency": 2, "temperature": 0.0, "timeout": 600, "reasks": 0},
    "annotate": {"sample": 140, "rubric": "likelihood", "excerpt_characters": 700},
    "scorer": {"positive_share": 0.35, "held_out": 0.3},
    "filter": {"keep": 0.15},
    "rephrase": {
        "protocol": "two-step",
        "answers": "quoted",
        "tries": 2,
        "shots": [*(shot.model_dump() for shot in SHOTS), *FRAGMENTS],
        "division": "prose",
        "passage_characters": 600,
        "passages": 2,
        "items": 2,
        "max_tokens": 60,
        "temperature": 0.4,
    },
    "check": {
        "max_question_characters": 160,
        "max_answer_characters": 300,
        "question_support": 0.7,
        "copied_words": 10,
    },
    "max_failures": 0.1,
}
MIXTURE = {
    "name": "demo-science-qa",
    "seed": 1,
    "sequence_length": 128,
    "datasets": {"science-qa": {"cache": "cache"}},
    "mixtures": {"questions": {"groups": {"questions": {"share": 1.0, "datasets": ["science-qa"]}}}},
    "phases": [
        {
            "name": "questions",
            "mixture": "questions",
            "for": "1 epochs of science-qa",
            "batch_size": 1,
            "learning_rate": {"from": 1e-3},
        }
    ],
}
SHOWN = 20
"""Questions that are printed at the end."""


def main(folder: str) -> None:
    """Run the demonstration below ``folder``."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    real_text.download(root / "wheels")
    corpora = real_text.write_corpora(root / "wheels", root / "corpora")
    spec = root / "spec.yaml"
    spec.write_text(
        yaml.safe_dump({**SPEC, "inputs": [str(path.resolve()) for path in corpora]}, sort_keys=False)
    )
    _tootsie("tootsie.curate", "datashop", str(spec), str(root / "datashop"))
    # Built anew in a second: the documents may be others than those of an earlier version.
    shutil.rmtree(root / "cache", ignore_errors=True)
    _tootsie("tootsie.tokenize", "build", str(root / "datashop" / "check"), str(root / "cache"))
    (root / "mixture.yaml").write_text(yaml.safe_dump(MIXTURE, sort_keys=False))
    _tootsie("tootsie.mixtures", "compile", str(root / "mixture.yaml"), "-o", str(root / "plan.json"))
    made = list(read_documents(str(root / "datashop" / "check")))
    for document in made[:: max(1, len(made) // SHOWN)][:SHOWN]:
        print("", document.metadata.get("title", ""), document.text.strip(), sep="\n")
    print(
        f"\n{time.monotonic() - start:.0f} s; below {root}: {len(made)} documents of questions in datashop/check/, the card in"
    )
    print(
        "datashop/README.md, the scorer's report in datashop/train-scorer/report.md, tokens in cache/, a plan in plan.json"
    )


def _tootsie(*arguments: str) -> None:
    print("tootsie", *arguments[:2], flush=True)
    code = subprocess.run([sys.executable, "-m", *arguments], check=False).returncode
    if code:
        sys.exit(code)  # the command has said why


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo-run/datashop")

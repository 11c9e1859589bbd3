"""What the demo mixes and trains: the shipped recipe, and the run file beside it."""

from __future__ import annotations

import importlib.resources

CORPORA = ("arxiv", "wikipedia", "stackexchange")
HELD_OUT = 0.08
"""Fraction of each corpus held out, by a hash of the document id."""
QUICK_DOCUMENTS = 24
"""Records of each dump that ``--quick`` reads."""
QUICK_DIVISOR = 10
"""``--quick`` makes every phase this much shorter."""

RUN_FILE = """\
# The demo's run: what is trained on plan.json, and where it goes. Start or resume: tootsie train run.yaml
plan: plan.json
out: run
architecture: tootsie-demo
seed: 8
evaluation:
  sets:
    arxiv: tokens/arxiv/validation
    wikipedia: tokens/wikipedia/validation
    stackexchange: tokens/stackexchange/validation
  every: "{evaluate_every} steps"
  limit: "6000 tokens"
checkpoints:
  every: "{checkpoint_every} steps"
samples:
  prompts: ["A prime number is", "## Answer", "We prove that"]
  length: "48 tokens"
"""


def spec_file(*, quick: bool) -> str:
    """Return the mixture spec: ``mixtures/recipes/demo.yaml``, with every phase shortened for ``quick``."""
    text = (importlib.resources.files("tootsie.mixtures") / "recipes" / "demo.yaml").read_text()
    return shorten_phases(text) if quick else text


def run_file(*, quick: bool) -> str:
    """Return the run file."""
    divisor = QUICK_DIVISOR if quick else 1
    return RUN_FILE.format(evaluate_every=50 // min(divisor, 5), checkpoint_every=50 // divisor)


def shorten_phases(spec: str) -> str:
    """Divide the length of every phase, written ``for: "<n> steps"``, by :data:`QUICK_DIVISOR`."""
    lines = []
    for line in spec.splitlines(keepends=True):
        head, found, rest = line.partition('for: "')
        if found:
            number, _, unit = rest.partition(" ")
            line = f"{head}{found}{int(number) // QUICK_DIVISOR} {unit}"
        lines.append(line)
    return "".join(lines)

"""What the demo mixes and trains: the shipped recipe, the run file beside it, and the commands in order."""

from __future__ import annotations

import dataclasses
import importlib.resources
import re

from tootsie.train.demo import miniature
from tootsie.train.demo.corpora import CORPORA, curate_commands, tokenize_commands

QUICK_DOCUMENTS = 24
"""Records of each dump that ``--quick`` reads."""
QUICK_DIVISOR = 10
"""``--quick`` makes every phase this much shorter."""
RUN_SEED = 8
EVALUATE_EVERY = 50
"""Steps."""
CHECKPOINT_EVERY = 50
"""Steps."""

RUN_FILE = """\
# The demo's run: what is trained on plan.json, and where it goes. Start or resume: tootsie train run.yaml
plan: plan.json
out: run
architecture: tootsie-demo
seed: {seed}
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


@dataclasses.dataclass(frozen=True)
class Choices:
    """How the demo differs from the full one."""

    quick: bool = False
    """A tenth of the documents and steps."""
    limit: int | None = None
    """Records of each dump that are read; ``None``: all, or :data:`QUICK_DOCUMENTS` when quick."""
    seed: int | None = None
    """Of the data order, the first weights and the samples; ``None``: those of the shipped files."""
    mini: bool = False
    """The Marin 8B run in miniature in place of the demo's three phases."""

    @property
    def records(self) -> int | None:
        """Records of each dump that are read."""
        quick = miniature.QUICK_DOCUMENTS if self.mini else QUICK_DOCUMENTS
        return quick if self.limit is None and self.quick else self.limit

    @property
    def divisor(self) -> int:
        """How much shorter than in the full demo everything is."""
        return QUICK_DIVISOR if self.quick else 1


def spec_file(choices: Choices) -> str:
    """Return the mixture spec: the shipped ``demo.yaml`` or ``tootsie-mini.yaml``, changed as chosen."""
    if choices.mini:
        return miniature.spec_file(choices.quick, choices.seed)
    text = (importlib.resources.files("tootsie.mixtures") / "recipes" / "demo.yaml").read_text()
    text = re.sub(r'for: "(\d+) steps"', lambda m: f'for: "{int(m[1]) // choices.divisor} steps"', text)
    return text if choices.seed is None else re.sub(r"(?m)^seed: \d+$", f"seed: {choices.seed}", text)


def run_file(choices: Choices) -> str:
    """Return the run file."""
    if choices.mini:
        return miniature.run_file(choices.seed)
    divisor = choices.divisor
    return RUN_FILE.format(
        seed=RUN_SEED if choices.seed is None else choices.seed,
        evaluate_every=EVALUATE_EVERY // min(divisor, 5),
        checkpoint_every=CHECKPOINT_EVERY // divisor,
    )


def commands(choices: Choices) -> list[list[str]]:
    """Return the commands in order, each as ``[verb, argument, …]``."""
    if choices.mini:
        return miniature.commands(choices.records)
    return [
        *curate_commands(choices.records),
        *tokenize_commands(((corpus, f"documents/{corpus}") for corpus in CORPORA), "tootsie-16k"),
        ["mix", "compile", "spec.yaml", "-o", "plan.json"],
        ["mix", "show", "plan.json", "--picture", "plan.svg"],
        ["train", "run.yaml"],
        ["report", "run", "-o", "report.html"],
    ]

"""The Marin 8B run in miniature: the recipe ``tootsie-mini.yaml``, the run file beside it, and the commands."""

from __future__ import annotations

import importlib.resources
import re

from tootsie.train.demo.corpora import CORPORA, curate_commands, tokenize_commands
from tootsie.train.demo.package_texts import TEXTS, text_file

RUN_SEED = 8
TOKENIZER = "tootsie-4k"
"""The vocabulary is most of the work of a small model."""
QUICK_DOCUMENTS = 60
"""Documents of each corpus that ``--quick`` reads: with fewer, a hash may hold none out."""
QUICK_DIVISOR = 11
"""``--quick`` makes every phase this much shorter, and batches smaller by :data:`QUICK_ROWS`."""
QUICK_ROWS = 8
QUICK_CYCLES_UNTIL = 20
"""Step at which the short cycles of the first phase end when quick; 200 otherwise."""

RUN_FILE = """\
# The Marin 8B run in miniature: what is trained on plan.json. Start or resume: tootsie train run.yaml
plan: plan.json
out: run
architecture: {{preset: tootsie-demo, vocabulary_size: 4096, model_size: 64, layers: 2, heads: 2, mlp_size: 192}}
seed: {seed}
evaluation:
  sets:                           # measured in the middle of each short cycle and where it ends
    web: {{cache: tokens/web/validation, tags: [prose]}}
    medium: {{cache: tokens/medium/validation, tags: [prose]}}
    wikipedia: {{cache: tokens/wikipedia/validation, tags: [hq]}}
  every: "5 steps"
  limit: "3000 tokens"
checkpoints:
  every: "200 steps"
  temporary_every: "50 steps"
samples:
  prompts: ["Return the ", "A prime number is", "## Answer"]
  length: "32 tokens"
watch:
  norms_every: "10 steps"
"""


def spec_file(quick: bool, seed: int | None) -> str:
    """Return the mixture spec: ``mixtures/recipes/tootsie-mini.yaml``; when quick, with fewer and smaller steps.

    Phases of two steps and less stay as long as they are.
    """
    text = (importlib.resources.files("tootsie.mixtures") / "recipes" / "tootsie-mini.yaml").read_text()
    if quick:
        text = _shortened(text)
    return text if seed is None else re.sub(r"(?m)^seed: \d+$", f"seed: {seed}", text)


def _shortened(text: str) -> str:
    ends = [int(steps) for steps in re.findall(r'(?m)^    until: "(\d+) steps"', text)]
    lengths = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    shorter = iter([max(min(length, 2), length // QUICK_DIVISOR) for length in lengths])
    text = re.sub(r'(?m)^    until: "\d+ steps"', lambda _: f'    for: "{next(shorter)} steps"', text)
    text = re.sub(r'until: "\d+ steps"\}', f'until: "{QUICK_CYCLES_UNTIL} steps"}}', text)
    return re.sub(r"(?m)batch_size: (\d+)$", lambda m: f"batch_size: {int(m[1]) // QUICK_ROWS}", text)


def run_file(seed: int | None) -> str:
    """Return the run file."""
    return RUN_FILE.format(seed=RUN_SEED if seed is None else seed)


def commands(records: int | None) -> list[list[str]]:
    """Return the miniature's commands in order, each as ``[verb, argument, …]``; the texts of packages lie there before.

    Args:
      records: read of each sample dump; ``None``: all.
    """
    texts = [(name, text_file(name)) for name in TEXTS]
    return [
        *curate_commands(records),
        *tokenize_commands([*texts, *((corpus, f"documents/{corpus}") for corpus in CORPORA)], TOKENIZER),
        ["mix", "compile", "spec.yaml", "-o", "plan.json"],
        ["mix", "show", "plan.json", "--picture", "plan.svg"],
        ["train", "run.yaml"],
        ["mix", "audit", "plan.json", "run"],
        ["report", "run", "-o", "report.html"],
    ]

"""A run's weights as a model of lm-evaluation-harness (extra ``lm-eval``): ``tootsie train lm-eval RUN --task NAME``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.ledger import TokenizerIdentity
from tootsie.tokenize.tokenizers import load_tokenizer, tokenizer_of
from tootsie.train.evaluation_lint import SAMPLE, Profile, lint_prompts
from tootsie.train.lint_command import DIFFERENCE
from tootsie.train.scoring import Generation, Scorer
from tootsie.train.weights import WeightKind, load_weights, tokenizer_location

try:
    from lm_eval.api.model import LM
except ImportError:
    raise SpecError(
        "lm-evaluation-harness is not installed",
        remedy='Run: pip install "tootsie[lm-eval]", best in an environment of its own',
    ) from None

DEFAULT_NEW_TOKENS = 256
"""Where a task does not say how many tokens may be written."""


class TootsieLM(LM):
    """What the harness asks of a model, answered by a :class:`Scorer`."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.scorer = scorer
        self.prompts: dict[str, list[str]] = {}
        """By task, what was asked: contexts with the continuations that were scored, or whole texts."""

    @property
    def tokenizer_name(self) -> str:
        """Name of the tokenizer, which the harness keeps with cached requests."""
        return self.scorer.tokenizer.identity.fingerprint

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        """Return log-likelihood and whether it is the greedy choice, of each (context, continuation)."""
        self._keep(requests, 2)
        found = self.scorer.continuations([request.args for request in requests])
        return [(likelihood.nats, likelihood.greedy) for likelihood in found]

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        """Return the log-likelihood of each whole text."""
        self._keep(requests, 1)
        return self.scorer.whole_texts([request.args[0] for request in requests])

    def generate_until(self, requests: list[Any]) -> list[str]:
        """Return what the model writes after each context, until one of the task's stop sequences.

        Raises:
          SpecError: a task wants to generate in a way that is not known here.
        """
        self._keep(requests, 1)
        groups: dict[float, list[tuple[int, Generation]]] = {}
        for number, request in enumerate(requests):
            context, settings = request.args
            generation, temperature = generation_of(context, settings)
            groups.setdefault(temperature, []).append((number, generation))
        written = [""] * len(requests)
        for temperature, group in groups.items():
            texts = self.scorer.generate([generation for _, generation in group], temperature)
            for (number, _), text in zip(group, texts, strict=True):
                written[number] = text
        return written

    def _keep(self, requests: list[Any], parts: int) -> None:
        for request in requests:
            kept = self.prompts.setdefault(request.task_name or "", [])
            if len(kept) < SAMPLE:
                kept.append("".join(request.args[:parts]))


def generation_of(context: str, settings: dict[str, Any]) -> tuple[Generation, float]:
    """Return what a task's ``generation_kwargs`` ask for, and the temperature.

    Raises:
      SpecError: a setting that is not known, or that changes what is written in a way that is not done here.
    """
    left = dict(settings)
    until = left.pop("until", None) or []
    stops = tuple([until] if isinstance(until, str) else until)
    limits = [left.pop(name) for name in ("max_gen_toks", "max_new_tokens", "max_tokens") if name in left]
    samples = left.pop("do_sample", None)
    temperature = float(left.pop("temperature", 0.0))
    if samples is False:
        temperature = 0.0
    if samples and temperature == 0.0:
        temperature = 1.0
    for name, value in left.items():
        if not (name == "top_p" and value == 1.0) and value is not None:
            raise SpecError(
                "a way of generating that is not done here", field=f"generation_kwargs.{name}", value=value,
                remedy="Known: until, max_gen_toks, do_sample, temperature",
            )  # fmt: skip
    return Generation(context, stops, int(limits[0]) if limits else DEFAULT_NEW_TOKENS), temperature


def open_scorer(
    out: str,
    step: int | None,
    kind: WeightKind | None,
    tokenizer: str | None,
    max_length: int | None,
    batch_size: int,
) -> Scorer:
    """Return the scorer of the run in the folder ``out``.

    Args:
      out: folder of the run.
      step: of the checkpoint; ``None`` takes the newest.
      kind: which weights.
      tokenizer: name or path, where the one that the run names can't be loaded by its name.
      max_length: longest row, in tokens; ``None`` takes the longest that the run was trained with.
      batch_size: rows at once.

    Raises:
      UserError: no such checkpoint, or its tokenizer is not at hand.
    """
    loaded = load_weights(out, step, kind)
    config = loaded.record.config
    location = tokenizer or tokenizer_location(out)
    if config["tokenizer"] is not None:
        identity = TokenizerIdentity.model_validate(config["tokenizer"])
        found = tokenizer_of(identity, file=out, name=location)
    elif location is not None:
        found = load_tokenizer(location)
    else:
        raise SpecError("the model came without a tokenizer", file=out, remedy="Name it with --tokenizer")
    plan = config["plan"] or config["imported"]
    longest = max_length or plan.get("longest_sequence") or plan.get("sequence_length")
    if longest is None:
        raise SpecError("no longest row is known", file=out, remedy="Give --max-length")
    return Scorer(loaded.params, loaded.model, found, longest, batch_size)


def evaluate(
    scorer: Scorer,
    tasks: Sequence[str],
    include: Sequence[str],
    shots: int | None,
    limit: int | None,
    training: Profile | None = None,
) -> dict[str, Any]:
    """Run tasks of the harness; return its results, with the truncations counted.

    Args:
      scorer: the model.
      tasks: names.
      include: folders with tasks of one's own.
      shots: examples in front of each question; ``None`` leaves it to the task.
      limit: only so many questions of each.
      training: how the training mixture is written, where the prompts are to be compared with it.

    Raises:
      SpecError: no such task.
    """
    import lm_eval
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=list(include) or None)
    for task in tasks:
        if task not in manager.all_tasks:
            raise SpecError(
                "no such task", field="--task", value=task, remedy="Name its folder with --include"
            )
    model = TootsieLM(scorer)
    results = lm_eval.simple_evaluate(
        model=model, tasks=list(tasks), task_manager=manager, num_fewshot=shots, limit=limit, bootstrap_iters=1000
    )  # fmt: skip
    return {
        "results": results["results"],
        "versions": results.get("versions", {}),
        "n-shot": results.get("n-shot", {}),
        "samples": results.get("n-samples", {}),
        "truncated_contexts": scorer.truncation.contexts,
        "truncated_tokens": scorer.truncation.tokens,
        "format": [
            finding._asdict()
            for finding in (lint_prompts(model.prompts, training, DIFFERENCE) if training is not None else ())
        ],
    }

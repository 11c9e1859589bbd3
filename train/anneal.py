"""Microannealing: the same short run with several mixtures and seeds, from one checkpoint, and what that does to held-out text.

    OUT/start/                 the checkpoint that all begin with, unless the mixtures continue the plan of its run
    OUT/plans/ARM-SEED.json    compiled from the specs
    OUT/runs/ARM/SEED/         the runs
    OUT/effects.json, .md      the table

All arms must have the same phases (steps, batches, lengths, settings, rates): only the data may differ. Each run continues where
it stopped; those that are finished are not run again.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

import typer.main

from tootsie.datasets import storage
from tootsie.datasets.command_line import STAGES, run_command
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.mixtures.plan import Plan
from tootsie.train.anneal_spec import AnnealSpec, plan_url, run_of
from tootsie.train.detached import detach
from tootsie.train.effects import Effect, effects, markdown
from tootsie.train.inputs import open_inputs
from tootsie.train.lineage import IMPORTED_AT
from tootsie.train.loop import train
from tootsie.train.run_file import BranchSettings


def anneal(spec: AnnealSpec, file: str, tell: Callable[[str], None]) -> list[Effect]:
    """Run what is not finished of a comparison, write its table and return it.

    Args:
      spec: the comparison, paths resolved.
      file: its URL, for errors.
      tell: takes one line for the terminal at a time.

    Raises:
      UserError: a spec does not compile, the arms have different phases, or a run stops.
    """
    plans = compile_plans(spec, file)
    require_same_phases(plans, spec.control, file)
    start = spec.start  # of plans that continue that of the run itself
    if plans[spec.control, spec.seeds[0]].branch is None:
        start = BranchSettings(run=storage.join(spec.out, "start"), at=IMPORTED_AT)
        detach(spec.start, start.run)
    scores: dict[str, dict[int, dict[str, float]]] = {arm: {} for arm in spec.arms}
    kinds = set()
    for seed in spec.seeds:
        for arm in spec.arms:
            run = run_of(spec, arm, seed, start)
            tell(f"{arm}, seed {seed}")
            train(run, open_inputs(run, file), tell)
            kind, scores[arm][seed] = last_scores(run.out, plans[arm, seed].total_steps)
            kinds.add(kind)
    if len(kinds) > 1:
        raise ArtefactError("some runs average their weights and some do not", file=spec.out)
    found = effects(scores, spec.control, spec.confidence)
    write_table(spec, file, found, scores, kinds.pop())
    return found


def compile_plans(spec: AnnealSpec, file: str) -> dict[tuple[str, int], Plan]:
    """Compile the plan of each arm and seed, as ``tootsie mix compile`` does.

    Raises:
      SpecError: a spec does not compile (it has said so); or it continues another plan, with several seeds, or not like
        the control.
    """
    command = typer.main.get_command(importlib.import_module(STAGES["mix"][0]).app)

    def compiled(arm: str, url: str, *options: str) -> Plan:
        source = spec.arms[arm]
        if run_command(command, ["compile", source, "-o", url, *options], name="tootsie mix"):
            raise SpecError("this mixture does not compile", file=file, field=f"arms.{arm}", value=source)
        return Plan.load(url)

    def refuse(arm: str, problem: str, remedy: str) -> SpecError:
        return SpecError(problem, file=file, field=f"arms.{arm}", value=spec.arms[arm], remedy=remedy)

    plans: dict[tuple[str, int], Plan] = {}
    for arm in (spec.control, *spec.arms):
        first = spec.seeds[0]
        if (arm, first) in plans:
            continue
        plan = compiled(arm, plan_url(spec, arm, first))
        if plan.branch != plans.get((spec.control, first), plan).branch:
            raise refuse(
                arm,
                "it continues another plan than the control",
                "Write the same 'branch' in all arms, or in none",
            )
        if plan.branch is not None:
            if len(spec.seeds) > 1:
                raise refuse(
                    arm,
                    "its plan continues another one, whose seed it keeps",
                    "Give one seed, or leave 'branch' out of the mixtures: 'start' gives the weights",
                )
            plans[arm, first] = plan
            continue
        for seed in spec.seeds:
            plans[arm, seed] = compiled(arm, plan_url(spec, arm, seed), "--seed", str(seed))
    return plans


def require_same_phases(plans: dict[tuple[str, int], Plan], control: str, file: str) -> None:
    """Refuse arms that differ in more than their data.

    Raises:
      SpecError: names the arm and the first difference.
    """

    def schedule(plan: Plan) -> list[tuple[str, Any]]:
        listed: list[tuple[str, Any]] = []
        for number, phase in enumerate(plan.phases, 1):
            listed += [
                (f"steps of phase {number}", (phase.first_step, phase.end_step)),
                (f"batch size of phase {number}", phase.batch_size),
                (f"sequence length of phase {number}", plan.length_of(phase)),
            ]
            settings = phase.settings.model_dump(mode="json")
            listed += [(f"{name} of phase {number}", value) for name, value in settings.items()]
        return [
            *listed,
            ("number of phases", len(plan.phases)),
            ("tokenizer", plan.cache_tokenizer.fingerprint),
        ]

    first = next(plan for (arm, _), plan in plans.items() if arm == control)
    wanted = schedule(first)
    for (arm, _), plan in plans.items():
        for (name, value), (other_name, other) in zip(schedule(plan), wanted, strict=False):
            if (name, value) != (other_name, other):
                raise SpecError(
                    f"it differs from the control in more than its data: {name}",
                    file=file,
                    field=f"arms.{arm}",
                    value=value,
                    remedy=f"The control has {other}",
                )


def last_scores(out: str, step: int) -> tuple[str, dict[str, float]]:
    """Return the bits per byte of each held-out set after ``step``, and of which weights: the average where there is one.

    Raises:
      ArtefactError: the run has no evaluation there.
    """
    found: dict[str, dict[str, float]] = {}
    url = storage.join(out, "metrics.jsonl")
    for line in storage.read_lines(url):
        row = json.loads(line)
        if row["kind"] == "evaluation" and row["step"] == step:
            found.setdefault(row["weights"], {})[row["dataset"]] = row["bits_per_byte"]
    if not found:
        raise ArtefactError("no evaluation of the last step", file=url, field="step", value=step)
    kind = "ema" if "ema" in found else "hot"
    return kind, found[kind]


def write_table(
    spec: AnnealSpec,
    file: str,
    found: list[Effect],
    scores: dict[str, dict[int, dict[str, float]]],
    kind: str,
) -> None:
    """Write ``effects.json`` and ``effects.md``."""
    plan = Plan.load(plan_url(spec, spec.control, spec.seeds[0]))
    steps, tokens = plan.total_steps, plan.total_tokens
    if plan.branch is not None:
        steps -= plan.branch.step
        tokens -= plan.tokens_before(plan.rows_of_step(plan.branch.step)[0])
    lines = [
        f"{len(spec.arms) - 1} candidates beside {spec.control}, {len(spec.seeds)} seeds, from {spec.start.run} "
        f"({spec.start.at}); {steps:,} steps, {tokens:,} tokens each; {kind} weights.",
    ]
    record = {
        "start": {"run": spec.start.run, "at": spec.start.at},
        "control": spec.control,
        "seeds": list(spec.seeds),
        "confidence": spec.confidence,
        "weights": kind,
        "steps": steps,
        "tokens": tokens,
        "effects": [effect.record() for effect in found],
        "scores": {arm: {str(seed): of for seed, of in by_seed.items()} for arm, by_seed in scores.items()},
    }
    name = file.rsplit("/", 1)[-1].removesuffix(".yaml")
    table = markdown(name, found, list(spec.seeds), spec.confidence, lines)
    for suffix, text in (("json", json.dumps(record, indent=1) + "\n"), ("md", table)):
        storage.write_bytes(storage.join(spec.out, f"effects.{suffix}"), text.encode())

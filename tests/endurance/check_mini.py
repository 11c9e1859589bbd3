"""What the miniature of the Marin 8B run must show, read from its records, plan and checkpoints.

    python tests/endurance/check_mini.py mini-run            # make tootsie-mini
    python tests/endurance/check_mini.py mini-run --quick    # only what holds however little was learnt

How it was run: every phase ends at the position the plan says, with the sequences it asks for, to less than one; z-loss is off before
Starling and on from there; Adam's count goes on through every phase and its moments are never zeroed; the batches are the plan's;
`tootsie mix audit` finds nothing; the report names each phase. What was learnt: the held-out loss has a minimum where a cycle of
Kestrel ends; at the constant rate of Phoenix the averaged weights lead, by about as much early as late; the deep cooldown lowers the
loss. Prints the figures and exits with 1 where a claim fails.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax

from tootsie.mixtures.audit import audit_run
from tootsie.mixtures.plan import Plan
from tootsie.train import checkpoint
from tootsie.train.architecture import Architecture
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.step import make_init, state_shapes

SETTLED = 200
"""Step from which minima are looked for: before, cycles are short and the loss falls steeply."""
MINIMA = 0.75
"""Share of the cycles after that which must lie above the line between the minima."""
CERTAIN = 3
"""Standard errors that the mean must be above zero."""
MEMORIES = 4
"""Time constants of the average after which its lead is looked at."""
STEADY = 1.5
"""Most that the lead of the average may differ between the halves of the constant rate, as a ratio."""


def held_out(rows: list[dict[str, Any]], weights: str) -> dict[int, float]:
    """Return the held-out loss by step, the mean of the sets."""
    losses: dict[int, list[float]] = {}
    for row in rows:
        if row["kind"] == "evaluation" and row["weights"] == weights:
            losses.setdefault(row["step"], []).append(row["loss"])
    return {step: statistics.fmean(values) for step, values in losses.items()}


def boundaries(plan: Plan, train: dict[int, dict[str, Any]]) -> list[str]:
    """Compare what each phase drew with what it asks for."""
    failures = []
    drawn = dict.fromkeys((dataset.name for dataset in plan.datasets), 0)
    for phase in plan.phases:
        end = train[phase.end_step]
        if end["position"] != phase.end or end["phase"] != phase.name:
            failures.append(f"{phase.name} ends at {end['position']}, the plan says {phase.end}")
        after = {name: end["consumed"].get(name, 0) for name in drawn}
        off = max(
            abs(after[name] - drawn[name] - phase.asked.get(name, 0) * phase.length / 2**62) for name in drawn
        )
        sizes = {
            row["batch_size"] for row in train.values() if phase.first_step < row["step"] <= phase.end_step
        }
        if off >= 1:
            failures.append(f"{phase.name} is {off:.1f} sequences off what it asks for")
        if sizes != {phase.batch_size}:
            failures.append(f"{phase.name} had batches of {sizes}")
        print(
            f"{phase.name:15} ends at step {phase.end_step:5,}, sequence {end['position']:7,}, "
            f"at most {off:.2f} sequences off its shares, batches of {phase.batch_size}"
        )
        drawn = after
    return failures


def z_loss(plan: Plan, train: dict[int, dict[str, Any]]) -> list[str]:
    """Compare where z-loss was added with where the plan has it."""
    begin = next(phase.first_step for phase in plan.phases if phase.name == "starling")
    wrong = [step for step, row in train.items() if (row["z_loss"] > 0) != (step > begin)]
    print(f"z-loss is on from step {begin + 1:,}")
    return [f"z-loss is not as planned in {len(wrong)} steps, the first {wrong[0]}"] if wrong else []


def optimizer(folder: Path, plan: Plan) -> list[str]:
    """Compare Adam's count with the step, in the checkpoint at the end of each phase; its moments must not be zero."""
    config = json.loads((folder / "run" / "config.json").read_text())
    architecture = Architecture.model_validate(config["architecture"])
    init = make_init(build(architecture, Execution("float32", LayerLoop.UNROLLED)), average=True)
    shapes = state_shapes(init)
    failures, counts = [], []
    for phase in plan.phases:
        state = checkpoint.restore(str(folder / "run" / "checkpoints"), phase.end_step, shapes)
        found = jax.tree.leaves(
            state.opt_state, is_leaf=lambda node: isinstance(node, optax.ScaleByAdamState)
        )
        adam = next(node for node in found if isinstance(node, optax.ScaleByAdamState))
        counts.append(int(adam.count))
        if counts[-1] != phase.end_step:
            failures.append(f"at the end of {phase.name} Adam counts {counts[-1]}, not {phase.end_step}")
        if not all(np.any(np.asarray(leaf)) for leaf in jax.tree.leaves(adam.nu)):
            failures.append(f"at the end of {phase.name} second moments are zero")
    print(f"Adam's count at the phase ends: {', '.join(map(str, counts))}")
    return failures


def cycle_ends(plan: Plan) -> list[int]:
    """Return the steps at which a cycle of the first phase ends and the next begins at the full rate."""
    rates = [plan.learning_rate(step) for step in range(plan.phases[0].end_step)]
    return [step for step in range(1, len(rates)) if rates[step] > 2 * rates[step - 1] and step > 10]


def minima(plan: Plan, hot: dict[int, float]) -> list[str]:
    """Look for a minimum of the held-out loss where each cycle of the last kind ends.

    The lift of a cycle is how far the evaluations within it lie above the straight line between those at its two ends, on average. A
    steady fall has none, and a curve that falls ever more slowly a negative one, so that only minima at the ends lift.
    """
    ends = [step for step in [*cycle_ends(plan), plan.phases[0].end_step] if step >= SETTLED]
    lifts = []
    for begin, end in itertools.pairwise(ends):
        slope = (hot[end] - hot[begin]) / (end - begin)
        within = [step for step in hot if begin < step < end]
        lifts.append(statistics.fmean(hot[step] - hot[begin] - slope * (step - begin) for step in within))
    mean, error = statistics.fmean(lifts), statistics.stdev(lifts) / len(lifts) ** 0.5
    found = sum(lift > 0 for lift in lifts)
    print(
        f"in {found} of {len(lifts)} cycles after step {SETTLED} the held-out loss lies above the line between the minima at "
        f"the ends, by {mean:.4f} ± {error:.4f} on average"
    )
    return (
        [] if found >= MINIMA * len(lifts) and mean > CERTAIN * error else ["the cycles do not end in minima"]
    )


def averaged(plan: Plan, hot: dict[int, float], ema: dict[int, float]) -> list[str]:
    """Look at the lead of the averaged weights at the constant rate of Phoenix."""
    phase = next(phase for phase in plan.phases if phase.name == "phoenix")
    assert phase.settings.ema_beta is not None
    begin = phase.first_step + MEMORIES / (1 - phase.settings.ema_beta)
    leads = [hot[step] - ema[step] for step in sorted(ema) if begin <= step <= phase.end_step]
    early, late = leads[: len(leads) // 2], leads[len(leads) // 2 :]
    means = statistics.fmean(early), statistics.fmean(late)
    print(
        f"the average leads by {means[0]:.4f} early in Phoenix and by {means[1]:.4f} late; "
        f"least {min(leads):.4f}, most {max(leads):.4f} in {len(leads)} evaluations"
    )
    if min(leads) <= 0:
        return ["the averaged weights do not lead all through the constant rate"]
    return [] if 1 / STEADY < means[1] / means[0] < STEADY else ["the lead of the average is not constant"]


def cooldown(plan: Plan, hot: dict[int, float]) -> list[str]:
    """Compare the held-out loss before and after the deep cooldown."""
    starling = next(phase for phase in plan.phases if phase.name == "starling")
    before, after = hot[starling.first_step], hot[starling.end_step]
    print(f"Starling takes the held-out loss from {before:.4f} to {after:.4f}")
    return [] if after < before else ["the deep cooldown does not lower the loss"]


def check(folder: Path, quick: bool) -> list[str]:
    """Return the claims that fail in one folder."""
    plan = Plan.load(str(folder / "plan.json"))
    rows = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    train = {row["step"]: row for row in rows if row["kind"] == "train"}
    print(f"{plan.total_steps:,} steps, {plan.total_tokens:,} tokens")
    failures = boundaries(plan, train) + z_loss(plan, train) + optimizer(folder, plan)
    deviation = audit_run(plan, str(folder / "run"))
    if deviation.reason is not None:
        failures.append(f"audit: step {deviation.first_deviation}: {deviation.reason}")
    page = (folder / "report.html").read_text()
    failures += [f"the report does not name {phase.name}" for phase in plan.phases if phase.name not in page]
    if not quick:
        hot, ema = held_out(rows, "hot"), held_out(rows, "ema")
        failures += minima(plan, hot) + averaged(plan, hot, ema) + cooldown(plan, hot)
    return failures


def main() -> None:
    """Check one folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    failures = check(given.folder, given.quick)
    print("\n".join(failures) or "all claims hold")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

"""What the demo must have learnt, read from its metrics.

    python tests/endurance/check_demo.py demo-run       # make check-demo

Three claims, each for every sample corpus: held-out bits per byte fall by more than a third over the run; at the end of the last
phase with a constant learning rate the averaged weights are better than the hot ones; and in the cooldown the corpus that the
cooldown is made of falls most. Prints the figures and exits with 1 where a claim fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tootsie.mixtures.learning_rate import Shape
from tootsie.mixtures.plan import Plan


def main() -> None:
    """Check one demo folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    plan = Plan.load(str(folder / "plan.json"))
    rows = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    scores = {
        (row["dataset"], row["weights"], row["step"]): row["bits_per_byte"]
        for row in rows
        if row["kind"] == "evaluation"
    }
    constant = [phase for phase in plan.phases if phase.settings.learning_rate.shape is Shape.CONSTANT][-1]
    cooldown = plan.phases[-1]
    favoured = max(cooldown.sequences, key=lambda name: cooldown.sequences[name])
    failures = []
    falls = {}
    print("held-out set     first    last   | end of constant rate: hot     EMA   | in the cooldown")
    for name in sorted({dataset for dataset, _, _ in scores}):
        first, last = scores[name, "hot", 0], scores[name, "hot", plan.total_steps]
        hot, ema = scores[name, "hot", constant.end_step], scores[name, "ema", constant.end_step]
        falls[name] = last - scores[name, "hot", cooldown.first_step]
        print(
            f"{name:14} {first:7.4f} {last:7.4f}   |            {hot:14.4f} {ema:7.4f}   | {falls[name]:+.4f}"
        )
        if last > first * 2 / 3:
            failures.append(f"{name} fell by less than a third")
        if ema >= hot:
            failures.append(f"{name}: the average is not better than the hot weights at constant rate")
    if min(falls, key=lambda name: falls[name]) != favoured:
        failures.append(f"{favoured} did not fall most in the cooldown")
    print("\n".join(failures) or "all claims hold")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

"""Which parts of the training step the time on a CPU goes to.

    python benchmarks/step_shares.py [--model 25m|125m] [--layers N] [--rows N] [--most 12]

One step of a model of ``train_cpu.py`` under JAX's profiler, after one that compiles. An instruction of the compiled program
belongs to a part by the name that it has from the source; its time is that of the threads that run it, waiting for others
included. Shares hold on a busy machine too, as far as all parts are slowed alike. Then the same by kind of instruction:
``ynn_fusion`` and ``dot`` are products of matrices, ``copy_…`` transposes.
"""

from __future__ import annotations

import argparse
import collections
import glob
import gzip
import json
import re
import tempfile
from typing import Any

import jax
import train_cpu

PARTS = (
    ("loss", r"jvp\(\)"),
    ("attention", r"/attention/"),
    ("MLP", r"/mlp/"),
    ("rest of the model", r"jvp\(llama\)"),
)
REST = "optimizer and norms"


def part_of(name: str) -> str:
    """Return the part that an instruction with this ``op_name`` belongs to."""
    return next((part for part, pattern in PARTS if re.search(pattern, name)), REST)


def names_in(program: str) -> dict[str, str]:
    """Return the ``op_name`` of each instruction of a compiled program in text form; empty where it has none."""
    found = {}
    for line in program.splitlines():
        if match := re.match(r"\s*(?:ROOT )?%?([\w.\-]+) = ", line):
            named = re.search(r'op_name="([^"]*)"', line)
            found[match[1]] = named[1] if named else ""
    return found


def traced(step: Any) -> list[dict[str, Any]]:
    """Return the events of one step, with ``name`` and ``dur`` in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            step()
        (file,) = glob.glob(f"{folder}/**/*.trace.json.gz", recursive=True)
        with gzip.open(file) as stream:
            return [event for event in json.load(stream)["traceEvents"] if event.get("ph") == "X"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", choices=train_cpu.MODELS, default="25m")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--most", type=int, default=12, help="instructions to list")
    given = parser.parse_args()
    model = train_cpu.MODELS[given.model] | {
        name: value for name in ("layers", "rows") if (value := getattr(given, name)) is not None
    }
    parameters, step, program = train_cpu.ours(model)
    step()
    names = names_in(program())
    spent: collections.Counter[str] = collections.Counter()
    for event in traced(step):
        if event["name"] in names and not re.match(r"(while|call|conditional)\b", event["name"]):
            spent[event["name"]] += event["dur"]
    whole = sum(spent.values())
    parts: collections.Counter[str] = collections.Counter()
    for name, time in spent.items():
        parts[part_of(names[name])] += time
    print(
        f"{parameters:,} parameters, {model['rows']} x {train_cpu.LENGTH} tokens: {len(spent)} instructions"
    )
    for part, time in parts.most_common():
        print(f"  {part:<24} {time / whole:6.1%}")
    kinds: collections.Counter[str] = collections.Counter()
    for name, time in spent.items():
        kinds[re.sub(r"[.\d]+$", "", name)] += time
    print("by kind of instruction:")
    for kind, time in kinds.most_common(given.most):
        print(f"  {kind:<36} {time / whole:6.1%}")


if __name__ == "__main__":
    main()

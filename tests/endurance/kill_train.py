"""Kill training on one, two and four processes at random points, start it again each time, and compare what it ends with.

    python tests/endurance/kill_train.py --kills 50                          # make kill-train
    python tests/endurance/kill_train.py --kills 2 --processes 2 --steps 12  # a short one

The mesh has four CPU devices throughout: in one process, in two with two each, in four with one each; each start takes another number.
They exchange by gloo, one process too. A kill is SIGKILL for one process, or for all at once; it comes at a random moment of the
start, or after a random number of steps. Where one process is killed, the others must end by themselves within two minutes. When a run is
finished before all kills are done, another one is begun.

Held to, against an undisturbed run in one process:

* Order. Every row that any process was ever given (dataset, epoch, window, tokens) is the row of the undisturbed run, and each
  step got all of its rows.
* Metrics, samples, alarms and exported weights have the same bytes, whatever number of processes computed which step.
* Every checkpoint that is left verifies.
* One process that has joined none, whose devices exchange in memory and so round in another order, gives the same records, figures
  within a part in ten thousand. How near they are is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

DEVICES = 4
ENDS_WITHIN = 120.0
"""Seconds in which the other processes must end when one is killed."""
TOLERANCE = 1e-4
REFERENCE = "undisturbed"
COMPARED = ("metrics.jsonl", "samples.jsonl", "alarms.jsonl", "export/model.safetensors")

SPEC = """
name: killed
seed: 1
sequence_length: 16
datasets:
  prose: {cache: prose, max_epochs: 200}
  code: {cache: code, max_epochs: 200}
mixtures:
  base: {groups: {all: {share: 1.0, datasets: [prose, code]}}}
phases:
  - {name: stable, mixture: base, for: "HALF steps", batch_size: 4, learning_rate: {shape: constant, from: 0.003}, weight_decay: 0.05,
     z_loss: 0.0, ema_beta: 0.9}
  - {name: cooldown, mixture: base, for: "HALF steps", batch_size: 8, learning_rate: {shape: linear, to: 0.0001}}
acknowledge: {z-loss: a small run, batch-and-rate: on purpose}
"""
RUN = """
plan: plan.json
out: OUT
architecture:
  {vocabulary_size: 16384, model_size: 16, layers: 1, heads: 2, kv_heads: 1, head_size: 8, mlp_size: 16,
   rope: {theta: 10000, scaling: null}, tied_embeddings: true}
evaluation: {sets: {prose: held-out}, every: 8 steps, batch_size: 4}
checkpoints: {every: 12 steps, temporary_every: 2 steps}
samples: {prompts: ["The"], length: 3 tokens}
watch: {norms_every: 4 steps, dataset_wrap: true, throughput_drop: 0.9999}
"""


def write_data(folder: Path, steps: int) -> None:
    """Write two token caches, a held-out one, and the plan."""
    import typer.main

    from tootsie.datasets.command_line import run_command
    from tootsie.mixtures import command
    from tootsie.tokenize.build import BuildSettings, build_caches

    rng = random.Random(0)
    words = ["the", "owl", "sees", "a", "mouse", "and", "waits", "until", "it", "sleeps"]
    prose = [" ".join(rng.choices(words, k=60)) for _ in range(60)]
    texts = {"prose": prose[:50], "held-out": prose[50:]}
    texts["code"] = [f"def f{n}(x):\n    return x + {n}\n" * 5 for n in range(40)]
    for name, documents in texts.items():
        path = folder / f"{name}.jsonl"
        rows = ({"id": f"{name}-{number}", "text": text} for number, text in enumerate(documents))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        build_caches([str(path)], str(folder / name), BuildSettings(name=name, shards=1))
    (folder / "spec.yaml").write_text(SPEC.replace("HALF", str(steps // 2)))
    arguments = ["compile", str(folder / "spec.yaml"), "-o", str(folder / "plan.json")]
    assert run_command(typer.main.get_command(command.app), arguments, name="tootsie mix") == 0


def train(rows: str, arguments: Sequence[str]) -> int:
    """Run ``tootsie train`` in this process, and add a line to the file ``rows`` for each batch that it is given."""
    import typer.main
    import xxhash

    from tootsie.datasets.command_line import run_command
    from tootsie.mixtures.sampler import Batch, Sampler
    from tootsie.train.command import app

    read = Sampler.batch
    descriptor = os.open(rows, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def batch(self: Sampler, step: int, rows: slice | None = None) -> Batch:
        given = read(self, step, rows)
        digests = [xxhash.xxh3_64_hexdigest(row.tobytes()) for row in given.tokens]
        columns = (given.dataset.tolist(), given.epoch.tolist(), given.window.tolist(), digests)
        line = json.dumps([step, 0 if rows is None else rows.start, list(zip(*columns, strict=True))])
        os.write(descriptor, f"{line}\n".encode())
        return given

    Sampler.batch = batch  # type: ignore[method-assign]
    return run_command(typer.main.get_command(app), list(arguments), name="tootsie train")


class Trainer:
    """One start of a run, in one process or several."""

    def __init__(self, folder: Path, run: str, processes: int, *, joined: bool = True) -> None:
        """Start all of them."""
        self.folder, self.run = folder, run
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES // processes}",
            "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        }
        self.started = time.monotonic()
        self.steps_before = self.steps()
        self.processes = []
        (folder / f"{run}.yaml").write_text(RUN.replace("OUT", run))
        for number in range(processes):
            command = [
                sys.executable,
                __file__,
                "--rows",
                str(folder / f"{run}.rows"),
                f"{folder / run}.yaml",
            ]
            if joined:
                command += ["--coordinator", f"127.0.0.1:{port}", "--processes", str(processes)]
                command += ["--process", str(number)]
            with (folder / f"{run}.{number}.log").open("wb") as output:
                self.processes.append(
                    subprocess.Popen(
                        command,
                        env=environment,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )

    def steps(self) -> int:
        """Return the last step that is recorded."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.folder / self.run / "metrics.jsonl").read_bytes().split(b"\n")[:-1]
            return max((json.loads(line)["step"] for line in lines[-3:]), default=0)
        return 0

    def ended(self) -> bool:
        """Return whether a process has ended."""
        return any(process.poll() is not None for process in self.processes)

    def wait(self) -> list[int]:
        """Return the exit codes of all."""
        return [process.wait() for process in self.processes]

    def kill(self, victims: Sequence[int]) -> float:
        """Kill some of the processes; return the seconds that the others took to end, which they must do by themselves."""
        began = time.monotonic()
        for number in victims:
            self.processes[number].kill()
        for number, process in enumerate(self.processes):
            try:
                process.wait(max(1.0, began + ENDS_WITHIN - time.monotonic()))
            except subprocess.TimeoutExpired:
                for left in self.processes:
                    left.kill()
                raise SystemExit(f"{self.run}: process {number} hung after a kill of {victims}") from None
        return time.monotonic() - began

    def output(self, number: int) -> str:
        """Return what one of them has printed."""
        return (self.folder / f"{self.run}.{number}.log").read_text(errors="replace")


def complete(folder: Path, run: str, processes: int, *, joined: bool = True) -> float:
    """Train to the end; return the seconds it took."""
    trainer = Trainer(folder, run, processes, joined=joined)
    codes = trainer.wait()
    if any(codes):
        outputs = "\n".join(trainer.output(number)[-3000:] for number in range(processes))
        raise SystemExit(f"{run} on {processes} processes failed with {codes}:\n{outputs}")
    return time.monotonic() - trainer.started


class Outcome(NamedTuple):
    """What a kill led to."""

    finished: bool  # The run had ended before, and nothing was killed.
    seconds: float = 0.0  # That the other processes took to end.
    said: str = ""  # Their last error.
    ready: float | None = None  # Seconds after which the run had made a step.


def disturb(folder: Path, run: str, processes: int, seconds: float, rng: random.Random) -> Outcome:
    """Start a run and kill it at a random point.

    Args:
      folder: of the data.
      run: name of the run.
      processes: how many.
      seconds: that a start takes about, to its first step.
      rng: chooses.
    """
    trainer = Trainer(folder, run, processes)
    steps, delay, ready = rng.choice([None, 0, 1, 2, 3]), rng.uniform(0, 1), None
    if steps is None:
        delay = rng.uniform(0, seconds)
    made = 0
    while steps is not None and not trainer.ended() and made <= steps:
        time.sleep(0.1)
        made = trainer.steps() - trainer.steps_before
        ready = time.monotonic() - trainer.started if made > 0 and ready is None else ready
    until = time.monotonic() + delay
    while not trainer.ended() and time.monotonic() < until:
        time.sleep(0.02)
    if trainer.ended():
        codes = trainer.wait()
        if any(codes):
            raise SystemExit(f"{run}: ended with {codes} before it was killed:\n{trainer.output(0)[-3000:]}")
        return Outcome(True, ready=ready)
    victims = list(range(processes)) if rng.random() < 0.3 else [rng.randrange(processes)]
    took = trainer.kill(victims)
    outputs = [trainer.output(number) for number in range(processes) if number not in victims]
    errors = [line for output in outputs for line in output.splitlines() if line.startswith("error: ")]
    said = "" if len(victims) == processes else errors[-1] if errors else "no line of their own"
    print(
        f"{run} at step {trainer.steps()}: killed {victims} of {processes}; the others within {took:.1f} s: {said}",
        flush=True,
    )
    return Outcome(False, took, said, ready)


def rows_of(folder: Path, run: str) -> dict[tuple[int, int], Any]:
    """Return ``{(step, row of the batch): (dataset, epoch, window, digest)}`` of all rows that a run's processes were given.

    Raises:
      SystemExit: two of them were given different rows at the same place.
    """
    found: dict[tuple[int, int], Any] = {}
    for line in (folder / f"{run}.rows").read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):  # a line that a kill cut off
            step, first, rows = json.loads(line)
            for number, row in enumerate(rows, first):
                if found.setdefault((step, number), row) != row:
                    raise SystemExit(f"{run}: step {step} row {number} is {found[step, number]}, then {row}")
    return found


def farthest(one: Any, other: Any) -> float:
    """Return the largest relative difference of two JSON values' figures; infinite where anything else differs."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return max((farthest(one[key], other[key]) for key in one), default=0.0)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max((farthest(a, b) for a, b in zip(one, other, strict=True)), default=0.0)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) / max(abs(one), abs(other), 1e-3)
    return 0.0 if one == other else float("inf")


def compare(folder: Path, run: str, *, exact: bool) -> list[str]:
    """Return what differs between a run and the undisturbed one."""
    faults = []
    if rows_of(folder, run) != rows_of(folder, REFERENCE):
        faults.append(f"{run}: other rows than the undisturbed run, or not all of them")
    files = {name: [(folder / of / name).read_bytes() for of in (run, REFERENCE)] for name in COMPARED}
    differing = [name for name, (found, wanted) in files.items() if found != wanted]
    records = [[json.loads(line) for line in content.splitlines()] for content in files["metrics.jsonl"]]
    distance = farthest(*records)
    print(
        f"{run}: {len(differing)} of {len(COMPARED)} files differ; largest difference of a figure {distance:.2g}",
        flush=True,
    )
    if exact and differing:
        faults.append(f"{run}: other bytes in {', '.join(differing)}")
    if distance > TOLERANCE:
        faults.append(f"{run}: figures differ by {distance:.2g}")
    return faults


def check(folder: Path, run: str) -> list[str]:
    """Return the faults of the checkpoints that a run has left."""
    from tootsie.datasets.errors import ArtefactError
    from tootsie.train import checkpoint

    faults = []
    checkpoints = str(folder / run / "checkpoints")
    for step in checkpoint.steps_in(checkpoints):
        try:
            checkpoint.verify(checkpoints, step)
        except ArtefactError as fault:
            faults.append(str(fault))
    return faults


def survive(folder: Path, *, kills: int, processes: Sequence[int], steps: int, seed: int) -> list[str]:
    """Train and kill below ``folder``; return what differs, nothing when all is well."""
    write_data(folder, steps)
    rng = random.Random(seed)
    seconds = complete(folder, REFERENCE, 1) / 3  # most of it compiles
    print(
        f"undisturbed in one process: {3 * seconds:.0f} s, {len(rows_of(folder, REFERENCE))} rows", flush=True
    )
    complete(folder, "by-itself", 1, joined=False)
    faults = compare(folder, "by-itself", exact=False)
    number, done, outcomes = 1, 0, []
    while done < kills:
        run = f"killed-{number}"
        outcome = disturb(folder, run, rng.choice(processes), seconds, rng)
        outcomes.append(outcome)
        seconds = outcome.ready or seconds
        done += not outcome.finished
        if outcome.finished or done == kills:
            complete(folder, run, rng.choice(processes))
            faults += compare(folder, run, exact=True) + check(folder, run)
            number += 1
    alone = [outcome for outcome in outcomes if outcome.said]
    mute = sum(not outcome.said.startswith("error: ") for outcome in alone)
    slowest = max((outcome.seconds for outcome in alone), default=0.0)
    print(
        f"{done} kills in {number - 1} runs; of {len(alone)} of single processes the others ended within {slowest:.1f} s,"
    )
    print(f"{mute} times without a line of their own")
    return faults


def main() -> None:
    """Parse the options, run, and exit with 1 where anything differs."""
    if sys.argv[1:2] == ["--rows"]:
        sys.exit(train(sys.argv[2], sys.argv[3:]))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="Work here and keep what is made.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = survive(
            folder, kills=options.kills, processes=options.processes, steps=options.steps, seed=options.seed
        )
    print("\n".join(found) or "all as in the undisturbed run")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

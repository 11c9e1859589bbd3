"""Kill the demo at random moments, restart it each time, and compare what it ends with.

    python tests/endurance/kill_demo.py --kills 20            # make kill-demo
    python tests/endurance/kill_demo.py --kills 1 --quick     # what the test suite runs

One undisturbed demo gives the reference. A second one, in another folder, is ended by SIGKILL (the whole process group, so
workers too) after random times that are spread over the reference's duration, and started again each time; the last start is left
alone. Every artefact must then have the reference's bytes: documents, caches, plan, metrics (each loss in full precision), samples,
exported weights, report. Left out: ``timings.jsonl`` and TensorBoard's event files, which hold wall times, and the checkpoints' own
files, which Orbax stamps with times; their content is in the exported weights and the metrics.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EARLY_SECONDS = 7
TIMED = ("timings.jsonl", "tensorboard", "checkpoints")


def start(folder: Path, *, quick: bool, log: Path) -> subprocess.Popen[bytes]:
    """Start the demo in a process group of its own, its output appended to ``log``."""
    command = [sys.executable, "-m", "tootsie.train.demo", str(folder), *(["--quick"] if quick else [])]
    with log.open("ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process group at once."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def artefacts(folder: Path) -> dict[str, str]:
    """Return ``{relative path: SHA-256}`` of everything that must not depend on interruptions."""
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not set(TIMED) & set(relative.parts):
            found[relative.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def differences(reference: dict[str, str], found: dict[str, str]) -> list[str]:
    """Name the files that are missing, extra or different."""
    lines = [f"missing: {name}" for name in reference.keys() - found.keys()]
    lines += [f"extra: {name}" for name in found.keys() - reference.keys()]
    lines += [
        f"differs: {name}" for name in reference.keys() & found.keys() if reference[name] != found[name]
    ]
    return sorted(lines)


def survive(folder: Path, *, kills: int, quick: bool, seed: int) -> list[str]:
    """Run the reference and the disturbed demo below ``folder``; return the differences, none when all is well."""
    log = folder / "output.log"
    began = time.monotonic()
    if start(folder / "reference", quick=quick, log=log).wait():
        raise SystemExit(f"the undisturbed demo failed:\n{log.read_text()[-4000:]}")
    duration = time.monotonic() - began
    print(f"undisturbed: {duration:.0f} s", flush=True)
    rng = random.Random(seed)
    finished_early = 0
    for number in range(kills):
        process = start(folder / "disturbed", quick=quick, log=log)
        # The stages before training take a few seconds, so a quarter of the kills comes early. Each start repeats the
        # imports, so that the others, at twice the mean spacing, walk through the whole demo.
        early = number < kills // 4
        latest = min(2 * duration / kills + 12, 0.9 * duration)
        delay = rng.uniform(0.5, EARLY_SECONDS) if early else rng.uniform(0.2, latest)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(delay)
            finished_early += 1
        last = next((line for line in reversed(log.read_text().splitlines()) if line.startswith("$ ")), "")
        kill(process)
        print(f"kill {number + 1} of {kills} after {delay:.1f} s, during: {last[:90]}", flush=True)
    if start(folder / "disturbed", quick=quick, log=log).wait():
        return [f"the demo did not recover:\n{log.read_text()[-4000:]}"]
    print(f"the demo had finished before {finished_early} of the kills", flush=True)
    reference, found = artefacts(folder / "reference"), artefacts(folder / "disturbed")
    print(f"compared {len(reference)} files", flush=True)
    return differences(reference, found)


def main() -> None:
    """Parse the options, run, and exit with 1 where anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = survive(Path(folder), kills=options.kills, quick=options.quick, seed=options.seed)
    print("\n".join(found) or "identical")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

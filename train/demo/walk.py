"""The demo, step by step: each step is the command that a user would type, run in this process.

Every stage skips what is whole already, so that a walk which was killed anywhere continues when it is started again, and
ends with the same bytes. All paths are relative to the demo's folder: nothing in the artefacts tells where it stood.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import typer.main

from tootsie.datasets import storage
from tootsie.datasets.command_line import STAGES, run_command
from tootsie.datasets.errors import EXIT_FAULT, UserError
from tootsie.datasets.manifest import MANIFEST_NAME, read_manifest
from tootsie.datasets.provenance import code_version
from tootsie.train.demo.corpora import CORPORA
from tootsie.train.demo.package_texts import write_texts
from tootsie.train.demo.settings import Choices, commands, run_file, spec_file

SHOWN_SAMPLES = 3
"""Samples printed at the end."""


class StepError(UserError):
    """A step of the demo ended with another exit code than 0."""


@contextlib.contextmanager
def timed(title: str, seconds: dict[str, float]) -> Iterator[None]:
    """Add the wall time of the block to ``seconds[title]``."""
    start = time.perf_counter()
    yield
    seconds[title] = seconds.get(title, 0.0) + time.perf_counter() - start


def run_step(step: list[str]) -> None:
    """Run one command in this process.

    Raises:
      StepError: it ended with another exit code than 0; its own message has been printed.
    """
    print(f"\n$ tootsie {shlex.join(step)}", flush=True)
    app = importlib.import_module(STAGES[step[0]][0]).app
    code = run_command(typer.main.get_command(app), step[1:], name=f"tootsie {step[0]}")
    if code == EXIT_FAULT:
        raise KeyboardInterrupt  # the step has said so; a fault of ours would have come through as it is
    if code:
        raise StepError(
            f"the step ended with exit code {code}", field=shlex.join(step), remedy="Mend it and run again"
        )


def write_settings(choices: Choices) -> None:
    """Write the spec and the run file, unless they are there with the same content already."""
    for name, content in (("spec.yaml", spec_file(choices)), ("run.yaml", run_file(choices))):
        path = Path(name)
        if path.exists() and path.read_text() != content:
            raise UserError(
                "this folder holds another demo",
                file=path.resolve(),
                remedy="Choose another folder or delete this one",
            )
        storage.write_bytes(name, content.encode())


def refuse_other_code() -> None:
    """Refuse to continue a demo whose documents were made by other code: what it would end with is neither's.

    Raises:
      UserError: names the corpus, both versions and the way out.
    """
    for corpus in CORPORA:
        path = Path("documents", corpus, MANIFEST_NAME)
        if not path.exists():
            continue
        found, wanted = read_manifest(str(path.parent)).code_version, code_version("curate")
        if found != wanted:
            raise UserError(
                f"the code has changed since this demo began; it is {wanted} now",
                file=path.resolve(),
                field="code_version",
                value=found,
                remedy=f"Choose another folder, or delete {shlex.quote(str(Path.cwd()))} and run again",
            )


def summary(seconds: dict[str, float]) -> None:
    """Print where the time went, what was learnt and where the report lies."""
    rows = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    evaluations = [row for row in rows if row["kind"] == "evaluation"]
    print("\nheld-out bits per byte    first      last (hot)  last (EMA)")
    for name in sorted({row["dataset"] for row in evaluations}):
        hot = [
            row["bits_per_byte"] for row in evaluations if row["dataset"] == name and row["weights"] == "hot"
        ]
        ema = [
            row["bits_per_byte"] for row in evaluations if row["dataset"] == name and row["weights"] == "ema"
        ]
        print(f"  {name:22}  {hot[0]:8.4f}  {hot[-1]:10.4f}  {ema[-1]:10.4f}")
    samples = Path("run/samples.jsonl")
    for line in samples.read_text().splitlines()[-SHOWN_SAMPLES:] if samples.exists() else ():
        sample = json.loads(line)
        print(f"\nthe model writes: {sample['prompt']}{sample['text']}")
    print("\n" + ", ".join(f"{title} {value:.0f} s" for title, value in seconds.items()))
    print(f"report: {Path('report.html').resolve()}")


def walk(out: str, choices: Choices) -> None:
    """Run the demo in folder ``out``, continuing where an earlier walk stopped.

    Args:
      out: local folder, made where it is missing.
      choices: how it differs from the full demo.

    Raises:
      UserError: the folder holds a demo with other settings, or a step failed.
    """
    Path(out).mkdir(parents=True, exist_ok=True)
    seconds: dict[str, float] = {}
    with contextlib.chdir(out):
        write_settings(choices)
        refuse_other_code()
        if choices.mini:
            with timed("texts", seconds):
                write_texts(choices.records)
        for step in commands(choices):
            with timed(step[0], seconds):
                run_step(step)
        summary(seconds)

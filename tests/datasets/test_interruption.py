"""Ctrl-C ends a run, whatever the runner makes of it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tootsie.datasets import beam_runner

SWALLOWS = """
import signal
from tootsie.datasets import interruption

interruption.GRACE = 0.2
with interruption.prompt_interrupt():
    while True:
        try:
            print("ready", flush=True)
            signal.pause()
        except KeyboardInterrupt:
            pass
"""


def test_a_swallowed_interrupt_ends_the_process_all_the_same() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SWALLOWS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (1, "interrupted\n")


def _interrupt(element: int) -> int:
    signal.raise_signal(signal.SIGINT)
    return element


def test_an_interrupt_inside_a_step_is_one() -> None:
    import apache_beam as beam

    with pytest.raises(KeyboardInterrupt):
        beam_runner.run(
            lambda pipeline: pipeline | beam.Create([1]) | beam.Map(_interrupt),
            beam_runner.pipeline_options([]),
        )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

"""Runs in several processes: what they feed and write, how they end, and that they go on in another number."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.train.conftest import FakePlan, FakeSampler, make_inputs, make_run
from tootsie.datasets.errors import SpecError
from tootsie.train import checkpoint
from tootsie.train.export import read_export
from tootsie.train.host_watch import HostSettings, join
from tootsie.train.joint_run import identity_of, train_together
from tootsie.train.metrics import read_lines

SCRIPT = Path(__file__).with_name("mesh_run.py")
STEPS = (0, 3, 3)
"""Of the phases of the plan: no batch size but eight, so that one step is compiled."""
Ended = list[tuple[int, str, str]]


def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def run_in(count: int, out: Path, each: Callable[[int], dict[str, str]] = lambda number: {}) -> Ended:
    """Run in so many processes with one device each, with what ``each`` adds to the environment; return exit codes and outputs."""
    meeting, started = {"JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port()}", "JAX_NUM_PROCESSES": str(count)}, []
    for number in range(count):
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": str(out.parent / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAXTYPING_DISABLE": "1",
            "PLAN": json.dumps(STEPS),
            "ROWS": str(out.parent / f"rows-{number}-of-{count}"),
        } | each(number)
        if count > 1 and "SLURM_JOB_ID" not in environment:
            environment |= meeting | {"JAX_PROCESS_ID": str(number)}
        command = [sys.executable, str(SCRIPT), str(out), "0", "{}"]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, env=environment, **pipes))
    outputs = [process.communicate() for process in started]
    return [(process.returncode, *output) for process, output in zip(started, outputs, strict=True)]


def test_a_run_goes_on_in_other_processes_after_one_was_killed(tmp_path: Path) -> None:
    """What one process has begun, two continue; the second is killed; two bring it to the end."""
    out, alone = tmp_path / "out", tmp_path / "alone"
    ((code, _, stderr),) = run_in(1, alone)
    assert code == 0, stderr[-3000:]
    shutil.copytree(alone, out)
    shutil.rmtree(out / "export")
    for step in (5, 6):
        shutil.rmtree(out / "checkpoints" / str(step))

    first, second = run_in(2, out, lambda number: {"DIES_AT": "4"} if number else {})
    assert (first[0], second[0]) == (1, -9), first[2][-3000:]
    assert "error: " in first[2]
    ended = run_in(2, out)
    assert [code for code, *_ in ended] == [0, 0], [stderr[-3000:] for *_, stderr in ended]
    assert '"finished": true, "resumed_from": 3' in ended[0][1]
    assert "step" not in ended[1][1], "the second process has told something"

    found, wanted = (read_lines(str(folder / "metrics.jsonl")) for folder in (out, alone))
    assert [record["step"] for record in found] == [record["step"] for record in wanted]
    for one, other in zip(found, wanted, strict=True):
        for key, value in other.items():
            if isinstance(value, float):
                assert one[key] == pytest.approx(value, rel=1e-4), (key, other["step"])
            elif key == "consumed" or not isinstance(value, (list, dict)):
                assert one[key] == value, (key, other["step"])
    assert (out / "samples.jsonl").read_bytes() == (alone / "samples.jsonl").read_bytes()
    for step in checkpoint.steps_in(str(out / "checkpoints")):
        checkpoint.verify(str(out / "checkpoints"), step)
    exported, expected = (
        read_export(str(folder / "export"))[0]["llama"]["embedding"] for folder in (out, alone)
    )
    np.testing.assert_allclose(exported, expected, atol=1e-4)

    sampler, given = FakeSampler(FakePlan(steps=STEPS)), set()
    for number in range(2):
        for line in (tmp_path / f"rows-{number}-of-2").read_text().splitlines():
            step, start, rows = json.loads(line)
            assert start == 4 * number
            assert rows == sampler.batch(step).tokens[start : start + 4].tolist()
            given.add((step, number))
    assert given == {(step, number) for step in range(3, 6) for number in range(2)}


def test_a_process_that_differs_from_the_first_is_named(tmp_path: Path) -> None:
    """They find each other by what Slurm says."""
    job = {"SLURM_JOB_ID": str(port()), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}

    def slurm(number: int) -> dict[str, str]:
        return job | {"SLURM_PROCID": str(number), "SLURM_LOCALID": str(number), "SEED": str(number)}

    ended = run_in(2, tmp_path / "out", slurm)
    for code, _, stderr in ended:
        assert code == 2
        assert (
            f"run.seed: process 1 of 2 on {socket.gethostname()} differs from the first, which has 0 (found 1)"
            in stderr
        )
    assert not list((tmp_path / "out").glob("*"))


def test_held_out_rows_of_which_other_tokens_are_priced_are_others(
    inputs: Any, run_file: Callable[..., Any], tmp_path: Path
) -> None:
    run, (data, *_) = run_file(tmp_path), inputs.held_out
    changed = data._replace(scored=data.scored & (np.arange(data.scored.shape[1]) > 0))
    one, other = (
        identity_of(run, inputs._replace(held_out=[held_out]), None) for held_out in (data, changed)
    )
    assert one != other
    assert one["evaluation"].pop("sets").keys() == other["evaluation"].pop("sets").keys()
    assert one == other


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (HostSettings(None, "somewhere:1", 2), "by all three of --coordinator, --processes and --process"),
        (HostSettings(None, "somewhere:1", 2, 2), "there are 2 processes, numbered from 0"),
    ],
)
def test_settings_that_name_no_processes_are_refused(settings: HostSettings, fault: str) -> None:
    with pytest.raises(SpecError, match=fault):
        join(settings)


def test_the_run_file_is_named_where_its_devices_do_not_fit(tmp_path: Path) -> None:
    run = make_run(tmp_path / "out", devices={"sequence": 16})
    with pytest.raises(SpecError, match=r"^run\.yaml: devices: the mesh needs 16 devices"):
        train_together(run, lambda: make_inputs(FakePlan()), HostSettings(False), file="run.yaml")

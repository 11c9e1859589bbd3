"""A whole made-up run in a process of its own, or in one of several, with several CPU devices.

XLA_FLAGS=--xla_force_host_platform_device_count=4 python tests/train/mesh_run.py OUT LIMIT JSON   # JSON: section 'devices'

PLAN may hold the steps of the phases. In one of several processes the environment says which (JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES, JAX_PROCESS_ID, or Slurm's), ROWS
which file takes a line for each batch, SEED the seed, and DIES_AT before which step the process is killed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

spec = importlib.util.spec_from_file_location("fakes", Path(__file__).with_name("conftest.py"))
assert spec is not None
assert spec.loader is not None
fakes = importlib.util.module_from_spec(spec)
sys.modules["fakes"] = fakes
spec.loader.exec_module(fakes)

from tootsie.datasets.errors import UserError  # noqa: E402
from tootsie.train.host_watch import HostSettings  # noqa: E402
from tootsie.train.hosts import is_first  # noqa: E402
from tootsie.train.joint_run import train_together  # noqa: E402


class LoggedSampler(fakes.FakeSampler):  # type: ignore[misc, name-defined]
    def batches(self, first: int, end: int, own: slice | None = None) -> Iterator[Any]:
        for step, batch in enumerate(super().batches(first, end, own), first):
            if str(step) == os.environ.get("DIES_AT"):
                os.kill(os.getpid(), signal.SIGKILL)
            with Path(os.environ.get("ROWS", os.devnull)).open("a") as log:
                log.write(json.dumps([step, 0 if own is None else own.start, batch.tokens.tolist()]) + "\n")
            yield batch


if __name__ == "__main__":
    out, limit, devices = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    inputs = fakes.make_inputs(fakes.FakePlan(steps=tuple(json.loads(os.environ.get("PLAN", "[4, 4, 4]")))))
    run = fakes.make_run(out, devices=devices, seed=int(os.environ.get("SEED", "0")))
    settings = HostSettings("SLURM_PROCID" in os.environ or None)
    if "JAX_PROCESS_ID" in os.environ:
        numbers = (int(os.environ[name]) for name in ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID"))
        settings = HostSettings(None, os.environ["JAX_COORDINATOR_ADDRESS"], *numbers)
    try:
        summary = train_together(
            run, lambda: inputs._replace(sampler=LoggedSampler(inputs.plan)), settings, limit or None
        )
    except UserError as error:
        sys.exit(f"error: {error}")
    if is_first():
        print(json.dumps({"finished": summary.finished, "resumed_from": summary.resumed_from}))

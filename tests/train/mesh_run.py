"""A whole made-up run in a process of its own with four CPU devices.

XLA_FLAGS=--xla_force_host_platform_device_count=4 python tests/train/mesh_run.py OUT LIMIT JSON   # JSON: section 'devices'
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

spec = importlib.util.spec_from_file_location("fakes", Path(__file__).with_name("conftest.py"))
assert spec is not None
assert spec.loader is not None
fakes = importlib.util.module_from_spec(spec)
sys.modules["fakes"] = fakes
spec.loader.exec_module(fakes)

from tootsie.train.loop import train  # noqa: E402

if __name__ == "__main__":
    out, limit, devices = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    plan = fakes.FakePlan()
    summary = train(fakes.make_run(out, devices=devices), fakes.make_inputs(plan), print, limit or None)
    print(json.dumps({"finished": summary.finished, "resumed_from": summary.resumed_from}))

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    # A process that starts a watching child and leaves; the child then ends by itself.
    child = "import sys, time; from tootsie.datasets import beam_worker; beam_worker.end_with_parent(0.05); print('up', flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE); p.stdout.readline(); print(p.pid)"
    result = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, check=True)
    orphan = int(result.stdout)
    for _ in range(2000):
        status = Path(f"/proc/{orphan}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        os.sched_yield()
        subprocess.run([sys.executable, "-c", ""], check=True)
    pytest.fail("the orphan still runs")

"""A run that is killed while it asks goes on without asking again for what it was told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def test_a_killed_run_asks_nothing_twice(planted: Any, write_spec: Any, oracle: Any, tmp_path: Path) -> None:
    path, _ = planted(120)
    spec = write_spec(path, oracle.url, annotate={"sample": 80}, model={"concurrency": 4})
    command = [sys.executable, "-m", "tootsie.curate", "datashop", spec, str(tmp_path / "out")]
    for stop in (30, 60, 90):  # the last one falls into the rephrasing
        reached = threading.Event()

        def hold(number: int, body: Any, stop: int = stop, reached: threading.Event = reached) -> str | None:
            if number >= stop:
                reached.set()
                return "slow"
            return None

        oracle.fault = hold
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        assert reached.wait(120)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        oracle.seen = oracle.seen[:stop]
    oracle.fault = None
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=200)
    # Up to four were under way at each of the three kills, and nobody heard their answers; all others were asked once.
    assert sum(count - 1 for count in oracle.asked.values()) <= 3 * 4
    assert (tmp_path / "out" / "README.md").exists()
    told = [count for count in oracle.answered.values() if count > 1]
    assert len(told) <= 3 * 4

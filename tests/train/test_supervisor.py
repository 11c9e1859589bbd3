"""Restarts without a hand: each with a trainer of a few lines that crashes, hangs or ends as it is told."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tootsie.train import supervisor
from tootsie.train.supervisor import note_progress, supervise

TRAINER = """
import os, sys, time
from pathlib import Path
log, behaviour = Path(sys.argv[1]), sys.argv[2].split(",")
number = len(log.read_text().splitlines()) if log.exists() else 0
log.write_text((log.read_text() if number else "") + "started\\n")
what, _, step = behaviour[min(number, len(behaviour) - 1)].partition("@")
Path(os.environ["TOOTSIE_PROGRESS"]).write_text(step or "0")
if what == "hang":
    time.sleep(60)
if what == "signal":
    os.kill(os.getpid(), 9)
sys.exit(int(what))
"""


@pytest.fixture
def supervised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor, "POLL_SECONDS", 0.05)

    def run(behaviour: str, restarts: int = 2, patience: float = 30.0) -> tuple[int, int, list[str]]:
        """Return the exit code, how often the trainer was started, and what was told."""
        said: list[str] = []
        command = [sys.executable, "-S", "-c", TRAINER, str(tmp_path / "log"), behaviour]
        code = supervise(command, restarts, patience, said.append, first_delay=0.0)
        return code, len((tmp_path / "log").read_text().splitlines()), said

    return run


def test_a_crash_and_a_kill_are_followed_by_a_start(supervised) -> None:
    code, starts, said = supervised("1@3,signal@5,0@9", restarts=1)
    assert (code, starts) == (0, 3)
    assert "ended with code 1 at step 3; start 1 of 1" in said[0]
    assert "was ended by signal 9 at step 5; start 1 of 1" in said[1], "a new step is no start in vain"


def test_a_hang_is_ended_and_followed_by_a_start(supervised) -> None:
    code, starts, said = supervised("hang@3,0@9", patience=0.4)
    assert (code, starts) == (0, 2)
    assert "made no step for 0.00667 minutes and was killed at step 3" in said[0]


def test_what_crashes_at_the_same_step_again_is_given_up(supervised) -> None:
    code, starts, said = supervised("1@3,1@2,1@3", restarts=2)
    assert (code, starts) == (1, 3)
    assert said[-1] == "the trainer ended with code 1 at step 3; 2 starts led no further: given up"


def test_an_error_of_the_user_is_not_tried_again(supervised) -> None:
    assert supervised("2") == (2, 1, [])


def test_a_run_that_is_told_to_end_is_not_started_again(supervised) -> None:
    """SIGTERM is passed on: the trainer, not its supervisor, decides how to end."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        assert supervised("hang@3") == (1, 1, [])
    finally:
        timer.join()


def test_progress_is_told_where_somebody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(supervisor.PROGRESS, raising=False)
    note_progress(3)
    monkeypatch.setenv(supervisor.PROGRESS, str(tmp_path / "steps"))
    note_progress(4)
    note_progress(5)
    assert (tmp_path / "steps").read_text() == "5"

"""``tootsie train RUN.yaml --restarts N``: a run that crashes or hangs is started again by the same command.

This process computes nothing: it starts the trainer as another one, reads once a second how many updates that has done, kills
it where it stands still, and starts it again where it has not ended by itself. Errors of the user (exit code 2) are not tried
again: they would come back.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tootsie.datasets.errors import EXIT_FAULT, EXIT_USER_ERROR, EXIT_WHOLE

PROGRESS = "TOOTSIE_PROGRESS"
"""Environment variable with the path of the file where a supervised trainer writes how many updates are done."""
POLL_SECONDS = 1.0
"""Between two looks at the trainer."""
FIRST_DELAY, LONGEST_DELAY = 2.0, 120.0
"""Seconds before a start after a crash; twice as many after each that led to no new step."""


def note_progress(steps: int) -> None:
    """Tell the supervisor, if there is one, how many updates are done."""
    if (path := os.environ.get(PROGRESS)) is not None:
        Path(f"{path}.new").write_text(str(steps))
        os.replace(f"{path}.new", path)


def supervise(
    command: Sequence[str],
    restarts: int,
    patience: float,
    tell: Callable[[str], None],
    first_delay: float = FIRST_DELAY,
) -> int:
    """Run ``command`` until it ends by itself; return its exit code.

    Args:
      command: of the trainer, which calls :func:`note_progress`.
      restarts: starts after a crash or hang that may follow each other without a step that had not been reached before.
      patience: seconds without an update after which the trainer is killed.
      tell: takes one line.
      first_delay: seconds before the first new start.
    """
    best, in_vain = 0, 0
    with tempfile.TemporaryDirectory(prefix="tootsie-") as folder:
        progress = Path(folder, "steps")
        while True:
            code, why = _attempt(command, progress, patience)
            if code in (EXIT_WHOLE, EXIT_USER_ERROR) or why is None:
                return code
            reached = _steps(progress)
            in_vain, best = (in_vain + 1, best) if reached <= best else (1, reached)
            if in_vain > restarts:
                tell(f"the trainer {why} at step {reached:,}; {restarts} starts led no further: given up")
                return code
            delay = min(first_delay * 2 ** (in_vain - 1), LONGEST_DELAY)
            tell(
                f"the trainer {why} at step {reached:,}; start {in_vain} of {restarts} from its newest checkpoint in {delay:g} s"
            )
            time.sleep(delay)


def _attempt(command: Sequence[str], progress: Path, patience: float) -> tuple[int, str | None]:
    """Start the trainer once; return its exit code, and how it ended, ``None`` where this process was told to end it."""
    progress.unlink(missing_ok=True)
    with _passing_on_signals() as told:
        child = subprocess.Popen(command, env={**os.environ, PROGRESS: str(progress)})
        told.child = child
        if told.signal is not None:  # before there was one to pass it on to
            child.send_signal(told.signal)
        seen, moved = -1, time.monotonic()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = child.wait(POLL_SECONDS if patience > POLL_SECONDS else patience / 4)
                break
            if (now := _steps(progress)) != seen:
                seen, moved = now, time.monotonic()
            elif time.monotonic() - moved > patience:
                child.kill()
                child.wait()
                return EXIT_FAULT, f"made no step for {patience / 60:,.3g} minutes and was killed"
    if told.signal is not None:
        return code if code > 0 else EXIT_FAULT, None
    return (code, f"ended with code {code}") if code >= 0 else (EXIT_FAULT, f"was ended by signal {-code}")


def _steps(progress: Path) -> int:
    try:
        return int(progress.read_text())
    except FileNotFoundError:
        return 0


class _Told:
    """What this process was told while the trainer ran."""

    child: subprocess.Popen[bytes] | None = None
    signal: int | None = None


@contextlib.contextmanager
def _passing_on_signals() -> Iterator[_Told]:
    """Pass SIGTERM and Ctrl-C on to the trainer; what it does then is its own affair, and it is not started again."""
    told = _Told()

    def pass_on(number: int, frame: Any) -> None:
        told.signal = number
        if told.child is not None:
            told.child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

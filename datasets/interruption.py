"""Ctrl-C that always ends the process: a runner that swallows the interrupt, or waits for ever after it, is cut short."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from tootsie.datasets.errors import EXIT_FAULT

GRACE = 10.0
"""Seconds after the first interrupt in which to clean up; the second one ends the process at once."""


@contextlib.contextmanager
def prompt_interrupt() -> Iterator[threading.Event]:
    """Make sure that an interrupt (SIGINT) during the block ends the process within :data:`GRACE` seconds.

    Ending hard is safe where all writes are atomic and a run continues what is unfinished. Outside the main thread, or
    where interrupts are handled already, nothing is changed.

    Returns:
      An event that tells whether there was an interrupt.
    """
    interrupted = threading.Event()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield interrupted
        return
    timer = threading.Timer(GRACE, _end)
    timer.daemon = True

    def handle(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            _end()
        interrupted.set()
        timer.start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    try:
        yield interrupted
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end() -> None:
    print("interrupted", file=sys.stderr, flush=True)
    os._exit(EXIT_FAULT)

"""A Beam worker process of this machine: ``python -m tootsie.datasets.beam_worker``, started by the runner only.

It is Beam's own worker with three differences: its log goes to the runner and not to the terminal; it ends when the process that
started it is gone (``kill -9`` of a run leaves no orphans that go on writing); and it ends at once when the runner closes
the connection.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

WATCH_SECONDS = 0.5
"""How often the worker looks whether its parent still lives."""


def end_with_parent(seconds: float = WATCH_SECONDS) -> threading.Thread:
    """Start a daemon thread that ends this process once its parent is another one than now."""
    parent = os.getppid()
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(seconds):
            if os.getppid() != parent:
                os._exit(1)

    thread = threading.Thread(target=watch, name="end-with-parent", daemon=True)
    thread.start()
    return thread


def work(end: Callable[[], NoReturn]) -> None:
    """Run Beam's worker until the runner has no more work.

    Args:
      end: ends the process, however many threads it has.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the runner, which ends its workers
    end_with_parent()
    # With a handler in place, Beam's logging.warning() calls do not set up one that writes to the terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    from apache_beam.runners.worker import sdk_worker_main

    if "TOOTSIE_BEAM_LOG" not in os.environ:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - a step's traceback reaches the user through the runner
    _, harness, _ = sdk_worker_main.create_harness(os.environ)
    # Called when the runner has closed the connection. Beam would wait for steps that are still running, and after a fault in
    # another worker such a step may wait for input that never comes.
    harness._worker_thread_pool.shutdown = lambda *_: end()
    harness.run()


def main() -> None:
    """Start from nothing."""
    work(lambda: os._exit(0))


if __name__ == "__main__":
    main()

"""Ctrl-C in a process that trains."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from tootsie.datasets.errors import EXIT_FAULT


@contextlib.contextmanager
def leaving_at_once(farewell: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """End the process at once on Ctrl-C while the block runs, with the code of a fault; a run continues from anywhere.

    ``farewell`` is called before, with the reason.

    As an exception, the interrupt may be lost in a callback of JAX's, and threads of JAX and Orbax may crash in an
    interpreter that is torn down.
    """

    def leave(number: int, frame: Any) -> None:
        os.write(2, b"interrupted; the same command continues\n")
        farewell("interrupted by Ctrl-C")
        os._exit(EXIT_FAULT)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, or another's
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

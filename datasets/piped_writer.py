"""A reader for what can only be written: a producer runs in a thread, never more than a few megabytes ahead of its reader."""

from __future__ import annotations

import contextlib
import io
import queue
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

PIECE = 2**18
"""Most bytes that travel as one."""
AHEAD = 16
"""Pieces the producer may be ahead."""


class _Abandoned(BaseException):
    """Ends a producer whose reader has left; no fault, so no ``Exception`` that the producer might take for one."""


class _End(BaseException):
    """Stands behind the last piece."""


class PipedWriter:
    """The end that the producer writes to."""

    def __init__(self) -> None:
        self._pieces: queue.Queue[bytes | BaseException] = queue.Queue(AHEAD)
        self._left = threading.Event()

    def write(self, content: bytes) -> int:
        """Hand ``content`` on; waits while the reader is far behind."""
        for start in range(0, len(content), PIECE):
            self._put(content[start : start + PIECE])
        return len(content)

    def _put(self, piece: bytes | BaseException) -> None:
        while True:
            if self._left.is_set():
                raise _Abandoned
            with contextlib.suppress(queue.Full):
                self._pieces.put(piece, timeout=0.2)
                return


class _Reader(io.RawIOBase):
    def __init__(self, pieces: queue.Queue[bytes | BaseException]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and not self._ended:
            piece = self._pieces.get()
            if isinstance(piece, BaseException):
                self._ended = True
                if not isinstance(piece, _End):
                    raise piece
            else:
                self._rest = piece
        taken = self._rest[: len(buffer)]
        self._rest = self._rest[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


@contextlib.contextmanager
def piped(produce: Callable[[PipedWriter], None]) -> Iterator[IO[bytes]]:
    """Give a stream of what ``produce`` writes; what it raises, the reader meets where the bytes end."""
    writer = PipedWriter()

    def work() -> None:
        end: BaseException = _End()
        try:
            produce(writer)
        except _Abandoned:
            return
        except BaseException as error:
            end = error
        with contextlib.suppress(_Abandoned):
            writer._put(end)

    thread = threading.Thread(target=work, name="piped", daemon=True)
    thread.start()
    try:
        yield io.BufferedReader(_Reader(writer._pieces), 2**17)
    finally:
        writer._left.set()
        thread.join()

"""The process that converts documents for :mod:`tootsie.curate.limited_conversion` and dies of those that go over a limit.

``python -m tootsie.curate.conversion_process MODULE:FUNCTION SECONDS BYTES`` reads batches of documents from standard input and
writes an answer to each batch to standard output, as messages: a length (8 bytes, little endian) and a pickle. It ends
with its input.

The time limit is CPU time, by ``ITIMER_PROF``, whose signal ends a process also in the middle of C code; the memory limit is
address space beyond what the process has when it begins, by ``RLIMIT_AS``.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import signal
import struct
import sys
from collections.abc import Sequence
from typing import IO, Any

LENGTH = struct.Struct("<Q")
"""How the length of a message is written."""
DONE, MEMORY, ERROR = "done", "memory", "error"
"""What became of a document: its conversion follows; nothing follows, nor further documents; what went wrong follows."""


def read_message(stream: IO[bytes]) -> bytes | None:
    """Return the next message, ``None`` at the end of the stream."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(header)
    content = stream.read(length)
    return content if len(content) == length else None


def limit_memory(size: int) -> None:
    """Let this process have ``size`` more bytes of address space than it has now, where the system can do that."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", "rb") as state:
            pages = int(state.read().split()[0])
        limit = pages * resource.getpagesize() + size
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY or limit < most:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def convert_batch(
    function: Any, requests: Sequence[Any], seconds: float, out_of_memory: tuple[type[Exception], ...]
) -> bytes:
    """Return the pickled list of what became of each document, cut off after one that takes too much memory."""
    results: list[tuple[str, Any]] = []
    for request in requests:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            results.append((DONE, function(request)))
        except out_of_memory:
            results.append((MEMORY, None))
            gc.collect()
            break
        except Exception as error:
            results.append((ERROR, f"{type(error).__name__}: {error}"))
    try:
        return pickle.dumps(results, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return pickle.dumps([(MEMORY, None)])


def main(name: str, seconds: float, size: int) -> None:
    """Answer batches until there are none.

    Args:
      name: ``module:function`` that converts.
      seconds: CPU time for one document; 0 means any.
      size: bytes of memory for one document; 0 means any.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the answers
    module, _, function = name.partition(":")
    convert = getattr(importlib.import_module(module), function)
    out_of_memory: tuple[type[Exception], ...] = (MemoryError,)
    if size:
        from selectolax.lexbor import SelectolaxError

        # There is no HTML that cannot be parsed: Lexbor fails where it gets no memory, and only there.
        out_of_memory = (MemoryError, SelectolaxError)
        limit_memory(size)
    gc.freeze()
    while (message := read_message(requests)) is not None:
        try:
            content = convert_batch(convert, pickle.loads(message), seconds, out_of_memory)
        except MemoryError:
            content = pickle.dumps([(MEMORY, None)])
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(LENGTH.pack(len(content)))
        answers.write(content)
        answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))

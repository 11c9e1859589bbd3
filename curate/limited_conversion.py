"""Convert documents within limits on the time and memory of each.

The converter is C code inside of Python: nothing in its process can stop it, and Beam's workers convert in threads. So it runs in
a process of its own (:mod:`tootsie.curate.conversion_process`), one for each worker, which is given some documents at a time
and is started again after it died of one.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tootsie.curate.conversion_process import DONE, ERROR, LENGTH
from tootsie.curate.corpus import (
    ConversionFault,
    Kept,
    LeftOut,
    MemoryLimitFault,
    Outcome,
    Pending,
    TimeLimitFault,
    failed,
)
from tootsie.curate.page_conversion import Converted, Request

CONVERTER = "tootsie.curate.page_conversion:convert_request"
"""What converts, in its process."""
BATCH_CHARACTERS = 2**20
"""Documents go to the converter together once they have so many characters (or bytes) of HTML …"""
BATCH_DOCUMENTS = 64
"""… or once there are so many of them …"""
BATCH_ITEMS = 1024
"""… or so many outcomes, those that need no conversion included."""
PATIENCE_FACTOR = 10
"""How many times the CPU time limit may pass on the clock: a busy machine is no fault of the document."""
PATIENCE_SECONDS = 60.0
"""The least that may pass on the clock beyond the limit."""
_PIPE_BYTES = 2**20
_SET_PIPE_SIZE = 1031  # Linux: F_SETPIPE_SZ

Result = Converted | ConversionFault
"""What became of a document."""
Convert = Callable[[Sequence[Request]], list[Result]]
"""Converts some documents."""


def convert_here(requests: Sequence[Request], function: str | None = None) -> list[Result]:
    """Convert documents in this process, without limits.

    Args:
      requests: the documents.
      function: as of :class:`LimitedConverter`.
    """
    module, _, name = (function or CONVERTER).partition(":")
    convert_request: Callable[[Request], Converted] = getattr(importlib.import_module(module), name)
    results: list[Result] = []
    for request in requests:
        try:
            results.append(convert_request(request))
        except Exception as error:
            results.append(ConversionFault(f"{type(error).__name__}: {error}"))
    return results


def convert_pending(
    items: Iterable[Outcome | Pending],
    convert: Convert,
    sampled: Callable[[str], bool] = lambda identity: False,
) -> Iterator[Outcome | LeftOut]:
    """Yield the outcomes of ``items`` in their order, some pending ones converted together.

    Args:
      items: outcomes, and documents to convert.
      convert: converts them.
      sampled: tells from its identifier whether what is left out of a document is told as well; asked once for each.
    """
    held: list[Outcome | Pending] = []
    documents = characters = 0
    for item in items:
        if not isinstance(item, Pending) and not documents:
            yield item
            continue
        held.append(item)
        if isinstance(item, Pending):
            documents += 1
            characters += sum(map(len, item.pages))
        if documents >= BATCH_DOCUMENTS or characters >= BATCH_CHARACTERS or len(held) >= BATCH_ITEMS:
            yield from _converted(held, convert, sampled)
            held, documents, characters = [], 0, 0
    yield from _converted(held, convert, sampled)


def _converted(
    held: list[Outcome | Pending], convert: Convert, sampled: Callable[[str], bool]
) -> Iterator[Outcome | LeftOut]:
    pending = [item for item in held if isinstance(item, Pending)]
    results = iter(convert([Request(item.pages, item.options, sampled(item.id)) for item in pending]))
    for item in held:
        if not isinstance(item, Pending):
            yield item
            continue
        result = next(results)
        if isinstance(result, ConversionFault):
            yield failed(item, result)
            continue
        try:
            outcomes = list(item.finish(result.conversions))
        except Exception as error:
            outcomes = [failed(item, error)]
        yield from outcomes
        if any(isinstance(outcome, Kept) for outcome in outcomes):
            yield from (LeftOut(item.id, rule, text) for rule, text in result.dropped)


@dataclass(frozen=True)
class ConversionLimits:
    """What the conversion of one document may take."""

    seconds: float = 60.0
    """CPU time; 0 means any."""
    memory: int = 2 * 2**30
    """Bytes beyond those of an idle converter; 0 means any."""


class LimitedConverter:
    """A :data:`Convert` with limits; to be closed, and not for several threads at once."""

    def __init__(self, limits: ConversionLimits, function: str | None = None) -> None:
        """Start nothing yet.

        Args:
          limits: for each document.
          function: ``module:name`` of what converts, as :func:`.page_conversion.convert_request` does, which is the default.
        """
        self._limits = limits
        self._function = function or CONVERTER
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LimitedConverter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, requests: Sequence[Request]) -> list[Result]:
        """Convert documents; what goes wrong with one is its result and none of the others'."""
        requests = list(requests)
        results: list[Result] = []
        together = True
        while len(results) < len(requests):
            fresh = self._process is None
            batch = requests[len(results) :] if together else requests[len(results) : len(results) + 1]
            try:
                answers = self._ask(batch)
            except ConversionFault as fault:
                # Whose fault it was is not known of a batch: one after another tells.
                if len(batch) == 1:
                    self._settle(fault, requests, results)
                together = False
                continue
            for kind, value in answers:
                if kind == DONE:
                    results.append(value)
                elif kind == ERROR:
                    results.append(ConversionFault(value))
                else:
                    self.close()
                    # What others left in the memory of the process shall not decide about this one.
                    if fresh and len(answers) == 1:
                        mebibytes = self._limits.memory / 2**20
                        over = MemoryLimitFault(f"more than {mebibytes:,.0f} MiB (--memory-limit)")
                        self._settle(over, requests, results)
        return results

    @staticmethod
    def _settle(fault: ConversionFault, requests: list[Request], results: list[Result]) -> None:
        """Make ``fault`` the result of the next document, unless it was only too much to tell what was left out of it."""
        request = requests[len(results)]
        if request.trace:
            requests[len(results)] = request._replace(trace=False)
        else:
            results.append(fault)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tootsie.curate.conversion_process", self._function]
        command += [repr(self._limits.seconds), str(self._limits.memory)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            for stream in (process.stdin, process.stdout):
                assert stream is not None
                fcntl.fcntl(stream.fileno(), _SET_PIPE_SIZE, _PIPE_BYTES)
        return process

    def _ask(self, requests: Sequence[Request]) -> list[tuple[str, Any]]:
        message = pickle.dumps(list(requests), pickle.HIGHEST_PROTOCOL)
        if self._process is None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = None
        if self._limits.seconds:
            # Of a batch that should take longer, the documents are converted one by one.
            most = max(self._limits.seconds * PATIENCE_FACTOR, self._limits.seconds + PATIENCE_SECONDS)
            deadline = time.monotonic() + most
        try:
            with contextlib.suppress(BrokenPipeError):
                for part in (LENGTH.pack(len(message)), message):
                    _write(process.stdin.fileno(), part)
            source = process.stdout.fileno()
            header = _read(source, LENGTH.size, deadline)
            content = header and _read(source, LENGTH.unpack(header)[0], deadline)
        except TimeoutError:
            self.close()
            raise TimeLimitFault("no answer from the converter (--time-limit)") from None
        except BaseException:  # an interrupt: the answer that is on its way belongs to no question any more
            self.close()
            raise
        if not content:
            raise self._death(process)
        return list(pickle.loads(content))

    def _death(self, process: subprocess.Popen[bytes]) -> ConversionFault:
        code = process.wait()
        self.close()
        if code == -signal.SIGPROF:
            return TimeLimitFault(f"more than {self._limits.seconds:g} s of CPU time (--time-limit)")
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"exit code {code}"
        return ConversionFault(f"the converter crashed ({name})")


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _read(descriptor: int, length: int, deadline: float | None) -> bytes | None:
    """Return ``length`` bytes, ``None`` where the stream ends before.

    Raises:
      TimeoutError: they are not there at the ``deadline``.
    """
    parts: list[bytes] = []
    while length:
        wait = None if deadline is None else max(deadline - time.monotonic(), 0)
        if not select.select([descriptor], [], [], wait)[0]:
            raise TimeoutError
        part = os.read(descriptor, min(length, _PIPE_BYTES))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)

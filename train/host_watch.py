"""Processes on several hosts that begin together and end together.

Each process has a thread that tells the coordination service once a second that it lives, and asks whether another has failed.
A process that fails says so before it ends; one that is killed falls silent, which breaks the exchange it takes part in, or is
noticed by the first process. In each case all the others end within a bounded time, with a message that names it. The run
continues from its newest checkpoint when all are started again.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import jax

from tootsie.datasets import storage
from tootsie.datasets.errors import EXIT_FAULT, EXIT_USER_ERROR, SpecError, UserError
from tootsie.datasets.terminal import printable
from tootsie.train import hosts
from tootsie.train.checkpoint import first_difference

BEAT_SECONDS = 1.0
"""Between two signs of life."""
SILENCE_SECONDS = 30.0
"""Silence after which a process counts as gone."""
GRACE_SECONDS = 5.0
"""What a process has, after another failed, to fail by itself, with its own message."""
_FAULT = f"{hosts.PREFIX}/fault"
_BEATS = f"{hosts.PREFIX}/beat"
_HEARD = f"{hosts.PREFIX}/heard"
_NO_FIRST = "the first process, which all the others speak through, does not answer any more"


class HostSettings(NamedTuple):
    """How the processes of a run find each other."""

    detect: bool | None = None  # Whether JAX asks the machine; None: on a TPU it does.
    coordinator: str | None = None  # HOST:PORT that the first process listens at and all can reach.
    processes: int | None = None  # How many there are.
    process: int | None = None  # The number of this one, from 0.
    patience: float = 3600.0  # Seconds without a step after which a process gives up.


def join(settings: HostSettings) -> None:
    """Join the other processes of the run, if there are any. Must come before anything asks JAX for its devices.

    Raises:
      SpecError: the settings are not whole, nothing could be detected, or the others did not come.
    """
    given = settings[1:4]
    if settings.detect is None and given == (None, None, None) and not _has_tpu():
        return
    if settings.detect is False:
        return
    if given != (None, None, None) and None in given and not settings.detect:
        raise SpecError(
            "the processes of a run find each other by all three of --coordinator, --processes and --process, or by --hosts auto",
            field="--coordinator",
            value=settings.coordinator,
        )
    if settings.processes is not None and not 0 <= (settings.process or 0) < settings.processes:
        raise SpecError(
            f"there are {settings.processes} processes, numbered from 0",
            field="--process",
            value=settings.process,
        )
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        # What is given here is for the case that the threads below can't speak any more.
        jax.distributed.initialize(
            *given, heartbeat_timeout_seconds=int(2 * SILENCE_SECONDS), shutdown_timeout_seconds=60
        )
    except ValueError as error:
        if settings.detect is None and given == (None, None, None):
            return  # a TPU that belongs to no cluster
        raise SpecError(
            f"JAX could not find out which processes there are: {error}",
            field="--hosts",
            remedy="Give --coordinator, --processes and --process",
        ) from None
    except jax.errors.JaxRuntimeError as error:
        raise SpecError(
            f"the processes did not find each other: {str(error).splitlines()[0]}",
            field="--coordinator",
            value=settings.coordinator,
            remedy="Start all processes within five minutes, each with its own number",
        ) from None


def _has_tpu() -> bool:
    import importlib.util

    allowed = os.environ.get("JAX_PLATFORMS", "tpu")
    device = any(os.path.exists(path) for path in ("/dev/accel0", "/dev/vfio/0"))
    return "tpu" in allowed.split(",") and device and importlib.util.find_spec("libtpu") is not None


class Company:
    """This process among the others; alone, nothing here does anything."""

    def __init__(self, patience: float) -> None:
        """Begin to give signs of life.

        Args:
          patience: seconds without :meth:`advanced` after which this process gives up.
        """
        self._client = hosts.client()
        self._patience = patience
        self._moved = time.monotonic()
        self._ended = threading.Event()
        self._last_words = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="host-watch", daemon=True)
        if hosts.count() > 1:
            self._thread.start()

    def advanced(self) -> None:
        """Say that the run goes on."""
        self._moved = time.monotonic()

    def close(self) -> None:
        """Wait for the others to be done too, and stop watching."""
        if hosts.count() > 1:
            hosts.barrier("end")
            self._ended.set()
            self._thread.join()

    def fail(self, message: str) -> None:
        """Tell the others why this process ends; of several faults the first is believed."""
        if hosts.count() > 1:
            fault = json.dumps([hosts.index(), socket.gethostname(), message])
            with contextlib.suppress(
                jax.errors.JaxRuntimeError
            ):  # another was faster, or the service is gone
                self._client.key_value_set(_FAULT, fault)

    def leave(self, error: BaseException) -> None:
        """End this process for ``error``, and all others with it; alone, return."""
        if hosts.count() == 1:
            return
        if isinstance(error, UserError):
            self._end(str(error), EXIT_USER_ERROR)
        cause = self._cause() if isinstance(error, jax.errors.JaxRuntimeError) else None
        if cause is None:
            traceback.print_exception(error)
        self._end(cause or f"{type(error).__name__}: {str(error).partition(chr(10))[0]}", EXIT_FAULT)

    def _watch(self) -> None:
        """Give a sign of life each second; end the process where another has failed or fallen silent."""
        heard: dict[str, tuple[str, float]] = {}
        beat = lost = 0
        while not self._ended.wait(BEAT_SECONDS):
            beat, now = beat + 1, time.monotonic()
            try:
                sign = json.dumps([beat, socket.gethostname()])
                self._client.key_value_set(f"{_BEATS}/{hosts.index()}", sign, allow_overwrite=True)
                if hosts.is_first() and beat % 5 == 0:
                    self._notice_silence(heard, now)
                fault, lost = self._fault(), 0
            except jax.errors.JaxRuntimeError:
                fault, lost = None, lost + 1
            if lost == 5:
                self._end(_NO_FIRST, EXIT_FAULT)
            if fault is None and now - self._moved > self._patience:
                fault = f"no step for {self._patience / 60:,.0f} minutes"
            if fault is not None and not self._ended.wait(GRACE_SECONDS):
                self._end(fault, EXIT_FAULT)

    def _notice_silence(self, heard: dict[str, tuple[str, float]], now: float) -> None:
        """Say it where a process has given no new sign of life for too long.

        Args:
          heard: by process, its last sign and when that was new; updated.
          now: on the clock of this process.
        """
        for key, sign in self._client.key_value_dir_get(_BEATS):
            if heard.get(key, ("", 0.0))[0] != sign:
                heard[key] = (sign, now)
            elif now - heard[key][1] > SILENCE_SECONDS:
                self._client.key_value_set(_FAULT, _gone(key, sign))

    def _fault(self) -> str | None:
        """Return which process has failed and why, if any has."""
        try:
            process, host, message = json.loads(self._client.key_value_try_get(_FAULT))
        except jax.errors.JaxRuntimeError as error:
            if "NOT_FOUND" in str(error):
                return None
            raise
        return f"process {process} of {hosts.count()} on {host} ended: {message}"

    def _cause(self) -> str | None:
        """Return which other process is the cause of an exchange that failed, if all do not give signs of life soon."""
        try:
            waiting = dict(self._client.key_value_dir_get(_BEATS))
            until = time.monotonic() + 10 * BEAT_SECONDS
            while waiting and time.monotonic() < until:
                if (fault := self._fault()) is not None:
                    return fault
                time.sleep(BEAT_SECONDS / 2)
                now = dict(self._client.key_value_dir_get(_BEATS))
                waiting = {key: sign for key, sign in waiting.items() if now.get(key) == sign}
            for key, sign in sorted(waiting.items())[:1]:
                self._client.key_value_set(_FAULT, _gone(key, sign))
            return self._fault()
        except jax.errors.JaxRuntimeError as error:
            return self._fault() if "ALREADY_EXISTS" in str(error) else _NO_FIRST

    def _end(self, text: str, code: int) -> NoReturn:
        """Print the error, wait for the others to hear of it, end the process."""
        self._last_words.acquire()  # never released: one thread ends the process
        self.fail(text)
        sys.stdout.flush()
        print(f"error: {printable(text)}", file=sys.stderr, flush=True)
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            self._client.key_value_set(f"{_HEARD}/{hosts.index()}", "")
            until = time.monotonic() + 2 * GRACE_SECONDS
            while hosts.is_first() and time.monotonic() < until:  # the service lives here
                if len(self._client.key_value_dir_get(_HEARD)) == hosts.count():
                    break
                time.sleep(0.1)
        os._exit(code)


def _gone(key: str, sign: str) -> str:
    """Return the fault of a process that no longer gives signs of life."""
    return json.dumps([int(key.rpartition("/")[2]), json.loads(sign)[1], "it gives no sign of life any more"])


@contextlib.contextmanager
def together(settings: HostSettings) -> Iterator[Company]:
    """Join the processes of a run; whatever ends the block in one of them ends all."""
    join(settings)
    company = Company(settings.patience)
    try:
        yield company
        company.close()
    except BaseException as error:
        company.leave(error)
        raise


def require_agreement(identity: dict[str, Any]) -> None:
    """Refuse to begin where a process has another plan, other settings or other code than the first.

    Raises:
      SpecError: in all processes; names the one that differs, the first setting in which it does, and both values.
    """
    found = hosts.gather("identity", (socket.gethostname(), identity))

    def first_fault() -> tuple[str, str, Any] | None:
        for number, (host, other) in enumerate(found):
            difference = first_difference(identity, other)
            if difference is not None:
                field, wanted, value = difference
                problem = f"process {number} of {hosts.count()} on {host} differs from the first, which has {wanted!r}"
                return problem, field, value
        return None

    fault = hosts.from_first("agreement", first_fault)
    if fault is not None:
        problem, field, value = fault
        raise SpecError(
            problem,
            field=field,
            value=value,
            remedy="Give all of them the same run file, plan, data and version",
        )


def require_shared(folder: str) -> None:
    """Refuse a folder that is another one on another host.

    Raises:
      SpecError: names the folder.
    """
    if hosts.count() == 1:
        return

    def write_token() -> str:
        token = storage.join(folder, f"shared-{uuid.uuid4().hex[:12]}")
        storage.write_bytes(token, b"")
        return token

    url = hosts.from_first("token", write_token)
    until = time.monotonic() + SILENCE_SECONDS  # network file systems show a new file late
    while not (seen := storage.exists(url)) and time.monotonic() < until:
        time.sleep(0.5)
    if not seen:
        raise SpecError(
            "the first process has written a file into this folder, and it is not to be seen from here",
            file=folder,
            field="out",
            remedy="Choose a folder that all hosts share, or a bucket",
        )
    if hosts.gather("token-seen", True):
        storage.remove(url)

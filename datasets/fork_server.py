"""Worker processes that start at once: copies of one process that has imported and loaded already what they need.

A worker that starts from nothing imports Beam and loads its tokenizer, seconds of processor time each, and so do all of them at
the same moment. Here one process does it, while the command that started it reads its input; each worker is a copy of it
(``fork``)::

    with workers_ahead(2):
        preload(importlib.import_module, "tootsie.tokenize.shard_build")
        ...                                    # plan, then run a pipeline: its workers come from there

A copy is made only while the process has a single thread; else, and on other systems than Linux, a worker starts from
nothing as Beam has it. The process ends with the command, and the workers end with the process.

Protocol: calls come on standard input, each a length (4 bytes) and a pickle of function and arguments. Whoever wants a worker
connects to the socket and sends a length and its environment as JSON (:mod:`tootsie.datasets.fork_client`). The answer is ``F``
for a forked worker, later ``0`` when it has ended well; or ``N``: start one yourself. The socket has a name in Linux's abstract
namespace, so that a killed command leaves nothing in a folder; both ends refuse one of another user.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import logging
import os
import pickle
import secrets
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from tootsie.datasets.fork_client import user_of

_SINGLE_THREAD = {
    # Threads that libraries start when they are imported; a copy of a process has none of them.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_NUM_THREADS": "1",
}


class ForkServer:
    """The process as the one that started it sees it.

    Args:
      process: it, with a pipe to its standard input.
      address: name of its socket in the abstract namespace.
    """

    def __init__(self, process: subprocess.Popen[bytes], address: str) -> None:
        self._process = process
        self.address = address

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Let it call a function of a module, and wait for nothing; what the function raises is ignored."""
        content = pickle.dumps((function, arguments))
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(len(content).to_bytes(4, "big") + content)
            self._process.stdin.flush()

    @property
    def command(self) -> str:
        """What a shell gets a worker with."""
        client = Path(__file__).with_name("fork_client.py")
        # Nothing but the standard library: it starts within milliseconds.
        return worker_command(sys.executable, "-S", "-E", str(client), self.address)


def worker_command(*words: str) -> str:
    """Return a shell's command for a worker. Ctrl-C goes to the command, which ends its workers, however far they have come."""
    return f"trap '' INT; exec {shlex.join(words)}"


_current: contextvars.ContextVar[ForkServer | None] = contextvars.ContextVar("fork server", default=None)


def current() -> ForkServer | None:
    """Return the one that was started around the code that asks, if any."""
    return _current.get()


def preload(function: Callable[..., Any], *arguments: Any) -> None:
    """Let the workers to come find done what a call does: modules imported, files loaded into a function's cache.

    Args:
      function: of a module, so that it can be named; whatever it raises is ignored, as a worker will come upon it again.
      arguments: its arguments.
    """
    server = current()
    if server is not None:
        server.call(function, *arguments)


@contextlib.contextmanager
def workers_ahead(workers: int | None) -> Iterator[None]:
    """Start the process, for pipelines that are run in the block.

    Args:
      workers: how many worker processes are asked for; 0 means one for each core. With one, or ``None``, there are none.
    """
    count = (os.cpu_count() or 1) if workers == 0 else workers or 1
    if count < 2 or sys.platform != "linux":
        yield
        return
    address = f"tootsie-{secrets.token_hex(16)}"
    listener = _listen(address)
    if listener is None:
        yield
        return
    with listener:  # closed here at once: where the process is gone, nobody shall wait for its answer
        process = _start(listener)
    if process is None:
        yield
        return
    token = _current.set(ForkServer(process, address))
    try:
        yield
    finally:
        _current.reset(token)
        process.kill()
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()


def _start(listener: socket.socket) -> subprocess.Popen[bytes] | None:
    """Return the process, ``None`` where the system lets none be started; the workers' own start says why, if it must."""
    # It inherits what is blocked: Ctrl-C goes to the command, which ends this process, however far it has come.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "tootsie.datasets.fork_server", str(listener.fileno())],
            stdin=subprocess.PIPE,
            env={**os.environ, **_SINGLE_THREAD},
            pass_fds=[listener.fileno()],
        )
    except OSError:
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _listen(address: str) -> socket.socket | None:
    """Return a socket of that name, ``None`` where the system has no such names."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(f"\0{address}")
        listener.listen(64)
    except OSError:
        listener.close()
        return None
    return listener


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGCHLD, _reap)
    listener = socket.socket(fileno=int(sys.argv[1]))
    # With a handler in place, nothing that is logged while Beam is imported sets up one that writes to the terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    from apache_beam.runners.worker import sdk_worker_main  # noqa: F401 - what every worker needs

    from tootsie.datasets import beam_worker  # noqa: F401

    calls = open(0, "rb", buffering=0)  # noqa: SIM115 - for as long as the process lives
    sources: list[Any] = [calls, listener]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if calls in ready:
            content = _message(calls.read)
            if content is None:
                break
            with contextlib.suppress(Exception):
                function, arguments = pickle.loads(content)
                function(*arguments)
        elif listener in ready:
            try:
                connection, _ = listener.accept()
            except OSError:  # too many open files: without this process, workers start from nothing
                break
            with connection, contextlib.suppress(OSError):  # who asked may be gone
                _serve(connection, listener)


def _reap(*_: object) -> None:
    """Take note of workers that have ended, whose processor time then counts as that of the command."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _serve(connection: socket.socket, listener: socket.socket) -> None:
    if user_of(connection) != os.getuid():
        return
    content = _message(connection.recv)
    if content is None:
        return
    if len(os.listdir("/proc/self/task")) > 1:
        connection.sendall(b"N")
        return
    try:
        child = os.fork()
    except OSError:  # no more processes, no more memory
        connection.sendall(b"N")
        return
    if child == 0:
        try:
            connection.sendall(b"F")
            listener.close()
            _work(connection, json.loads(content))
        finally:
            os._exit(1)


def _work(connection: socket.socket, environment: dict[str, str]) -> NoReturn:
    """Be a worker."""
    from tootsie.datasets import beam_worker

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the calls are not for this one
    os.environ.clear()
    os.environ.update(environment)

    def watch() -> None:
        while connection.recv(1):
            pass
        os._exit(1)  # whoever asked for this worker is gone

    def end() -> NoReturn:
        with contextlib.suppress(OSError):
            connection.sendall(b"0")
        os._exit(0)

    threading.Thread(target=watch, name="end-with-client", daemon=True).start()
    beam_worker.work(end)
    end()


def _message(read: Callable[[int], bytes | None]) -> bytes | None:
    """Return what follows a length, ``None`` at the end."""
    found = b""
    size: int | None = None
    while size is None or len(found) < size:
        part = read(4 - len(found) if size is None else size - len(found))
        if not part:
            return None
        found += part
        if size is None and len(found) == 4:
            size, found = int.from_bytes(found, "big"), b""
    return found


if __name__ == "__main__":
    main()

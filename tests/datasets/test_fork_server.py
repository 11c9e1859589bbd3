from __future__ import annotations

import errno
import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from tootsie.datasets import beam_runner, fork_server
from tootsie.datasets.fork_client import user_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
UNUSED = "xml.sax.xmlreader"
"""A module that nothing else imports."""


def describe(folder: str, number: int) -> int:
    """Say who works."""
    parent = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().decode().split("\0")
    found: dict[str, object] = {
        "parent": parent,
        "preloaded": UNUSED in sys.modules,
        "mark": os.environ.get("MARK"),
        "seconds": time.process_time(),
    }
    (Path(folder) / f"{os.getpid()}.json").write_text(json.dumps(found))
    return number


def seconds_of_children(pid: int) -> float:
    """Processor time of the ended children that a process has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def run(folder: Path) -> list[dict[str, Any]]:
    options = beam_runner.pipeline_options([], workers=2)
    beam_runner.run(functools.partial(steps, str(folder)), options)
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def steps(folder: str, pipeline: beam.Pipeline) -> None:
    pipeline | beam.Create(range(4)) | beam.Reshuffle() | beam.Map(functools.partial(describe, folder))


def test_workers_are_copies_of_one_process_that_has_loaded_what_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fork_server.workers_ahead(2):
        monkeypatch.setenv("MARK", "set after the server was started")
        fork_server.preload(importlib.import_module, UNUSED)
        fork_server.preload(importlib.import_module, "no.such.module")
        server = fork_server.current()
        assert server is not None
        found = run(tmp_path)
        spent, until = sum(worker["seconds"] for worker in found), time.monotonic() + 60
        while seconds_of_children(server._process.pid) < spent - 0.02:
            assert time.monotonic() < until, "the workers' processor time is lost"
            time.sleep(0.01)
    assert found
    for worker in found:
        assert "tootsie.datasets.fork_server" in worker["parent"]
        assert worker["preloaded"]
        assert worker["mark"]
    assert fork_server.current() is None


def test_there_is_no_server_for_a_single_worker() -> None:
    for workers in (None, 1):
        with fork_server.workers_ahead(workers):
            assert fork_server.current() is None
            fork_server.preload(int)


def test_the_server_ends_with_its_command() -> None:
    code = (
        "import os, signal\n"
        "from tootsie.datasets import fork_server\n"
        "with fork_server.workers_ahead(2):\n"
        "    print(fork_server.current()._process.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pid = result.stdout.strip()
    until = time.monotonic() + 120
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < until, "the server still runs"
        subprocess.run([sys.executable, "-S", "-c", ""], check=True)


def test_what_does_not_belong_to_the_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("what a stranger sends is read")

    ours, theirs = socket.socketpair()
    with ours:
        assert user_of(ours) == os.getuid()
        monkeypatch.setattr(fork_server, "user_of", lambda connection: os.getuid() + 1)
        monkeypatch.setattr(fork_server, "_message", read)
        with theirs:
            fork_server._serve(theirs, theirs)
        assert ours.recv(1) == b""


def test_ctrl_c_is_not_for_whoever_waits_for_a_worker() -> None:
    address = f"tootsie-test-{os.getpid()}"
    listener = fork_server._listen(address)
    assert listener is not None
    with listener, subprocess.Popen(["true"], stdin=subprocess.PIPE) as process:
        command = fork_server.ForkServer(process, address).command
        with subprocess.Popen(command, shell=True, stderr=subprocess.PIPE) as client:
            connection, _ = listener.accept()
            with connection:
                assert fork_server._message(connection.recv)
                client.send_signal(signal.SIGINT)
                connection.sendall(b"F0")
            _, stderr = client.communicate()
    assert (client.returncode, stderr) == (0, b"")


def test_no_client_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot fork, it says so before it has promised a worker."""

    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr(os, "listdir", lambda _: ["only"])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"\0\0\0\2{}")
        fork_server._serve(theirs, theirs)
        assert ours.recv(2) == b"N"


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.E2BIG, errno.ENOMEM])
def test_where_no_server_can_be_started_workers_start_from_nothing(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with fork_server.workers_ahead(2):
        assert fork_server.current() is None


def test_without_a_server_a_worker_starts_from_nothing() -> None:
    server = fork_server.ForkServer(subprocess.Popen(["true"], stdin=subprocess.PIPE), "tootsie-none")
    # Without the runner's addresses in its environment, Beam's worker says what it misses: it has been started.
    result = subprocess.run(
        server.command,
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "TOOTSIE_BEAM_LOG": "INFO"},
    )
    server._process.communicate()
    assert result.returncode == 1
    assert "CONTROL_API_SERVICE_DESCRIPTOR" in result.stderr

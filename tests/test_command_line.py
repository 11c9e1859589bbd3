"""The command: verbs, exit codes, speed of ``--help`` by what it loads."""

from __future__ import annotations

import errno
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import typer.main

from tootsie.datasets import storage
from tootsie.datasets.command_line import STAGES, run_command
from tootsie.datasets.errors import SpecError

HEAVY = ("apache_beam", "jax", "pyarrow", "matplotlib", "haiku", "lxml", "tiktoken", "trafilatura")


def test_help_lists_every_stage_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from tootsie.datasets.command_line import tootsie, run_command\n"
        "assert run_command(tootsie, ['--help']) == 0\n"
        f"assert not [m for m in {HEAVY} if m in sys.modules], sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"  {verb} " in done.stdout for verb in STAGES)


@pytest.mark.parametrize("verb", STAGES)
def test_the_help_of_a_stage_loads_nothing_heavy(verb: str) -> None:
    code = (
        "import sys; from tootsie.datasets.command_line import tootsie, run_command\n"
        f"assert run_command(tootsie, ['{verb}', '--help']) == 0\n"
        f"loaded = [m for m in {HEAVY} if m in sys.modules]; assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()

    @app.command()
    def fail(kind: str) -> None:
        if kind == "user":
            raise SpecError("no such phase", file="run.yaml:3", remedy="Name one of: a, b")
        if kind == "fault":
            raise RuntimeError("a fault of ours")

    command = typer.main.get_command(app)
    assert run_command(command, ["none"]) == 0
    assert run_command(command, ["user"]) == 2
    assert "error: run.yaml:3: no such phase. Name one of: a, b" in capsys.readouterr().err
    assert run_command(command, ["--nonsense"]) == 2
    with pytest.raises(RuntimeError):
        run_command(command, ["fault"])


def test_an_unknown_verb_is_a_user_error() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tootsie.datasets.command_line", "bake"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "bake" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_file_system_refuses_is_one_line_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer()
    (tmp_path / "file").write_text("")

    @app.command()
    def write(kind: str) -> None:
        if kind == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        if kind == "fault":
            raise OSError("a fault of ours")
        storage.write_bytes(kind, b"x")

    command = typer.main.get_command(app)
    assert run_command(command, [str(tmp_path / "file" / "out")]) == 2
    assert "A file stands where a folder is needed" in capsys.readouterr().err
    assert run_command(command, ["full"]) == 2
    assert capsys.readouterr().err.startswith("error: No space left on device. Free some space")
    for url in ("foo://x/y", "gs://x/y" if importlib.util.find_spec("gcsfs") is None else "foo://x"):
        assert run_command(command, [url]) == 2
        assert f"error: {url}: " in capsys.readouterr().err
    with pytest.raises(OSError, match="a fault of ours"):
        run_command(command, ["fault"])


def test_closed_standard_streams_are_the_null_device() -> None:
    """Else the next file that is opened is what ``print`` writes to, and what children read."""
    code = (
        "import os, sys\n"
        "from tootsie.datasets.command_line import open_closed_streams\n"
        "open_closed_streams()\n"
        "print('lost'); sys.stdin.read(); sys.stdout.isatty()\n"
        "sys.exit(0 if all(os.path.samestat(os.fstat(n), os.stat(os.devnull)) and os.get_inheritable(n) for n in range(3)) else 3)"
    )
    shell = '"$0" -c "$1" <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", shell, sys.executable, code], check=False).returncode == 0

"""The command: verbs, exit codes, speed of ``--help`` by what it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
import typer.main

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

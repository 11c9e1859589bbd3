"""A bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tootsie.train.progress import display

CODE = """
from tootsie.train.progress import display
with display(4) as shown:
    shown.tell("step 1 [bold] of 4")
    shown.advance(4)
"""


def test_plain_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with display(4) as shown:
        shown.advance(2)
        shown.tell("step 2 of 4")
    assert capsys.readouterr().out == "step 2 of 4\n"


def test_a_bar_below_the_lines_on_a_terminal() -> None:
    try:
        leader, follower = pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine gives no terminal: {error}")
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    subprocess.run([sys.executable, "-c", CODE], stdout=follower, env=environment, check=True, timeout=60)
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert "step 1 [bold] of 4" in shown
    assert "4/4" in shown

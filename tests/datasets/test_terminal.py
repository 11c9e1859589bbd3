"""Nothing that a document says steers the terminal."""

from __future__ import annotations

import unicodedata

import pytest

from tootsie.datasets.command_line import run_command
from tootsie.datasets.errors import InputError
from tootsie.datasets.terminal import printable, printable_line


def test_no_character_that_steers_is_left() -> None:
    every = "".join(map(chr, range(0x110000)))
    shown, line = printable(every), printable_line(every)
    assert len(shown) == len(line) == len(every)
    controls = {character for character in shown if unicodedata.category(character) in ("Cc", "Cs")}
    assert controls == {"\t", "\n"}
    assert not [character for character in line if unicodedata.category(character) in ("Cc", "Cs")]
    assert not [
        character
        for character in shown
        if unicodedata.bidirectional(character) in ("RLO", "LRO", "RLI", "LRE")
    ]
    assert len(line.splitlines()) == 1
    shown.encode()


def test_other_text_stays() -> None:
    text = "Zürich 東京 \U0001f600 עברית 'a\tb'\n"
    assert printable(text) == text
    assert printable_line(text) == text.replace("\t", "␉").replace("\n", "␊")


def test_errors_too(capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a member of an archive is no command either."""

    class Command:
        @staticmethod
        def main(**_: object) -> None:
            raise InputError("damaged", file="a.zip/\x1b]0;x\x07\udcff.txt")

    assert run_command(Command) == 2
    assert capsys.readouterr().err == "error: a.zip/␛]0;x␇\ufffd.txt: damaged\n"

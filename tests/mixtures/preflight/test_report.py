"""Findings on the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from tootsie.mixtures.preflight.check import Finding, Severity
from tootsie.mixtures.preflight.report import print_findings


def printed(*findings: Finding) -> str:
    stream = io.StringIO()
    print_findings(findings, Console(file=stream, width=160))
    return stream.getvalue()


def test_a_reason_may_have_brackets() -> None:
    finding = Finding("epochs", "web", Severity.WARNING, "repeats", acknowledged="see [/a] and [bold] in [1]")
    assert "(meant: see [/a] and [bold] in [1])" in printed(finding)


def test_one_is_no_plural() -> None:
    text = printed(Finding("epochs", "web", Severity.ERROR, "repeats"))
    assert "1 error, 0 warnings, 0 infos; 0 acknowledged; 1 to be dealt with" in text

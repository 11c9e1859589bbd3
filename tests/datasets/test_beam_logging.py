from __future__ import annotations

import logging

import pytest

from tootsie.datasets import beam_logging
from tootsie.datasets.errors import SpecError


def test_logging_is_one_line(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOTSIE_BEAM_LOG", "warning")
    beam_logging.quiet_logging()
    logging.getLogger("apache_beam.runners.common").error(
        "first\nTraceback (most recent call last)\n  File x"
    )
    assert capfd.readouterr().err == "error: beam: first\n"
    monkeypatch.setenv("TOOTSIE_BEAM_LOG", "loud")
    with pytest.raises(SpecError, match="TOOTSIE_BEAM_LOG"):
        beam_logging.quiet_logging()
    monkeypatch.delenv("TOOTSIE_BEAM_LOG")
    beam_logging.quiet_logging()
    logging.getLogger("apache_beam.runners.common").error("nothing to see")
    assert capfd.readouterr().err == ""

"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heeded() -> Iterator[None]:
    """A shell that starts the tests in the background has SIGINT ignored, and every process below inherits that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The checkout that the tests belong to."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real inputs that are not part of the project; tests that need them skip where they are absent."""
    folder = Path(os.environ.get("TOOTSIE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real inputs are not here: {folder} (set TOOTSIE_SHARED_DATA)")
    return folder

"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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

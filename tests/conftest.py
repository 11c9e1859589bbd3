"""Fixtures shared by all tests."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

hypothesis.settings.register_profile("untimed", deadline=None)  # A loaded machine must not fail a test.
hypothesis.settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no process is left with one of them when the others have ended."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


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
def load_script(project_root: Path) -> Callable[[str], ModuleType]:
    """``load_script("benchmarks/planted_leaks.py")`` imports a file of the checkout that is in no package."""

    def load(path: str) -> ModuleType:
        file = project_root / path
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real inputs that are not part of the project; tests that need them skip where they are absent."""
    folder = Path(os.environ.get("TOOTSIE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real inputs are not here: {folder} (set TOOTSIE_SHARED_DATA)")
    return folder

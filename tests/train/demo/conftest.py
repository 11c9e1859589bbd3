"""Whole runs, in which computing takes longer than compiling: with XLA's passes on."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def optimised(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take back, for this test and its processes, what the trainer's other tests set."""
    monkeypatch.delenv("JAX_DISABLE_MOST_OPTIMIZATIONS")
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)

"""One writer at a time in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tootsie.datasets.errors import UserError
from tootsie.datasets.sole_writer import sole_writer


def test_a_second_writer_is_refused_while_the_first_is_at_work(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    with (
        sole_writer(str(folder)),
        pytest.raises(UserError, match="another process writes into this folder"),
        sole_writer(f"file://{folder}"),
    ):
        pass
    with sole_writer(str(folder)):
        assert list(folder.iterdir()) == []


def test_object_stores_have_no_lock() -> None:
    with sole_writer("memory://out"), sole_writer("memory://out"):
        pass

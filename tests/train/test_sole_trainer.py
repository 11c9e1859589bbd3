"""Two trainers never share a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tootsie.datasets.errors import UserError
from tootsie.train.sole_trainer import sole_trainer


def test_a_second_trainer_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    with sole_trainer(out):
        with pytest.raises(UserError, match="run: another process trains in this folder"), sole_trainer(out):
            pass
        with sole_trainer(str(tmp_path / "other")):
            pass
    with sole_trainer(out):
        pass
    assert not list((tmp_path / "run").iterdir()), "it leaves nothing behind"


def test_object_stores_have_no_lock() -> None:
    with sole_trainer("memory://sole-trainer"), sole_trainer("memory://sole-trainer"):
        pass

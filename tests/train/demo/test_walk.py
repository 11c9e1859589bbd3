"""The demo, quickly: it ends with a report, survives SIGKILL, and goes on where it stopped."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_random_moments_it_ends_with_the_same_bytes(tmp_path: Path, project_root: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        "kill_demo", project_root / "tests" / "endurance" / "kill_demo.py"
    )
    assert spec is not None
    assert spec.loader is not None
    kill_demo = importlib.util.module_from_spec(spec)
    sys.modules["kill_demo"] = kill_demo
    spec.loader.exec_module(kill_demo)
    assert kill_demo.survive(tmp_path, kills=4, quick=True, seed=1) == []
    names = kill_demo.artefacts(tmp_path / "disturbed")
    for needed in (
        "report.html",
        "plan.json",
        "plan.svg",
        "documents/arxiv/_manifest.json",
        "tokens/wikipedia/train/ledger.json",
    ):
        assert needed in names
    page = (tmp_path / "disturbed" / "report.html").read_text()
    assert "http://" not in page.split("</script>", 1)[1]

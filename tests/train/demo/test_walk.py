"""The demo, quickly: it ends with a report, survives SIGKILL, and goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import UserError
from tootsie.datasets.manifest import Manifest, write_manifest
from tootsie.train.demo import walk


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    tmp_path: Path, load_script: Callable[[str], ModuleType]
) -> None:
    kill_demo = load_script("tests/endurance/kill_demo.py")
    assert kill_demo.survive(tmp_path, kills=1, quick=True, seed=1) == []
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


def test_a_demo_of_other_code_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    walk.refuse_other_code()
    manifest = Manifest(
        source="arxiv", code_version="0+other", settings={}, inputs=(), files=(), accounting=Accounting()
    )
    write_manifest("documents/arxiv", manifest)
    with pytest.raises(
        UserError, match=r"code_version: the code has changed since this demo began.*'0\+other'.*delete"
    ):
        walk.refuse_other_code()

"""The page: whole, self-contained, escaped, the same for the same run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tootsie.train.report.page import evaluation, render
from tootsie.train.report.records import read_run


def body(page: str) -> str:
    """The page without the chart library."""
    return re.sub(r"<script>/\*\*.*?</script>", "", page, count=1, flags=re.DOTALL)


def test_it_holds_every_section_and_escapes_what_it_shows(run_folder: Path) -> None:
    page = body(render(read_run(str(run_folder))))
    for chart in ("bits-per-byte", "loss", "schedule", "norms", "mixture", "epochs"):
        assert f'id="{chart}"' in page
    for heading in (
        "Held-out corpora",
        "Phases",
        "Plan against reality",
        "What was consumed",
        "Samples",
        "Alarms",
        "Lineage",
        "Provenance",
    ):
        assert f"<h2>{heading}</h2>" in page
    assert "made-up &amp; run" in page
    assert "&lt;answers&gt;" in page
    assert '<td class="text"><answers>' not in page
    assert "<b>A &lt;b&gt;</b> &amp; so on" in page
    assert "finished" in page


def test_it_refers_to_nothing_outside(run_folder: Path) -> None:
    page = body(render(read_run(str(run_folder))))
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", page)
    assert "@import" not in page


def test_the_same_run_gives_the_same_page(run_folder: Path) -> None:
    run = read_run(str(run_folder))
    assert render(run) == render(run)


def test_a_run_that_has_just_begun_has_a_page(run_folder: Path) -> None:
    (run_folder / "metrics.jsonl").write_text("")
    (run_folder / "samples.jsonl").unlink()
    page = render(read_run(str(run_folder)))
    assert "under way" in page
    assert "No samples were asked for." in page


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_draws_every_chart(run_folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render(read_run(str(run_folder))))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=10000",
        "--dump-dom",
        f"file://{page}",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert shown.count('<svg class="main-svg"') >= 5
    assert shown.count('class="fills"') >= 1


def test_an_average_that_begins_late_is_told_under_its_own_phases(run_folder: Path) -> None:
    path = run_folder / "metrics.jsonl"
    kept = [
        line
        for line in path.read_text().splitlines(keepends=True)
        if '"weights": "ema"' not in line or int(re.findall(r'"step": (\d+)', line)[0]) > 10
    ]
    path.write_text("".join(kept))
    shown = evaluation(read_run(str(run_folder)))
    row = next(line for line in shown.splitlines() if "papers" in line and "ema" in line)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
    assert cells[2:] == ["2.0000", "–", "-0.4000", "1.6000"], "at first, stable, cooldown, at last"


def test_a_run_without_held_out_sets_or_of_one_step_has_a_page(run_folder: Path) -> None:
    path = run_folder / "metrics.jsonl"
    rows = [line for line in path.read_text().splitlines(keepends=True) if '"kind": "train"' in line]
    path.write_text("".join(rows))
    assert "No held-out sets were given" in render(read_run(str(run_folder)))
    path.write_text(rows[0])
    assert "of 15 steps" in render(read_run(str(run_folder)))


def test_documents_that_cannot_be_counted_say_why(run_folder: Path) -> None:
    page = body(render(read_run(str(run_folder))))
    assert "&lt;answers&gt;: its cache is not at hand: no ledger" in page

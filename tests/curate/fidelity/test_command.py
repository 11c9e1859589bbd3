"""``tootsie curate fidelity``."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.main

from tootsie.curate.command import app
from tootsie.datasets.command_line import run_command

Run = Callable[..., tuple[int, str, str]]
BODY = "<h2>A</h2><p>Let $x_{1}$ be <code>y</code>.</p>"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def fidelity(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run_command(typer.main.get_command(app), ["fidelity", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return fidelity


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.html").write_text(BODY)
    (folder / "sub" / "b.htm").write_text(BODY)
    return folder


def test_a_folder_is_measured_and_its_totals_printed(run: Run, pages: Path) -> None:
    code, out, _ = run(
        pages, "--profile", "stackexchange", "--require", "formulas=1.0", "--require", "text.precision=1"
    )
    assert code == 0
    assert "2 pages" in out
    assert "100.000 %" in out


def test_totals_as_json(run: Run, pages: Path) -> None:
    code, out, _ = run(pages, "--profile", "stackexchange", "--json", "--limit", "1")
    totals = json.loads(out)
    assert code == 0
    assert totals["pages"] == 1
    assert totals["kinds"]["formulas"] == {
        "expected": 1,
        "kept": 1,
        "written": 1,
        "recall": 1.0,
        "precision": 1.0,
    }


def test_a_rate_that_is_not_met_exits_with_1_and_says_which(run: Run, pages: Path) -> None:
    code, _, err = run(pages, "--profile", "web", "--require", "tables=0.9", "--require", "text=1")
    assert code == 1
    assert "tables: required, but the pages hold none" in err
    assert "text" not in err


def test_the_markdown_of_another_converter_is_judged(run: Run, pages: Path, tmp_path: Path) -> None:
    written = tmp_path / "md"
    (written / "sub").mkdir(parents=True)
    (written / "a.md").write_text("## A\n\nLet $x\\_{1}$ be `y`.\n")
    code, out, err = run(
        pages, "--profile", "stackexchange", "--markdown", written, "--require", "formulas=1", "--show", 2,
        "--records", tmp_path / "records.jsonl",
    )  # fmt: skip
    assert code == 1
    assert "formulas: recall 0.000 % is below 100.000 % (0 of 2)" in err
    assert "1 pages have no Markdown" in out
    assert "x_{1}" in out
    first, second = map(json.loads, (tmp_path / "records.jsonl").read_text().splitlines())
    assert first["kinds"]["headings"] == {"expected": 1, "kept": 1, "written": 1}
    assert first["kinds"]["formulas"]["lost"] == ["x_{1}"]
    assert second["missing"]


def test_another_engine_is_measured(run: Run, pages: Path) -> None:
    code, out, _ = run(pages, "--profile", "stackexchange", "--engine", "markdownify", "--json")
    assert code == 0
    assert json.loads(out)["kinds"]["formulas"]["kept"] == 0


def test_archives_and_dumps_are_read(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("2404/x.html", BODY)
    record = {"name": "T", "identifier": 7, "article_body": {"html": "<title>T</title><p>body</p>"}}
    (tmp_path / "a.ndjson").write_text(json.dumps(record) + "\n")
    (tmp_path / "Posts.xml").write_text(
        '<posts><row Id="3" Body="&lt;p&gt;a $b$&lt;/p&gt;" /><row Id="4" /></posts>'
    )
    for source, profile, page in (
        ("a.zip", "web", "a.zip/2404/x.html"),
        ("a.ndjson", "wikipedia", "a.ndjson/7"),
        ("Posts.xml", "stackexchange", "Posts.xml/3"),
    ):
        code, _, err = run(
            tmp_path / source, "--profile", profile, "--records", tmp_path / "records", "--require", "text=1"
        )
        assert code == 0, err
        assert json.loads((tmp_path / "records").read_text())["page"] == page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--require", "formulae=1"], "Did you mean formulas?"),
        (["--require", "formulas=2"], "not a share"),
        (["--require", "formulas"], "KIND=SHARE"),
        (["--require", "text.accuracy=1"], "no such rate"),
    ],
)
def test_mistyped_requirements_are_named(run: Run, pages: Path, arguments: list[str], message: str) -> None:
    code, _, err = run(pages, *arguments)
    assert code == 2
    assert message in err


def test_nothing_to_measure_is_an_error(run: Run, tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "--profile", "web")
    assert code == 2
    assert "no pages in it" in err


def test_a_damaged_dump_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "Posts.xml").write_text("<posts><row")
    code, _, err = run(tmp_path, "--profile", "stackexchange")
    assert code == 2
    assert "Posts.xml" in err


def test_longer_pages_are_refused(run: Run, pages: Path) -> None:
    code, _, err = run(pages, "--max-bytes", 5)
    assert code == 2
    assert "--max-bytes" in err


def test_brackets_of_a_page_are_text_for_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>lost</p><ul><li>the tag [/quote] and [bold]</li></ul>")
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "a.md").write_text("- the tag [/x]\n")
    code, out, err = run(tmp_path / "a.html", "--markdown", tmp_path / "mirror", "--show", "1")
    assert code == 0, err
    assert "thetag[/quote]and[bold]" in out

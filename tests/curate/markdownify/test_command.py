"""``python -m curate.markdownify``: inputs, outputs, exit codes, hostile archives."""

from __future__ import annotations

import io
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import typer.main

from tootsie.curate.markdownify.command import app
from tootsie.datasets.command_line import run_command

PAGE = "<h1>A</h1><p>b <b>c</b></p>"


def run(*arguments: object) -> int:
    return run_command(typer.main.get_command(app), [str(argument) for argument in arguments], "markdownify")


def archive(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(name, content)
    return path


def test_a_page_goes_to_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    assert run(tmp_path / "a.html") == 0
    assert capfdbinary.readouterr().out == b"# A\n\nb **c**\n"


def test_a_page_goes_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    assert run(tmp_path / "a.html", "-o", tmp_path / "out" / "a.md") == 0
    assert (tmp_path / "out" / "a.md").read_text() == "# A\n\nb **c**\n"


def test_standard_input(project_root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "curate.markdownify", "-"],
        input=PAGE.encode(),
        capture_output=True,
        cwd=project_root,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"# A\n\nb **c**\n", b"")


def test_a_folder_is_mirrored(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.html").write_text(PAGE)
    (tmp_path / "in" / "sub" / "b.htm").write_text(PAGE)
    (tmp_path / "in" / "c.txt").write_text("no page")
    assert run(tmp_path / "in", "-o", tmp_path / "out") == 0
    assert sorted(str(p.relative_to(tmp_path / "out")) for p in tmp_path.glob("out/**/*.*")) == [
        "a.md",
        "sub/b.md",
    ]


def test_a_zip_is_mirrored(tmp_path: Path) -> None:
    source = archive(tmp_path / "a.zip", {"no-problem/0001/x.html": PAGE, "no-problem/log.txt": "x"})
    assert run(source, "-o", tmp_path / "out") == 0
    assert (tmp_path / "out/no-problem/0001/x.md").read_text() == "# A\n\nb **c**\n"


def test_dry_run_and_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = archive(tmp_path / "a.zip", {f"{n}.html": PAGE for n in range(3)})
    assert run(source, "-o", tmp_path / "out", "--dry-run", "--limit", 2) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert not (tmp_path / "out").exists()


def test_a_page_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.html").write_text(PAGE + "<button>Save</button>")
    assert run(tmp_path / "a.html", "--explain", tmp_path / "b.html", "--heading-style", "underlined") == 0
    page = (tmp_path / "b.html").read_text()
    assert "<h1>a.html</h1><span>profile web</span><span>3 rules, 3 events</span>" in page
    assert ">A\n=\n\nb **c**\n<" in page
    assert run(tmp_path / "a.html", "--explain", tmp_path / "c.html", "--dry-run") == 0
    assert not (tmp_path / "c.html").exists()
    assert run(tmp_path, "--explain", tmp_path / "c.html") == 2
    assert "only one page" in capsys.readouterr().err


@pytest.mark.parametrize("other", [("-o", "b.md"), ("--counters",)])
def test_an_explained_page_has_no_other_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: tuple[str, ...]
) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    assert run(tmp_path / "a.html", "--explain", tmp_path / "c.html", *other) == 2
    assert "Leave the other out" in capsys.readouterr().err
    assert not (tmp_path / "c.html").exists()


def test_the_rules_of_a_profile_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--rules", "--profile", "arxiv") == 0
    out = capsys.readouterr().out
    assert "theorems " in out
    assert "hatnotes_dropped" not in out
    assert run() == 2
    assert "nothing to convert" in capsys.readouterr().err


def test_the_package_as_engine(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    assert run(tmp_path / "a.html", "-o", tmp_path / "a.md", "--engine", "markdownify") == 0
    assert (tmp_path / "a.md").read_text() == "# A\n\nb **c**\n"


@pytest.mark.parametrize(
    "name", ["../evil.html", "/etc/evil.html", "a/../../evil.html", "C:\\evil.html", "..\\evil.html"]
)
def test_members_that_lead_outside_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    source = archive(tmp_path / "a.zip", {"good.html": PAGE, name: PAGE})
    assert run(source, "-o", tmp_path / "out" / "deep") == 2
    error = capsys.readouterr().err
    assert "leads outside" in error
    assert "evil.html" in error
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.zip"]


def test_symbolic_links_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as target:
        link = zipfile.ZipInfo("link.html")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(link, "/etc/passwd")
    assert run(tmp_path / "a.zip", "-o", tmp_path / "out") == 2
    assert "symbolic link" in capsys.readouterr().err


def test_a_bomb_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = archive(tmp_path / "a.zip", {"bomb.html": " " * 20_000_000})
    assert run(source, "-o", tmp_path / "out") == 2
    assert "bomb" in capsys.readouterr().err


def test_a_page_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    source = archive(tmp_path / "a.zip", {"page.html": "x" * 5_000})
    raw = bytearray(source.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = raw.index(signature) + offset
        raw[start : start + 4] = (100).to_bytes(4, "little")
    source.write_bytes(raw)
    assert run(source, "-o", tmp_path / "out") == 2


def test_truncated_and_encrypted_archives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = archive(tmp_path / "a.zip", {"page.html": PAGE * 100}).read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:-30])
    assert run(tmp_path / "cut.zip", "-o", tmp_path / "out") == 2
    assert "not a whole ZIP" in capsys.readouterr().err
    flagged = bytearray(whole)
    for signature, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        flagged[flagged.index(signature) + offset] |= 1
    (tmp_path / "locked.zip").write_bytes(flagged)
    assert run(tmp_path / "locked.zip", "-o", tmp_path / "out") == 2
    assert "encrypted" in capsys.readouterr().err
    damaged = bytearray(whole)
    damaged[45] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(damaged)
    assert run(tmp_path / "flipped.zip", "-o", tmp_path / "out") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.html"], "no such file"),
        (["folder"], "--out"),
        (["empty", "-o", "out"], "no pages"),
        (["a.html", "--max-bytes", "3"], "longer than 3 bytes"),
        (["a.html", "--profile", "nope"], "nope"),
        (["twice", "-o", "out"], "same file"),
    ],
)
def test_user_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "empty", "twice"):
        (tmp_path / folder).mkdir()
    for name in ("a.html", "folder/a.html", "twice/a.html", "twice/a.htm"):
        (tmp_path / name).write_text(PAGE)
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_the_first_bytes_tell_a_zip(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("a.html", PAGE)
    (tmp_path / "dump").write_bytes(buffer.getvalue())
    assert run(tmp_path / "dump", "-o", tmp_path / "out") == 0
    assert (tmp_path / "out/a.md").exists()


def test_globs_brace_ranges_and_several_sources_become_one_tree(tmp_path: Path) -> None:
    for name in ("p-1", "p-2", "q"):
        (tmp_path / f"{name}.html").write_text(f"<p>{name}</p>")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tootsie.curate.markdownify"]
    subprocess.run([*command, f"{tmp_path}/p-{{1..2}}.html", f"{tmp_path}/q*", "-o", str(out)], check=True)
    assert sorted(path.name for path in out.iterdir()) == ["p-1.md", "p-2.md", "q.md"]
    assert (out / "p-2.md").read_text() == "p-2\n"
    missing = subprocess.run(
        [*command, f"{tmp_path}/none-*", "-o", str(out)], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 2
    assert "no such file" in missing.stderr

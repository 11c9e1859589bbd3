"""The sample arXiv dump: its layout, its pages, and that its generated papers can be generated again."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "datasets" / "sample" / "arxiv"
SPLITS = ("no-problem", "warning")
MEMBER = re.compile(r"(no-problem|warning)/(\d{4})/(\2\.\d{5})\.html")
LOCAL_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|usr|var|work|Users|opt|etc)/|[A-Z]:\\Users")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """All members of the sample, by name."""
    found = {}
    for split in SPLITS:
        with zipfile.ZipFile(SAMPLE / f"ar5iv-sample-{split}.zip") as archive:
            assert archive.testzip() is None
            for name in archive.namelist():
                found[name] = archive.read(name).decode("utf-8")
    return found


def test_members_are_laid_out_as_ar5iv_does(pages: dict[str, str]) -> None:
    """``<split>/<yymm>/<paper id>.html``, each paper once, every source packed."""
    matches = [MEMBER.fullmatch(name) for name in pages]
    assert all(matches), [name for name, match in zip(pages, matches, strict=True) if not match]
    ids = [match[3] for match in matches if match]
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == sorted(path.stem for path in (SAMPLE / "sources").glob("*.tex"))


def test_each_archive_holds_its_own_split_in_order() -> None:
    """Members are sorted and carry the fixed time that makes the archive reproducible."""
    for split in SPLITS:
        with zipfile.ZipFile(SAMPLE / f"ar5iv-sample-{split}.zip") as archive:
            names = archive.namelist()
            assert names == sorted(names)
            assert all(name.startswith(f"{split}/") for name in names)
            assert {info.date_time for info in archive.infolist()} == {(2024, 4, 1, 0, 0, 0)}


def test_pages_have_the_parts_of_genuine_ones(pages: dict[str, str]) -> None:
    """Article, formulas with TeX and with both kinds of MathML, footer."""
    for name, page in pages.items():
        assert re.search(r'<article class="ltx_document', page), name
        assert re.search(r'<math [^>]*alttext="', page), name
        assert 'encoding="MathML-Content"' in page, name
        assert 'encoding="application/x-tex"' in page, name
        assert '<footer class="ltx_page_footer">' in page, name


def test_pages_converted_without_errors(pages: dict[str, str]) -> None:
    """A page with LaTeXML errors belongs to a third split, which the sample does not have."""
    assert [name for name, page in pages.items() if "ltx_ERROR" in page] == []


def test_pages_say_nothing_about_the_machine_they_were_made_on(pages: dict[str, str]) -> None:
    """No absolute path, and one fixed date instead of the time of the build."""
    for name, page in pages.items():
        assert LOCAL_PATH.search(page) is None, name
        assert set(re.findall(r"Generated\s+on (.*?) by", page)) == {"Mon Apr  1 00:00:00 2024"}, name


def test_generated_sources_can_be_generated_again(tmp_path: Path) -> None:
    """The committed papers are what the generator writes, byte for byte."""
    wanted = ["2404.10001", "2404.10003", "2404.10006", "2404.10012", "2404.10048"]
    command = [sys.executable, str(SAMPLE / "generate.py"), "--target", str(tmp_path), "--only", *wanted]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == wanted
    for identifier in wanted:
        committed = SAMPLE / "sources" / f"{identifier}.tex"
        assert (tmp_path / committed.name).read_bytes() == committed.read_bytes(), identifier


def test_papers_are_not_copies_of_one_another() -> None:
    """Deduplication, which looks for a likeness of 0.8 or so, should keep them all: no two share 60 % of their phrases."""
    phrases = {}
    for path in sorted((SAMPLE / "sources").glob("*.tex")):
        words = path.read_text(encoding="utf-8").split()
        phrases[path.stem] = {tuple(words[i : i + 5]) for i in range(len(words) - 4)}
    ids = sorted(phrases)
    shares = {
        (a, b): len(phrases[a] & phrases[b]) / len(phrases[a] | phrases[b])
        for i, a in enumerate(ids)
        for b in ids[i + 1 :]
    }
    assert {pair: share for pair, share in shares.items() if share > 0.6} == {}

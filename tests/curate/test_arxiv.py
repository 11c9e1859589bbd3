from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest

from tootsie.curate.arxiv import parse_name, severity_of

from .conftest import PROSE, page, write_zip


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("2404.00008", ("2404.00008", None, "2024-04")),
        ("0704.0001", ("0704.0001", None, "2007-04")),
        ("2404.00008v2", ("2404.00008", 2, "2024-04")),
        ("hep-th9901001", ("hep-th/9901001", None, "1999-01")),
        ("hep-th9901001v12", ("hep-th/9901001", 12, "1999-01")),
        ("math.GT_0309136", ("math.GT/0309136", None, "2003-09")),
        ("2413.00001", ("2413.00001", None, None)),
        ("yellowpaper", ("yellowpaper", None, None)),
    ],
)
def test_identifiers(stem: str, expected: tuple[str, int | None, str | None]) -> None:
    assert parse_name(stem) == expected


def test_severity_from_folder_then_archive_name() -> None:
    assert severity_of("ar5iv.zip/no-problem/2404/2404.00001.html") == "no-problem"
    assert severity_of("ar5iv-04-2024-warnings.zip/2404/2404.00001.html") == "warning"
    assert severity_of("pages/2404.00001.html") is None


def test_zip_to_documents(curate, tmp_path: Path) -> None:
    write_zip(
        tmp_path / "a.zip", {f"no-problem/2404/2404.0000{n}.html": page(f"Paper {n}") for n in range(6)}
    )
    write_zip(
        tmp_path / "b.zip",
        {"warning/2404/2404.00007.html": page("Paper 7"), "warning/2404/2404.00001.html": page("Again")},
    )
    result = curate("arxiv", tmp_path / "a.zip", tmp_path / "b.zip", "--added=2026-01-02")
    assert result.code == 0
    assert sorted(result.documents) == [*(f"2404.0000{n}" for n in range(6)), "2404.00007"]
    assert result.dropped == {"duplicate id": 1}
    one = result.documents["2404.00001"]
    assert one.source == "arxiv"
    assert one.added == "2026-01-02"
    assert one.created == "2024-04"
    assert one.text.startswith("# Paper 1\n")
    assert "We show what can be shown." in one.text
    assert one.metadata["url"] == "https://arxiv.org/abs/2404.00001"
    assert one.metadata["severity"] == "no-problem"
    assert one.metadata["title"] == "Paper 1"
    assert one.metadata["abstract"] == "We show what can be shown."
    assert [reject.metadata["reason"] for reject in result.rejects] == ["duplicate id"]
    # Within a file, documents stand in the order of their identifiers.
    for path in sorted(result.folder.glob("part-*")):
        ids = [json.loads(line)["id"] for line in _lines(path)]
        assert ids == sorted(ids)


def _lines(path: Path) -> list[bytes]:
    from tootsie.datasets.storage import read_lines

    return list(read_lines(str(path)))


def test_newest_version_of_a_paper_is_kept(curate, tmp_path: Path) -> None:
    names = ["2404.00001v1", "2404.00001v10", "2404.00001v2", "2404.00002", "2404.00003v3"]
    dump = write_zip(tmp_path / "a.zip", {f"e/{name}.html": page(f"Paper {name}") for name in names})
    result = curate("arxiv", dump)
    titles = {identity: document.metadata["title"] for identity, document in result.documents.items()}
    assert titles == {
        "2404.00001": "Paper 2404.00001v10",
        "2404.00002": "Paper 2404.00002",
        "2404.00003": "Paper 2404.00003v3",
    }
    assert result.dropped == {"older version": 2}
    assert result.documents["2404.00003"].metadata["url"] == "https://arxiv.org/abs/2404.00003v3"
    assert result.documents["2404.00003"].metadata["version"] == 3
    assert "version" not in result.documents["2404.00002"].metadata


def test_folder_and_single_pages(curate, tmp_path: Path) -> None:
    folder = tmp_path / "pages" / "error"
    folder.mkdir(parents=True)
    for n in range(3):
        (folder / f"2404.0000{n}.html").write_text(page(f"Paper {n}"))
    result = curate("arxiv", tmp_path / "pages")
    assert len(result.documents) == 3
    assert {document.metadata["severity"] for document in result.documents.values()} == {"error"}
    single = curate("arxiv", folder / "2404.00000.html", out="single")
    assert list(single.documents) == ["2404.00000"]


def test_empty_and_short_pages_are_dropped_with_their_reason(curate, tmp_path: Path) -> None:
    empty = "<html><body><div class='ltx_page_main'><div class='ltx_page_content'></div></div></body></html>"
    pages = {
        "e/2404.00001.html": empty,
        "e/2404.00002.html": page("Short", "Tiny."),
        "e/2404.00003.html": page("Long"),
    }
    result = curate("arxiv", write_zip(tmp_path / "a.zip", pages))
    assert result.dropped == {"empty page": 1, "too short": 1}
    assert list(result.documents) == ["2404.00003"]


def test_hostile_members_are_counted_and_never_written(curate, tmp_path: Path) -> None:
    path = tmp_path / "hostile.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("../../escape.html", "/absolute.html", "c:\\drive.html", "a\\..\\..\\b.html"):
            archive.writestr(name, page("Evil"))
        link = zipfile.ZipInfo("no-problem/2404/2404.00002.html")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("no-problem/2404/2404.00003.html", b"\0" * 40_000_000)
        archive.writestr("no-problem/2404/.html", page("Nameless"))
        archive.writestr("no-problem/2404/readme.txt", "hello")
        archive.writestr("no-problem/2404/2404.00005.html", page("Fine"))
        archive.writestr("no-problem/2404/2404.00006.html", page("Large", PROSE * 3000))
    result = curate("arxiv", path, "--max-document-bytes=100000")
    assert result.code == 0
    assert sorted(result.documents) == ["2404.00005", "hostile.zip/no-problem/2404/.html"]
    assert result.dropped == {"unsafe archive member": 6, "not a page": 1, "too large": 1}
    assert not list(tmp_path.parent.glob("escape.html"))
    details = {reject.metadata["detail"] for reject in result.rejects}
    assert {"path leaves the archive", "symbolic link", "compressed suspiciously well"} <= details


@pytest.mark.parametrize("packed", [True, False])
def test_the_archive_of_an_old_identifier_may_be_a_folder(curate, tmp_path: Path, packed: bool) -> None:
    pages = {
        "no-problem/9901/hep-th/9901001.html": page("Strings"),
        "no-problem/9901/math.AG/9901001v2.html": page("Varieties"),
        "no-problem/9901/index.html": page("No paper"),
        "no-problem/9901003.html": page("No archive"),
    }
    if packed:
        dump = write_zip(tmp_path / "a.zip", pages)
    else:
        dump = tmp_path / "dump"
        for name, content in pages.items():
            (dump / name).parent.mkdir(parents=True, exist_ok=True)
            (dump / name).write_text(content)
    documents = curate("arxiv", dump).documents
    assert {name: document.metadata.get("url") for name, document in documents.items()} == {
        "hep-th/9901001": "https://arxiv.org/abs/hep-th/9901001",
        "math.AG/9901001": "https://arxiv.org/abs/math.AG/9901001v2",
        "index": None,
        "9901003": None,
    }
    assert documents["hep-th/9901001"].metadata["path"].endswith("no-problem/9901/hep-th/9901001.html")


def test_truncated_archive_is_an_input_error(curate, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {f"x/2404.0000{n}.html": page(f"{n}") for n in range(4)})
    path.write_bytes(path.read_bytes()[:-40])
    result = curate("arxiv", path)
    assert result.code == 2
    assert "a.zip: not a whole ZIP archive" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (result.folder / "_manifest.json").exists()


def test_one_flipped_bit_drops_one_page_and_counts_against_the_budget(curate, tmp_path: Path) -> None:
    path = write_zip(
        tmp_path / "a.zip", {f"x/2404.0000{n}.html": page(f"{n}", f"{n} " + PROSE * 9) for n in range(4)}
    )
    content = bytearray(path.read_bytes())
    content[120] ^= 0x10
    path.write_bytes(content)
    result = curate("arxiv", path)
    assert result.code == 0
    assert result.dropped == {"damaged record": 1}
    assert len(result.documents) == 3


def test_what_is_no_page_or_archive_is_refused(curate, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    result = curate("arxiv", tmp_path / "notes.txt")
    assert result.code == 2
    assert "not a ZIP, folder or HTML page" in result.stderr


def test_sample_dump(curate, project_root: Path) -> None:
    result = curate("arxiv", project_root / "datasets/sample/arxiv/*.zip")
    assert result.code == 0
    assert result.manifest.accounting.written >= 15
    assert {document.metadata["severity"] for document in result.documents.values()} >= {
        "no-problem",
        "warning",
    }
    assert all(document.metadata.get("title") for document in result.documents.values())


def test_real_pages(curate, shared_data: Path) -> None:
    result = curate("arxiv", shared_data / "ar5iv/latexml088_ar5iv2404")
    assert result.code == 0
    # yellowpaper and quantum_template are pages of fatal conversions: nothing but a footer.
    reasons = {reject.id: reject.metadata["reason"] for reject in result.rejects}
    assert reasons["yellowpaper"] == reasons["quantum_template"] == "empty page"
    assert result.manifest.accounting.written >= 30

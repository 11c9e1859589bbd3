"""arXiv's metadata joined to the pages: what it fills in, and that the books account for every row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tootsie.curate.arxiv_metadata import licence_name

from .conftest import page, write_zip

BY = "http://creativecommons.org/licenses/by/4.0/"


def row(identity: str, **changes: Any) -> dict[str, Any]:
    """A row as in Kaggle's snapshot."""
    return {
        "id": identity,
        "submitter": "A Person",
        "authors": "A. Person and B. Other, Jr.",
        "title": "A title\n  over two lines",
        "doi": "10.1000/1",
        "categories": "math.CO cs.CG",
        "license": BY,
        "abstract": "We show.",
        "versions": [
            {"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"},
            {"version": "v2", "created": "Tue, 24 Jul 2007 20:10:27 GMT"},
        ],
        "update_date": "2008-11-26",
        "authors_parsed": [["Person", "A.", ""], ["Other", "B.", "Jr."]],
    } | changes


def lines(*rows: dict[str, Any] | str) -> bytes:
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows).encode()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    names = ["2404.00001", "2404.00002v2", "2404.00003", "hep-th9901001"]
    return write_zip(tmp_path / "a.zip", {f"warning/x/{name}.html": page(f"Paper {name}") for name in names})


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (BY, "CC-BY-4.0"),
        ("http://creativecommons.org/licenses/by-nc-sa/3.0/", "CC-BY-NC-SA-3.0"),
        ("http://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("http://creativecommons.org/licenses/publicdomain/", "CC-PDDC"),
        ("http://arxiv.org/licenses/assumed-1991-2003/", "arxiv-assumed-1991-2003"),
        ("http://example.org/mine", "http://example.org/mine"),
        (None, "unknown"),
    ],
)
def test_licence_names(url: str | None, name: str) -> None:
    assert licence_name(url) == name


def test_what_metadata_fills_in(curate, tmp_path: Path, dump: Path) -> None:
    once = row("hep-th/9901001", versions=[{"version": "v1", "created": "Fri, 1 Jan 1999 01:00:00 GMT"}])
    path = tmp_path / "arxiv-metadata-oai-snapshot.json.gz"
    path.write_bytes(gzip.compress(lines(row("2404.00001"), row("2404.00002"), once, row("9999.00001"))))
    result = curate("arxiv", dump, f"--metadata={path}")
    assert result.code == 0
    one = result.documents["2404.00001"]
    assert one.created == "2007-04-02"
    assert one.metadata == {
        "title": "Paper 2404.00001",
        "abstract": "We show what can be shown.",
        "authors": ["A. Person", "B. Other Jr."],
        "url": "https://arxiv.org/abs/2404.00001",
        "license": "CC-BY-4.0",
        "license_url": BY,
        "categories": ["math.CO", "cs.CG"],
        "doi": "10.1000/1",
        "updated": "2008-11-26",
        "severity": "warning",
        "path": "a.zip/warning/x/2404.00001.html",
    }
    versions = {identity: document.metadata.get("version") for identity, document in result.documents.items()}
    # The name of a page tells its version; else only a paper that has one version tells it.
    assert versions == {"2404.00001": None, "2404.00002": 2, "2404.00003": None, "hep-th/9901001": 1}
    assert result.documents["2404.00003"].metadata["license"] == "unknown"
    assert result.dropped == {"metadata joined to its page": 3, "metadata of no page": 1}
    assert result.manifest.counters["papers without metadata"] == 1
    assert result.manifest.accounting.read == 8
    assert [entry.path for entry in result.manifest.inputs] == ["a.zip", path.name]


def test_newest_row_of_a_paper(curate, tmp_path: Path, dump: Path) -> None:
    new, old = row("2404.00001", doi="new"), row("2404.00001", doi="old", versions=[{"version": "v1"}])
    (tmp_path / "a.json").write_bytes(lines(new))
    (tmp_path / "b.json").write_bytes(lines(old))
    result = curate("arxiv", dump, tmp_path / "b.json", tmp_path / "a.json")
    assert result.documents["2404.00001"].metadata["doi"] == "new"


def test_damaged_rows_are_rejects_and_odd_ones_harmless(curate, tmp_path: Path, dump: Path) -> None:
    odd = {
        "id": "2404.00001",
        "authors_parsed": [None, [1], []],
        "versions": [7, {"created": "soon"}],
        "license": 3,
    }
    path = tmp_path / "m.json"
    path.write_bytes(lines(odd, "{broken", "[]", '{"id": 7}', "[" * 100_000, row("2404.00003")))
    result = curate("arxiv", dump, path)
    assert result.code == 0
    assert result.dropped == {"damaged metadata": 4, "metadata joined to its page": 2}
    assert len(result.documents) == 4
    assert result.documents["2404.00001"].metadata["license"] == "unknown"
    assert {reject.id for reject in result.rejects} == {f"m.json:{n}" for n in (2, 3, 4, 5)}


def test_licences_of_papers(curate, tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(lines(row("2404.00001"), row("2404.00002", license=None)))
    result = curate("arxiv", dump, f"--metadata={path}", "--licences=CC-BY-4.0")
    assert list(result.documents) == ["2404.00001"]
    assert result.dropped["licence not wanted"] == 3


def test_limit_and_budget_are_about_pages(curate, tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "z.json"
    path.write_bytes(lines(*(row(f"2404.{n:05d}") for n in range(200))))
    limited = curate("arxiv", dump, path, "--limit=2", out="limited")
    assert len(limited.documents) == 2
    assert all("categories" in document.metadata for document in limited.documents.values())
    pages = {f"x/2404.{n:05d}.html": page(f"Paper {n}", f"{n} words " * 100) for n in range(4)}
    broken = write_zip(tmp_path / "b.zip", pages)
    content = bytearray(broken.read_bytes())
    for start in (120, content.index(b"2404.00001.html") + 60):
        content[start] ^= 0x10
    broken.write_bytes(content)
    result = curate("arxiv", broken, path)
    assert result.code == 2
    assert "2 of 4 records failed" in result.stderr


def test_metadata_alone_is_no_input(curate, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(lines(row("2404.00001")))
    result = curate("arxiv", tmp_path / "m.json")
    assert result.code == 2
    assert "metadata, but no pages" in result.stderr

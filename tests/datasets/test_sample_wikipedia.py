"""The sample Wikipedia dumps: their container, their records, their markup, and that they match their sources."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "datasets" / "sample" / "wikipedia"
ENGLISH = "samplewiki-NS0-20240501-ENTERPRISE-HTML.json.tar.gz"
GERMAN = "beispielwiki-NS0-20240501-ENTERPRISE-HTML.json.tar.gz"
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta"}
NEEDED = {
    "name",
    "identifier",
    "date_modified",
    "version",
    "url",
    "namespace",
    "in_language",
    "is_part_of",
    "license",
    "article_body",
}


@cache
def read(path: Path) -> list[dict[str, Any]]:
    with tarfile.open(path, "r:gz") as archive:
        members = [archive.extractfile(member) for member in archive.getmembers()]
        return [json.loads(line) for member in members if member is not None for line in member]


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return read(FOLDER / ENGLISH)


@pytest.fixture(scope="module")
def bodies(records: list[dict[str, Any]]) -> str:
    return "\n".join(record["article_body"]["html"] for record in records)


class Balance(HTMLParser):
    """Refuses a document whose elements are not properly nested."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        assert tag in VOID, tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "math", "head"} & set(self.open):
            self.text.append(data)


@cache
def parsed(document: str) -> Balance:
    parser = Balance()
    parser.feed(document)
    parser.close()
    return parser


def test_members_are_named_as_in_the_real_dumps() -> None:
    with tarfile.open(FOLDER / ENGLISH, "r:gz") as archive:
        assert archive.getnames() == ["samplewiki_namespace_0_0.ndjson", "samplewiki_namespace_0_1.ndjson"]
        assert all(member.mtime == 1714521600 for member in archive.getmembers())
    with tarfile.open(FOLDER / GERMAN, "r:gz") as archive:
        assert archive.getnames() == ["beispielwiki_namespace_0_0.ndjson"]


@pytest.mark.parametrize("name", [ENGLISH, GERMAN])
def test_every_record_has_the_needed_fields(name: str) -> None:
    for record in read(FOLDER / name):
        assert set(record) >= NEEDED, record["name"]
        assert set(record["article_body"]) == {"html", "wikitext"}
        assert isinstance(record["version"]["identifier"], int)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["date_modified"])
        assert record["license"][0]["identifier"] == "CC0-1.0"
        assert record["url"].startswith("https://")
        assert ".samplewiki.example/wiki/" in record["url"]


@pytest.mark.parametrize("name", [ENGLISH, GERMAN])
def test_the_html_is_well_formed_and_its_identifiers_are_unique(name: str) -> None:
    for record in read(FOLDER / name):
        document = record["article_body"]["html"]
        assert not parsed(document).open, record["name"]
        found = re.findall(r' id="(mw[\w-]*)"', document)
        assert len(found) == len(set(found)), record["name"]
        for value in re.findall(r" data-mw='([^']*)'", document):
            json.loads(value.replace("&apos;", "'").replace("&lt;", "<").replace("&amp;", "&"))


def test_there_are_enough_articles_and_text(records: list[dict[str, Any]]) -> None:
    titles = {record["name"] for record in records if record["namespace"]["identifier"] == 0}
    assert len(titles) >= 150
    assert len({record["identifier"] for record in records}) == len({record["name"] for record in records})
    assert sum(len("".join(parsed(record["article_body"]["html"]).text)) for record in records) > 300_000


def test_two_pages_have_an_older_revision(records: list[dict[str, Any]]) -> None:
    for title, newer_first in (("Whetstone", True), ("Kiln", False)):
        found = [record for record in records if record["name"] == title]
        assert len(found) == 2
        assert found[0]["identifier"] == found[1]["identifier"]
        newer, older = found if newer_first else reversed(found)
        assert newer["version"]["identifier"] > older["version"]["identifier"]
        assert newer["date_modified"] > older["date_modified"]
        assert "OLD-REVISION-MARKER" in older["article_body"]["html"]
        assert "OLD-REVISION-MARKER" not in newer["article_body"]["html"]


def test_redirects_other_namespaces_and_short_pages_occur(records: list[dict[str, Any]]) -> None:
    assert {record["namespace"]["identifier"] for record in records} == {0, 10, 14}
    redirect = next(record for record in records if record["name"] == "See-saw lever")
    assert '<link rel="mw:PageProp/redirect" href="./Lever"' in redirect["article_body"]["html"]
    awl = next(record for record in records if record["name"] == "Awl")
    assert len(awl["article_body"]["wikitext"]) < 100
    assert any("abstract" not in record for record in records)


@pytest.mark.parametrize(
    ("markup", "least"),
    [
        ('<annotation encoding="application/x-tex">{\\displaystyle ', 500),
        ('class="mwe-math-fallback-image-inline"', 300),
        ('class="mwe-math-fallback-image-display"', 80),
        ('typeof="mw:Extension/ref"', 60),
        ('<ol class="mw-references references"', 40),
        ('class="wikitable', 150),
        (' rowspan="', 30),
        (' colspan="', 40),
        ('class="infobox"', 60),
        ('class="hatnote', 10),
        ('class="navbox"', 20),
        (" ambox ", 3),
        ('typeof="mw:File/Thumb"', 5),
        ('class="gallery mw-gallery-traditional"', 1),
        ('<div class="mw-highlight', 8),
        ('<code class="mw-highlight', 1),
        ('class="geo-dec"', 4),
        ('id="disambigbox"', 2),
        ('dir="rtl"', 20),
        ("<ruby", 4),
        ("<dl ", 10),
        ('<span typeof="mw:Entity"', 10),
        ('class="shortdescription', 20),
        ('<div class="poem"', 2),
    ],
)
def test_the_markup_of_real_pages_occurs(bodies: str, markup: str, least: int) -> None:
    assert bodies.count(markup) >= least


def test_the_german_pages_use_the_newer_headings() -> None:
    pages = {record["name"]: record["article_body"]["html"] for record in read(FOLDER / GERMAN)}
    assert '<div class="mw-heading mw-heading2"' in pages["Hebel (Physik)"]
    assert "./Kategorie:Mechanik" in pages["Hebel (Physik)"]
    assert "Begriffsklärung" in pages["Feder"]


def test_nothing_tells_where_it_was_made(bodies: str) -> None:
    for path in FOLDER.rglob("*"):
        if path.suffix in {".py", ".md", ".wiki"}:
            assert not re.search(
                r"(?<![\w.])/(home|root|tmp|work|Users)/", path.read_text(encoding="utf-8")
            ), path
    assert not re.search(r"/(home|root|tmp|work|Users)/", bodies)


def test_a_rebuild_gives_what_is_checked_in(tmp_path: Path) -> None:
    builds = [tmp_path / "first", tmp_path / "second"]
    for folder in builds:
        command = [sys.executable, str(FOLDER / "build.py"), "--output", str(folder)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    for name in (ENGLISH, GERMAN):
        first, second = ((folder / name).read_bytes() for folder in builds)
        assert first == second
        # The compressed bytes may differ between versions of zlib; what they hold may not.
        assert read(builds[0] / name) == read(FOLDER / name), (
            f"{name} is out of date: run {FOLDER.name}/build.py"
        )

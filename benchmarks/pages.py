"""The HTML pages that the converter's benchmarks run on: real ones where they are at hand, else those of the sample dumps."""

from __future__ import annotations

import argparse
import json
import tarfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
SPHINX = Path("/usr/share/doc/python3.11/html")
"""Where Debian's ``python3.11-doc`` puts the manual of Python."""


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``."""
    default = ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=default, help="folder of real pages")


def read(paths: list[Path]) -> list[str]:
    """Return the files' contents, by name."""
    return [path.read_text(encoding="utf-8", errors="replace") for path in sorted(paths)]


def arxiv(data: Path) -> list[str]:
    """LaTeXML pages."""
    if data.is_dir():
        return read(list((data / "ar5iv").rglob("*.html")))
    print(f"no real pages at {data}: the sample dump's papers instead")
    with zipfile.ZipFile(ROOT / "datasets/sample/arxiv/ar5iv-sample-no-problem.zip") as archive:
        return [archive.read(name).decode() for name in sorted(archive.namelist())]


def wikipedia(data: Path) -> list[str]:
    """Parsoid pages."""
    if data.is_dir():
        return read(list((data / "wikipedia" / "parsoid").rglob("*.html")))
    name = ROOT / "datasets/sample/wikipedia/samplewiki-NS0-20240501-ENTERPRISE-HTML.json.tar.gz"
    with tarfile.open(name) as archive:
        members = [archive.extractfile(member) for member in archive]
        return [json.loads(line)["article_body"]["html"] for member in members if member for line in member]


def web(data: Path) -> list[str]:
    """Pages of the open web; none in the sample dumps."""
    return read(list((data / "web" / "trafilatura").rglob("*.html")))


def stackexchange(data: Path) -> list[str]:
    """Bodies of posts; none without real dumps."""
    return [
        row.get("Body", "")
        for path in sorted((data / "stackexchange").rglob("*Posts.xml"))
        for _, row in ElementTree.iterparse(path)
        if row.tag == "row"
    ]


def sphinx(folder: Path) -> list[str]:
    """Pages that Sphinx made: the manual of Python where it is installed."""
    return read(
        [path for path in folder.rglob("*.html") if path.name not in ("search.html", "genindex.html")]
    )


def spread(documents: list[str], megabytes: float) -> list[str]:
    """Choose ``documents`` of all lengths, evenly spaced when sorted by length, of about ``megabytes`` together."""
    documents = sorted((document for document in documents if document.strip()), key=len)
    total = sum(map(len, documents)) / 1e6
    if total <= megabytes:
        return documents
    step = total / megabytes
    return [documents[int(index * step)] for index in range(int(len(documents) / step))]

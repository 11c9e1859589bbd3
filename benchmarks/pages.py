"""The HTML pages that the converter's benchmarks run on: real ones where they are at hand, else those of the sample dumps."""

from __future__ import annotations

import argparse
import json
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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

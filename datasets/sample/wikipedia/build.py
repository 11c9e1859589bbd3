"""Build the sample Wikipedia dumps from their wikitext sources.

    python datasets/sample/wikipedia/build.py [--output FOLDER]

Reads ``sources/*.wiki`` (English) and ``sources-de/*.wiki`` (German), adds the computed articles of
``wikibuild/``, expands everything to Parsoid-like HTML and packs two dumps in the layout of the Wikimedia
Enterprise snapshots. Standard library only; the same sources always give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import tarfile
from pathlib import Path

from wikibuild import computed
from wikibuild.page import Site
from wikibuild.record import Source, record

HERE = Path(__file__).parent
DATE = "20240501"
ENGLISH = Site("samplewiki", "en", "en.samplewiki.example", "Category", "Template", wrapped_headings=False)
GERMAN = Site("beispielwiki", "de", "de.samplewiki.example", "Kategorie", "Vorlage", wrapped_headings=True)


def read_sources(folder: Path) -> list[Source]:
    """The hand-written pages of one folder, in the order of their file names."""
    return [
        Source.parse(path.read_text(encoding="utf-8"), path.name) for path in sorted(folder.glob("*.wiki"))
    ]


def members(site: Site, sources: list[Source], count: int) -> list[tuple[str, bytes]]:
    """The NDJSON members: pages in turn; an older revision stands ``before`` its page or in a later place."""
    lines: list[list[str]] = [[] for _ in range(count)]
    current = [source for source in sources if not source.revision]
    place = {source.title: index % count for index, source in enumerate(current)}
    for source in current + [source for source in sources if source.revision]:
        text = json.dumps(record(site, source), ensure_ascii=False, separators=(",", ":"))
        index = place[source.title]
        if source.revision == "before":
            lines[index].insert(0, text)
        else:
            lines[min(index + 1, count - 1) if source.revision else index].append(text)
    return [
        (f"{site.identifier}_namespace_0_{i}.ndjson", ("\n".join(part) + "\n").encode())
        for i, part in enumerate(lines)
    ]


def pack(path: Path, files: list[tuple[str, bytes]]) -> None:
    """Write a tar.gz whose bytes depend on the contents alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), 1714521600, 0o644
            archive.addfile(entry, io.BytesIO(data))
    # No name and no time in the gzip header.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as packed,
    ):
        packed.write(buffer.getvalue())


def build(output: Path) -> None:
    """Write both dumps into a folder."""
    output.mkdir(parents=True, exist_ok=True)
    english = read_sources(HERE / "sources") + computed.articles()
    for site, sources, count in ((ENGLISH, english, 2), (GERMAN, read_sources(HERE / "sources-de"), 1)):
        titles = [source.title for source in sources if not source.revision]
        if len(titles) != len(set(titles)):
            raise ValueError(f"title given twice: {sorted({t for t in titles if titles.count(t) > 1})}")
        path = output / f"{site.identifier}-NS0-{DATE}-ENTERPRISE-HTML.json.tar.gz"
        files = members(site, sources, count)
        pack(path, files)
        size = sum(len(data) for _, data in files)
        print(f"{path.name}: {len(sources)} records, {size:,} bytes, {path.stat().st_size:,} packed")


def main(arguments: list[str]) -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Build the sample Wikipedia dumps.")
    parser.add_argument(
        "--output", type=Path, default=HERE, help="folder for the dumps (default: beside this file)"
    )
    build(parser.parse_args(arguments).output)


if __name__ == "__main__":
    main(sys.argv[1:])

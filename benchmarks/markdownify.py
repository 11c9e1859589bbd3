"""Documents and megabytes a second of HTML-to-Markdown converters on the same pages, CPU time of one core.

    python benchmarks/markdownify.py [--data ../shared/data] [--rounds 3]

Each converter sees the same documents; a round takes each in turn, so that a busy machine slows all of them alike; the
table shows the median of the rounds and the ratio to the ``markdownify`` package. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import statistics
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pages  # this folder's

# This file bears the name of one of the peers: from here on its own folder must not come first on the path.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

Converter = Callable[[str], object]
MEGABYTES = 1.5


def corpora(data: Path) -> dict[str, list[str]]:
    """Return the documents of each profile, smallest first, up to :data:`MEGABYTES` each."""
    found = {"arxiv": pages.arxiv(data), "wikipedia": pages.wikipedia(data), "web": pages.web(data)}
    found["stackexchange"] = [
        row.get("Body", "")
        for path in sorted((data / "stackexchange").rglob("*Posts.xml"))[:4]
        for _, row in ElementTree.iterparse(path)
        if row.tag == "row"
    ]
    found["arxiv, large pages"] = sorted(found["arxiv"], key=len)[-4:]
    kept: dict[str, list[str]] = {}
    for profile, documents in found.items():
        kept[profile] = []
        for document in sorted(documents, key=len):
            if (
                len(document) > 500
                and sum(map(len, kept[profile])) < (4 if "large" in profile else 1) * MEGABYTES * 1e6
            ):
                kept[profile].append(document)
    return kept


def peers(profile: str) -> dict[str, Converter]:
    """Return the converters that are installed."""
    from tootsie.curate.markdownify import markdownify

    table: dict[str, Converter] = {"tootsie": lambda html: markdownify(html, profile=profile)}

    def add(name: str, module: str, make: Callable[[object], Converter]) -> None:
        with contextlib.suppress(ImportError):
            table[name] = make(importlib.import_module(module))

    add("markdownify", "markdownify", lambda m: lambda html: m.markdownify(html, heading_style="ATX"))
    add("html2text", "html2text", lambda m: lambda html: m.html2text(html))
    add(
        "trafilatura",
        "trafilatura",
        lambda m: lambda html: m.extract(html, output_format="markdown", favor_recall=True),
    )
    add("markitdown", "markitdown", lambda m: _markitdown(m))
    add("html-to-markdown", "html_to_markdown", lambda m: lambda html: m.convert(html))
    add(
        "lxml, parse only",
        "lxml.etree",
        lambda m: lambda html: m.HTML(html.encode(), m.HTMLParser(encoding="utf-8")),
    )
    add("Lexbor, parse only", "selectolax.lexbor", lambda m: lambda html: m.LexborHTMLParser(html))
    return table


def _markitdown(module: object) -> Converter:
    import io

    converter = module.MarkItDown()  # type: ignore[attr-defined]
    return lambda html: converter.convert_stream(io.BytesIO(html.encode()), file_extension=".html")


def measure(convert: Converter, documents: list[str]) -> float:
    """Return the CPU seconds that ``documents`` take."""
    start = time.process_time()
    for document in documents:
        convert(document)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    pages.add_option(parser)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for profile, documents in corpora(arguments.data).items():
        if not documents:
            continue
        size = sum(len(document.encode()) for document in documents) / 1e6
        table = peers(profile.partition(",")[0])
        seconds: dict[str, list[float]] = {name: [] for name in table}
        for _ in range(arguments.rounds):
            for name, convert in table.items():
                seconds[name].append(measure(convert, documents))
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        reference = medians.get("markdownify")
        print(
            f"\n{profile}: {len(documents):,} documents, {size:.2f} MB, median of {arguments.rounds} rounds"
        )
        print(f"  {'converter':20} {'documents/s':>12} {'MB/s':>8} {'× markdownify':>14}")
        for name, median in medians.items():
            ratio = f"{reference / median:.1f}" if reference else "-"
            print(f"  {name:20} {len(documents) / median:12,.0f} {size / median:8.2f} {ratio:>14}")


if __name__ == "__main__":
    main()

"""How many of CommonMark's examples come back: HTML, through each converter, to Markdown, read by markdown-it to HTML.

    python benchmarks/round_trip.py

The examples are the 652 of CommonMark 0.31.2 less those with raw HTML, which Markdown itself does not say; ``make setup-dev``
fetches them. Both pages are compared by elements, attributes and text. *Loose* leaves out what a reader may not see:
whether an item's text is a paragraph, and line breaks at the end of code. Converters run with their defaults.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
from pathlib import Path

import peers  # this folder's
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
ARCHIVE = ROOT / ".build" / "specifications" / "markdown_it_py-4.3.0.tar.gz"
MEMBER = "markdown_it_py-4.3.0/tests/test_cmark_spec/commonmark.json"
sys.path.insert(0, str(ROOT / "tests" / "curate" / "markdownify"))
from canonical import canonical  # noqa: E402  (the form in which the tests compare)

# A sibling file bears the name of one of the peers: from here on this folder must not come first on the path.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

READER = MarkdownIt("commonmark")


def examples() -> list[str]:
    """The HTML of the examples whose Markdown has no raw HTML."""
    with tarfile.open(ARCHIVE) as members:
        member = members.extractfile(MEMBER)
        assert member is not None
        entries = json.loads(member.read())
    return [entry["html"] for entry in entries if not has_raw_html(entry["markdown"])]


def has_raw_html(markdown: str) -> bool:
    tokens = READER.parse(markdown)
    return any(
        token.type.startswith("html_") for outer in tokens for token in (outer, *(outer.children or []))
    )


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    if not ARCHIVE.exists():
        print(f"{ARCHIVE} is missing: make setup-dev downloads it")
        return
    pages = examples()
    print(f"{len(pages)} examples of CommonMark without raw HTML")
    print(f"  {'converter':28} {'strict':>6} {'share':>8} {'loose':>6} {'share':>8}")
    for name, convert in peers.installed("web").items():
        back = [READER.render(convert(page)[0]) for page in pages]
        counts = [
            sum(
                canonical(one, loose=loose) == canonical(page, loose=loose)
                for one, page in zip(back, pages, strict=True)
            )
            for loose in (False, True)
        ]
        shares = "".join(f" {count:6} {count / len(pages):8.2%}" for count in counts)
        print(f"  {name:28}{shares}")


if __name__ == "__main__":
    main()

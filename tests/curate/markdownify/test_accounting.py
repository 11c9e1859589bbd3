"""No text goes without a name: on real pages, what a reader sees is what the Markdown says plus what the trace calls dropped.

Both sides are read by other means than the trace's own: the standard library's parser for the page, markdown-it for the Markdown.
"""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tootsie.curate.markdownify.trace import TraceLimits, trace
from tootsie.curate.markdownify.tracer import UNNAMED

LETTER = re.compile(r"[^\W_]")
CODE = re.compile(r"(^ *`{3,}[^\n]*\n.*?\n *`{3,}$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<![\\$])\$(?!\$)((?:[^$\\]|\\.)+?)\$(?!\$)", re.DOTALL)
# Formulas are compared elsewhere, scripts are no text, and Markdown has marks of its own for numbered items.
NOT_TEXT = {"script", "style", "template", "title", "math", "mjx-container"}
FORMULAS = {"katex", "mwe-math-element", "ltx_eqn_table"}


class Reader(HTMLParser):
    """Collects the text of a page; elements that are no text are left out up to their end tag."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.skipping = ""
        self.depth = 0
        self.last = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = set((dict(attrs).get("class") or "").split())
        number = self.last == "li" and "ltx_tag_item" in classes
        if self.skipping:
            self.depth += tag == self.skipping
        elif tag in NOT_TEXT or classes & FORMULAS or number:
            self.skipping, self.depth = tag, 1
        self.last = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self.skipping:
            self.depth -= 1
            self.skipping = self.skipping if self.depth else ""

    def handle_data(self, data: str) -> None:
        if not self.skipping:
            self.text.append(data)


def letters(html: str) -> Counter[str]:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return Counter(LETTER.findall("".join(reader.text)))


def letters_of_markdown(markdown: str, *, formulas: bool) -> Counter[str]:
    parts = CODE.split(markdown)
    parts[::2] = [
        re.sub(r"\[\^[^\]\s]+\]:?", "", part if formulas else FORMULA.sub(" ", part)) for part in parts[::2]
    ]
    return letters(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render("".join(parts)))


def pages_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Return the pages below a folder; of dumps of posts, the first bodies."""
    for path in sorted(folder.rglob("*.html")):
        yield path.name, path.read_bytes()
    for path in sorted(folder.rglob("Posts.xml")):
        rows = (row for _, row in ElementTree.iterparse(path) if row.get("Body"))
        for number, row in enumerate(itertools.islice(rows, 100)):
            yield f"{path.parent.name} {number}", (row.get("Body") or "").encode()


@pytest.mark.parametrize(
    ("folder", "profile"),
    [
        ("ar5iv", "arxiv"),
        ("wikipedia", "wikipedia"),
        ("web", "web"),
        ("stackexchange", "stackexchange"),
    ],
)
def test_what_a_reader_sees_is_written_or_dropped_by_a_named_rule(
    folder: str, profile: str, shared_data: Path
) -> None:
    total = wrong = 0
    unnamed = []
    for name, page in pages_of(shared_data / folder):
        traced = trace(page, profile=profile, trace_limits=TraceLimits(max_text=10**7))
        unnamed += [(name, event) for event in traced.events if event.rule == UNNAMED]
        source = letters(page.decode(traced.conversion.encoding, "replace"))
        # Where all formulas stood in the text, between dollar signs and the like, they are text on both sides.
        in_text = not any(
            name.startswith(("formulas_from_", "equation")) for name in traced.conversion.counters
        )
        account = letters_of_markdown(traced.conversion.markdown, formulas=in_text)
        for _, text in traced.dropped:
            account += Counter(LETTER.findall(text))
        total += source.total()
        wrong += ((source - account) + (account - source)).total()
    assert total > 100_000
    assert unnamed == []
    assert wrong <= total * 0.001

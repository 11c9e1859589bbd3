"""CommonMark and GFM, the other way round: each example's HTML becomes Markdown, and a reader of it sees that HTML again.

The examples are others' work and not part of this project: ``make setup-dev`` downloads two source distributions that
carry them (``specifications.txt``). What fails is listed here with its reason, and nothing else may fail.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options as Reading
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tootsie.curate.markdownify import markdownify

from .canonical import canonical

COMMONMARK = ("markdown_it_py-4.3.0", "tests/test_cmark_spec/commonmark.json")
GFM = ("multimark-0.4.0", "tests/fixtures/spec.txt")
EXTENSIONS = ("multimark-0.4.0", "tests/fixtures/extensions.txt")
FENCE = "`" * 32
FAILING = {
    "core": {25: "markdown-it strips a no-break space at the start of a paragraph; cmark keeps it"},
    "core, read by cmark-gfm": {
        **dict.fromkeys(
            (389, 417, 425, 426, 427, 464, 465, 466, 468), "cmark-gfm leaves out strong within strong"
        ),
        **dict.fromkeys((602, 606, 608, 611, 612), "cmark-gfm makes a link of any address in the text"),
    },
    "gfm": {},
    "extensions": {},
}
MARKDOWN_IT = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@dataclass(frozen=True)
class Example:
    """One example of a specification."""

    number: int
    markdown: str
    html: str
    extension: str


def read_member(root: Path, source: tuple[str, str]) -> str:
    archive = root / ".build" / "specifications" / f"{source[0]}.tar.gz"
    if not archive.exists():
        pytest.skip(f"{archive} is missing: make setup-dev downloads it")
    with tarfile.open(archive) as members:
        member = members.extractfile("/".join(source))
        assert member is not None
        return member.read().decode()


def examples_of(text: str) -> list[Example]:
    """Read the examples of a specification in cmark's format."""
    pattern = rf"^{FENCE} example ?(\w*)\n(.*?)^\.\n(.*?)^{FENCE}$"
    found = re.findall(pattern, text.replace("→", "\t"), re.MULTILINE | re.DOTALL)
    return [
        Example(number, markdown, html, extension)
        for number, (extension, markdown, html) in enumerate(found, 1)
    ]


def has_raw_html(tokens: list[Token]) -> bool:
    return any(token.type.startswith("html_") or has_raw_html(token.children or []) for token in tokens)


def render_gfm(markdown: str) -> str:
    """Render as GitHub does, with GitHub's own library."""
    return cmarkgfm.cmark.markdown_to_html_with_extensions(
        markdown,
        Reading.CMARK_OPT_UNSAFE | Reading.CMARK_OPT_FOOTNOTES,
        ["table", "strikethrough", "autolink", "tasklist"],
    )


def failing(examples: list[Example], render: Callable[[str], str], *, loose: bool = False) -> list[int]:
    return [
        example.number
        for example in examples
        if canonical(render(markdownify(example.html)), loose=loose) != canonical(example.html, loose=loose)
    ]


def number_notes(html: str) -> str:
    """Name footnotes by their order: a reader of HTML cannot know the labels of the Markdown it was made from."""
    for number, name in enumerate(re.findall(r'<li id="fn-([^"]+)">', html), 1):
        html = re.sub(rf'(fn(?:ref)?-){re.escape(name)}(?=["-])', rf"\g<1>{number}", html)
    return html


def test_commonmark_without_raw_html(project_root: Path) -> None:
    entries: list[dict[str, Any]] = json.loads(read_member(project_root, COMMONMARK))
    assert len(entries) == 652
    examples = [
        Example(entry["example"], entry["markdown"], entry["html"], "")
        for entry in entries
        if not has_raw_html(MARKDOWN_IT.parse(entry["markdown"]))
    ]
    assert len(examples) == 580
    render: Callable[[str], str] = MARKDOWN_IT.render
    assert failing(examples, render) == list(FAILING["core"])
    assert failing(examples, render, loose=True) == list(FAILING["core"])
    assert failing(examples, render_gfm) == list(FAILING["core, read by cmark-gfm"])


def test_tables_strikethrough_and_autolinks_of_gfm(project_root: Path) -> None:
    examples = [
        example
        for example in examples_of(read_member(project_root, GFM))
        if example.extension in ("table", "strikethrough", "autolink")
    ]
    assert len(examples) == 21
    assert failing(examples, render_gfm) == list(FAILING["gfm"])
    assert failing(examples, MARKDOWN_IT.render) == list(FAILING["gfm"])


def test_the_extensions_of_cmark_gfm(project_root: Path) -> None:
    examples = [
        Example(example.number, example.markdown, number_notes(example.html), "")
        for example in examples_of(read_member(project_root, EXTENSIONS))
        if example.html.strip() != "<IGNORE>" and "HTML comments" not in example.html
    ]
    assert len(examples) == 28
    assert failing(examples, lambda markdown: number_notes(render_gfm(markdown))) == list(
        FAILING["extensions"]
    )

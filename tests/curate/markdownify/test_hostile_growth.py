"""The pages of ``benchmarks/hostile_pages.py``: none loses its last paragraph, and twice the page is at most twice the work and the text.

Work is counted in calls of Python and of C: what does not depend on the machine. ``benchmarks/hostile.py`` measures the time.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tootsie.curate.markdownify import MarkdownConverter, convert
from tootsie.curate.markdownify.nesting import MAX_TRUSTED, flatten, is_deep

_SOURCE = Path(__file__).parents[3] / "benchmarks" / "hostile_pages.py"
_SPEC = importlib.util.spec_from_file_location("hostile_pages", _SOURCE)
assert _SPEC is not None
assert _SPEC.loader is not None
hostile_pages: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(hostile_pages)
POLICIES: list[dict[str, Any]] = [
    {"profile": "web", "dollars": "strict"},
    {"profile": "arxiv", "references": "drop", "links": "keep"},
    {"profile": "wikipedia", "references": "keep", "exact": True},
    {"profile": "stackexchange"},
]


def page_of(name: str, share: float) -> str | bytes:
    count, page = hostile_pages.PAGES[name]
    made = page(max(1, int(count * share)))
    return made + (hostile_pages.END if isinstance(made, str) else hostile_pages.END.encode())


@pytest.mark.parametrize("name", hostile_pages.PAGES)
def test_the_last_paragraph_is_kept_under_all_policies(name: str) -> None:
    page = page_of(name, 0.05)
    for options in POLICIES:
        markdown = convert(page, **options).markdown
        assert hostile_pages.SENTINEL in markdown, options
        assert len(markdown) < 200 * len(page) + 1_000, options


class Subclass(MarkdownConverter):
    def convert_h1(self, el: Any, text: str, parent_tags: Any) -> Any:
        return super().convert_h1(el, text, parent_tags)

    def convert_li(self, el: Any, text: str, parent_tags: Any) -> Any:
        return super().convert_li(el, text, parent_tags)

    def convert_a(self, el: Any, text: str, parent_tags: Any) -> Any:
        return super().convert_a(el, text, parent_tags)

    def convert_pre(self, el: Any, text: str, parent_tags: Any) -> Any:
        return super().convert_pre(el, text, parent_tags)


@pytest.mark.parametrize("name", hostile_pages.PAGES)
def test_the_last_paragraph_is_kept_beside_hooks(name: str) -> None:
    page = page_of(name, 0.02)
    markdown = Subclass().convert(page)
    assert hostile_pages.SENTINEL in markdown
    assert len(markdown) < 200 * len(page) + 1_000


def calls(page: str | bytes, options: dict[str, Any]) -> tuple[int, int]:
    """Return how many functions a conversion calls, and the length of its result."""
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        markdown = convert(page, **options).markdown
    finally:
        sys.setprofile(before)
    return count, len(markdown)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("nested div", POLICIES[0]),
        ("nested tables", POLICIES[0]),
        ("nested ul", POLICIES[0]),
        ("250 sub, then paragraphs", POLICIES[0]),
        ("unclosed b", POLICIES[0]),
        ("formatting reopened in paragraphs", POLICIES[0]),
        ("formatting in a script", POLICIES[0]),
        ("a long target over paragraphs", POLICIES[0]),
        ("a title over paragraphs", POLICIES[0]),
        ("depth beside wrong end tags", POLICIES[0]),
        ("less-than and letters", POLICIES[0]),
        ("footnotes, percent-encoded", {"profile": "web", "references": "keep"}),
        ("footnotes of the web", {"profile": "web", "references": "keep"}),
        ("formulas torn apart", {"profile": "stackexchange"}),
        ("emphasis, punctuation", POLICIES[0]),
        ("abstracts", POLICIES[1]),
        ("250 author names, then text", POLICIES[1]),
        ("marks of LaTeXML", POLICIES[1]),
        ("footnotes of Wikipedia", POLICIES[2]),
        ("nested msqrt", POLICIES[0]),
    ],
)
def test_twice_the_page_is_at_most_twice_the_work(name: str, options: dict[str, Any]) -> None:
    (work, length), (more_work, longer) = (calls(page_of(name, share), options) for share in (0.2, 0.4))
    factor = max(2.0, len(page_of(name, 0.4)) / len(page_of(name, 0.2)))
    assert more_work < 1.25 * factor * work + 2_000
    assert longer < 1.25 * factor * length + 20_000  # a target may be repeated for 8,192 characters


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>a</p><!-- b <p>c</p>", "a\n\nc\n"),
        ("<p>a</p><script>var b; <p>c</p>", "a\n\nc\n"),
        ("<p>a</p><style>b {} <p>c</p>", "a\n\nc\n"),
        ("<p>a</p><textarea>b <p>c</p>", "a\n\nb\n\nc\n"),
        ("<p>a</p><template>b <p>c</p>", "a\n\nb\n\nc\n"),
        ("<p>a</p><button>b <p>c</p>", "a\n\nb\n\nc\n"),
        ('<p>a</p><a href="x>b</a> <p>c</p>', "a\n\nb\n\nc\n"),
        ("<p>a</p><div hidden>b <p>c</p>", "a\n\nb\n\nc\n"),
        ("<p>a</p><p>c</p><!-- b", "a\n\nc\n\nb\n"),
        ("<p>a</p><p>c</p><!-- <p>b</p> -->", "a\n\nc\n"),
        ("<p>a</p><div hidden>b</div>", "a\n"),
        ("<p>a</p><script>'<script>'</script>", "a\n"),
        ("<p>a</p><button>b</button>", "a\n"),
        ("<p>a</p><!-->b<p>c</p>", "a\n\nb\n\nc\n"),
    ],
)
def test_what_does_not_end_takes_no_text_with_it(html: str, markdown: str) -> None:
    assert convert(html).markdown == markdown


@pytest.mark.parametrize(
    "piece",
    [
        "<div></x>",
        '<div title="</div>">',
        '<div title="></div>">',
        '<div a=\'"\' title="></div>">',
        "<div x\"y='></div>'>",
        '<div a=b" c="></div>">',
        "<div><!--</div>-->",
        "<div><!</div>",
        "<div></3</div>",
        "<div><script></div></script>",
        "<div><x></div>",
    ],
)
def test_no_end_tag_hides_the_depth(piece: str) -> None:
    assert is_deep((piece * MAX_TRUSTED).encode(), 256)


def test_proper_pages_of_many_tags_are_left_alone() -> None:
    piece = "<ul><li>a</li><li><p>b</p></li></ul><a title='it\"s' href=\"it's\">c<b>d</b></a><!-- </p> --><br><script>'</div>'</script>"
    assert not is_deep((piece * MAX_TRUSTED).encode(), 256)


def test_a_quotation_mark_in_a_name_hides_no_tags() -> None:
    page = "<b>" * 70 + "<div a'>" + "<p><b id=1>t" * 500 + "<i a'>"
    assert flatten(page, 256)[0].count("<b") < 500


def test_a_link_around_blocks_repeats_a_bounded_target() -> None:
    page = f"<a href={'x' * 5_000}>" + "<p>a</p>" * 100 + "</a>"
    markdown = convert(page).markdown
    assert markdown.count("](x") == 2
    assert markdown.count("a") == 100

"""What follows an element that a rule leaves out and the page never closes is kept."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import convert, dropped_text

UNCLOSED = [
    # by class: a pointer, a box, a table, a list
    ("wikipedia", '<p>A</p><div class="hatnote">See <a href="x">X</a>.<p>B</p><p>C</p>', "A\n\nB\n\nC\n", ["See X"]),
    (
        "wikipedia",
        '<section><p>A</p><div class="navbox"><div>t</div><ul><li>n</li></ul><p>B</p><h2>H</h2><p>C</p></section><p>D</p>',
        "A\n\nB\n\n## H\n\nC\n\nD\n",
        ["t n"],
    ),
    ("wikipedia", '<p>A</p><table class="navbox"><tr><td>nav<p>B</p><p>C</p>', "A\n\nB\n\nC\n", ["nav"]),
    ("wikipedia", '<p>A</p><ul class="toc"><li>one<li>two<p>B</p>', "A\n\nB\n", ["one two"]),
    # the end tag of the next box is taken for that of the first
    ("wikipedia", '<p>A</p><div class="navbox"><ul><li>n</li></ul><div><p>B</p></div>', "A\n\nB\n", ["n"]),
    # one in the other, each by its own rule
    ("wikipedia", '<p>A</p><div class="hatnote">X<div class="navbox">Y<p>B', "A\n\nB\n", ["X", "Y"]),
    # by role
    ("wikipedia", '<p>A</p><div role="navigation">See X<div>B</div>', "A\n\nB\n", ["See X"]),
    # LaTeXML
    (
        "arxiv",
        '<section class="ltx_bibliography"><h2>References</h2><ul><li>a</li></ul>'
        '<section class="ltx_appendix"><h2>App</h2><p>B</p></section>',
        "## App\n\nB\n",
        ["References a"],
    ),
    ("arxiv", '<div class="ltx_keywords">k, l<p>B</p>', "B\n", ["k, l"]),
    (
        "arxiv",
        '<div class="ltx_authors"><span class="ltx_personname">J D</span><div class="ltx_para"><p class="ltx_p">B</p></div>',
        "B\n",
        ["J D"],
    ),
    (
        "arxiv",
        '<div class="ltx_page_navbar"><ul><li>n</li></ul><div class="ltx_page_content"><p>B</p></div>',
        "B\n",
        ["n"],
    ),
    ("stackexchange", '<p>A</p><DIV class="snippet-result">r<p>B</p>', "A\n\nB\n", ["r"]),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "html", "markdown", "dropped"), UNCLOSED)
def test_the_page_goes_on_behind_the_own_content_of_an_element_that_is_not_closed(
    profile: str, html: str, markdown: str, dropped: list[str]
) -> None:
    conversion = convert(html, profile=profile)
    assert conversion.markdown == markdown
    assert conversion.counters["contents_recovered"] == len(dropped)
    assert [text for _, text in dropped_text(html, profile=profile)] == dropped


@pytest.mark.parametrize(
    ("profile", "html", "markdown"),
    [
        ("wikipedia", '<p>A</p><div class="hatnote">See X.<p>B</p></div>', "A\n"),
        (
            "wikipedia",
            '<section><p>A</p><div class="navbox"><ul><li>n</li></ul><p>B</p></div></section>',
            "A\n",
        ),
        # the page is not balanced, but something follows, or nothing in the box begins anew
        ("wikipedia", '<div><p>A</p><div class="hatnote">See X.<p>B</p></div><p>C</p>', "A\n\nC\n"),
        ("wikipedia", '<div><p>A</p><div class="navbox"><div>t</div><ul><li>n</li></ul></div>', "A\n"),
        ("arxiv", '<p>A</p><section class="ltx_bibliography"><h2>R</h2><ul><li>a</li></ul></section>', "A\n"),
    ],
)
def test_an_element_that_is_closed_is_left_out_whole(profile: str, html: str, markdown: str) -> None:
    conversion = convert(html, profile=profile)
    assert conversion.markdown == markdown
    assert "contents_recovered" not in conversion.counters


def test_front_matter_ends_where_the_page_goes_on() -> None:
    conversion = convert('<div class="ltx_keywords">k, l<p>B</p>', profile="arxiv")
    assert conversion.metadata["keywords"] == "k, l"


@pytest.mark.parametrize("count", [100, 255, 256, 257, 400])
def test_boxes_in_each_other_cost_no_text(count: int) -> None:
    page = "".join(f'<div class="navbox"><ul><li>n</li></ul><p>p{number}</p>' for number in range(count))
    markdown = convert(page, profile="wikipedia").markdown
    assert [f"p{number}" in markdown for number in range(count)] == [True] * count

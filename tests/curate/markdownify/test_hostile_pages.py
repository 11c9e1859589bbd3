"""Hostile pages: no page may crash, lose its last paragraph, or cost out of proportion (the suite's timeout guards that)."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from tootsie.curate.markdownify import Limits, Profile, convert
from tootsie.curate.markdownify.nesting import MAX_NAMES, flatten, is_deep

END = "<p>the end sentinel</p>"
PAGES: dict[str, Callable[[], str]] = {
    "100,000 divs": lambda: "<div>" * 100_000 + "x" + "</div>" * 100_000,
    "100,000 unclosed spans": lambda: "<span>" * 100_000 + "x",
    "50,000 unclosed b": lambda: "<b>" * 50_000 + "x",
    "formatting reopened in each paragraph": lambda: "".join(f"<p><b id={i}>t" for i in range(10_000)),
    "the same, closed before": lambda: (
        "</b>" * 10_000 + "".join(f"<p><b id={i}>t</p>" for i in range(10_000))
    ),
    "misnested": lambda: "<b>x<i>y</b>z</i>" * 10_000,
    "nested lists": lambda: "<ul><li>a" * 2_000,
    "nested quotations": lambda: "<blockquote>" * 20_000 + "x",
    "30,000 cells": lambda: "<table>" + ("<tr>" + "<td>1" * 100) * 300 + "</table>",
    "a row of 20,000 cells": lambda: "<table><tr>" + "<td>x" * 20_000 + "</table>",
    "colspan": lambda: "<table>" + "<tr><td colspan=65534>a<td>b" * 2_000 + "</table>",
    "rowspan": lambda: "<table>" + "<tr><td rowspan=65534>a<td>b" * 2_000 + "</table>",
    "stairs of spans": lambda: "<table><tr>" + "<td rowspan=0>a" * 2_000 + "<tr><td>b" * 2_000 + "</table>",
    "nested tables": lambda: "<table><tr><th>a<td>b<td>" * 2_000,
    "5 MB of spaces": lambda: "<p>a" + " " * 5_000_000 + "b",
    "5 MB of newlines in pre": lambda: "<pre>a" + "\n" * 5_000_000 + "b</pre>",
    "100,000 attributes": lambda: "<p " + " ".join(f"a{i}=1" for i in range(100_000)) + ">x",
    "100,000 line breaks": lambda: "<p>" + "a<br>" * 100_000,
    "NULs": lambda: "a\x00" * 100_000,
    "lone surrogates": lambda: "a\ud800\udc00" * 100_000,
    "backticks": lambda: "`" * 200_000,
    "stars": lambda: "*" * 200_000,
    "dollars": lambda: "$" * 300_000,
    "unclosed mathjax": lambda: "<p>" + "$a {$ \\( \\[ $$ \\begin{align} " * 20_000,
    "unclosed math": lambda: '<math class="ltx_Math" alttext="x">' * 10_000,
    "deep mathml": lambda: "<math>" + "<msqrt>" * 20_000 + "<mi>x</mi>" + "</msqrt>" * 20_000 + "</math>",
    "entities": lambda: "&lt;&amp;&#x41;" * 100_000,
    "less-than signs": lambda: "<" * 300_000,
    "deep mathml without end": lambda: "<math>" + "<mrow>" * 10_000,
    "headings in headings": lambda: "<h1>a" * 10_000,
    "links in links": lambda: "<a href=x>" * 20_000 + "y",
}


@pytest.mark.parametrize("name", PAGES)
def test_the_last_paragraph_is_never_lost(name: str) -> None:
    page = PAGES[name]() + END
    for profile in ("web", "stackexchange"):
        conversion = convert(page, profile=profile)
        assert "the end sentinel" in conversion.markdown[-9_000:], profile
        assert len(conversion.markdown) < 40 * len(page) + 1_000


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize(
    "html",
    [
        "<p>a|<b>b</b></p>",
        "<pre>a|b\n|c</pre>",
        "<table>|<tr>|<th>a|<td>b|</table>",
        "<ul>|<li>a|</ul>",
        "<p>a <math>|<mi>x</mi>|<mo>=</mo></math></p>",
        "<article><h1 class=ltx_title>t</h1>|<div class=ltx_para>|<p>|Department</p></div></article>",
        "<dl>|<dd>a|<dl>|<dd>b</dl></dl>",
        "<p>a<span class=ltx_note>|<sup class=ltx_note_mark>1</sup>|b</span></p>",
    ],
)
def test_processing_instructions_are_nothing(html: str, profile: Profile) -> None:
    assert (
        convert(html.replace("|", "<?php x ?>"), profile=profile).markdown
        == convert(html.replace("|", "<!-- -->"), profile=profile).markdown
    )


def test_text_in_elements_too_deep_is_kept_and_counted() -> None:
    conversion = convert("<div>" * 1_000 + "deep" + "</div>" * 1_000, limits=Limits(max_depth=100))
    assert conversion.markdown == "deep\n"
    assert conversion.counters["elements_too_deep"] == 900


def test_a_table_over_the_limit_becomes_lines() -> None:
    conversion = convert("<table>" + "<tr><td>a<td>b" * 10 + "</table>", limits=Limits(max_cells=8))
    assert conversion.counters["tables_too_large"] == 1
    assert conversion.markdown.count("a | b") == 10


@pytest.mark.parametrize(
    "start",
    [
        "<ol start=999999999><li>",
        "<ol start=100><li>",
        "<ol start=99><li>",
        "<ol><li value=999999999>",
        "<ul><li>",
    ],
)
def test_indentation_is_bounded_in_columns(start: str) -> None:
    markdown = convert(start * 30 + "<pre>x</pre>").markdown
    assert 32 <= max(line.find("x") for line in markdown.splitlines()) <= 64


def test_wide_numbers_of_a_few_lists_indent_as_ever() -> None:
    assert convert("<ol start=100><li>a<ol><li value=2024>b</ol></ol>").markdown == "100. a\n\n     2024. b\n"


def test_numbers_have_no_more_digits_than_markers() -> None:
    markdown = convert("<ol start=999999998><li>a<li>b<li>c<p>d</ol>").markdown
    assert re.findall(r"^\d+", markdown, re.MULTILINE) == ["999999998", "999999999", "999999999"]


@pytest.mark.parametrize("tag", ["<x{0}>a</x{0}>", "<x{0}/>a", "</x{0}>a", "<long-name-{0}>a"])
def test_names_of_tags_are_bounded(tag: str) -> None:
    page = "".join(tag.format(number) for number in range(MAX_NAMES + 1))
    assert is_deep(page.encode(), 256)
    flat, _ = flatten(page, 10**6)
    assert len(set(re.findall(r"<(\w[^\s/>]*)", flat))) <= MAX_NAMES
    assert re.sub(r"<[^>]*>", "", flat) == "a" * (MAX_NAMES + 1)


def test_elements_of_html_keep_their_meaning_behind_any_number_of_names() -> None:
    others = "".join(f"<x{number}>a</x{number}>" for number in range(MAX_NAMES + 1))
    page = '<p>b <em>c</em> <math alttext="x_1"><msub></msub></math><script>d</script><table><tr><th>e<td>f</table><pre>g\n h</pre>'
    assert convert(others + page).markdown.partition("\n\n")[2] == convert(page).markdown


def test_many_tags_of_few_names_are_left_alone() -> None:
    assert not is_deep(b"<p><long-name>a</long-name></p>" * MAX_NAMES, 256)


def test_deep_lists_are_flattened() -> None:
    conversion = convert("<ul><li>a" * 30, limits=Limits(max_indent=4))
    assert conversion.markdown.count("a") == 30
    assert max(len(line) - len(line.lstrip()) for line in conversion.markdown.splitlines()) <= 10
    assert conversion.counters["blocks_flattened"] > 0


@pytest.mark.parametrize(
    ("html", "flat"),
    [
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        ("<ul><li>a<li>b</ul>c", "<ul><li>a</li><li>b</li></ul>c"),
        ("<b>a<i>b</b>c", "<b>a<i>b</i></b>c"),
        ("<div><div><div>x</div></div>y</div>", "<div><div>x</div>y</div>"),
        ("<script>if (a<b) {'<div>'}</script>z", "<script>if (a<b) {'<div>'}</script>z"),
        ("a<!-- <b> -->b<br>c", "ab<br>c"),
        ("<p title='a>b'>c", "<p title='a>b'>c</p>"),
        ("<math><mi>x<p>y", "<math><mi>x<p>y</p></mi></math>"),
        ("<math><mrow><p>y", "<math><mrow></mrow></math><p>y</p>"),
    ],
)
def test_flattened_pages_have_balanced_tags(html: str, flat: str) -> None:
    assert flatten(html, 2 if "div" in html else 9)[0] == flat


def test_ordinary_pages_are_left_alone() -> None:
    assert not is_deep(b"<div>" * 50 + b"</div>" * 50 + b"<br><img><p>" * 20, 256)
    assert is_deep(b"<div>" * 300, 256)


@pytest.mark.parametrize(
    ("page", "deep"),
    [
        (b"<br-x>" * 300, True),  # no void element, though its name begins like one
        (b"<BR>" * 300 + b"<img/>" * 300, False),
        (b"<div><br></div>" * 300, False),
        (b"<p><B\n></p>" * 65, True),
        (b"<p><b></B></p>" * 300, False),
        (b"<p><em a></p>" * 65 + b"</p>" * 300, True),
        (b"<p><embed></p>" * 300, False),
        ("<p>é<strong>é</strong></p>".encode() * 300 + b"<", False),
        (b"<p " + b"a=1 " * 1100 + b">", True),
        (b"<p title='" + b"a " * 3000 + b"'>", False),
    ],
)
def test_depth_is_told_from_the_tags(page: bytes, deep: bool) -> None:
    assert is_deep(page, 256) is deep


WORDS = [
    "a",
    "b c",
    "*",
    "_x_",
    "`",
    "$",
    "$x$",
    "[1]",
    "(2)",
    "&lt;",
    "&",
    "|",
    "\\",
    "  ",
    "\n",
    "!",
    "中",
    "1.",
    "- x",
    "#",
    "~~",
]
TAGS = [
    "p",
    "div",
    "span",
    "b",
    "i",
    "a",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "thead",
    "caption",
    "h1",
    "h6",
    "pre",
    "code",
    "blockquote",
    "dl",
    "dt",
    "dd",
    "br",
    "hr",
    "img",
    "math",
    "svg",
    "sub",
    "q",
    "section",
    "figure",
    "figcaption",
    "button",
    "script",
    "style",
    "details",
    "summary",
    "cite",
]
CLASSES = [
    "ltx_eqn_table",
    "ltx_eqn_cell",
    "ltx_eqn_eqno",
    "ltx_title_document",
    "ltx_abstract",
    "ltx_authors",
    "ltx_personname",
    "ltx_title_theorem",
    "ltx_para",
    "ltx_note",
    "ltx_role_footnotemark",
    "ltx_note_mark",
    "ltx_tag_item",
    "ltx_cite",
    "ltx_bibliography",
    "ltx_tag_bibitem",
    "ltx_listing",
    "ltx_listingline",
    "ltx_lstlisting",
    "ltx_td",
    "ltx_tr",
    "ltx_tabular",
    "ltx_font_bold",
    "ltx_font_typewriter",
    "mwe-math-element",
    "navbox",
    "mw-ref",
    "references",
    "mw-reference-text",
    "infobox",
    "katex",
    "math-container",
    "snippet",
]


def soup(seed: int) -> str:
    """Return a page in which anything stands in anything."""
    chance = random.Random(seed)
    out: list[str] = []
    for _ in range(chance.randrange(5, 80)):
        tag = chance.choice(TAGS)
        roll = chance.random()
        if roll < 0.45:
            attributes = f' class="{chance.choice(CLASSES)}"' if chance.random() < 0.6 else ""
            attributes += (
                f" id=cite_note-{chance.randrange(3)} href=#cite_note-{chance.randrange(3)} alt=x"
                * (chance.random() < 0.2)
            )
            attributes += f" colspan={chance.randrange(4)} rowspan={chance.randrange(4)}" * (
                chance.random() < 0.2
            )
            attributes += ' alttext="x_{1}" display="block"' * (tag == "math")
            out.append(f"<{tag}{attributes}>")
        elif roll < 0.7:
            out.append(f"</{tag}>")
        else:
            out.append(chance.choice(WORDS))
    return "".join(out)


@pytest.mark.parametrize("profile", ["web", "arxiv", "wikipedia", "stackexchange"])
def test_any_soup_is_converted_and_always_the_same(profile: str) -> None:
    for seed in range(300):
        for options in ({}, {"references": "keep", "links": "keep", "images": "alt"}):
            page = soup(seed)
            first = convert(page, profile=profile, **options)
            assert first == convert(page, profile=profile, **options), seed

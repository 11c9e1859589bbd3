"""Which characters say emphasis, seen from both sides: what is written, and that time does not explode."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.markdownify import emphasis, markdownify
from tootsie.curate.markdownify.emphasis import EDGES, join_adjacent, resolve


def marked(html: str) -> str:
    """Put the edges that the serializer writes in place of tags."""
    for kind, (opening, closing) in EDGES.items():
        html = html.replace(f"<{kind}>", opening).replace(f"</{kind}>", closing)
    return html


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<em>a</em>", "*a*"),
        ("x<em>a</em>y", "x*a*y"),
        ("<strong>a</strong> <del>b</del>", "**a** ~~b~~"),
        ("<em>a <strong>b</strong> c</em>", "*a **b** c*"),
        ("<em>a <strong>b</strong></em>", "*a __b__*"),
        ("<em><strong>b</strong> a</em>", "*__b__ a*"),
        ("<em><strong>b</strong></em>", "***b***"),
        ("<strong><em>b</em></strong>", "**_b_**"),
        ("<em>a <em>b</em> c</em>", "*a *b* c*"),
        ("<em>a<em>b</em>c</em>", "*a<em>b</em>c*"),
        ("<em>a<strong>b</strong>c</em>", "*a**b**c*"),
        ("<em>(<em>a</em>)</em>", "*(*a*)*"),
        ("<em>(<em>“a”</em>)</em>", "*(_“a”_)*"),
        ("<em>a</em><em>b</em>", "*a*_b_"),
        ("<em>a</em><em>b</em>c", "*a*<em>b</em>c"),
        ("<strong>a:</strong>b", "<strong>a:</strong>b"),
        ("<strong>a:</strong> b", "**a:** b"),
        ("a<strong>(b)</strong>", "a<strong>(b)</strong>"),
        ("<strong>€</strong> a", "**€** a"),
        ("a<strong>€</strong>", "a<strong>€</strong>"),
        ("<strong>「中」</strong>文", "<strong>「中」</strong>文"),
        ("<em>\u00a0a</em>", "<em>\u00a0a</em>"),
        ("<del>a</del><del>b</del>", "~~a~~<del>b</del>"),
        ("<del>a <del>b</del> c</del>", "~~a <del>b</del> c~~"),
    ],
)
def test_the_character_by_what_stands_around(html: str, markdown: str) -> None:
    assert resolve(marked(html)) == markdown


def _element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda kind, parts: f"<{kind}>{''.join(parts)}</{kind}>",
        st.sampled_from(sorted(EDGES)),
        st.lists(children, min_size=1, max_size=3),
    )


_TEXT = st.text(alphabet="ab .:(«»$€~中", min_size=1, max_size=3)
_PARAGRAPH = st.lists(st.recursive(_TEXT, _element, max_leaves=6), min_size=1, max_size=5).map("".join)


@given(html=_PARAGRAPH)
def test_the_short_ways_give_what_the_long_way_gives(html: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emphasis, "_in_stars", lambda *_: None)
        patch.setattr(emphasis, "_apart", lambda *_: None)
        wanted = resolve(marked(html)), resolve(marked(html), "_*")
    assert (resolve(marked(html)), resolve(marked(html), "_*")) == wanted


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<em>a</em> x<em>b</em>y", "_a_ x*b*y"),
        ("<strong>a <em>b</em></strong>", "__a *b*__"),
    ],
)
def test_underscores_come_first_where_they_are_asked_for(html: str, markdown: str) -> None:
    assert resolve(marked(html), "_*") == markdown


def test_elements_of_one_kind_that_touch_are_joined() -> None:
    assert join_adjacent(marked("<em>a</em><em>b</em><strong>c</strong>")) == marked(
        "<em>ab</em><strong>c</strong>"
    )


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<b>a<br></b>b", "**a**  \nb\n"),
        ("a<b><br>b</b>", "a  \n**b**\n"),
        ("a<b> </b>b", "a b\n"),
        ("a<b><br></b>b", "a  \nb\n"),
        ("<b><i> a </i></b>b", "**_a_** b\n"),
        ("<h2><b>a</b><br>b</h2>", "## **a** b\n"),
        ("<p><b>a:</b><code>b</code>", "**a:**`b`\n"),
        ("x<sub>i<sub>j</sub></sub>", "x<sub>i<sub>j</sub></sub>\n"),
    ],
)
def test_white_space_and_breaks_at_the_edges_go_outside(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


def test_deep_and_long_emphasis_costs_no_more_than_its_length() -> None:
    deep = "<em>a <strong>b " * 20_000 + "c" + " d</strong> e</em>" * 20_000
    assert resolve(marked(deep)).count("d") == 20_000
    flat = "<em>(a)</em><em>b:</em>" * 50_000
    assert resolve(marked(flat)).count("b:") == 50_000


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p><a href=';'><code>]:</code></a></p>", '<a href=";">`]:`</a>\n'),
        (
            "<p><a href='x&y' title='q\"r'>t <code>a]: b</code></a> z</p>",
            '<a href="x&amp;y" title="q&quot;r">t `a]: b`</a> z\n',
        ),
        ("<p>[a <code>]: b</code></p>", "\\[a `]: b`\n"),
    ],
)
def test_code_makes_no_link_definition(html: str, markdown: str) -> None:
    """Code hides the end of a label from escaping; a paragraph that begins so would vanish as a link definition."""
    assert markdownify(html) == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("a<em> * b</em>", "a *\\* b*"),
        ("a<b>b * </b>c", "a**b \\*** c"),
        ("a<i> * </i>b", "a *\\** b"),
        ("<del> ~ a</del>", "~~\\~ a~~"),
        ("<b>a <sup> * b</sup></b>", "**a <sup>\\* b</sup>**"),
        ("a * <b>b * c</b> * d", "a * **b * c** * d"),
        ("<dl><dt>&nbsp;a&emsp;</dl>", "\xa0**a**\u2003"),
        ("<dl><dt>a\\&emsp;</dl>", "**a\\\\**\u2003"),
        ("<dl><dt>&emsp;</dl>", "\u2003"),
    ],
)
def test_no_mark_is_lost_to_spaces_at_the_edges(html: str, markdown: str) -> None:
    assert markdownify(html) == f"{markdown}\n"

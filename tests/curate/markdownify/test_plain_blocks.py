"""What is written at once must be what an open element would have written."""

from __future__ import annotations

import itertools

import pytest

from tootsie.curate.markdownify import markdownify
from tootsie.curate.markdownify.conversion import convert_by
from tootsie.curate.markdownify.options import Limits
from tootsie.curate.markdownify.serializer import Serializer

CONTENTS = [
    "word", "two words", "two\nlines", " edge ", "snake_case *star*", "[8]", "a]", "1. one", "# no", "- no", "$x$ and $y$",
    "\\(a\\)", "&amp;lt; &lt;b", "a&nbsp;b", "soft&shy;hyphen", "", "漢\n字", "http://a.b/c_d", "a  b", ".", "a | b", "x:",
    "<code>a_b</code>", "<code><span>a</span></code>", "<code>`</code>", "<span class=n><span>deep_</span></span>",
    "<em>e</em>", "<span class=math-container>$a$</span>", "<span hidden>h</span>", "<!-- c -->t", "a<br>b",
]  # fmt: skip
AROUND = [
    "{}", "<a href='u'>{}</a>", "<a href='#f'>{}</a>", "<a href='http://a.b/c_d'>{}</a>", "<a href='u v' title='t \"q\"'>{}</a>",
    "<a href='javascript:x'>{}</a>", "<a hidden href=u>{}</a>", "<a>{}</a>", "<a href=''>{}</a>", "<a class='math' href=u>{}</a>",
    "<em>{}</em>", "<b class=x>{}</b>", "<del>{}</del>", "<p>{}</p>", "<p>\n<a href=u>{}</a></p>", "<p class=x>{}</p>",
    "<a href=u>{}</a>!", "!<a href=u>{}</a>",
]  # fmt: skip
PLACES = [
    "<ul><li>{0}</li>\n<li>\n{0} </li><li id=f>x</ul>", "<ol start=3><li>{0}<li>{0}<ul><li>{0}</ul></ol>",
    "<table><tr><th>{0}</th><td>\n {0}\n</td><td colspan=2>{0}<td hidden>{0}</table>",
    "<table><tr><th>h<td>{0}<ul><li>{0}</ul><pre>a\nb</pre></table>",
    "<sup><a href='#n'>1</a></sup><section class=footnotes><ol><li id=n>{0}<ul><li>{0}</ul></li><li id=f>{0}</ol></section>",
]  # fmt: skip


class Watched(Serializer):
    """The same engine, which opens and closes each element."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("profile", "options"),
    [
        ("web", {}),
        ("web", {"dollars": "strict", "exact": False, "links": "text"}),
        ("stackexchange", {}),
        ("wikipedia", {"links": "keep", "references": "keep"}),
    ],
)
def test_what_is_written_at_once_is_what_open_elements_write(
    place: str, profile: str, options: dict[str, object]
) -> None:
    for around, content in itertools.product(AROUND, CONTENTS):
        page = place.format(around.format(content))
        ours = convert_by(Serializer, page, profile, Limits(), None, dict(options))[0]
        opened = convert_by(Watched, page, profile, Limits(), None, dict(options))[0]
        assert (ours.markdown, ours.counters) == (opened.markdown, opened.counters), page


def test_items_and_cells_of_one_thing() -> None:
    assert markdownify("<ul>\n<li><a href=u><code>a_b</code></a></li>\n<li><p>1. b_c</p></li></ul>") == (
        "- [`a_b`](u)\n\n- 1\\. b_c\n"
    )
    assert markdownify("<table><tr><th>a<th>b<tr><td><em>c</em><td>\n<a href=u>x_</a></table>") == (
        "| a | b |\n| --- | --- |\n| *c* | [x\\_](u) |\n"
    )

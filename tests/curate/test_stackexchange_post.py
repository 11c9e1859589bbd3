from __future__ import annotations

import pytest

from tootsie.curate.corpus import Record
from tootsie.curate.stackexchange_post import (
    attribution,
    comment_line,
    inline,
    page_of,
    parse_tags,
    score_of,
)


def test_tags_of_both_formats() -> None:
    assert parse_tags("<c#><type-conversion>") == ["c#", "type-conversion"]
    assert parse_tags("|c#|type-conversion|") == ["c#", "type-conversion"]
    assert parse_tags("") == []


def test_attribution_leaves_out_what_the_dump_lacks() -> None:
    post = Record(
        "k", {"Id": "5", "OwnerUserId": "-1", "CreationDate": "2015-01-01T00:00:00", "Score": "many"}
    )
    assert attribution(post, "x.com") == {
        "id": "5",
        "license": "CC BY-SA 3.0",
        "created": "2015-01-01T00:00:00",
        "score": 0,
    }
    assert score_of(Record("k", {"Score": "-3"})) == -3


@pytest.mark.parametrize(
    ("title", "markdown"),
    [
        ("What is *this*\n and <b>?", r"What is \*this\* and \<b>?"),
        ("Why is $a_1*b_2*c$ so, and $$x_1$$?", "Why is $a_1*b_2*c$ so, and $$x_1$$?"),
        (
            "What does snake_case in [3, 4] mean, and __init__?",
            r"What does snake_case in [3, 4] mean, and \_\_init\_\_?",
        ),
        ("Why does &amp; show?", r"Why does \&amp; show?"),
        ("Is $5 cheap?", r"Is \$5 cheap?"),
        ("Learn C #", "Learn C \\#"),
        ("Learn C#", "Learn C#"),
    ],
)
def test_titles_become_inline_markdown(title: str, markdown: str) -> None:
    assert inline(title) == markdown


def test_links_that_count_on_the_site_name_it_and_headings_are_lowered() -> None:
    page = (
        '<h1>One</h1><h5 class="a">Two</h5><header>no</header>'
        '<a href="/questions/1">a</a><a title="b" href="//e.org/x">b</a><a href="http://e.org/">c</a><a href="#d">d</a>'
        '<img alt="e" src="/i.png"><code>&lt;a href="/q"&gt; &lt;h1&gt;</code>'
    )
    post = Record("k", {"Id": "1"}, page.encode())
    text, counters = page_of(post, "a.stackexchange.com", 2)
    assert text == (
        '<h3>One</h3><h6 class="a">Two</h6><header>no</header>'
        '<a href="https://a.stackexchange.com/questions/1">a</a><a title="b" href="https://e.org/x">b</a>'
        '<a href="http://e.org/">c</a><a href="#d">d</a>'
        '<img alt="e" src="https://a.stackexchange.com/i.png"><code>&lt;a href="/q"&gt; &lt;h1&gt;</code>'
    )
    assert counters == {"links made absolute": 3, "headings lowered": 2}
    assert page_of(post, "a.stackexchange.com", 0)[0].startswith("<h1>One</h1>")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("see [this](http://a.b/c_d), *really*", "see [this](http://a.b/c_d), *really*"),
        ("a List<String> or `List<String>`\nthere", "a List\\<String> or `List<String>` there"),
        ("# no heading", "\\# no heading"),
    ],
)
def test_comments_are_markdown_already(text: str, line: str) -> None:
    assert comment_line(text) == line

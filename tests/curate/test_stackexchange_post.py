from __future__ import annotations

import pytest

from tootsie.curate.corpus import Record
from tootsie.curate.stackexchange_post import attribution, comment_line, inline, parse_tags, score_of


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


def test_titles_become_inline_markdown() -> None:
    assert inline("What is *this*\n and <b>?") == r"What is \*this\* and \<b\>?"
    assert inline("Why is $a_1*b_2*c$ so, and $$x_1$$?") == "Why is $a_1*b_2*c$ so, and $$x_1$$?"


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

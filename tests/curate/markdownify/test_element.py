"""Elements answer as Beautiful Soup's do, over the same tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify.element import Element, Text, wrap
from tootsie.datasets.errors import SpecError

PAGE = (
    '<html><head></head><body><div class="a b" id="d" lang=""><p>one <b>two</b><!--c--> three</p>\n<p class="b" title="t">four'
    '<a href="u" rel="x y">five</a></p><pre><code class="language-py">six</code></pre></div><ul><li>7</li><li class="a">8</li>'
    "</ul></body></html>"
)
LOOKS: list[Callable[[Any], Any]] = [
    lambda e: e.name,
    lambda e: e.get("class"),
    lambda e: e.get("nothing", "else"),
    lambda e: e.attrs,
    lambda e: e.has_attr("id"),
    lambda e: e.text,
    lambda e: e.get_text("|", strip=True),
    lambda e: e.string,
    lambda e: e.parent.name,
    lambda e: [parent.name for parent in e.parents],
    lambda e: [child.name for child in e.children],
    lambda e: [str(child) for child in e.contents if child.name is None],
    lambda e: [item.name for item in e.descendants],
    lambda e: len(e),
    lambda e: list(e.strings),
    lambda e: list(e.stripped_strings),
    lambda e: e.next_sibling and e.next_sibling.name,
    lambda e: e.previous_sibling and e.previous_sibling.name,
    lambda e: [item.name for item in e.next_siblings],
    lambda e: [item.name for item in e.previous_siblings],
    lambda e: names(e.find_all("p")),
    lambda e: names(e.find_all(["p", "li"])),
    lambda e: names(e.find_all(re.compile("^[bp]"))),
    lambda e: names(e.find_all(True)),
    lambda e: names(e.find_all(True, recursive=False)),
    lambda e: names(e("b")),
    lambda e: names(e.find_all(class_="a")),
    lambda e: names(e.find_all(class_="a b")),
    lambda e: names(e.find_all("p", "b")),
    lambda e: names(e.find_all(attrs={"title": True})),
    lambda e: names(e.find_all(attrs={"href": re.compile("u"), "rel": "y"})),
    lambda e: names(e.find_all(lambda item: item.has_attr("class") and item.name == "li")),
    lambda e: names(e.find_all(id="d")),
    lambda e: names(e.find_all("b", string="two")),
    lambda e: [str(text) for text in e.find_all(string=re.compile("o"))],
    lambda e: names(e.find_all("li", limit=1)),
    lambda e: e.find("nothing"),
    lambda e: e.code and e.code.get("class"),
    lambda e: e.find_parent("div") and e.find_parent("div").name,
    lambda e: names(e.find_parents(["body", "div"])),
    lambda e: e.find_next_sibling() and e.find_next_sibling().name,
    lambda e: names(e.find_next_siblings("p")),
    lambda e: names(e.find_previous_siblings("li")),
    lambda e: e.find_previous_sibling("p") and e.find_previous_sibling("p").name,
    lambda e: names(e.select("p > b, .a")),
    lambda e: e.select_one("code") and e.select_one("code").text,
    lambda e: e.get_attribute_list("rel"),
    lambda e: str(e),
    lambda e: e.decode_contents(),
]


def names(elements: Any) -> list[str]:
    return [element.name for element in elements]


def elements() -> list[tuple[Element, Any]]:
    body = LexborHTMLParser(PAGE).body
    assert body is not None
    soup = BeautifulSoup(PAGE, "html.parser")
    ours = [wrap(body), *[item for item in Element(body).descendants if type(item) is Element]]
    return list(zip(ours, [soup.body, *soup.body.find_all(True)], strict=True))


@pytest.mark.parametrize("look", LOOKS)
def test_each_element_answers_as_beautiful_soup_s(look: Callable[[Any], Any]) -> None:
    for element, tag in elements():
        assert look(element) == look(tag), tag


@given(
    st.recursive(
        st.sampled_from(["x", " y ", "<br>"]),
        lambda inner: st.builds("<i class='k'>{}</i>{}".format, inner, inner),
    )
)
@settings(max_examples=100)
def test_any_tree_reads_the_same(html: str) -> None:
    body = LexborHTMLParser(f"<body>{html}").body
    assert body is not None
    ours, theirs = Element(body), BeautifulSoup(f"<body>{html}</body>", "html.parser").body
    assert theirs is not None
    assert [item.name or str(item) for item in ours.descendants] == [
        item.name or str(item) for item in theirs.descendants
    ]
    assert ours.text == theirs.text
    assert len(ours.find_all("i", class_="k")) == len(theirs.find_all("i", class_="k"))


def test_attributes_can_be_changed() -> None:
    element = elements()[1][0]
    element["class"] = ["x", "y"]
    element["title"] = "t"
    del element["id"]
    del element["id"]
    assert (element["class"], element["title"], element.has_attr("id")) == (["x", "y"], "t", False)
    assert str(element).startswith('<div class="x y"')


def test_the_tree_cannot() -> None:
    with pytest.raises(SpecError, match="cannot be changed"):
        elements()[0][0].extract()  # type: ignore[misc, operator]


def test_elements_are_the_same_where_their_node_is() -> None:
    body = elements()[0][0]
    assert body.find("b") == body.find("b")
    assert body.find("b") in body.find_all("b")
    assert body.find("p") != body.find("b")
    assert len({body.find("b"), body.find("b")}) == 1
    assert body.find("pre") in body.div  # type: ignore[operator]


def test_text_knows_its_place() -> None:
    text = elements()[0][0].find("b").previous_sibling
    assert type(text) is Text
    assert (text, text.parent.name, text.next_sibling.name) == ("one ", "p", "b")  # type: ignore[union-attr]
    assert text.get_text(strip=True) == "one"

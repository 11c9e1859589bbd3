"""Pages with very many different names of attributes."""

from __future__ import annotations

import re

import pytest

from tootsie.curate.markdownify import markdownify
from tootsie.curate.markdownify.attribute_names import MAX_NAMES, KeptNames, has_many_names
from tootsie.curate.markdownify.nesting import flatten

END = "<p><a title='t' href='http://x/y'>end</a> <b>now</b></p>"


def page(names: int, by_tag: int) -> str:
    starts = range(0, names, by_tag)
    return "".join(f"<p {' '.join(f'a{i}={i}' for i in range(at, at + by_tag))}>a</p>" for at in starts)


@pytest.mark.parametrize("by_tag", [1, 20, 250])
def test_names_are_bounded_and_those_that_mean_something_stay(by_tag: int) -> None:
    html = page(2 * MAX_NAMES, by_tag) + END
    assert has_many_names(html.encode())
    flat, _ = flatten(html, 256)
    assert MAX_NAMES - 200 < len(set(re.findall(r" (a\d+)=", flat))) < MAX_NAMES
    assert flat.startswith(html[:1000])
    assert markdownify(html).rstrip().endswith('[end](http://x/y "t") **now**')


def test_few_names_pass_untouched() -> None:
    assert not has_many_names(page(5_000, 1).encode() * 4)
    assert not has_many_names(("<p class='a b c d' id=x>" + "some words of prose " * 20).encode() * 4000)


def test_values_are_no_names() -> None:
    html = "".join(
        f"<p title='{' '.join(f'w{i + j}' for j in range(20))}'>a</p>" for i in range(0, 40_000, 20)
    )
    assert not has_many_names(html.encode())


def test_a_tag_keeps_the_attributes_that_a_page_has_already() -> None:
    kept = KeptNames()
    for i in range(MAX_NAMES):
        kept.of(f"<p a{i}>")
    assert kept.of("<p a1 href=a/b/>") == "<p a1 href=a/b/>"
    assert kept.of("<P Title='a > b' new=1\tHREF = \"x\" other />") == "<P Title='a > b' HREF = \"x\" />"
    assert kept.of("<p new>") == "<p>"

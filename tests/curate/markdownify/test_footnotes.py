"""Footnotes of web pages, as the usual tools write them, and what only looks like one."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import convert, markdownify


@pytest.mark.parametrize(
    ("mark", "notes"),
    [
        (  # cmark-gfm
            '<sup class="footnote-ref"><a href="#fn-a" id="fnref-a">1</a></sup>',
            '<section class="footnotes"><ol><li id="fn-a"><p>n <a href="#fnref-a" class="footnote-backref">↩</a></ol></section>',
        ),
        (  # markdown-it
            '<sup class="footnote-ref"><a href="#fn1" id="fnref1">[1]</a></sup>',
            '<hr class="footnotes-sep"><section class="footnotes"><ol class="footnotes-list"><li id="fn1" class="footnote-item">'
            '<p>n <a href="#fnref1" class="footnote-backref">↩︎</a></p></li></ol></section>',
        ),
        (  # Pandoc
            '<a href="#fn1" class="footnote-ref" id="fnref1" role="doc-noteref"><sup>1</sup></a>',
            '<section class="footnotes" role="doc-endnotes"><hr><ol><li id="fn1"><p>n<a href="#fnref1" class="footnote-back" '
            'role="doc-backlink">↩︎</a></p></li></ol></section>',
        ),
        (  # kramdown
            '<sup id="fnref:1"><a href="#fn:1" class="footnote">1</a></sup>',
            '<div class="footnotes"><ol><li id="fn:1"><p>n <a href="#fnref:1" class="reversefootnote">&#8617;</a></p></li></ol></div>',
        ),
        (  # Sphinx
            '<a class="footnote-reference brackets" href="#id2" id="id1" role="doc-noteref">1</a>',
            '<aside class="footnote-list brackets"><aside class="footnote brackets" id="id2" role="doc-footnote"><p>n</p></aside></aside>',
        ),
        (  # a plugin of WordPress
            '<a href="#footnote_0_1" id="identifier_0_1" class="footnote-link" title="n">1</a>',
            '<ol class="footnotes"><li id="footnote_0_1" class="footnote">n <a href="#identifier_0_1">&#8617;</a></li></ol>',
        ),
    ],
)  # fmt: skip
def test_a_link_to_a_note_is_its_mark(mark: str, notes: str) -> None:
    conversion = convert(f"<p>a {mark} b.</p>{notes}")
    assert conversion.markdown == "a[^1] b.\n\n[^1]: n\n"
    assert conversion.counters["footnotes"] == 1


def test_notes_are_numbered_as_they_are_mentioned_and_those_that_are_not_stay() -> None:
    notes = "<div class=footnotes><ol><li id=a>A<li id=b>B<li id=c>C</ol></div>"
    html = f"<p>x<a href=#b>2</a>y<a href=#a>1</a>z<a href=#b>2</a></p>{notes}"
    assert markdownify(html) == "x[^1]y[^2]z[^1]\n\n3. C\n\n[^1]: B\n\n[^2]: A\n"


def test_blocks_of_a_note_are_indented() -> None:
    html = "<p>x<a href=#a>1</a></p><div class=footnotes><ol><li id=a><p>A<pre>b\n\nc</pre></ol></div>"
    assert markdownify(html) == "x[^1]\n\n[^1]: A\n\n    ```\n    b\n\n    c\n    ```\n"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a{}(b)", "a[^1]\\(b)"),
        ("{}: b", "[^1]\\: b"),
        ("a{}: b", "a[^1]: b"),
    ],
)
def test_text_behind_a_mark_makes_no_link_or_definition_of_it(text: str, markdown: str) -> None:
    html = text.replace("{}", "<a href=#n>1</a>") + "<ol class=footnotes><li id=n>n</ol>"
    assert markdownify(html) == f"{markdown}\n\n[^1]: n\n"


def test_other_links_within_the_page_stay_links() -> None:
    html = "<p><a href=#x>1</a> <sup><a href=#x>2</a></sup></p><ol><li id=x>a <a href=#y>↩</a></ol>"
    assert markdownify(html) == "[1](#x) <sup>[2](#x)</sup>\n\n1. a [↩](#y)\n"

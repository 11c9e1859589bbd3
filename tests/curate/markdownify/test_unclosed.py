"""Which pages are looked at a second time because their end seems lost, and by which word that is told."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify import convert
from tootsie.curate.markdownify.class_rules import ClassRules
from tootsie.curate.markdownify.unclosed import last_word, loses_its_end


@pytest.mark.parametrize(
    ("html", "word"),
    [
        ("<p>a b c</p>\n</body>\n</html>\n", "c"),
        ("<p>a <b>b</b></p>", "b"),
        ("<p>a<b>b</b></p>", "b"),
        ("<p>x->a</p>", "x->a"),
        ("<p>a b&amp;c</p>", "c"),
        ("a", "a"),
        ("<p>a</p><!-- b <c> d -->", "a"),
        ("<p>a</p><!-- b --><!-- c > d --> </div>", "a"),
        ("<p>a b -->", "-->"),
        ("<script>if (a) b();\n//-->\n</script>", "//-->"),
        ("<p>a</p>" + "<br>" * 1000, None),
        ("<p>a</p>" + "<script src='" + "b" * 3000 + "'></script>", None),
        (" \n" * 3000, None),
        ("", None),
    ],
)
def test_the_last_word_is_that_of_the_text(html: str, word: str | None) -> None:
    assert last_word(html) == word


@pytest.mark.parametrize(
    ("html", "lost"),
    [
        ("<p>a</p><script>document.write('<script>b<\\/script>')</script>", False),
        ("<p>a</p><title>'<title>'</title>", False),
        ("<p>a</p><script>b = '<script>'; <p>c</p>", True),
        ("<p>a</p><div hidden>b<script>'<script>'</script>", True),
        ("<p>a</p><div hidden>b</div><script>'<script>'</script>", False),
        ("<p>a</p><!-- b <c> d --></html>", False),
        ("<p>a b.</p>\n", False),
        ("<p>a b &amp;</p>", False),
        ("<p>a b</p><p title='>c d</p>", True),
        ("<p>a b</p><p title='>c xb</p>", True),
        ("<p>a b</p><div hidden>c d</p>", True),
        ("<p>a b</p><script>c d</p>", True),
        ("<p>a</p><!-- b <c> d </html>", True),
    ],
)
def test_an_end_is_lost_to_what_does_not_end(html: str, lost: bool) -> None:
    assert loses_its_end(html, LexborHTMLParser(html).root) is lost


@pytest.mark.parametrize("end", ["<script>'<script>'</script>", "<!-- <d> -->", "<!-- d > e -->\n</html>"])
def test_a_script_or_a_comment_behind_a_lost_end_does_not_keep_it_lost(end: str) -> None:
    conversion = convert(f"<p>a</p><div hidden>b <p>c</p>{end}")
    assert conversion.markdown == "a\n\nb\n\nc\n"
    assert conversion.counters["ends_recovered"] == 1


@pytest.mark.parametrize("tag", ["small", "b", "A"])
def test_emphasis_that_a_rule_leaves_out_and_that_does_not_end_takes_its_paragraph_only(tag: str) -> None:
    page = f'<p>a <{tag} class="noprint">b</p><p>c</p><ul><li>d</ul><p>e <br> f</p>'
    conversion = convert(page, profile="wikipedia")
    assert conversion.markdown == "a\n\nc\n\n- d\n\ne  \nf\n"
    assert (conversion.counters["noprint_dropped"], conversion.counters["ends_recovered"]) == (1, 1)


@pytest.mark.parametrize(
    ("page", "markdown"),
    [
        ('<p>a <em class="noprint">b<p>c <em>d</em><p>e', "a\n\nc *d*\n\ne\n"),
        ('<p>a <b class="noprint"><i>b<div>c</div>d', "a\n\nc\n\nd\n"),
        ('<ul><li>a <a class="noprint" href="u">b<li>c</ul><p>d', "- a\n- c\n\nd\n"),
        ('<dl><dt>a <i class="noprint">b<dd>c</dl>d', "**a**\n\nc\n\nd\n"),
    ],
)
def test_what_begins_a_block_without_an_end_tag_ends_such_emphasis(page: str, markdown: str) -> None:
    conversion = convert(page, profile="wikipedia")
    assert conversion.markdown == markdown
    assert conversion.counters["ends_recovered"] == 1


@pytest.mark.parametrize(
    "middle", ["<p>a <em class='noprint'>b<p>c" * 80, "<ul><li><i>c<li>d</i></ul><p>e" * 300]
)
def test_ends_are_found_again_in_pages_that_are_rewritten_for_their_depth(middle: str) -> None:
    markdown = convert(f"<p>a <em class='noprint'>b{middle}<p>last", profile="wikipedia").markdown
    assert markdown.count("c") == middle.count("<p>c") + middle.count("<i>c")
    assert markdown.endswith("\nlast\n")


@pytest.mark.parametrize(
    ("page", "markdown"),
    [
        ('<p>a</p><p><small class="noprint">b</small></p>', "a\n"),
        ('<p>a <small class="noprint">b</small></p><p><small>c</p><p>d</p>', "a\n\nc\n\nd\n"),
        ('<p>a <span class="noprint">b</p><p>c</p>', "a\n\nc\n"),
    ],
)
def test_what_ends_or_is_not_opened_again_is_no_lost_end(page: str, markdown: str) -> None:
    conversion = convert(page, profile="wikipedia")
    assert conversion.markdown == markdown
    assert "ends_recovered" not in conversion.counters


def test_rules_by_class_are_remembered_up_to_a_bound() -> None:
    rules = ClassRules({"a": print, "b": len})
    assert rules.of("b x a") == [len, print]
    assert rules.met["b x a"] == [len, print]
    assert rules.of("x" * 10_000) == []
    for number in range(5_000):
        rules.of(f"c{number}")
    assert len(rules.met) <= 1_000
    assert max(map(len, rules.met)) < 1_000

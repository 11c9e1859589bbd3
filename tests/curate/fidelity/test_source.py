"""What is read from a page's HTML."""

from __future__ import annotations

from typing import Any

from tootsie.curate.fidelity.facts import Facts, Formula, words
from tootsie.curate.fidelity.source import read_source
from tootsie.curate.markdownify.options import Options


def facts(html: str, profile: str = "web", **options: Any) -> Facts:
    return read_source(html, Options.of(profile, **options))


def test_running_text_is_parted_at_blocks_and_not_at_inline_elements() -> None:
    found = facts("<p>a<b>b</b>c</p><p>d<br>e</p><ul><li>f<li>g</ul>")
    assert words(found.text[0]) == ["abc", "d", "e", "f", "g"]


def test_scripts_and_hidden_elements_are_left_out_and_counted() -> None:
    found = facts(
        '<p>a</p><p hidden>b c</p><p style="display: none">d</p><script>e</script><button>f</button>'
    )
    assert words(found.text[0]) == ["a"]
    assert found.left_out == {"hidden": 3, "forms": 1}


def test_processing_instructions_are_nothing() -> None:
    for profile in ("web", "arxiv", "wikipedia", "stackexchange"):
        found = facts("<p>a<?php x ?> b</p><pre>c<?php x ?>d</pre>", profile)
        assert words(found.text[0])[:2] == ["a", "b"]


def test_a_formula_is_its_alttext_or_its_annotation() -> None:
    found = facts(
        '<p><math class="ltx_Math" alttext="a%&#10;_{1}" display="inline"><mi>a</mi></math></p>'
        '<math class="ltx_Math" alttext="b" display="block"></math>',
        "arxiv",
    )
    assert found.formulas == [Formula("a_{1}", False), Formula("b", True)]
    annotated = facts(
        '<span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none"><math><semantics><mi>x</mi>'
        '<annotation encoding="application/x-tex">{\\displaystyle x_{2}}</annotation></semantics></math></span>'
        '<img class="mwe-math-fallback-image-inline" alt="x"></span>',
        "wikipedia",
    )
    assert annotated.formulas == [Formula("x_{2}", False)]
    assert not words(annotated.text[0])


def test_the_cells_of_an_equation_are_pieces_and_their_number_is_no_text() -> None:
    cell = '<td><math class="ltx_Math" alttext="\\displaystyle {}"></math></td>'
    found = facts(
        '<table class="ltx_equationgroup ltx_eqn_table"><tr>'
        + cell.replace("{}", "a")
        + cell.replace("{}", "=b")
        + '<td><span class="ltx_tag ltx_tag_equation">(3)</span></td></tr></table>',
        "arxiv",
    )
    assert found.formulas == [Formula("a", True, piece=True), Formula("=b", True, piece=True)]
    assert found.equation_numbers == ["3"]
    assert not found.equation_text


def test_dollars_are_formulas_where_the_policy_says_so() -> None:
    html = "<p>from $x$ to $5 or \\$6</p>"
    assert facts(html).formulas == []
    found = facts(html, "stackexchange")
    assert found.formulas == [Formula("x", False)]
    assert "\\" not in words(found.text[0])


def test_items_have_their_number_and_end_at_the_first_list_in_them() -> None:
    found = facts('<ol start="3"><li>a<ul><li>b</ul><li value="7">c</ol>')
    assert sorted(found.items) == ["3.a", "7.c", "b"]


def test_code_has_its_text_and_language() -> None:
    found = facts(
        '<pre class="lang-py prettyprint-override"><code>if a:\n    b\n</code></pre><p>see <code>a  b</code></p>'
    )
    assert found.code_blocks == [("if a:\n    b", "py")]
    assert found.code_spans == ["a b"]


def test_links_and_images_follow_their_policies() -> None:
    html = '<a href="/a">b</a> <a href="javascript:x">c</a> <a href="/d"></a> <img src="e.png" alt="f">'
    assert facts(html).links == [("/a", "b")]
    assert facts(html).images == ["e.png"]
    assert facts(html, links="text", images="drop").links == []


def test_notes_are_not_in_the_running_text() -> None:
    found = facts(
        '<p>a<span class="ltx_note ltx_role_footnote"><sup class="ltx_note_mark">1</sup><span class="ltx_note_outer">'
        '<span class="ltx_note_content"><sup class="ltx_note_mark">1</sup>b</span></span></span> c</p>',
        "arxiv",
    )
    assert words(found.text[-1]) == ["b"] or words(found.text[0]) == ["a", "c"]
    assert found.notes == ["b"]


def test_wikipedia_keeps_notes_and_not_citations() -> None:
    mark = '<sup class="mw-ref reference"><a href="#cite_note-{0}">[{1}]</a></sup>'
    entry = '<li id="cite_note-{0}"><span class="mw-reference-text">{1}</span></li>'
    html = (
        f"<p>a{mark.format('x', '1')}{mark.format('y', 'note 1')}</p>"
        f'<ol class="references">{entry.format("x", "Lee 2010")}{entry.format("y", "But see b")}</ol>'
    )
    found = facts(html, "wikipedia")
    assert found.notes == ["Butseeb"]
    assert words(found.text[0]) == ["a"]


def test_sections_left_empty_are_not_expected() -> None:
    html = '<h2>a</h2><p>b</p><h2>c</h2><div class="navbox">d</div><h2>e</h2><h3>f</h3><p>g</p>'
    assert facts(html, "wikipedia").headings == [(2, "a"), (2, "e"), (3, "f")]
    assert len(facts(html).headings) == 4


def test_titles_and_abstracts() -> None:
    found = facts(
        '<title>x</title><h1 class="ltx_title ltx_title_document">T $</h1><div class="ltx_abstract">'
        '<h6 class="ltx_title ltx_title_abstract">Abstract</h6><p>We do.</p></div>',
        "arxiv",
    )
    assert (found.title, found.abstract) == ("T$", "We do .")
    assert found.headings == [(1, "T$"), (0, "Abstract")]
    assert facts("<title>A – Wikipedia</title><p>b</p>", "wikipedia").title == "A"


def test_a_deep_page_is_read_whole() -> None:
    found = facts("<div>" * 30_000 + "deep" + "</div>" * 30_000 + "<p>last</p>")
    assert words(found.text[0]) == ["deep", "last"]

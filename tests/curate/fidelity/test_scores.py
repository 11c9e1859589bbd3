"""Every kind of damage lowers the rate of its kind: a measure that cannot fail measures nothing."""

from __future__ import annotations

import pytest

from tootsie.curate.fidelity.reading import read_markdown
from tootsie.curate.fidelity.scores import KINDS, Score, compare
from tootsie.curate.fidelity.source import read_source
from tootsie.curate.markdownify import markdownify
from tootsie.curate.markdownify.options import Options

CELL = '<td><math class="ltx_Math" alttext="\\displaystyle {}"></math></td>'
PAGE = (
    '<article class="ltx_document"><h1 class="ltx_title ltx_title_document">On things</h1>'
    '<div class="ltx_abstract"><h6 class="ltx_title ltx_title_abstract">Abstract</h6><p class="ltx_p">We prove it.</p></div>'
    '<section><h2 class="ltx_title">First part</h2>'
    '<p>Let <math class="ltx_Math" alttext="x_{1}&lt;y*z*" display="inline"></math> be<span class="ltx_note ltx_role_footnote">'
    '<sup class="ltx_note_mark">1</sup><span class="ltx_note_outer"><span class="ltx_note_content">'
    '<sup class="ltx_note_mark">1</sup>A remark</span></span></span> small.</p>'
    f'<table class="ltx_equationgroup ltx_eqn_table"><tr>{CELL.format("a")}{CELL.format("=b")}'
    f'<td class="ltx_eqn_eqno"><span class="ltx_tag ltx_tag_equation">(7)</span></td></tr><tr>{CELL.format("c")}{CELL.format("=d")}</tr></table>'
    '<table><tr><th>k<th>l</tr><tr><td rowspan="2">m<td>n</tr><tr><td>o</tr></table>'
    '<pre class="language-python">if p:\n    q</pre><p>with <code>r s</code></p>'
    '<ol start="3"><li>t<li>u</ol><a href="/v">w</a><img src="z.png" alt="z"></section></article>'
)
OPTIONS = {"links": "keep", "images": "keep"}
GOOD = markdownify(PAGE, profile="arxiv", **OPTIONS)


def scores(markdown: str) -> dict[str, Score]:
    return compare(read_source(PAGE, Options.of("arxiv", **OPTIONS)), read_markdown(markdown))


def test_a_faithful_document_is_whole() -> None:
    for kind, score in scores(GOOD).items():
        assert score.expected, kind
        assert (score.recall, score.precision) == (1.0, 1.0), (kind, score, GOOD)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("formulas", "$x_{1}<y*z*$", "$x\\_{1}<y*z*$"),
        ("formulas", "$x_{1}<y*z*$", "x_{1}<y*z*"),
        ("display", "$$", "$"),
        ("equation numbers", "\\tag{7}", ""),
        ("tables", "| n |", "| n x |"),
        ("span tables", "|  | o |", "| o |  |"),
        ("code blocks", "    q", "  q"),
        ("languages", "```python", "```"),
        ("inline code", "`r s`", "r s"),
        ("headings", "## First part", "### First part"),
        ("list items", "3. t", "1. t"),
        ("links", "](/v)", "](/x)"),
        ("images", "z.png", "y.png"),
        ("footnotes", "be[^1]", "be"),
        ("titles", "# On things", "On things"),
        ("abstracts", "We prove it.", "We prove."),
        ("text", "small", "big"),
    ],
)
def test_damage_of_a_kind_lowers_its_recall(kind: str, old: str, new: str) -> None:
    assert old in GOOD, GOOD
    assert scores(GOOD.replace(old, new))[kind].recall < 1


@pytest.mark.parametrize(
    ("kind", "added"),
    [
        ("formulas", "\n$w$\n"),
        ("headings", "\n## More\n"),
        ("tables", "\n| a |\n| --- |\n| b |\n"),
        ("code blocks", "\n```\nx\n```\n"),
        ("list items", "\n- more\n"),
        ("text", "\nmore\n"),
    ],
)
def test_what_the_source_does_not_hold_lowers_precision(kind: str, added: str) -> None:
    assert scores(GOOD + added)[kind].precision < 1
    assert scores(GOOD + added)[kind].recall == 1


def test_every_kind_is_tried_above() -> None:
    assert {kind for kind, score in scores(GOOD).items() if score.expected} == set(KINDS)


def test_an_empty_document_keeps_nothing() -> None:
    assert all(score.kept == 0 for score in scores("").values())

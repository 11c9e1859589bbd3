"""Title, authors and abstract of LaTeXML pages."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import convert, markdownify


def test_front_matter() -> None:
    conversion = convert(
        "<html><head><title>1 Introduction</title></head><body><article>"
        '<h1 class="ltx_title ltx_title_document">On <em>x</em></h1>'
        '<div class="ltx_authors"><span class="ltx_creator"><span class="ltx_personname">Ann\u00a0Lee, Bo Ek and Cy Dee'
        '<span class="ltx_note ltx_role_affiliation"><span class="ltx_note_content">MIT</span></span></span></span></div>'
        '<div class="ltx_dates">(May 2020)</div>'
        '<div class="ltx_abstract"><h6 class="ltx_title ltx_title_abstract">Abstract</h6><p class="ltx_p">We show.</p></div>'
        '<section><h2 class="ltx_title"><span class="ltx_tag">1 </span>Introduction</h2></section></article></body></html>',
        profile="arxiv",
    )
    assert conversion.title == "On *x*"
    assert conversion.authors == ("Ann Lee", "Bo Ek", "Cy Dee")
    assert conversion.abstract == "We show."
    assert conversion.metadata["dates"] == "(May 2020)"
    assert conversion.markdown == "# On *x*\n\n## Abstract\n\nWe show.\n\n## 1 Introduction\n"


AUTHORS = (
    '<html><body><article class="ltx_document"><h1 class="ltx_title ltx_title_document">T</h1><div class="ltx_authors">'
    '<span class="ltx_creator"><span class="ltx_personname">{}</span></span></div>{}<section><p>Text.</p></section></article>'
)


@pytest.mark.parametrize(
    ("names", "authors"),
    [
        ("Ann Lee<br>Institute of Things", ("Ann Lee",)),
        ("Ann Lee, <br>Bo Ek and<br>Cy Dee <br>Institute", ("Ann Lee", "Bo Ek", "Cy Dee")),
        ('Ann Lee<math alttext="{}^{1}"><mn>1</mn></math>, Bo Ek<sup>2</sup>', ("Ann Lee", "Bo Ek")),
        ('Ann Lee<cite class="ltx_cite">[1]</cite>', ("Ann Lee",)),
    ],
)
def test_authors_are_names_without_marks_and_affiliations(names: str, authors: tuple[str, ...]) -> None:
    assert convert(AUTHORS.format(names, ""), profile="arxiv").authors == authors


def test_affiliations_written_by_hand_go_with_the_authors() -> None:
    first = (
        '<div class="ltx_para"><p class="ltx_p"><math alttext="{}^{1}"><mn>1</mn></math>Observatory</p></div>'
    )
    second = '<div class="ltx_para">\n<p class="ltx_p"><sup>2</sup>Institute</p></div>'
    text = '<div class="ltx_para"><p class="ltx_p">Words.</p></div>'
    html = AUTHORS.format("Ann Lee", f"{first}\n{second}{text}{first}")
    conversion = convert(html, profile="arxiv")
    assert conversion.markdown == "# T\n\nWords.\n\n${}^{1}$Observatory\n\nText.\n"
    assert conversion.counters["front_matter_set_aside"] == 2
    assert "Institute" in markdownify(html, profile="arxiv", authors=True)

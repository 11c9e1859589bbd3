"""MediaWiki's markup, rule by rule."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import convert, markdownify


def formula(tex: str) -> str:
    return (
        '<span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none;"><math><semantics><mi>x</mi>'
        f'<annotation encoding="application/x-tex">{{\\displaystyle {tex}}}</annotation></semantics></math></span>'
        f'<img class="mwe-math-fallback-image-inline" alt="{{\\displaystyle {tex}}}" src="x.svg"></span>'
    )


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        (f"<p>Let {formula('y_{p_{1}}')}.</p>", "Let $y_{p_{1}}$.\n"),
        (f"<p>So</p><dl><dd>{formula('a')}.</dd></dl>", "So\n\n$$a$$.\n"),
        (f"<dl><dd>with {formula('a')}</dd></dl>", "with $a$\n"),
        ('<p>x <img class="mwe-math-fallback-image-inline" alt="{\\displaystyle z_{1}}"></p>', "x $z_{1}$\n"),
        ("<p>a<span class='mw-editsection'>[edit]</span></p>", "a\n"),
        ("<div class='hatnote'>See also</div><p>a</p>", "a\n"),
        ("<table class='ambox'><tr><td>Cite!</table><p>a</p>", "a\n"),
        ("<p>a</p><h2>External links</h2><div class='navbox'>n</div>", "a\n"),
        (
            '<p><span id="coordinates">Coordinates: <a href="x">51°N 0°E</a></span> A <b>meridian</b> is</p>',
            "A **meridian** is\n",
        ),
        (
            '<p>at <span class="geo-default">51°28′40″N 0°E</span><span class="geo-multi-punct">\ufeff / \ufeff</span>'
            '<span class="geo-nondefault">51.4779°N 0°E</span>.</p>',
            "at 51°28′40″N 0°E.\n",
        ),
        (
            '<p><span class="frac">3<span class="sr-only">+</span><span class="num">1</span>⁄<span class="den">2</span></span> in</p>',
            "3 1⁄2 in\n",
        ),
        (
            '<p><span class="sfrac"><span>1</span><span class="sr-only">/</span><span>2</span></span></p>',
            "1/2\n",
        ),
        (
            '<p><span class="bruch">9<span class="visualhide"> </span><sup>3</sup>⁄<sub>4</sub></span></p>',
            "9 3⁄4\n",
        ),
        ('<p>plagiat <sup class="reference cite_virgule">,</sup> a</p>', "plagiat a\n"),
        ("<h2>A</h2><h3>B</h3><p>t</p><h2>C</h2><h3>D</h3>", "## A\n\n### B\n\nt\n"),
        (
            "<pre>a</pre><section style='display:none' data-mw-section-id=3><p>folded</p></section>",
            "```\na\n```\n\nfolded\n",
        ),
        ("<p>a <a href='./B'>b</a></p>", "a b\n"),
    ],
)
def test_rules(html: str, markdown: str) -> None:
    assert markdownify(html, profile="wikipedia") == markdown


REFERENCES = (
    '<p>Fact.<sup class="mw-ref reference"><a href="./A#cite_note-1"><span>[1]</span></a></sup> Odd'
    '<sup class="mw-ref reference"><a href="./A#cite_note-2"><span>[note 1]</span></a></sup></p><h2>References</h2>'
    '<ol class="mw-references references"><li id="cite_note-1"><a rel="mw:referencedBy"><span class="mw-linkback-text">↑</span></a> '
    '<span class="mw-reference-text">Source.</span></li><li id="cite_note-2"><span class="mw-reference-text">Why.</span></li></ol>'
)


@pytest.mark.parametrize(
    ("policy", "markdown"),
    [
        ("drop", "Fact. Odd[^1]\n\n[^1]: Why.\n"),
        ("cite-keys", "Fact.[1] Odd[^1]\n\n[^1]: Why.\n"),
        ("keep", "Fact.[^1] Odd[^2]\n\n[^1]: Source.\n\n[^2]: Why.\n"),
    ],
)
def test_references(policy: str, markdown: str) -> None:
    assert markdownify(REFERENCES, profile="wikipedia", references=policy) == markdown


def test_the_infobox_is_a_table_or_gone() -> None:
    html = "<table class='infobox'><tr><th colspan=2>T<tr><th>Born<td>1900</table><p>a</p>"
    assert markdownify(html, profile="wikipedia") == "| T |  |\n| --- | --- |\n| Born | 1900 |\n\na\n"
    assert markdownify(html, profile="wikipedia", infobox=False) == "a\n"
    assert convert(html, profile="wikipedia", infobox=False).counters == {"infoboxes_dropped": 1}


@pytest.mark.parametrize(
    ("page_title", "title"),
    [("Cat - Wikipedia", "Cat"), ("Cat", "Cat"), ("Katze – Wikipedia", "Katze"), ("A - B", "A - B")],
)
def test_the_title_has_no_site_name(page_title: str, title: str) -> None:
    conversion = convert(f"<head><title>{page_title}</title></head><p>x</p>", profile="wikipedia")
    assert conversion.title == title
    assert conversion.markdown == f"# {title}\n\nx\n"


def test_a_table_inside_an_infobox_is_only_layout() -> None:
    html = "<table class='infobox'><tr><th>Arms<td><table><tr><td>x<td>y</table><tr><th>Born<td>1900</table>"
    assert "| Arms | x<br>y |\n| Born | 1900 |" in markdownify(html, profile="wikipedia")


def test_the_frame_of_a_skin_is_left_out() -> None:
    old = (
        '<div id="content"><h1 class="firstHeading">T</h1><div id="siteSub">From Wikipedia</div><div id="mw-content-text"><p>body</p></div>'
        '</div><div id="mw-navigation"><h2>Navigation menu</h2><ul><li>Talk</ul></div><div id="footer">edited</div>'
    )
    new = (
        '<div class="vector-column-start">Contents</div><main><h1 class="firstHeading">T</h1><div class="vector-page-toolbar">Talk</div>'
        '<div id="mw-content-text"><p>body</p></div></main><div class="vector-column-end">Tools</div><div class="mw-footer-container">x</div>'
    )
    for html in (old, new):
        assert markdownify(html, profile="wikipedia") == "# T\n\nbody\n"


def cited(target: str, label: str) -> str:
    return f'<p>a<sup class="mw-ref reference"><a href="#{target}">[{label}]</a></sup></p>'


def entry(identifier: str) -> str:
    return (
        f'<ol class="references"><li id="{identifier}"><span class="mw-reference-text">text</span></li></ol>'
    )


def test_a_mark_may_name_its_note_percent_encoded() -> None:
    html = cited("cite_note-%E6%8C%87-29", "注 1") + entry("cite_note-指-29")
    assert markdownify(html, profile="wikipedia") == "a[^1]\n\n[^1]: text\n"


@pytest.mark.parametrize(
    ("references", "expected"), [("keep", "a[12]\n"), ("cite-keys", "a[12]\n"), ("drop", "a\n")]
)
def test_a_mark_whose_note_is_not_in_the_page_is_no_footnote(references: str, expected: str) -> None:
    html = cited("cite_note-x-12", "12")
    assert markdownify(html, profile="wikipedia", references=references) == expected


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<p>a</p><div class="x" role="navigation">Hauptartikel: b</div>', "a\n"),
        ('<p>a <a href="/w/index.php?title=B&amp;action=edit">modifier</a> c</p>', "a c\n"),
        (
            '<p>a <a class="new" href="/w/index.php?title=B&amp;action=edit&amp;redlink=1">B</a> c</p>',
            "a B c\n",
        ),
        (
            '<p>(матрёшка<sup><a href="./Aiuto:Cirillico">?</a></sup>) a<sup>?</sup></p>',
            "(матрёшка) a<sup>?</sup>\n",
        ),
        (
            '<p>a <span class="nowrap">(<span class="haudio"><a href="x">listen</a></span>)</span>, b</p>',
            "a, b\n",
        ),
        ('<p>a <span class="nowrap">(listen)</span></p>', "a (listen)\n"),
        (
            '<p>převzaly<sup><span>[</span><a href="./Wikipedie:Ověřitelnost"><span class="doplnte-zdroj">zdroj?!</span></a>'
            '<link href="./Kategorie:X"><span>]</span></sup> i titul</p>',
            "převzaly i titul\n",
        ),
        (
            '<p>a<sup><i><a href="https://es.wikipedia.org/wiki/Wikipedia:Verificabilidad">[cita requerida]</a></i></sup>.</p>',
            "a.\n",
        ),
        ('<p>a<sup>[<a href="./Star_Trek:_Picard">b</a>]</sup></p>', "a<sup>[b]</sup>\n"),
        ("<p>a<sup>[b]</sup></p>", "a<sup>[b]</sup>\n"),
        ('<p>a<sup>[<a href="./X:Y">b</a><b>c <i>d</i></b>]</sup></p>', "a<sup>[b**c _d_**]</sup>\n"),
        ('<p>a <span class="cs1-visible-error">Cite journal requires x</span></p>', "a\n"),
        ("<div>a</div><div><span>\u200b</span></div><div>b</div>", "a\n\nb\n"),
        (
            '<table class="infobox"><tr><th>a<td>b</tr><tr><td class="navigation-only" colspan="2">edit</tr></table>',
            None,
        ),
    ],
)
def test_what_speaks_to_editors_and_listeners_is_left_out(html: str, markdown: str | None) -> None:
    text = markdownify(html, profile="wikipedia")
    assert "edit" not in text if markdown is None else text == markdown


def test_formulas_of_mediawiki_are_formulas_on_any_page() -> None:
    assert markdownify(f"<p>Let {formula('x_{1}')} be.</p>") == "Let $x_{1}$ be.\n"


def test_boxes_within_a_line_stay_in_it() -> None:
    html = (
        '<table class="infobox"><tr><th>Seat<td>Hall,<br><div style="display:inline">Seattle</div>, <div style="display: inline;">U.S.</div>'
        '<tr><th>Spouse<td><div style="display:inline-block;margin:1px">Will</div><div style="display:inline-block">(m. 1919)</div></table>'
    )
    text = markdownify(html, profile="wikipedia")
    assert "| Seat | Hall,<br>Seattle, U.S. |" in text
    assert "| Spouse | Will (m. 1919) |" in text


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("in 2020 {}, it", "in 2020, it\n"),
        ("visible{} . Il", "visible. Il\n"),
        ("(2022 {}{})", "(2022)\n"),
        ("<i>a</i> {}<b>b</b> .", "*a* **b** .\n"),
        ("in {} .NET 5", "in .NET 5\n"),
        ("so {} ... b", "so ... b\n"),
        ("vrai {} : b", "vrai : b\n"),
        ("a {} b", "a b\n"),
        ("a , b", "a , b\n"),
    ],
)
@pytest.mark.parametrize(
    "left_out", ['<sup class="mw-ref"><a href="#cite_note-1">[1]</a></sup>', '<i class="noprint">x</i>']
)
def test_what_is_left_out_takes_the_space_before_closing_punctuation_along(
    html: str, markdown: str, left_out: str
) -> None:
    assert markdownify(f"<p>{html.replace('{}', left_out)}</p>", profile="wikipedia") == markdown


def test_variables_are_italic_however_the_template_says_so() -> None:
    html = (
        '<p>a subgroup <span class="texhtml mvar" style="font-style:italic">H</span> of'
        ' <span class="texhtml"><i>G</i> = <i><span class="mvar">H</span></i></span></p>'
    )
    assert markdownify(html, profile="wikipedia") == "a subgroup *H* of *G* = *H*\n"

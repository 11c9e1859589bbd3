"""LaTeXML's markup, rule by rule."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import markdownify
from tootsie.curate.markdownify.equations import cut_mathml


def math(tex: str, display: str = "inline") -> str:
    return (
        f'<math class="ltx_Math" alttext="{tex}" display="{display}"><semantics><mi>q</mi></semantics></math>'
    )


def row(*cells: str, number: str = "") -> str:
    tag = (
        f'<td class="ltx_eqn_cell ltx_eqn_eqno"><span class="ltx_tag ltx_tag_equation">{number}</span></td>'
        if number
        else ""
    )
    inner = "".join(f'<td class="ltx_td ltx_eqn_cell">{math(cell) if cell else ""}</td>' for cell in cells)
    pad = '<td class="ltx_eqn_cell ltx_eqn_center_padleft"></td>'
    return f'<tbody><tr class="ltx_equation ltx_eqn_row">{pad}{inner}{tag}</tr></tbody>'


def equations(*rows: str) -> str:
    return markdownify(
        f'<p>a</p><table class="ltx_equationgroup ltx_eqn_table">{"".join(rows)}</table>', profile="arxiv"
    )[3:]


@pytest.mark.parametrize(
    ("rows", "markdown"),
    [
        ([row("E=mc^{2}", number="(1)")], "$$E=mc^{2} \\tag{1}$$\n"),
        ([row("a=b")], "$$a=b$$\n"),
        (
            [
                row("\\displaystyle x", "\\displaystyle=", "\\displaystyle y"),
                row("", "\\displaystyle=", "z", number="(2)"),
            ],
            "$$\\begin{aligned}\nx &= y \\\\\n &= z\n\\end{aligned} \\tag{2}$$\n",
        ),
        (
            [row("a", "=b", number="(1)"), row("c", "=d", number="(2a)")],
            "$$\\begin{align*}\na &=b \\tag{1} \\\\\nc &=d \\tag{2a}\n\\end{align*}$$\n",
        ),
        (
            [row("a=b", number="(1)"), row("c=d", number="(2)")],
            "$$\\begin{gather*}\na=b \\tag{1} \\\\\nc=d \\tag{2}\n\\end{gather*}$$\n",
        ),
    ],
)
def test_equation_groups_become_one_environment(rows: list[str], markdown: str) -> None:
    assert equations(*rows) == markdown


def test_intertext_stays_between_the_equations() -> None:
    text = '<tbody><tr class="ltx_eqn_row"><td class="ltx_eqn_cell">and so</td></tr></tbody>'
    assert equations(row("a"), text, row("b")) == "$$a$$\n\nand so\n\n$$b$$\n"


def note(number: str, text: str, role: str = "footnote") -> str:
    mark = f'<sup class="ltx_note_mark">{number}</sup>'
    return (
        f'<span class="ltx_note ltx_role_{role}">{mark}<span class="ltx_note_outer"><span class="ltx_note_content">{mark}'
        f'<span class="ltx_tag ltx_tag_note">{number}</span>{text}</span></span></span>'
    )


def test_math_that_the_source_marks_as_math_is_a_formula_like_any_other() -> None:
    html = (
        '<p>of <math class="ltx_markedasmath" alttext="k"><semantics><mi>k</mi>'
        '<annotation encoding="application/x-tex">k</annotation></semantics></math> and '
        '<span class="ltx_text ltx_markedasmath">so</span></p>'
    )
    assert markdownify(html, profile="arxiv") == "of $k$ and so\n"


def test_footnotes_leave_the_sentence_whole() -> None:
    html = f"<p>Forbidden {note('1', 'Some <b>lines</b>.')} lines{note('2', 'Two.')}.</p>"
    assert (
        markdownify(html, profile="arxiv")
        == "Forbidden[^1] lines[^2].\n\n[^1]: Some **lines**.\n\n[^2]: Two.\n"
    )


def test_a_mark_and_its_text_meet() -> None:
    html = f"<p>a{note('3', '', 'footnotemark')} b{note('3', 'T', 'footnotetext')}.</p>"
    assert markdownify(html, profile="arxiv") == "a[^1] b.\n\n[^1]: T\n"


CITATIONS = (
    '<p>As shown <cite class="ltx_cite">[<a href="#bib.1">1</a>, <a href="#bib.2">2</a>]</cite>. In ref. '
    '<cite class="ltx_cite">[<a href="#bib.1">1</a>]</cite> we; <cite class="ltx_cite">Lee (<a href="#bib.3">2010</a>)</cite> says.</p>'
    '<section class="ltx_bibliography"><h2>References</h2><ul class="ltx_biblist"><li class="ltx_bibitem">'
    '<span class="ltx_tag ltx_tag_bibitem">[1]</span><span class="ltx_bibblock">A. Lee</span></li></ul></section>'
)


@pytest.mark.parametrize(
    ("policy", "markdown"),
    [
        ("drop", "As shown. In ref. [1] we; Lee (2010) says.\n"),
        ("cite-keys", "As shown [1, 2]. In ref. [1] we; Lee (2010) says.\n"),
        ("keep", "As shown [1, 2]. In ref. [1] we; Lee (2010) says.\n\n## References\n\n- [1] A. Lee\n"),
    ],
)
def test_references_leave_no_holes(policy: str, markdown: str) -> None:
    assert markdownify(CITATIONS, profile="arxiv", references=policy) == markdown


def cite(*numbers: int, before: str = "", after: str = "", brackets: str = "[]") -> str:
    """A citation in brackets, as LaTeXML writes it."""
    links = ", ".join(f'<a href="#bib.bib{number}" class="ltx_ref">{number}</a>' for number in numbers)
    return f'<cite class="ltx_cite">{brackets[0]}{before}{links}{after}{brackets[1]}</cite>'


ONE, TWO, THREE = cite(1), cite(2), cite(3)
ROUND = "()"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        # what backs the words before it goes, with what joins citations
        (f"as shown {cite(1, 2)}.", "as shown."),
        (f"as shown {ONE}, {TWO}, {THREE}.", "as shown."),
        (f"as shown {ONE}, {TWO}, and {THREE}.", "as shown."),
        (f"as shown {ONE}–{THREE}, we", "as shown, we"),
        (f"as <em>shown</em>{ONE}{TWO} by", "as *shown* by"),
        (f"formula {math('x')} {ONE} is", "formula $x$ is"),
        (f"entrywise {cite(1, after=', Theorem 10.3')}.", "entrywise."),
        (f"an example {cite(5, before='see, e.g., Lee, ', brackets=ROUND)} is", "an example is"),
        # what the sentence needs stays
        (f"{ONE} proved it.", "[1] proved it."),
        (f"It works. {ONE} says", "It works. [1] says"),
        (f"used for {ONE}.", "used for [1]."),
        (f"in <em>refs.</em> {ONE}, {TWO} and {THREE} we", "in *refs.* [1], [2] and [3] we"),
        (f"given by {cite(1, brackets=ROUND)} and", "given by (1) and"),
        (f"Unlike {ONE}, we extend {TWO} to", "Unlike [1], we extend [2] to"),
        (f"see e.g. {ONE}, cf. {TWO}", "see e.g. [1], cf. [2]"),
        (f"e.g., {ONE}.", "e.g., [1]."),
        (f"In this case, {ONE} shows", "In this case, [1] shows"),
        (f"it works ({ONE}).", "it works ([1])."),
        (f"the model {ONE}’s authors", "the model [1]’s authors"),
        (f"a method {ONE}-like", "a method [1]-like"),
        (f"is known {ONE}, and {TWO} shows", "is known [1], and [2] shows"),
        # brackets that say more than whom to read
        (
            f"least squares {cite(5, before='BLS; Kovacs, ', brackets=ROUND)} is",
            "least squares (BLS; Kovacs, 5) is",
        ),
    ],
)
def test_dropped_citations_leave_no_holes(html: str, markdown: str) -> None:
    assert markdownify(f"<p>{html}</p>", profile="arxiv", references="drop") == f"{markdown}\n"


def test_theorems_and_proofs_run_in() -> None:
    html = (
        '<div class="ltx_theorem"><h6 class="ltx_title ltx_runin ltx_title_theorem"><span class="ltx_text ltx_font_bold">Lemma 1</span>.</h6>'
        f'<div class="ltx_para"><p class="ltx_p"><span class="ltx_text ltx_font_italic">Let {math("x")}.</span></p></div></div>'
        '<div class="ltx_proof"><h6 class="ltx_title ltx_title_proof">Proof.</h6><div class="ltx_para"><p class="ltx_p">Clear. ∎</p></div></div>'
    )
    assert markdownify(html, profile="arxiv") == "**Lemma 1.** Let $x$.\n\n**Proof.** Clear. ∎\n"


def test_algorithms_keep_their_indentation() -> None:
    line = '<div class="ltx_listingline"><span class="ltx_tag ltx_tag_listingline">{}:</span>{}</div>'
    html = f'<div class="ltx_listing">{line.format(1, "<b>if</b> " + math("a*b"))}{line.format(2, chr(160) * 4 + "stop")}</div>'
    assert markdownify(html, profile="arxiv") == "1: **if** $a*b$  \n2: \u00a0\u00a0\u00a0\u00a0stop\n"


def test_listings_become_code() -> None:
    line = '<div class="ltx_listingline">{}</div>'
    html = f'<div class="ltx_listing ltx_lst_language_Python ltx_lstlisting">{line.format("def f():")}{line.format(chr(160) * 4 + "x_1")}</div>'
    assert markdownify(html, profile="arxiv") == "```python\ndef f():\n    x_1\n```\n"


@pytest.mark.parametrize(
    ("tag", "labels", "markdown"),
    [
        ("ul", "••", "- x\n- x\n"),
        ("ol", ["3.", "4."], "3. x\n4. x\n"),
        ("ol", ["(a)", "(b)"], "- (a) x\n- (b) x\n"),
    ],
)
def test_item_labels(tag: str, labels: list[str], markdown: str) -> None:
    item = '<li class="ltx_item"><span class="ltx_tag ltx_tag_item">{}</span><div class="ltx_para"><p class="ltx_p">x</p></div></li>'
    assert markdownify(f"<{tag}>{''.join(map(item.format, labels))}</{tag}>", profile="arxiv") == markdown


def test_mathml_is_cut_and_nothing_else() -> None:
    page = f"<p>a {math('x&lt;y &gt; z')} b</p><math><mi>q</mi></math>"
    assert cut_mathml(page) == page.replace("<semantics><mi>q</mi></semantics>", "")
    assert cut_mathml('<math class="ltx_Math" alttext="x"><mi>') == '<math class="ltx_Math" alttext="x"><mi>'
    assert markdownify(page, profile="arxiv") == "a $x<y > z$ b\n\n$q$\n"


def test_emphasis_ends_where_the_font_is_plain_again() -> None:
    bold = '<p><span class="ltx_text ltx_font_bold">do<span class="ltx_text ltx_font_medium" style="float:right;">&gt; a note</span></span></p>'
    assert markdownify(bold, profile="arxiv") == "**do** > a note\n"
    italic = '<p>x <i class="ltx_emph ltx_font_italic">a <span class="ltx_text ltx_font_upright">b</span> c</i></p>'
    assert markdownify(italic, profile="arxiv") == "x *a* b *c*\n"

"""Formulas from every kind of page: what MathJax, KaTeX, Temml, WordPress, Sphinx and others leave in HTML."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import convert, markdownify

ANNOTATED = "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x_1 &lt; y</annotation></semantics></math>"
CHTML = (
    '<mjx-container class="MathJax" jax="CHTML"{display}><mjx-math class="MJX-TEX"><mjx-msubsup>'
    '<mjx-mi class="mjx-i"><mjx-c class="mjx-c1D465 TEX-I"></mjx-c></mjx-mi><mjx-script>'
    '<mjx-mn class="mjx-n" size="s"><mjx-c class="mjx-c32"></mjx-c></mjx-mn><mjx-spacer></mjx-spacer>'
    '<mjx-mi class="mjx-i" size="s"><mjx-c class="mjx-c1D456 TEX-I"></mjx-c></mjx-mi></mjx-script></mjx-msubsup>'
    '<mjx-mo class="mjx-n" space="4"><mjx-c class="mjx-c3D"></mjx-c></mjx-mo>'
    '<mjx-mi class="mjx-n"><mjx-c class="mjx-c64"></mjx-c></mjx-mi></mjx-math></mjx-container>'
)
SVG = (
    '<mjx-container class="MathJax" jax="SVG"{display}><svg role="img"><g transform="scale(1,-1)"><g data-mml-node="math">'
    '<g data-mml-node="mfrac"><g data-mml-node="mi"><path data-c="1D44E"></path></g><g data-mml-node="msqrt"><g>'
    '<g data-mml-node="mi"><use data-c="1D44F"></use></g></g><g data-mml-node="mo"><path data-c="221A"></path></g><rect></rect></g>'
    "<rect></rect></g></g></g></svg></mjx-container>"
)
RENDERED = (
    '<span class="MathJax_Preview"></span><span class="MathJax" id="M"><nobr><span>x</span></nobr></span>'
)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        # MathML
        (f"<p>a {ANNOTATED}", "a $x_1 < y$\n"),
        ("<math display=block><mi>x</mi></math>", "$$x$$\n"),
        ("<math alttext='{\\displaystyle x}'><mi>y</mi></math>", "$x$\n"),
        ("<math><semantics><mi>x</mi><annotation encoding='LaTeX'>a%\nb</annotation></semantics></math>", "$ab$\n"),
        ("<math><semantics><mi>x</mi><annotation encoding='MathType@MTEF'>zz</annotation></semantics></math>", "$x$\n"),
        ("<math data-latex='\\frac12'><mfrac><mn>1</mn><mn>2</mn></mfrac></math>", "$\\frac12$\n"),
        # MathJax 2
        ("<script type='math/tex'>a&lt;b</script>", "$a&lt;b$\n"),
        ("<script type='math/tex; mode=display'>c</script>", "$$c$$\n"),
        (f"{RENDERED}<script type='math/tex' id=M>x_1</script>", "$x_1$\n"),
        ("<div class=MathJax_Display><span class=MathJax>x</span></div> <script type='math/tex; mode=display'>c</script>", "$$c$$\n"),
        ("<span class=MathJax data-mathml='<math><msup><mi>x</mi><mn>2</mn></msup></math>'>junk</span>", "$x^{2}$\n"),
        ("<div class=MathJax_Display><span class=MathJax data-mathml='<math><mi>x</mi></math>'>junk</span></div>", "$$x$$\n"),
        ("<span class=MathJax_SVG><svg></svg><span class=MJX_Assistive_MathML><math><mi>x</mi></math></span></span>", "$x$\n"),
        ("<script type='math/mml'><math><mi>x</mi></math></script>", "$x$\n"),
        # MathJax 3 and 4
        (CHTML.format(display=""), "$x_{i}^{2}=\\mathrm{d}$\n"),
        (CHTML.format(display=' display="true"'), "$$x_{i}^{2}=\\mathrm{d}$$\n"),
        (SVG.format(display=""), "$\\frac{a}{\\sqrt{b}}$\n"),
        ("<mjx-container class=MathJax display=true><svg></svg><mjx-assistive-mml><math><mi>x</mi></math></mjx-assistive-mml>"
         "</mjx-container>", "$$x$$\n"),
        ("<mjx-container><mjx-math data-latex='a_1'><mjx-mi data-latex='a'></mjx-mi></mjx-math></mjx-container>", "$a_1$\n"),
        # KaTeX, Temml
        (f"<span class=katex><span class=katex-mathml>{ANNOTATED}</span><span class=katex-html>junk</span></span>", "$x_1 < y$\n"),
        (f"<span class=katex-display><span class=katex><span class=katex-mathml>{ANNOTATED}</span></span></span>", "$$x_1 < y$$\n"),
        ("<span class=katex><span class=katex-html>xy</span></span>", "xy\n"),
        ("<span class=hurmet-tex data-entry='a_1'><math display=block><mi>z</mi></math></span>", "$$a_1$$\n"),
        # delimiters in marked elements
        ("<span class='math inline'>\\(a_1\\)</span>", "$a_1$\n"),
        ("<span class='math display'>\\[a_1\\]</span>", "$$a_1$$\n"),
        ("<div class='math notranslate'>\\[a_1\\]</div>", "$$a_1$$\n"),
        ("<div class=math>\\begin{align}a&amp;=b\\end{align}</div>", "$$\\begin{align}a&=b\\end{align}$$\n"),
        ("<p class=arithmatex>$$a_1$$</p>", "$$a_1$$\n"),
        ("<math-renderer class=js-inline-math>$a_1$</math-renderer>", "$a_1$\n"),
        ("<h2 class=math>Mathematics</h2>", "## Mathematics\n"),
        # images
        ("<img class=tex alt='\\frac{a}{b}' src=x.png>", "$\\frac{a}{b}$\n"),
        ("<img class=latex alt='a_1' src=x.png>", "$a_1$\n"),
        ("<div class=math><p><img alt='a_1' class=math src=x.png></p></div>", "$$a_1$$\n"),
        ("<img class=math src=x.png>", "![](x.png)\n"),
    ],
)  # fmt: skip
def test_every_source_of_formulas(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


@pytest.mark.parametrize(
    "html",
    [
        "<mjx-container><mjx-lazy data-mjx-lazy=1></mjx-lazy></mjx-container>",
        "<mjx-container><mjx-math><mjx-mmultiscripts><mjx-mi>x</mjx-mi></mjx-mmultiscripts></mjx-math></mjx-container>",
        "<span class=MathJax><span>x</span></span>",
        "<span class=katex><span class=katex-html>x</span></span>",
    ],
)
def test_formulas_that_cannot_be_recovered_are_counted(html: str) -> None:
    assert convert(html).counters["formulas_without_source"] == 1


def test_a_rendered_formula_nests_without_end() -> None:
    html = (
        "<mjx-container><mjx-math>"
        + "<mjx-msqrt><mjx-sqrt><mjx-box>" * 60
        + "<mjx-mi><mjx-c class=mjx-c1D465></mjx-c></mjx-mi>"
    )
    assert markdownify(html).count("\\sqrt") == 60

"""Presentation MathML to TeX: what each element becomes, and the round trip TeX, MathML, TeX, MathML."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path

import lxml.etree
import pytest
from latex2mathml.converter import convert as to_mathml
from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify.mathml import to_tex


def tex(mathml: str) -> str:
    if "<math" not in mathml:
        mathml = f"<math>{mathml}</math>"
    return to_tex(LexborHTMLParser(f"<body>{mathml}").css_first("math"))


AB = "<mi>a</mi><mi>b</mi>"


@pytest.mark.parametrize(
    ("mathml", "wanted"),
    [
        # tokens
        ("<mi>x</mi><mo>=</mo><mn>1.5</mn>", "x=1.5"),
        ("<mi>sin</mi><mi>x</mi>", "\\sin x"),
        ("<mi>sin</mi><mo>\u2061</mo><mo>(</mo><mi>x</mi><mo>)</mo>", "\\sin(x)"),
        ("<mi>rank</mi>", "\\mathrm{rank}"),
        ("<mo>rank</mo><mi>A</mi>", "\\operatorname{rank}A"),
        ("<mi mathvariant='normal'>d</mi><mi>x</mi>", "\\mathrm{d}x"),
        ("<mi mathvariant='double-struck'>R</mi><mi>ℝ</mi>", "\\mathbb{RR}"),
        ("<mi>𝐱</mi><mi>𝓛</mi><mi>ℒ</mi><mi>𝔤</mi><mi>𝑥</mi><mi>𝖠</mi><mi>𝚊</mi>",
         "\\mathbf{x}\\boldsymbol{\\mathcal{L}}\\mathcal{L}\\mathfrak{g}x\\mathsf{A}\\mathtt{a}"),
        ("<mi>𝛂</mi><mi>𝜶</mi><mi>α</mi><mi>𝛼</mi><mn>𝟏</mn>", "\\mathbf{\\alpha}\\boldsymbol{\\alpha}\\alpha\\alpha\\mathbf{1}"),
        ("<mi>ℓ</mi><mi>ℏ</mi><mi>ℵ</mi><mi>ℜ</mi>", "\\ell\\hbar\\aleph\\Re"),
        ("<mi>a</mi><mo>≤</mo><mi>b</mi><mo>≪</mo><mi>c</mi><mo>∉</mo><mi>S</mi>", "a\\leq b\\ll c\\notin S"),
        ("<mo>&amp;</mo><mo>%</mo><mo>#</mo><mo>$</mo><mo>_</mo><mo>{</mo><mo>}</mo>", "\\&\\%\\#\\$\\_\\{\\}"),
        ("<mi>a</mi><mo>&InvisibleTimes;</mo><mi>b</mi><mo>&ApplyFunction;</mo><mo>&rarr;</mo>", "ab\\to"),
        ("<mtext>if\u00a0</mtext><mi>x</mi>", "\\text{if }x"),
        ("<mtext> a\n b </mtext>", "\\text{a b}"),
        ("<mtext mathvariant='bold'>a</mtext><mtext><b>c</b></mtext>", "\\textbf{a}\\text{c}"),
        ("<mo><mrow><mi mathvariant='normal'>O</mi><mi mathvariant='normal'>b</mi></mrow></mo>", "\\operatorname{Ob}"),
        ("<mtext>50% of $x_1 {</mtext>", "\\text{50\\% of \\$x\\_1 \\{}"),
        ("<mtext>\u00a0</mtext>", "\\"),
        ("<ms>a</ms>", '\\text{"a"}'),
        ("<mi>a</mi><mspace width='1em'/><mi>b</mi><mspace width='0.167em'/><mi>c</mi><mspace width='-0.167em'/><mi>d</mi>",
         "a\\quad b\\,c\\!d"),
        ("<mi>a</mi><mspace width='thickmathspace'/><mi>b</mi>", "a\\;b"),
        # fractions, roots
        ("<mfrac><mn>1</mn><mi>x</mi></mfrac>", "\\frac{1}{x}"),
        ("<mfrac bevelled='true'><mn>1</mn><mi>x</mi></mfrac>", "{1}/{x}"),
        ("<mo>(</mo><mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac><mo>)</mo>", "\\binom{n}{k}"),
        ("<mfrac linethickness='0.0pt'><mi>n</mi><mi>k</mi></mfrac>", "\\genfrac{}{}{0pt}{}{n}{k}"),
        ("<mfrac linethickness='2'><mi>n</mi><mi>k</mi></mfrac>", "\\frac{n}{k}"),
        ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt>", "\\sqrt{a+b}"),
        ("<mroot><mi>a</mi><mn>3</mn></mroot>", "\\sqrt[3]{a}"),
        # scripts
        ("<msub><mi>x</mi><mi>i</mi></msub>", "x_{i}"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "x_{i}^{2}"),
        ("<msup><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow><mn>2</mn></msup>", "{(a)}^{2}"),
        ("<msup><msup><mi>x</mi><mi>a</mi></msup><mi>b</mi></msup>", "{x^{a}}^{b}"),
        ("<msub><mi>x</mi><msub><mi>i</mi><mi>j</mi></msub></msub>", "x_{i_{j}}"),
        ("<msup><mi>f</mi><mo>′</mo></msup><msup><mi>g</mi><mo>″</mo></msup>", "f'g''"),
        ("<msubsup><mi>f</mi><mi>i</mi><mo>′</mo></msubsup>", "f'_{i}"),
        ("<msup><mi>f</mi><mrow><mo>′</mo><mn>2</mn></mrow></msup>", "f^{\\prime2}"),
        ("<msup><mi>α</mi><mn>2</mn></msup>", "\\alpha^{2}"),
        ("<msup><mn>10</mn><mn>3</mn></msup>", "10^{3}"),
        ("<msub><mrow/><mi>a</mi></msub><mi>X</mi>", "{}_{a}X"),
        ("<mmultiscripts><mi>X</mi><mi>a</mi><mi>b</mi><mprescripts/><mi>c</mi><none/></mmultiscripts>", "{}_{c}X_{a}^{b}"),
        ("<mmultiscripts><mi>R</mi><mi>i</mi><none/><none/><mi>j</mi></mmultiscripts>", "R_{i}{}^{j}"),
        # under, over
        ("<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>", "\\sum_{i=1}^{n}"),
        ("<munder><mi>lim</mi><mrow><mi>x</mi><mo>→</mo><mn>0</mn></mrow></munder>", "\\lim_{x\\to0}"),
        ("<munder><mo>argmax</mo><mi>x</mi></munder>", "\\operatorname*{argmax}_{x}"),
        ("<munderover><mo>∫</mo><mn>0</mn><mn>1</mn></munderover>", "\\int\\limits_{0}^{1}"),
        ("<mover><mi>x</mi><mo>^</mo></mover><mover><mrow><mi>a</mi><mi>b</mi></mrow><mo>^</mo></mover>", "\\hat{x}\\widehat{ab}"),
        ("<mover><mi>v</mi><mo>→</mo></mover><mover><mi>x</mi><mo>¯</mo></mover><mover><mi>x</mi><mo>¨</mo></mover>",
         "\\vec{v}\\bar{x}\\ddot{x}"),
        (f"<munder><munder><mrow>{AB}</mrow><mo>⏟</mo></munder><mi>n</mi></munder>", "\\underbrace{ab}_{n}"),
        (f"<mover><mover><mrow>{AB}</mrow><mo>⏞</mo></mover><mi>n</mi></mover>", "\\overbrace{ab}^{n}"),
        (f"<munder><mrow>{AB}</mrow><mo>_</mo></munder>", "\\underline{ab}"),
        ("<mover><mo>=</mo><mtext>def</mtext></mover>", "\\overset{\\text{def}}{=}"),
        ("<munder><mi>x</mi><mi>y</mi></munder>", "\\underset{y}{x}"),
        ("<mover><mo>→</mo><mi>f</mi></mover>", "\\xrightarrow{f}"),
        ("<munderover><mo>→</mo><mi>g</mi><mi>f</mi></munderover>", "\\xrightarrow[g]{f}"),
        # fences
        ("<mo>(</mo><mfrac><mn>1</mn><mn>2</mn></mfrac><mo>)</mo>", "\\left(\\frac{1}{2}\\right)"),
        ("<mo stretchy='false'>(</mo><mfrac><mn>1</mn><mn>2</mn></mfrac><mo stretchy='false'>)</mo>", "(\\frac{1}{2})"),
        ("<mo>(</mo><mi>x</mi><mo>)</mo>", "(x)"),
        ("<mfrac><mi>a</mi><mi>b</mi></mfrac><mo form='postfix'>|</mo>", "\\left.\\frac{a}{b}\\right|"),
        ("<mo>{</mo><msqrt><mi>x</mi></msqrt><mo>|</mo><mi>x</mi><mo>}</mo>", "\\{\\sqrt{x}|x\\}"),
        ("<mfenced open='[' close=')' separators=';,'><mi>a</mi><mi>b</mi><mi>c</mi><mi>d</mi></mfenced>", "[a;b,c,d)"),
        ("<mfenced><mi>a</mi><mi>b</mi></mfenced>", "(a,b)"),
        ("<mfenced open='{' close=''><mfrac><mi>a</mi><mi>b</mi></mfrac></mfenced>", "\\left\\{\\frac{a}{b}\\right."),
        ("<mfenced open='|' close='|' separators=''><mi>a</mi><mi>b</mi></mfenced>", "|ab|"),
        # tables
        ("<mo>[</mo><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mi>c</mi></mtd></mtr></mtable><mo>]</mo>",
         "\\begin{bmatrix}a & b \\\\ c\\end{bmatrix}"),
        ("<mfenced><mtable><mtr><mtd><mi>a</mi></mtd></mtr></mtable></mfenced>", "\\begin{pmatrix}a\\end{pmatrix}"),
        ("<mo>{</mo><mtable columnalign='left'><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>",
         "\\begin{cases}a & b\\end{cases}"),
        ("<mtable><mtr><mtd><mi>a</mi></mtd></mtr><mtr><mtd><mo>[</mo></mtd></mtr></mtable>",
         "\\begin{matrix}a \\\\ {}[\\end{matrix}"),
        ("<mtable columnalign='right left'><mtr><mtd><mi>a</mi></mtd><mtd><mi/><mo>=</mo><mi>b</mi></mtd></mtr></mtable>",
         "\\begin{aligned}a & =b\\end{aligned}"),
        ("<mtable columnlines='solid' rowlines='solid' columnalign='left center'><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr>"
         "<mtr><mtd><mi>c</mi></mtd><mtd><mi>d</mi></mtd></mtr></mtable>",
         "\\begin{array}{l|c}a & b \\\\ \\hline c & d\\end{array}"),
        ("<mtable><mlabeledtr><mtd><mtext>(3a)</mtext></mtd><mtd><mi>x</mi></mtd></mlabeledtr></mtable>",
         "x \\tag{3a}"),
        ("<mtable><mlabeledtr><mtd><mtext>(1)</mtext></mtd><mtd><mi>x</mi></mtd><mtd><mi>y</mi></mtd></mlabeledtr>"
         "<mtr><mtd><mi>z</mi></mtd></mtr></mtable>", "\\begin{align*}x & y \\tag{1} \\\\ z\\end{align*}"),
        # the rest
        ("<menclose notation='updiagonalstrike'><mi>x</mi></menclose>", "\\cancel{x}"),
        ("<menclose notation='box'><mi>x</mi></menclose>", "\\boxed{x}"),
        ("<menclose notation='top bottom left right'><mi>x</mi></menclose>", "\\boxed{x}"),
        ("<menclose notation='circle'><mi>x</mi></menclose>", "x"),
        ("<mphantom><mi>x</mi></mphantom><mi>y</mi>", "\\phantom{x}y"),
        ("<mpadded width='0'><mtext>⧸</mtext></mpadded><mo>=</mo>", "\\not="),
        ("<mstyle displaystyle='true' mathcolor='red'><mi>x</mi><mo>+</mo><mi>y</mi></mstyle>", "x+y"),
        ("<maction actiontype='toggle' selection='2'><mi>x</mi><mi>y</mi></maction>", "y"),
        ("<semantics><mi>x</mi><annotation-xml><ci>z</ci></annotation-xml></semantics>", "x"),
        ("<mglyph alt='knot'></mglyph>", "\\text{knot}"),
        ("stray <mi>x</mi>", "\\text{stray }x"),
        ("<unknown><mi>x</mi></unknown>", "x"),
        ("<mfrac><mi>x</mi></mfrac>", "x"),
        ("", ""),
    ],
)  # fmt: skip
def test_elements(mathml: str, wanted: str) -> None:
    assert tex(mathml) == wanted


# -- the round trip


def meaning(mathml: str) -> str:
    """Return MathML without what TeX has several spellings for: needless rows, sizes, spacing attributes."""
    root = lxml.etree.fromstring(mathml)
    kept = ("mathvariant", "linethickness", "notation", "width", "columnlines", "rowlines")
    for element in reversed(list(root.iter())):
        element.tag = lxml.etree.QName(element).localname
        for name in list(element.attrib):
            if name not in kept:
                del element.attrib[name]
        if element.get("mathvariant") == "normal":
            del element.attrib["mathvariant"]  # latex2mathml writes it for some letters only
        parent = element.getparent()
        inside_row = parent is not None and lxml.etree.QName(parent).localname in (
            "mrow", "math", "mtd", "msqrt", "mstyle", "mphantom", "menclose",
        )  # fmt: skip
        needless = element.tag in ("mrow", "mstyle", "mi") and parent is not None and not element.text
        if needless and (inside_row or len(element) == 1):
            index = parent.index(element)
            parent[index : index + 1] = list(element)
    text = lxml.etree.tostring(root, encoding="unicode")
    return re.sub(r"<mi>\s*</mi>|<mi/>|<mrow/>", "", text)


SOURCES = r"""
x_i^2+y'=z''
\frac{a}{b}+\sqrt{x}+\sqrt[3]{x+1}
\sum_{i=1}^{n}x_i+\prod_j y_j+\int_0^1 f(x)\,dx
\lim_{x\to0}\frac{\sin x}{x}=1
\max_{x\in S}f(x)+\log n+\operatorname{rank}A
\left(\frac{1}{2}\right)+\left[\frac{a}{b}\right]+\left\{x\right\}
\begin{pmatrix}a&b\\c&d\end{pmatrix}\begin{bmatrix}1\\2\end{bmatrix}\begin{vmatrix}a&b\\c&d\end{vmatrix}
\begin{cases}a&x>0\\b&x\leq0\end{cases}
\begin{matrix}a&b\\c&d\end{matrix}
\begin{array}{l|c}a&b\\\hline c&d\end{array}
\mathbb{R}\mathbf{x}\mathcal{L}\mathfrak{g}\mathsf{A}\mathtt{a}\mathrm{rank}
\alpha\beta\gamma\delta\varepsilon\epsilon\zeta\eta\theta\vartheta\kappa\lambda\mu\nu\xi\pi\rho\sigma\tau\phi\varphi\chi\psi\omega
\Gamma\Delta\Theta\Lambda\Xi\Pi\Sigma\Upsilon\Phi\Psi\Omega
a\leq b\geq c\neq d\approx e\equiv f\sim g\ll h\gg i\propto j\in k\notin l\subset m\subseteq n\supset o
a\cdot b\times c\div d\pm e\mp f\circ g\oplus h\otimes i\cup j\cap k\wedge l\vee m\setminus n
a\to b\leftarrow c\Rightarrow d\Leftrightarrow e\mapsto f\uparrow g\hookrightarrow h\rightleftharpoons i
\forall x\exists y\neg z\infty\partial\nabla\emptyset\hbar\ell\Re\Im\aleph
\hat{x}\tilde{x}\bar{x}\vec{x}\dot{x}\ddot{x}\check{x}\breve{x}\acute{x}\grave{x}
\overline{ab}\underline{ab}\overbrace{ab}\underbrace{ab}
\underbrace{a+b}_{n}+\overbrace{a+b}^{n}
\binom{n}{k}
\text{if }x>0\text{ and }y
a\quad b\,c\;d\!e
\langle x,y\rangle\lceil x\rceil\lfloor x\rfloor|x|
\boxed{x}\cancel{x}\phantom{x}
{x^2}^3+x_{i_j}+e^{x^2}
\ldots\cdots\vdots\ddots
\{x\mid x\geq0\}
\overset{a}{b}\underset{a}{b}
50\%\ \&\ \#\ \$
\bigcup_{i}A_i\bigcap_i B_i\bigoplus_i V_i
""".strip().splitlines()  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_tex_comes_back_with_its_meaning(source: str) -> None:
    mathml = to_mathml(source)
    assert meaning(to_mathml(tex(mathml))) == meaning(mathml)


def test_the_formulas_of_papers_come_back_with_their_meaning(shared_data: Path) -> None:
    outcome: Counter[str] = Counter()
    pages = sorted((shared_data / "ar5iv").rglob("*.html"))
    sources = {
        re.sub(r"\s+", " ", re.sub(r"%\s*\n\s*", "", html.unescape(alttext)))
        for page in pages
        for alttext in re.findall(r'<math\b[^>]*\salttext="([^"]*)"', page.read_text("utf-8", "replace"))
    }
    # What latex2mathml reads as something else than TeX does.
    misread = re.compile(r"\\mbox|array\}\[|\\Bigl\{|\\begin\{CD|\\(?:cal|hskip|vmatrix)(?![A-Za-z])")
    for source in sorted(sources):
        try:
            mathml = to_mathml(source)
        except Exception:
            outcome["not read by latex2mathml"] += 1
            continue
        if misread.search(source) or "\\" in mathml:
            outcome["not read by latex2mathml"] += 1
            continue
        try:
            same = meaning(to_mathml(tex(mathml))) == meaning(mathml)
        except Exception:
            same = False
        outcome["same" if same else "other"] += 1
    print(f"\n{dict(outcome)}")
    assert outcome["same"] > 1000
    assert outcome["same"] >= 0.97 * (outcome["same"] + outcome["other"])


def test_nesting_and_length_do_not_matter() -> None:
    assert tex("<mrow>" * 300 + "<mi>x</mi>") == "x"
    assert tex("<msqrt>" * 200 + "<mi>x</mi>").count("\\sqrt") == 200
    assert tex("<mi>x</mi>" * 20_000) == "x" * 20_000
    assert tex("<mo>(</mo>" * 20_000 + "<mo>)</mo>" * 20_000).count("(") == 20_000

"""Formulas are opaque: the traps of real pages, delimiters in text, formulas that inline elements tore apart."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import convert, markdownify
from tootsie.curate.markdownify.formulas import split_text

from . import reader


def latexml(tex: str, display: str = "inline") -> str:
    attribute = tex.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'<math class="ltx_Math" alttext="{attribute}" display="{display}"><mi>x</mi></math>'


@pytest.mark.parametrize(
    ("tex", "written"),
    [
        ("a%\nb", "ab"),
        ("a%\n   b", "ab"),
        ("a\\\\%\nb", "a\\\\b"),
        ("50\\%\nb", "50\\% b"),
        ("a\\ ", "a\\ "),
        ("a<b", "a<b"),
        ("x<y>z", "x<y>z"),
        ("a*b*c_d_e", "a*b*c_d_e"),
        ("[a](b)", "[a](b)"),
        ("`a`", "`a`"),
        ("\\mbox{if $x$}", "\\mbox{if $x$}"),
        ("x_{i_{j_{k}}}", "x_{i_{j_{k}}}"),
        ("\\\\", "\\\\"),
        ("a&b\\\\c&d", "a&b\\\\c&d"),
        ("\\#1 \\& \\_", "\\#1 \\& \\_"),
        ("~x", "~x"),
        ("|x|", "|x|"),
        ("\\|x\\|", "\\|x\\|"),
        ("&lt;", "&lt;"),
        ("#1", "#1"),
    ],
)
def test_nothing_in_a_formula_is_escaped_or_read(tex: str, written: str) -> None:
    html = f"<p>see {latexml(tex)} and {latexml(tex, 'block')} and</p><ul><li>{latexml(tex)}</ul>"
    markdown = markdownify(html, profile="arxiv")
    assert markdown == f"see ${written}$ and\n\n$${written}$$\n\nand\n\n- ${written}$\n"
    if "<" not in tex and "$" not in tex:
        wanted = reader.squeeze(written)
        assert [formula for formula, _ in reader.formulas(markdown)] == [wanted] * 3


@pytest.mark.parametrize("tex", ["|x|", "P(A|B)", "\\|x\\|", "a\\\\|b", "\\left|\\frac ab\\right\\|", "x"])
def test_a_formula_in_a_cell_is_read_back_as_it_was(tex: str) -> None:
    html = f"<table><tr><th>a<th>b<tr><td>x {latexml(tex)}<td>c</table>"
    markdown = markdownify(html, profile="arxiv")
    assert reader.formulas(markdown) == [(tex.replace(" ", ""), False)]
    table = next(reader.tree(reader.render(markdown)).iter("table"))
    assert reader.grid(table) == [{0: "a", 1: "b"}, {0: "xFORMULA", 1: "c"}]


def test_dollars_of_prose_pair_with_nothing() -> None:
    html = f"<p>costs $5 or US$ 6, {latexml('x')}, $7, a$b</p>"
    assert markdownify(html, profile="arxiv") == "costs \\$5 or US\\$ 6, $x$, \\$7, a\\$b\n"
    assert reader.formulas(markdownify(html, profile="arxiv")) == [("x", False)]


def test_formulas_of_wikipedia_are_hidden_and_kept() -> None:
    html = (
        '<p><span class="mwe-math-element"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;">'
        '<math alttext="{\\displaystyle a_1}"><semantics><mi>a</mi><annotation encoding="application/x-tex">{\\displaystyle a_1}'
        '</annotation></semantics></math></span><img class="mwe-math-fallback-image-inline" alt="{\\displaystyle a_1}"></span>'
    )
    assert markdownify(html, profile="wikipedia", title=False) == "$a_1$\n"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a $x$ b", ["a ", "$x", " b"]),
        ("$x$$y$", ["$x", "$y"]),
        ("$$x$$", ["$$x"]),
        ("\\(x\\) \\[y\\]", ["$x", " ", "$$y"]),
        ("\\\\(x\\\\)", ["\\\\(x\\\\)"]),
        ("\\$5 and \\$6", ["$5 and ", "$6"]),
        ("$a\\$b$", ["$a\\$b"]),
        ("$\\text{if $x$}$", ["$\\text{if $x$}"]),
        ("\\begin{align}x\\end{align}", ["$$\\begin{align}x\\end{align}"]),
        ("\\begin{proof}x\\end{proof}", ["\\begin{proof}x\\end{proof}"]),
        ("$ $", ["$ $"]),
        ("$x", ["$x"]),
        ("$$x$", ["$$x$"]),
    ],
)
def test_delimiters_as_mathjax_reads_them(text: str, pieces: list[str]) -> None:
    marks = {"text": "", "inline": "$", "display": "$$"}
    joined = [marks[kind] + piece for kind, piece in split_text(text, strict=False)]
    if "\\$5" in text:
        assert "".join(joined) == "$5 and $6"
    elif text == "$$x$":
        assert "".join(joined) in (text, "$$x")
    else:
        assert joined == pieces


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("see $\\bar{x}<em>{i} + \\bar{y}</em>{j}$ and $z$.", "see $\\bar{x}_{i} + \\bar{y}_{j}$ and $z$."),
        ("$f^<em>g^</em>$ x", "$f^*g^*$ x"),
        ("$\\{x\\}<em>1, \\{y\\}</em>2$ and <em>real</em> $z$", "$\\{x\\}_1, \\{y\\}_2$ and *real* $z$"),
        ("a $$x = 1<br>+ y$$ b", "a\n\n$$x = 1 + y$$\n\nb"),
        ("\\(a_1<br>b\\)", "$a_1 b$"),
        ("\\begin{align}a&amp;=b\\\\<br>c&amp;=d\\end{align}", "$$\\begin{align}a&=b\\\\ c&=d\\end{align}$$"),
        ("$x = <a href=u>y</a>$", "$x = y$"),
        ("$5 <em>or so</em> $6", "\\$5 *or so* \\$6"),
        ("$a$ <em>b</em> $c$", "$a$ *b* $c$"),
        ("$a_1 <code>b</code> c$", "\\$a_1 `b` c\\$"),
        ("$x = 1<br>and then the prose goes on = $", "\\$x = 1  \nand then the prose goes on = \\$"),
    ],
)
def test_formulas_torn_apart_by_inline_elements(html: str, markdown: str) -> None:
    assert markdownify(f"<p>{html}</p>", profile="stackexchange") == markdown + "\n"


@pytest.mark.parametrize(
    ("head", "formula"),
    [
        ("<script src='https://cdn.example/mathjax@3/es5/tex-chtml.js'></script>", True),
        ("<script>window.MathJax = {}</script>", True),
        ("<script src='/katex/contrib/auto-render.min.js'></script>", True),
        ("<script src='/app.js'></script>", False),
        ("", False),
    ],
)
def test_pages_that_typeset_delimiters_say_so(head: str, formula: bool) -> None:
    html = f"<head>{head}</head><body><p>let $x_1$ cost $5 or \\(y\\)</p>"
    assert ("$x_1$ cost \\$5 or $y$" in markdownify(html)) is formula
    assert "formulas_inline" not in convert(html, dollars="none").counters


@pytest.mark.parametrize(
    "body",
    [
        "&#36;x&#36;",
        "&dollar;x&dollar;",
        "&#x024;x&#X24",
        "&bsol;(x&bsol;)",
        "&#92;(x&#x5C;)",
        "&#0092(x&#x5c)",
    ],
)
def test_delimiters_written_as_character_references(body: str) -> None:
    script = "<script src='https://cdn.example/mathjax@3/es5/tex-chtml.js'></script>"
    assert markdownify(f"{script}<p>let {body} be</p>") == "let $x$ be\n"


def test_delimiters_that_nothing_closes_take_linear_time() -> None:
    for piece in ("\\[<br>", "$ {<br>", "$x<em>a</em>", "\\begin{align}<br>"):
        markdownify(f"<p>{piece * 5000}</p>", profile="stackexchange")


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>$20 and $30 and $x_1$</p>", "$20 and$ 30 and $x_1$"),
        ("<p>let$ x $be</p>", "let $x$ be"),
        ("<p>let $ x $.</p>", "let $x$."),
    ],
)
def test_spaces_at_the_edges_of_a_formula_part_the_words(html: str, markdown: str) -> None:
    assert markdownify(html, profile="stackexchange") == markdown + "\n"

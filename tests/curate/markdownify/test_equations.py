"""LaTeXML's equation tables: numbers as tags, groups as one environment, text between rows as text."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import convert, markdownify

from . import reader


def math(tex: str) -> str:
    attribute = tex.replace("&", "&amp;").replace("<", "&lt;")
    return f'<math class="ltx_Math" alttext="{attribute}" display="inline"><mi>q</mi></math>'


def row(*cells: str, number: str = "", rows: int = 1) -> str:
    tag = (
        f'<td class="ltx_eqn_cell ltx_eqn_eqno" rowspan="{rows}"><span class="ltx_tag ltx_tag_equation">{number}</span></td>'
        if number
        else ""
    )
    inner = "".join(f'<td class="ltx_td ltx_eqn_cell">{cell}</td>' for cell in cells)
    pad = '<td class="ltx_eqn_cell ltx_eqn_center_padleft"></td>'
    return f'<tbody><tr class="ltx_equation ltx_eqn_row">{pad}{inner}{tag}</tr></tbody>'


def page(*rows: str) -> str:
    return f'<p>a</p><table class="ltx_equationgroup ltx_eqn_table">{"".join(rows)}</table><p>b</p>'


def equations(*rows: str) -> str:
    markdown = markdownify(page(*rows), profile="arxiv")
    assert markdown.startswith("a\n\n")
    assert markdown.endswith("\n\nb\n")
    return markdown[3:-4]


@pytest.mark.parametrize(
    ("number", "tag"),
    [
        ("(1)", "1"),
        ("(3a)", "3a"),
        ("(A.12)", "A.12"),
        ("3a", "3a"),
        ("(i)", "i"),
        ("[7]", "[7]"),
        ("(1′)", "1′"),
        ("(x_1 & 50%)", "x\\_1 \\& 50\\%"),
        ("(" + math("\\ast") + ")", "$\\ast$"),
        ("(1)\n", "1"),
    ],
)
def test_a_number_becomes_a_tag(number: str, tag: str) -> None:
    assert equations(row(math("x"), number=number.replace(" & ", " &amp; "))) == f"$$x \\tag{{{tag}}}$$"


@pytest.mark.parametrize(
    ("rows", "markdown"),
    [
        ([row(math("\\displaystyle a"), math("\\displaystyle=b"))], "$$a =b$$"),
        ([row(math("a"), math("="), math("b"), number="(1)")], "$$a = b \\tag{1}$$"),
        (
            [row(math("a"), math("=b"), number="(1a)"), row(math("c"), math("=d"), number="(1b)")],
            "$$\\begin{align*}\na &=b \\tag{1a} \\\\\nc &=d \\tag{1b}\n\\end{align*}$$",
        ),
        (
            [row(math("a"), math("=b"), number="(1)", rows=2), row("", math("=d"))],
            "$$\\begin{aligned}\na &=b \\\\\n &=d\n\\end{aligned} \\tag{1}$$",
        ),
        (
            [row(math("a"), number="(1)"), row(math("b")), row(math("c"), number="(2)")],
            "$$\\begin{gather*}\na \\tag{1} \\\\\nb \\\\\nc \\tag{2}\n\\end{gather*}$$",
        ),
        ([row(math("a")), row(math("b"))], "$$\\begin{gathered}\na \\\\\nb\n\\end{gathered}$$"),
        (
            [row(math("a"), math("=b"), math("c"), math("=d"))] * 2,
            "$$\\begin{aligned}\na & =b & c & =d \\\\\na & =b & c & =d\n\\end{aligned}$$",
        ),
        ([row(math("x") + ",")], "$$x,$$"),
        ([row(math("x") + " if 50%")], "$$x \\text{if 50\\%}$$"),
        ([row("")], ""),
    ],
)
def test_rows_become_one_formula(rows: list[str], markdown: str) -> None:
    if markdown:
        assert equations(*rows) == markdown
    else:
        assert markdownify(page(*rows), profile="arxiv") == "a\n\nb\n"


@pytest.mark.parametrize(
    "second", ["-b", "+b", "=b", "> b", "# b", "1. b", "* b", "<b", "~~~ b", "| b", "", "[b]"]
)
def test_no_row_becomes_a_block_of_markdown(second: str) -> None:
    markdown = markdownify(page(row(math("a")), row(math(second)), row(math("c"))), profile="arxiv")
    (formula,) = reader.formulas(markdown)
    assert formula[1]
    assert reader.squeeze(second) in formula[0]
    assert "\\\\[" not in formula[0]
    assert reader.render(markdown).count("<p>") == 3


def test_text_between_the_rows_is_text() -> None:
    between = (
        '<tbody><tr class="ltx_eqn_row"><td class="ltx_eqn_cell" colspan="4" style="white-space:normal;">'
        f"<p>where {math('x')} is <em>not</em> zero and $5</p></td></tr></tbody>"
    )
    conversion = convert(
        page(row(math("a"), math("=b"), number="(1)"), between, row(math("c"), math("=d"))), profile="arxiv"
    )
    assert conversion.markdown == (
        "a\n\n$$a =b \\tag{1}$$\n\nwhere $x$ is *not* zero and \\$5\n\n$$c =d$$\n\nb\n"
    )
    assert conversion.counters["equation_texts"] == 1


def test_equations_nested_in_equations_are_written_once() -> None:
    html = '<table class="ltx_eqn_table"><tr><td colspan=2>some words' * 40
    assert markdownify(html, profile="arxiv").count("some words") == 40


def test_counters_tell_equations_groups_and_numbers() -> None:
    counters = convert(
        page(row(math("a"), number="(1)"), row(math("b"), number="(2)")) + page(row(math("c"), number="(3)")),
        profile="arxiv",
    ).counters
    assert (counters["equation_groups"], counters["equations"], counters["equation_numbers"]) == (1, 1, 3)


def test_words_in_a_cell_beside_a_formula_stay_with_it() -> None:
    rows = "".join(
        f'<tr><td class="ltx_eqn_cell"><span class="ltx_text ltx_markedasmath">{words}:</span></td>'
        f'<td class="ltx_eqn_cell"><math class="ltx_Math" alttext="\\displaystyle\\quad {tex}"></math></td></tr>'
        for words, tex in (("first price", "a=1,"), ("all pay", "b=2."))
    )
    html = f'<table class="ltx_equationgroup ltx_eqn_align ltx_eqn_table">{rows}</table>'
    assert markdownify(html, profile="arxiv") == (
        "$$\\begin{aligned}\n\\text{first price:} &\\quad a=1, \\\\\n\\text{all pay:} &\\quad b=2.\n\\end{aligned}$$\n"
    )

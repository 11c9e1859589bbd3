"""Tables: spans, row groups, headers, what GFM cannot hold, what is no table."""

from __future__ import annotations

import pytest

from tootsie.curate.markdownify import Limits, convert, markdownify

from . import reader


def norm(tex: str) -> str:
    return f'<math alttext="{tex}" class="ltx_Math"></math>'


@pytest.mark.parametrize(
    ("html", "grid"),
    [
        ("<tr><td rowspan=0>a<td>b<tr><td>c<tbody><tr><td>d<td>e", ["a b", ". c", "d e"]),
        ("<tr><td rowspan=9>a<td>b<tbody><tr><td>c<td>d", ["a b", "c d"]),
        ("<tr><td rowspan=2>a<td>b<tr><tr><td>c<td>d", ["a b", "c d"]),
        ("<tr><td colspan=0>a<td>b<tr><td colspan=x>c<td colspan=+2>d", ["a b", "c d"]),
        ("<tr><td>a<td>b<td>c<tr><td rowspan=2 colspan=2>d<td>e<tr><td>f", ["a b c", "d . e", ". . f"]),
        ("<tr><td>a<td rowspan=2>b<tr><td colspan=2>c<td>d<tr><td>e<td>f<td>g", ["a b .", "c . d", "e f g"]),
        ("<tr><td>a<tr><td>b<td>c<td>d", ["a . .", "b c d"]),
        ("<tr><td><td>a<tr><td><td>b", [". a", ". b"]),
        ("<tfoot><tr><td>z<td>.<tbody><tr><td>a<td>b", ["a b", "z ."]),
        ("<tr><td colspan=65534>a<td>b<tr><td>c<td>d", ["a . b", "c d ."]),
    ],
)
def test_cells_stand_where_html_puts_them(html: str, grid: list[str]) -> None:
    source = f"<table>{html}</table>"
    wanted = [{column: text for column, text in enumerate(row.split()) if text != "."} for row in grid]
    if "65534" not in html:
        assert reader.grid(next(reader.tree(source).iter("table"))) == wanted
    rendered = reader.tree(reader.render(markdownify(source)))
    assert [reader.grid(table) for table in rendered.iter("table")] == [wanted]


@pytest.mark.parametrize(
    ("html", "header"),
    [
        ("<thead><tr><td>a<td>b<tbody><tr><td>1<td>2", "| a | b |"),
        ("<tr><th>a<th>b<tr><td>1<td>2", "| a | b |"),
        ("<thead><tr><td><td><tbody><tr><td>1<td>2", "|  |  |"),
        ("<tr><td>a<td>b<tr><td>1<td>2", "|  |  |"),
        ("<tr><th>a<td>1<tr><th>b<td>2", "|  |  |"),
        ("<tr><td><td><tr><th>a<th>b<tr><td>1<td>2", "| a | b |"),
        ("<thead><tr><th colspan=2>a<tr><th>b<th>c<tbody><tr><td>1<td>2", "| a |  |"),
        ("<tbody><tr><td>1<td>2<thead><tr><td>a<td>b", "|  |  |"),
    ],
)
def test_the_header_row(html: str, header: str) -> None:
    assert markdownify(f"<table>{html}</table>").splitlines()[0] == header


@pytest.mark.parametrize(
    ("cell", "markdown"),
    [
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a<br>- b<br>- c"),
        ("<ul><li><pre>a</pre></ul>", "- `a`"),
        ("<blockquote><p>a<p>b</blockquote>", "a<br>b"),
        ("<ul><li><h3>a</h3><hr>b</ul>", "- **a**<br>b"),
        ("<ul><li><code>a|b</code></ul>", "- `a\\|b`"),
        ("a|b", "a\\|b"),
        (norm("|x|"), "$\\|x\\|$"),
        (f"<ul><li>{norm('a')}</ul>", "- $a$"),
        ('<math display="block" alttext="a" class="ltx_Math"></math>', "$$a$$"),
        ("<p>a<p>b", "a<br>b"),
        ("a<br>b", "a<br>b"),
        ("<pre>a</pre>", "`a`"),
        ("<a style='display:none'>a</a>b", "b"),
        ("<p style='display:none'>a</p>b", "b"),
    ],
)
def test_a_cell_of_a_gfm_table_is_one_line(cell: str, markdown: str) -> None:
    html = f"<table><tr><th>h<th>i<tr><td>{cell}<td>z</table>"
    assert markdownify(html) == f"| h | i |\n| --- | --- |\n| {markdown} | z |\n"


def test_a_hidden_cell_holds_its_place_and_a_hidden_row_goes() -> None:
    html = "<table><tr><td hidden>a<td>b<tr style='display:none'><td>c<td>d<tr><td>e<td>f</table>"
    assert markdownify(html) == "|  |  |\n| --- | --- |\n|  | b |\n| e | f |\n"


@pytest.mark.parametrize(
    "cell",
    [
        "<table><tr><td>x<td>y<tr><td>z<td>w</table>",
        "<pre>x\n\n  y</pre>",
        norm(r"\|x\|"),
        "<ul><li>" + norm(r"\|x\|") + "</ul>",
        '<span data-entry="\\|x\\|" class="hurmet-tex"><math><mi>x</mi></math></span>',
    ],
)
def test_what_gfm_cannot_hold_makes_an_html_table_of_the_same_grid(cell: str) -> None:
    html = f"<table><tr><th colspan=2>a<tr><td rowspan=2>{cell}<td>b<tr><td>c</table>"
    conversion = convert(html)
    assert conversion.counters["tables_html"] == 1
    assert "formulas_pipes_rewritten" not in conversion.counters
    table = next(reader.tree(reader.render(conversion.markdown)).iter("table"))
    rows = [[(cell.get("colspan"), cell.get("rowspan")) for cell in row] for row in table.xpath("tbody/tr")]
    assert rows == [[("2", None)], [(None, "2"), (None, None)], [(None, None)]]
    assert "$\\|x\\|$" in conversion.markdown or "\\|" not in cell


def test_a_grid_of_mostly_empty_cells_becomes_an_html_table() -> None:
    html = "<table>" + "<tr><td rowspan=99>a|b<td>c" * 60 + "</table>"
    conversion = convert(html)
    assert conversion.counters["tables_html"] == 1
    assert len(conversion.markdown) < 3 * len(html)
    table = next(reader.tree(reader.render(conversion.markdown)).iter("table"))
    assert reader.grid(table) == reader.grid(next(reader.tree(html).iter("table")))


def test_blocks_in_an_html_table_are_markdown() -> None:
    html = "<table><tr><th>a<td><ul><li>x<li>y</ul><pre>p\nq</pre><td><table><tr><th>b<td>c*d</table></table>"
    assert markdownify(html) == (
        "<table>\n<tr><th>a</th><td>\n\n- x\n- y\n\n```\np\nq\n```\n\n</td><td>\n\n"
        "|  |  |\n| --- | --- |\n| b | c\\*d |\n\n</td></tr>\n</table>\n"
    )


def test_tables_nested_without_end_are_flattened() -> None:
    html = "<table><tr><th>a<td>b<td>" * 40 + "c"
    conversion = convert(html, limits=Limits(max_indent=4))
    assert conversion.counters["tables_html"] == 4
    assert conversion.counters["blocks_flattened"] > 30
    assert conversion.markdown.count("c") == 1


@pytest.mark.parametrize(
    "html",
    [
        "<tr><td>a",
        "<tr><td><h2>a</h2><td><p>b",
        "<tr><td class=linenos><pre>1\n2</pre><td class=code><pre>x\ny</pre>",
    ],
)
def test_a_layout_table_is_unwrapped(html: str) -> None:
    conversion = convert(f"<table>{html}</table>")
    assert conversion.counters["tables_layout"] == 1
    assert "|" not in conversion.markdown
    assert "<t" not in conversion.markdown
    assert "1" not in conversion.markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<tr><td><math display=block><mi>x</mi></math><td>(1)", "$$x \\tag{1}$$"),
        ("<tr><td><math><mi>x</mi></math>,<td>(3a)", "$$x, \\tag{3a}$$"),
        ("<tr><td><td><math display=block><mi>x</mi></math><td><b>(1)</b>", "$$x \\tag{1}$$"),
        ("<tr><td>where <math><mi>x</mi></math><td>(1)", "where $x$\n\n(1)"),
        ("<tr><td><math><mi>x</mi></math><td>one", "|  |  |\n| --- | --- |\n| $x$ | one |"),
        ("<tr><td>x<td>(1)", "|  |  |\n| --- | --- |\n| x | (1) |"),
        (
            "<tr><td><math><mi>x</mi></math><td>(1)<tr><td>y<td>(2)",
            "|  |  |\n| --- | --- |\n| $x$ | (1) |\n| y | (2) |",
        ),
    ],
)
def test_a_formula_beside_its_number_is_an_equation(html: str, markdown: str) -> None:
    assert markdownify(f"<table>{html}</table>") == markdown + "\n"


def test_a_row_for_each_line_of_a_listing_is_code() -> None:
    html = (
        "<div class='highlight-source-python'><table><tr><td class=blob-num>1<td class=blob-code>if a:"
        "<tr><td class=blob-num>2<td class=blob-code>  b_c * <b>d</b></table></div>"
    )
    assert markdownify(html) == "```python\nif a:\n  b_c * d\n```\n"


def test_the_caption_stands_before_the_table() -> None:
    html = "<table><caption>C <b>d</b></caption><tr><td>1<td>2</table>"
    assert markdownify(html) == "C **d**\n\n|  |  |\n| --- | --- |\n| 1 | 2 |\n"


def test_most_cells_of_a_column_decide_its_alignment() -> None:
    rows = "".join(f"<tr><td align=right>{i}<td style='text-align: center'>{i}<td>x" for i in range(3))
    html = f"<table><tr><th>a<th>b<th>c{rows}<tr><td align=left>9<td>9<td align=right>9</table>"
    assert markdownify(html).splitlines()[1] == "| ---: | :---: | --- |"


@pytest.mark.parametrize(
    ("content", "markdown"),
    [
        ("<ul><li>a</ul>", "\n\n- a\n\n"),
        ("<ol start=7><li>a</ol>", "\n\n7. a\n\n"),
        ("<hr>", "\n\n---\n\n"),
        ("<h3>a</h3>", "\n\n### a\n\n"),
        ("C# 1.5-2", "C# 1.5-2"),
    ],
)
def test_one_block_in_a_cell_of_an_html_table_is_markdown(content: str, markdown: str) -> None:
    page = f"<table><tr><th>\\|<td>{content}<td>{content}<tr><td>x<td>y<td>z</table>"
    assert f"<td>{markdown}</td>" in convert(page).markdown


@pytest.mark.parametrize("profile", ["web", "arxiv"])
@pytest.mark.parametrize("block", ["<pre>x</pre>", "<ol><li>x</ol>", "<blockquote>x</blockquote>"])
def test_a_blank_line_ends_an_html_table_in_an_item(profile: str, block: str) -> None:
    page = f"<ul><li><table><tr><td>\\|<td>b<tr><td>1<td>2</table>{block}</ul>"
    assert "</table>\n\n" in convert(page, profile=profile).markdown

"""What is read from Markdown."""

from __future__ import annotations

import pytest

from tootsie.curate.fidelity.facts import Formula, words
from tootsie.curate.fidelity.reading import read_markdown


def test_formulas_are_read_where_commonmark_reads_no_code() -> None:
    found = read_markdown("a $x_1*y*$ `$c$` $\\mbox{if $z$}$\n\n```\n$d$\n```\n\n$$e$$\n")
    assert found.formulas == [Formula("x_1*y*", False), Formula("\\mbox{if $z$}", False), Formula("e", True)]
    assert found.code_spans == ["$c$"]
    assert found.code_blocks == [("$d$", "")]


def test_a_block_of_lines_that_look_like_lists_is_one_formula() -> None:
    found = read_markdown("$$\\begin{aligned}\na\n- b\n+ c\n\\end{aligned} \\tag{2}$$\n\n- item\n")
    assert found.formulas == [Formula("\\begin{aligned} a - b + c \\end{aligned}", True)]
    assert found.equation_numbers == ["2"]
    assert found.items == ["item"]


def test_a_bare_pipe_in_a_formula_splits_its_cell() -> None:
    whole = read_markdown("| a |\n| --- |\n| $x\\|y$ |\n")
    assert whole.formulas == [Formula("x|y", False)]
    assert not read_markdown("| a |\n| --- |\n| $x|y$ |\n").formulas


def test_escaped_dollars_are_text() -> None:
    found = read_markdown("costs \\$5 to \\$6")
    assert not found.formulas
    assert words(found.text[0]) == ["costs", "$", "5", "to", "$", "6"]


def test_a_note_without_a_definition_is_text() -> None:
    assert "^" in words(read_markdown("a[^1]").text[0])
    found = read_markdown("a[^1]\n\n[^1]: b\n\n    c\n")
    assert found.notes == ["bc"]
    assert words(found.text[0]) == ["a"]


def test_lists_in_a_cell_are_text_without_their_marks() -> None:
    found = read_markdown("| a |\n| --- |\n| - b<br>- c |\n")
    assert found.tables[0].grid == (((0, "a"),), ((0, "bc"),))


def test_a_table_in_html_is_read_with_its_spans() -> None:
    found = read_markdown('<table><tr><td rowspan="2">a</td><td>$x$</td></tr>\n<tr><td>b</td></tr></table>\n')
    assert found.tables[0].spans
    assert found.formulas == [Formula("x", False)]
    assert words(found.text[0]) == ["a", "b"]


def test_headings_items_links_images() -> None:
    found = read_markdown(
        "## a **b**\n\n3. c\n4. d\n   - e\n\n[f *g*](/h%20i) <http://j.k/%5B> ![l](m.png)\n"
    )
    assert found.headings == [(2, "ab")]
    assert sorted(found.items) == ["3.c", "4.d", "e"]
    assert found.links == [("/h%20i", "fg"), ("http://j.k/%5B", "http://j.k/%5B")]
    assert found.images == ["m.png"]


def test_code_in_html_is_code() -> None:
    assert read_markdown("a <code>b&#92;|c</code> d").code_spans == ["b\\|c"]


@pytest.mark.parametrize("text", ["$" * 50_000, "${" * 50_000, "$x" * 50_001, "$$" + "x" * 100_000])
def test_unclosed_formulas_are_text_in_bounded_time(text: str) -> None:
    assert "".join(read_markdown(text).text).replace(" ", "")

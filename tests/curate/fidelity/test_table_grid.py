"""Where cells stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.fidelity.source import read_source
from tootsie.curate.fidelity.table_grid import Cell, grid_of
from tootsie.curate.markdownify.options import Options


def test_a_cell_stands_beside_what_spans_down_from_above() -> None:
    assert grid_of([[Cell("a", 1, 2), Cell("b")], [Cell("c")]]) == (((0, "a"), (1, "b")), ((1, "c"),))


def test_a_cell_that_spans_columns_makes_no_column_of_its_own() -> None:
    assert grid_of([[Cell("a", 3), Cell("b")], [Cell("c", 3), Cell("d")]]) == (
        ((0, "a"), (1, "b")),
        ((0, "c"), (1, "d")),
    )


def test_hostile_spans_are_bounded() -> None:
    assert len(grid_of([[Cell("a", 65534, 65534)] for _ in range(3)])) == 3
    assert grid_of([[Cell("a", 1000, 65534)] for _ in range(6000)]) == ()


def test_the_foot_of_a_table_stands_last() -> None:
    html = "<table><tr><th>h<tfoot><tr><td>f</tfoot><tbody><tr><td>b</table>"
    (table,) = read_source(html, Options.of("web")).tables
    assert [line[0][1] for line in table.grid] == ["h", "b", "f"]


@given(st.lists(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=4), max_size=5))
def test_no_two_cells_begin_at_one_place(shape: list[list[tuple[int, int]]]) -> None:
    """Against a map of every covered place, filled cell by cell."""
    rows = [[Cell(f"{y}.{x}", *span) for x, span in enumerate(line)] for y, line in enumerate(shape)]
    taken: dict[tuple[int, int], str] = {}
    corners: dict[str, tuple[int, int]] = {}
    for y, line in enumerate(rows):
        column = 0
        for cell in line:
            while (y, column) in taken:
                column += 1
            corners[cell.text] = (y, column)
            for below in range(min(cell.rows, len(rows) - y)):
                for across in range(cell.columns):
                    taken.setdefault((y + below, column + across), cell.text)
            column += cell.columns
    columns = sorted({column for _, column in corners.values()})
    expected = [[(columns.index(corners[cell.text][1]), cell.text) for cell in line] for line in rows if line]
    assert [list(line) for line in grid_of(rows)] == expected

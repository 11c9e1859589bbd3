"""Where the cells of a table stand: HTML's algorithm, in a form in which two tables can be compared.

Source: HTML §4.9.12 (forming a table).
"""

from __future__ import annotations

from typing import NamedTuple

from tootsie.curate.fidelity.facts import Grid

MAX_COLUMNS = 1000
"""HTML's own bound for a cell's columns."""
MAX_AREA = 4_000_000
"""Covered places beyond which a table is not laid out (its text is still compared)."""


class Cell(NamedTuple):
    """A ``td`` or ``th``."""

    text: str
    columns: int = 1
    rows: int = 1


def grid_of(rows: list[list[Cell]]) -> Grid:
    """Return the table's grid: each cell at its top left corner, without empty rows and columns in which no cell begins."""
    covered: dict[int, int] = {}  # column -> first row below the cell that covers it
    placed: list[list[tuple[int, str]]] = []
    begun: set[int] = set()
    area = 0
    for number, row in enumerate(rows):
        column = 0
        line: list[tuple[int, str]] = []
        for cell in row:
            while covered.get(column, 0) > number:
                column += 1
                area += 1
            begun.add(column)
            line.append((column, cell.text))
            width = min(cell.columns, MAX_COLUMNS)
            if cell.rows > 1:
                below = number + min(cell.rows, len(rows) - number)
                for place in range(column, column + width):
                    covered[place] = max(below, covered.get(place, 0))
                area += width
            column += width
            if area > MAX_AREA:
                return ()
        placed.append(line)
    order = {column: index for index, column in enumerate(sorted(begun))}
    kept = (tuple((order[column], text) for column, text in line if text) for line in placed)
    return tuple(line for line in kept if line)

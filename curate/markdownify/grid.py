"""The grid of a table: where each cell stands once spans are resolved, and the grid as GFM or HTML.

Source: HTML §4.9.12 (forming a table), GFM §4.10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tootsie.curate.markdownify.escaping import escape_cell

_RULES = {"left": ":---", "right": "---:", "center": ":---:", "": "---"}
_COLUMN_SPAN = 1000
"""HTML's own bound."""
_MAX_EMPTY = 8
"""Cells of the grid for each cell of the source beyond which a table is too irregular for GFM."""
_PLAIN = re.compile(r"(?!(?:#{1,6}|[-+]|[0-9]{1,9}[.)])(?: |\Z)|---)[^\\`*_\[\]<>&$~\n]*")
"""Text that reads the same as Markdown and as HTML: no markup, and no heading, item or rule."""


@dataclass(slots=True)
class Cell:
    """One ``td`` or ``th`` at its anchor."""

    text: str
    """Markdown: inline for a GFM table, any blocks for an HTML one."""
    columns: int
    rows: int
    header: bool
    align: str


@dataclass(slots=True)
class Row:
    """One ``tr``."""

    cells: list[Cell]
    section: int
    """Identity of its row group, which no cell spans beyond."""
    kind: str
    """``thead``, ``tbody``, ``tfoot`` or empty."""


Placed = list[list[tuple[int, Cell]]]


def to_gfm(rows: list[Row], max_cells: int) -> tuple[str, str]:
    """Return ``gfm`` and the table; ``html`` and an HTML table where GFM would be mostly empty cells; or why there is none.

    Args:
      rows: all rows of the source, also those without cells.
      max_cells: bound on rows × columns; a grid with more is ``too_large``.

    Each cell stands at the row and column where HTML puts its top left corner; what it spans beyond stays empty. Columns
    in which no cell begins and rows without text are left out. The first row of ``thead``, or else a first row of header
    cells only, is the header.
    """
    placed = _place(rows, max_cells)
    if placed is None:
        return "too_large", ""
    head = next((index for index, row in enumerate(rows) if row.kind != "thead"), len(rows))
    order = {column: index for index, column in enumerate(sorted({c for line in placed for c, _ in line}))}
    width = len(order)
    kept = [(index < head, line) for index, line in enumerate(placed) if any(cell.text for _, cell in line)]
    if not kept:
        return "empty", ""
    lines_of = [line for _, line in kept]
    total = sum(order[line[-1][0]] + 1 for line in lines_of)
    if total > max_cells:
        return "too_large", ""
    if total > _MAX_EMPTY * sum(len(row.cells) for row in rows) + 512:
        return "html", to_html(rows)
    with_header = kept[0][0] or (len(kept) > 1 and all(cell.header for _, cell in lines_of[0]))
    header, body = (lines_of[0], lines_of[1:]) if with_header else ([], lines_of)
    lines = [_line(header, order, width), "| " + " | ".join(_rules(body or [header], order)) + " |"]
    # All rows get their full width, unless a wide row among narrow ones would make the table much longer than its source.
    padded = width if width * len(body) <= 4 * total + 64 else 0
    lines += [_line(line, order, padded) for line in body]
    return "gfm", "\n".join(lines)


def to_html(rows: list[Row]) -> str:
    """Return the table as HTML with its spans, the cells as Markdown: blank lines around let CommonMark read them.

    A cell whose text reads the same in both languages stays on the line. Empty when no cell has text.
    """
    if not any(cell.text for row in rows for cell in row.cells):
        return ""
    out = ["<table>"]
    for row, height in zip(rows, _heights(rows), strict=True):
        out.append("\n<tr>")
        for cell in row.cells:
            tag = "th" if cell.header else "td"
            spans = f' colspan="{min(cell.columns, _COLUMN_SPAN)}"' if cell.columns > 1 else ""
            spans += f' rowspan="{min(cell.rows, height)}"' if min(cell.rows, height) > 1 else ""
            plain = _PLAIN.fullmatch(cell.text) is not None
            out.append(f"<{tag}{spans}>" + (cell.text if plain else f"\n\n{cell.text}\n\n") + f"</{tag}>")
        out.append("</tr>")
    out.append("\n</table>")
    return "".join(out)


def _place(rows: list[Row], max_cells: int) -> Placed | None:
    """Return each row's cells with their columns, ``None`` when the cells cover too much."""
    if all(cell.columns == cell.rows == 1 for row in rows for cell in row.cells):
        return [list(enumerate(row.cells)) for row in rows]
    placed: Placed = []
    waiting: dict[int, int] = {}  # column -> rows that a cell above still covers
    area = 0
    for row, left in zip(rows, _heights(rows), strict=True):
        column = 0
        line: list[tuple[int, Cell]] = []
        fresh: list[tuple[int, int, int]] = []
        for cell in row.cells:
            while waiting.get(column, 0) > 0:
                column += 1
                area += 1
            line.append((column, cell))
            height = min(cell.rows, left)
            if height > 1:
                fresh.append((column, min(cell.columns, _COLUMN_SPAN), height))
            column += min(cell.columns, _COLUMN_SPAN)
        area += len(waiting)
        for key in [key for key, more in waiting.items() if more <= 1]:
            del waiting[key]
        for key in waiting:
            waiting[key] -= 1
        for start, width, height in fresh:
            for key in range(start, start + width):
                waiting[key] = max(height - 1, waiting.get(key, 0))
            area += width
        placed.append(line)
        if area > max_cells:
            return None
    return placed


def _heights(rows: list[Row]) -> list[int]:
    """Return for each row how many rows its group has from there on."""
    heights = [1] * len(rows)
    for number in range(len(rows) - 2, -1, -1):
        if rows[number + 1].section == rows[number].section:
            heights[number] = heights[number + 1] + 1
    return heights


def _rules(body: Placed, order: dict[int, int]) -> list[str]:
    """Return the delimiter of each column: the alignment that more than half of its cells with text have."""
    if not any(cell.align for line in body for _, cell in line):
        return [_RULES[""]] * len(order)
    counts: dict[int, dict[str, int]] = {}
    for line in body:
        for column, cell in line:
            if cell.text:
                seen = counts.setdefault(column, {})
                seen[cell.align] = seen.get(cell.align, 0) + 1
    rules = []
    for column in sorted(order):
        seen = counts.get(column, {"": 1})
        best = max(sorted(seen), key=lambda name: seen[name])
        rules.append(_RULES[best if seen[best] * 2 > sum(seen.values()) else ""])
    return rules


def _line(line: list[tuple[int, Cell]], order: dict[int, int], width: int) -> str:
    cells: list[str] = []
    for column, cell in line:
        missing = order[column] - len(cells)
        if missing:
            cells.extend([""] * missing)
        cells.append(escape_cell(cell.text))
    cells.extend([""] * (width - len(cells)))
    return "| " + " | ".join(cells) + " |" if cells else "|  |"

"""The grid of a table: where each cell stands once spans are resolved, and the grid as GFM.

Source: HTML §4.9.12 (forming a table), GFM §4.10.
"""

from __future__ import annotations

from dataclasses import dataclass

_RULES = {"left": ":---", "right": "---:", "center": ":---:", "": "---"}
MAX_COLUMN_SPAN = 1000
"""HTML's own bound."""


@dataclass
class Cell:
    """One ``td`` or ``th`` at its anchor."""

    text: str
    columns: int
    rows: int
    header: bool
    align: str


def to_gfm(rows: list[list[Cell]], head: int, max_cells: int) -> str | None:
    """Return the table as GFM, ``None`` when its grid would have more than ``max_cells`` cells.

    Args:
      rows: cells at their anchors, as in the source.
      head: leading rows that are in ``thead``.
      max_cells: bound on rows × columns.

    Each cell stands at the row and column where HTML puts its top left corner; what it spans beyond stays empty. Columns
    in which no cell begins are left out, several header rows are joined into one.
    """
    placed: list[list[tuple[int, Cell]]] = []
    waiting: dict[int, int] = {}  # column -> rows that a cell above still covers
    used: set[int] = set()
    area = 0
    for number, row in enumerate(rows):
        column = 0
        line: list[tuple[int, Cell]] = []
        fresh: list[tuple[int, int, int]] = []
        for cell in row:
            while waiting.get(column, 0) > 0:
                column += 1
                area += 1
            line.append((column, cell))
            used.add(column)
            if cell.rows > 1:
                fresh.append((column, min(cell.columns, MAX_COLUMN_SPAN), min(cell.rows, len(rows) - number)))
            column += min(cell.columns, MAX_COLUMN_SPAN)
        area += len(waiting)
        for key in [key for key, left in waiting.items() if left <= 1]:
            del waiting[key]
        for key in waiting:
            waiting[key] -= 1
        for start, width, height in fresh:
            if height > 1:
                for key in range(start, start + width):
                    waiting[key] = height - 1
                area += width
        placed.append(line)
        if area > max_cells:
            return None
    order = {column: index for index, column in enumerate(sorted(used))}
    width = len(order)
    if not any(cell.text for line in placed for _, cell in line):
        return ""
    total = sum(order[line[-1][0]] + 1 for line in placed if line)
    if total > max_cells:
        return None
    header, body = _split_head(placed, head)
    aligns = [""] * width
    counts: dict[int, dict[str, int]] = {}
    for line in body or [header]:
        for column, cell in line:
            if cell.text:
                counts.setdefault(order[column], {}).setdefault(cell.align, 0)
                counts[order[column]][cell.align] += 1
    for index, seen in counts.items():
        best = max(sorted(seen), key=lambda name: seen[name])
        aligns[index] = best if seen[best] * 2 > sum(seen.values()) else ""
    lines = [_line(header, order, width), "| " + " | ".join(_RULES[name] for name in aligns) + " |"]
    # All rows get their full width, unless a wide row among narrow ones would make the table much longer than its source.
    padded = width if width * len(body) <= 4 * total + 64 else 0
    lines += [_line(line, order, padded) for line in body if any(cell.text for _, cell in line)]
    return "\n".join(lines)


def _split_head(
    placed: list[list[tuple[int, Cell]]], head: int
) -> tuple[list[tuple[int, Cell]], list[list[tuple[int, Cell]]]]:
    """Return the header row (empty when there is none) and the rows below it."""
    if head == 0 and placed and all(cell.header for _, cell in placed[0]) and len(placed) > 1:
        head = 1
    if head == 0:
        return [], placed
    if head > 1 and len(placed) > head:
        return placed[0], placed[1:]
    return placed[0], placed[1:]


def _line(line: list[tuple[int, Cell]], order: dict[int, int], width: int) -> str:
    cells: list[str] = []
    for column, cell in line:
        cells.extend([""] * (order[column] - len(cells)))
        cells.append(cell.text)
    cells.extend([""] * (width - len(cells)))
    return "| " + " | ".join(cells) + " |" if cells else "|  |"

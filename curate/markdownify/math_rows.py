"""Rows and tables of formulas: matrices with their fences, fences that grow, binomial coefficients, environments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_OPEN, _CLOSE = frozenset("([{⟨⌈⌊⟦〈"), frozenset(")]}⟩⌉⌋⟧〉")
_MATRICES = {("(", ")"): "pmatrix", ("[", "]"): "bmatrix", ("{", "}"): "Bmatrix", ("|", "|"): "vmatrix",
             ("∣", "∣"): "vmatrix", ("‖", "‖"): "Vmatrix", ("∥", "∥"): "Vmatrix"}  # fmt: skip


@dataclass(slots=True)
class Piece:
    """The TeX of one element."""

    tex: str
    tag: str = ""
    character: str = ""
    """What an operator shows."""
    tall: bool = False
    """Whether fences around it grow."""
    attributes: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    """Alignment of the columns of a table."""


def row(parts: list[Piece]) -> str:
    """Join the pieces of a row: matrices with their fences, fences that grow, binomial coefficients."""
    solid = [part for part in parts if part.tex or part.character]
    marks = _growing(solid)
    out: list[str] = []
    index = 0
    while index < len(solid):
        part = solid[index]
        before = solid[index - 1].character if index and solid[index - 1].tag == "mo" else ""
        after = solid[index + 1].character if index + 1 < len(solid) and solid[index + 1].tag == "mo" else ""
        if part.tag == "mtable":
            name = _MATRICES.get((before, after))
            if name and out:
                out[-1] = f"\\begin{{{name}}}{part.tex}\\end{{{name}}}"
                index += 2
                continue
            if before == "{" and not after and out:
                out[-1] = f"\\begin{{cases}}{part.tex}\\end{{cases}}"
            else:
                out.append(_environment(part))
        elif part.tag == "stack" and before == "(" and after == ")" and out:
            out[-1] = "\\binom" + part.tex
            index += 2
            continue
        elif part.tag == "stack":
            out.append("\\genfrac{}{}{0pt}{}" + part.tex)
        else:
            out.append(marks.get(index, "") + part.tex)
        index += 1
    return "".join(out)


def _growing(parts: list[Piece]) -> dict[int, str]:
    """Return where ``\\left`` and ``\\right`` belong: matching fences about something tall, or that say they stretch."""
    marks: dict[int, str] = {}
    heights = [0]
    waiting: list[int] = []
    for index, part in enumerate(parts):
        heights.append(heights[-1] + part.tall)
        if part.tag != "mo" or part.attributes.get("stretchy") == "false":
            continue
        form = part.attributes.get("form")
        bar = part.character in ("|", "‖", "∣", "∥") and (
            form in ("prefix", "postfix") or index in (0, len(parts) - 1)
        )
        if part.character in _OPEN or (bar and (form == "prefix" or (form is None and index == 0))):
            waiting.append(index)
        elif part.character in _CLOSE or bar:
            first = waiting.pop() if waiting else -1
            tall = heights[index] > heights[max(first, 0)]
            if first >= 0 and (tall or parts[first].attributes.get("stretchy") == "true"):
                marks[first], marks[index] = "\\left", "\\right"
            elif first < 0 and tall and index == len(parts) - 1 and not marks and form == "postfix":
                marks[0], marks[index] = "\\left.", "\\right"
    return marks


def table_row(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    """``mtr``, ``mlabeledtr``: cells with ``&`` between, a label as ``\\tag``."""
    label = ""
    if tag == "mlabeledtr" and parts:
        number = parts[0].tex.strip(" ")
        number = number.removeprefix("\\text{").removesuffix("}") if number.startswith("\\text{") else number
        label, parts = f" \\tag{{{number.strip('()')}}}", parts[1:]
    cells = [row([part]).strip(" ").removeprefix("{}") for part in parts]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    aligns = tuple((part.attributes.get("columnalign") or "").split(" ")[0] for part in parts)
    return Piece(" & ".join(cells) + label, "mtr", columns=aligns, attributes=attributes)


def table(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    """``mtable``: its rows; the environment is chosen by :func:`row`, which sees the fences."""
    rows = [part.tex for part in parts]
    lines = (attributes.get("rowlines") or "").split()
    body: list[str] = []
    for index, row in enumerate(rows):
        if index:
            line = lines[min(index - 1, len(lines) - 1)] if lines else "none"
            body.append(" \\\\ " + ("\\hline " if line in ("solid", "dashed") else ""))
            body.append("{}" if row.startswith("[") else "")
        body.append(row)
    count = max((len(part.columns) for part in parts), default=1)
    named = (attributes.get("columnalign") or "").split()
    first = parts[0].columns if parts else ()
    columns = tuple(
        (first[index] if index < len(first) and first[index] else "")
        or (named[min(index, len(named) - 1)] if named else "center")
        for index in range(count)
    )
    return Piece("".join(body), "mtable", "", True, attributes, columns)


def _environment(table: Piece) -> str:
    """Return a table that no fences claim: ``aligned``, ``array`` where it has alignment or lines, else ``matrix``."""
    attributes, columns = table.attributes, table.columns
    if "\\tag{" in table.tex:  # what amsmath allows in environments of their own only
        name = "align*" if len(columns) > 1 else "gather*"
        return (
            f"\\begin{{{name}}}{table.tex}\\end{{{name}}}"
            if " \\\\ " in table.tex
            else table.tex.replace(" & ", " ")
        )
    pairs = ("right", "left") * ((len(columns) + 1) // 2)
    if len(columns) > 1 and columns == pairs[: len(columns)]:
        return f"\\begin{{aligned}}{table.tex}\\end{{aligned}}"
    rules = (attributes.get("columnlines") or "").split()
    if set(columns) <= {"center"} and "solid" not in rules and "\\hline" not in table.tex:
        return f"\\begin{{matrix}}{table.tex}\\end{{matrix}}"
    frame = "|" if attributes.get("frame") == "solid" else ""
    form = frame
    for index, column in enumerate(columns):
        line = rules[min(index, len(rules) - 1)] if rules and index < len(columns) - 1 else ""
        form += (column[:1] if column in ("left", "right") else "c") + (
            "|" if line in ("solid", "dashed") else ""
        )
    return f"\\begin{{array}}{{{form}{frame}}}{table.tex}\\end{{array}}"

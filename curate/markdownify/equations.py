"""LaTeXML's equations: its MathML cut away before parsing, its tables of aligned cells joined into one formula."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tootsie.curate.markdownify import formulas
from tootsie.curate.markdownify.escaping import collapse
from tootsie.curate.markdownify.mathml import escape_tex
from tootsie.curate.markdownify.serializer import SKIP, Node, Serializer

_MATH_START = "<math"
_MATH_END = re.compile("</math>")
_FORMULA_BLOCK = re.compile(r"(\${1,2})([^$]+)\1([.,;:]?)")
_NUMBER_BLOCK = re.compile(r"(?:\*\*)?\((?:\*\*)?([^\s()*\\]{1,12})(?:\*\*)?\)(?:\*\*)?")
_PUNCTUATION = re.compile(r"[.,;:!?]+")
_SECTIONS = ("tbody", "thead", "tfoot")
_WORD = re.compile(r"[^\W\d_]{2}")
_BLOCK = re.compile(r"[-+*>#=|~`]|\d+[.)]|<|$")
_NUMBER = re.compile(r"^\s*\((.*)\)\s*$", re.DOTALL)


def cut_mathml(html: str) -> str:
    """Remove what stands inside LaTeXML's ``<math>`` elements: their ``alttext`` is all that is needed; linear.

    Four fifths of the bytes of such a page are MathML, so that this halves the cost of the conversion.
    """
    if "ltx_Math" not in html:
        return html
    out: list[str] = []
    position = 0
    while True:
        start = html.find(_MATH_START, position)
        if start < 0:
            break
        found = _MATH_END.search(html, start)  # several times as fast as find() where most bytes are MathML
        if found is None:
            break
        end = found.start()
        tag_end = _end_of_tag(html, start, end)
        tag = html[start:tag_end]
        if tag_end < 0 or "ltx_Math" not in tag or "alttext=" not in tag:
            out.append(html[position : start + 5])
            position = start + 5
            continue
        out.append(html[position:tag_end])
        position = end
    out.append(html[position:])
    return "".join(out)


def _end_of_tag(html: str, start: int, limit: int) -> int:
    position = start
    while True:
        close = html.find(">", position, limit)
        if close < 0:
            return -1
        if html.count('"', start, close) % 2 == 0:
            return close + 1
        position = close + 1


@dataclass
class _Line:
    """One row of an equation table."""

    cells: list[str]
    """TeX of its cells, in order; empty ones at the end left out."""
    number: str
    """Its number without brackets, as TeX text."""
    prose: Node = None
    """The cell of a row of text between the equations (``\\intertext``)."""


def equation_table(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``equation``, ``align``, ``eqnarray``, ``gather``: one display formula with its numbers as ``\\tag``."""
    lines = _lines(node)
    if not lines:
        return None
    group: list[_Line] = []
    for line in lines:
        if line.prose is None:
            group.append(line)
            continue
        _emit(serializer, group)
        group = []
        serializer.counters["equation_texts"] += 1
        serializer.flush()
        serializer.walk(line.prose)
        serializer.flush()
    _emit(serializer, group)
    return SKIP


def _emit(serializer: Serializer, lines: list[_Line]) -> None:
    if not lines:
        return
    numbers = [line.number for line in lines if line.number]
    serializer.counters["equation_groups" if len(lines) > 1 else "equations"] += 1
    serializer.counters["equation_numbers"] += len(numbers)
    if len(lines) == 1:
        tex = " ".join(cell for cell in lines[0].cells if cell)
        serializer.formula(tex + _tag(lines[0].number), True)
        return
    aligned = any(len(line.cells) > 1 for line in lines)
    single = len(numbers) <= 1
    rows = [
        (_align(line.cells) if aligned else "".join(line.cells)) + ("" if single else _tag(line.number))
        for line in lines
    ]
    name = ("aligned" if aligned else "gathered") if single else ("align*" if aligned else "gather*")
    body = rows[0] + "".join(f" \\\\{_line_end(row)}{row}" for row in rows[1:])
    tag = _tag(numbers[0]) if single and numbers else ""
    serializer.formula(f"\\begin{{{name}}}\n{body}\n\\end{{{name}}}{tag}", True)


def _tag(number: str) -> str:
    return f" \\tag{{{number}}}" if number else ""


def _line_end(following: str) -> str:
    """Return what separates two rows: a line break, unless Markdown would read the next line as a block of its own.

    An opening bracket would be read as the optional argument of the line end.
    """
    text = following.lstrip(" ")
    return " {}" if text.startswith("[") else " " if _BLOCK.match(text) else "\n"


def _align(cells: list[str]) -> str:
    """Join the cells of one row: left and right side alternate, a relation of its own joins the right side."""
    if len(cells) == 3:
        return f"{cells[0]} &{cells[1]} {cells[2]}".rstrip()
    return " & ".join(cells).rstrip(" &") if len(cells) != 2 else f"{cells[0]} &{cells[1]}"


def _lines(table: Node) -> list[_Line]:
    lines: list[_Line] = []
    for row in _rows(table):
        line = _Line([], "")
        prose: tuple[Node, int, str] | None = None
        entry = row.first_child
        while entry is not None:
            name = (entry.attributes.get("class") or "") if entry.tag == "td" else "padleft"
            if "ltx_eqn_eqno" in name:
                line.number = line.number or _number(entry)
            elif "padleft" not in name and "padright" not in name:
                tex, outside = _cell_formula(entry)
                if _is_prose(entry, tex, outside):
                    prose = entry, len(line.cells), f"{tex} \\text{{{escape_tex(outside)}}}".lstrip(" ")
                elif _PUNCTUATION.fullmatch(outside) is not None:
                    tex += outside
                elif outside:
                    tex = f"{tex} \\text{{{escape_tex(outside)}}}".lstrip(" ")
                line.cells.append(tex)
            entry = entry.next
        if prose is not None:
            cell, place, remark = prose
            if any(tex for index, tex in enumerate(line.cells) if index != place):
                line.cells[place] = remark  # beside an equation
            else:
                line.prose = cell
        while line.cells and not line.cells[-1]:
            line.cells.pop()
        if line.cells or line.number or line.prose is not None:
            lines.append(line)
    return lines


def _rows(table: Node) -> list[Node]:
    """Return the rows of a table, not those of tables in its cells."""
    rows: list[Node] = []
    section = table.first_child
    while section is not None:
        row = section if section.tag == "tr" else section.first_child if section.tag in _SECTIONS else None
        while row is not None:
            if row.tag == "tr":
                rows.append(row)
            row = row.next if section.tag in _SECTIONS else None
        section = section.next
    return rows


def _is_prose(entry: Node, tex: str, outside: str) -> bool:
    """Return whether a cell holds running text: words, and nothing else or across the columns."""
    if _WORD.search(outside) is None:
        return False
    attributes = entry.attributes
    wide = "colspan" in attributes or "white-space:normal" in (attributes.get("style") or "").replace(" ", "")
    return wide or not tex


def _number(entry: Node) -> str:
    """Return an equation number without its brackets, formulas in it as ``$…$``."""
    parts: list[str] = []
    node = entry.first_child
    depth = 0
    while node is not None:
        child = None
        if node.tag == "-text":
            parts.append(escape_tex(node.text_content or ""))
        elif node.tag == "math":
            parts.append(f"${formulas.tex_of_math(node, node.attributes)[0]}$")
        else:
            child = node.first_child
        if child is not None:
            node, depth = child, depth + 1
            continue
        while depth and node.next is None:
            node, depth = node.parent, depth - 1
        node = node.next
    text = collapse("".join(parts)).strip(" ")
    match = _NUMBER.match(text)
    return match.group(1) if match else text


def _cell_formula(entry: Node) -> tuple[str, str]:
    parts: list[str] = []
    outside: list[str] = []
    for node in entry.traverse(include_text=True):
        if node.tag == "math":
            tex, _ = formulas.tex_of_math(node, node.attributes)
            parts.append(formulas.strip_style(tex))
        elif node.tag == "-text" and (node.text_content or "").strip() and not _in_math(node):
            outside.append(node.text_content)
    return " ".join(part for part in parts if part), collapse("".join(outside)).strip(" ")


def join_number(blocks: list[str]) -> str | None:
    """Return a formula and its number, the two blocks that a table held, as one formula; ``None`` when they are not that."""
    formula = _FORMULA_BLOCK.fullmatch(blocks[0]) if len(blocks) == 2 else None
    number = _NUMBER_BLOCK.fullmatch(blocks[1]) if formula is not None else None
    if formula is None or number is None:
        return None
    return f"$${formula[2]}{formula[3]} \\tag{{{escape_tex(number[1])}}}$$"


def _in_math(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.tag not in ("td", "math"):
        parent = parent.parent
    return parent is not None and parent.tag == "math"

"""LaTeXML's equations: its MathML cut away before parsing, its tables of aligned cells joined into one formula."""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify import formulas
from tootsie.curate.markdownify.escaping import collapse
from tootsie.curate.markdownify.serializer import SKIP, Node, Serializer, text_of

_MATH_START = "<math"
_MATH_END = re.compile("</math>")
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


def equation_table(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``equation``, ``align``, ``eqnarray``, ``gather``: one display formula with its numbers as ``\\tag``."""
    rows, between = _equation_rows(node)
    if not rows:
        return None
    if between:
        return None if not _emit_with_text(serializer, rows) else SKIP
    serializer.counters["equation_groups" if len(rows) > 1 else "equations"] += 1
    _emit(serializer, rows)
    return SKIP


def _emit_with_text(serializer: Serializer, rows: list[tuple[list[str], str, str]]) -> bool:
    group: list[tuple[list[str], str, str]] = []
    for cells, number, text in [*rows, ([], "", "")]:
        if text or not (cells or number):
            if group:
                serializer.counters["equation_groups"] += 1
                _emit(serializer, group)
                group = []
            if text:
                serializer.flush()
                serializer.text(text)
                serializer.flush()
        else:
            group.append((cells, number, text))
    return True


def _emit(serializer: Serializer, rows: list[tuple[list[str], str, str]]) -> None:
    numbers = [number for _, number, _ in rows if number]
    if len(rows) == 1:
        cells, number, _ = rows[0]
        tex = " ".join(cells)
        serializer.counters["equation_numbers"] += bool(number)
        serializer.formula(tex + (f" \\tag{{{number}}}" if number else ""), True)
        return
    aligned = any(len(cells) > 1 for cells, _, _ in rows)
    lines = []
    single = len(numbers) <= 1
    for cells, number, _ in rows:
        line = _align(cells) if aligned else "".join(cells)
        lines.append(line + (f" \\tag{{{number}}}" if number and not single else ""))
    serializer.counters["equation_numbers"] += len(numbers)
    name = ("aligned" if aligned else "gathered") if single else ("align*" if aligned else "gather*")
    body = " \\\\\n".join(lines)
    tag = f" \\tag{{{numbers[0]}}}" if single and numbers else ""
    serializer.formula(f"\\begin{{{name}}}\n{body}\n\\end{{{name}}}{tag}", True)


def _align(cells: list[str]) -> str:
    """Join the cells of one row: left and right side alternate, a relation of its own joins the right side."""
    if len(cells) == 3:
        return f"{cells[0]} &{cells[1]} {cells[2]}".rstrip()
    return " & ".join(cells).rstrip(" &") if len(cells) != 2 else f"{cells[0]} &{cells[1]}"


def _equation_rows(table: Node) -> tuple[list[tuple[list[str], str, str]], bool]:
    """Return ``(cells, number, text)`` for each row, and whether text stands between the rows."""
    rows: list[tuple[list[str], str, str]] = []
    between = False
    for line in table.css("tr"):
        cells: list[str] = []
        number = text = ""
        entry = line.first_child
        while entry is not None:
            if entry.tag == "td":
                name = entry.attributes.get("class") or ""
                if "ltx_eqn_eqno" in name:
                    match = _NUMBER.match(text_of(entry))
                    number = match.group(1) if match else text_of(entry)
                elif "padleft" in name or "padright" in name:
                    pass
                else:
                    tex, outside = _cell_formula(entry)
                    if outside and not tex:
                        text = outside
                    elif outside:
                        tex = f"{tex} \\text{{{outside}}}"
                    cells.append(tex)
            entry = entry.next
        while cells and not cells[-1]:
            cells.pop()
        if text and any(cells):
            cells.append(f"\\text{{{text}}}")
            text = ""
        between = between or bool(text)
        if cells or number or text:
            rows.append((cells, number, text))
    return rows, between


def _cell_formula(entry: Node) -> tuple[str, str]:
    parts: list[str] = []
    for element in entry.css("math"):
        tex, _ = formulas.tex_of_math(element, element.attributes)
        parts.append(formulas.strip_style(tex))
    outside = collapse("".join(part for part in _text_outside_math(entry))).strip(" ")
    return " ".join(part for part in parts if part), outside


def _text_outside_math(entry: Node) -> list[str]:
    found: list[str] = []
    for node in entry.traverse(include_text=True):
        if node.tag != "-text" or not (node.text_content or "").strip():
            continue
        parent = node.parent
        while parent is not None and parent.tag not in ("td", "math", "annotation"):
            parent = parent.parent
        if parent is not None and parent.tag == "td":
            found.append(node.text_content)
    return found

"""Tables: spans resolved on a grid, written as GFM; nested ones as HTML around Markdown; layout tables unwrapped.

Source: HTML §4.9.12 (forming a table), GFM §4.10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tootsie.curate.markdownify.blocks import container, open_line
from tootsie.curate.markdownify.equations import join_number
from tootsie.curate.markdownify.grid import Cell, Row, to_gfm, to_html
from tootsie.curate.markdownify.inlines import is_hidden
from tootsie.curate.markdownify.listings import add_code_block, language_of, verbatim
from tootsie.curate.markdownify.plain_blocks import plain_block
from tootsie.curate.markdownify.serializer import SKIP, Handler, Leave, Node, Serializer

MAX_SPAN = 65534
_COUNT = re.compile(r"\s*(\d{1,9})", re.ASCII)
_ALIGN = re.compile(r"text-align\s*:\s*(left|right|center)", re.IGNORECASE)
_LTX_ALIGN = re.compile(r"ltx_align_(left|right|center)\b")
_FORMULAS = "math, mjx-container, script[type^=math], img.tex, img.latex, .math, .katex"
_NUMBER_CELL = re.compile(r"\s*\(\s*[^\s()]{1,12}\s*\)\s*")
_DOUBLE_BAR_ATTRIBUTES = ", ".join(
    f'[{name}*="\\\\|"]' for name in ("alttext", "alt", "data-entry", "data-latex", "data-mathml")
)
"""Selects the elements whose TeX has ``\\|``."""
_HEADINGS = "h1, h2, h3, h4"
_FEW = 64
"""Tables of a page that are searched each on its own."""
_CODE = frozenset(("code", "pre", "kbd", "samp", "tt"))
_LINE_NUMBERS = frozenset(
    ("linenos", "lineno", "gutter", "lntd-numbers", "rouge-gutter", "line-numbers", "blob-num")
)
"""Classes of the cells that hold the line numbers of a listing."""


@dataclass
class Table:
    """A table under way."""

    rows: list[Row] = field(default_factory=list)
    caption: str = ""
    html: bool = False
    """Whether it is written as HTML, so that its cells may hold any block."""


@dataclass
class PageTables:
    """The tables of a page that are in no other, and the ids of those that contain …"""

    outer: list[Node]
    nested: set[int]
    """another table"""
    headings: set[int] | None
    """a heading; found out when a table without header cells asks"""
    code: set[int]
    """a code block of several lines"""
    double_bars: set[int]
    """a formula with ``\\|``"""


def table(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<table>``: data, layout or nested."""
    folded = "wikitable" in (attributes.get("class") or "") or "infobox" in (attributes.get("class") or "")
    if is_hidden(attributes) and not folded:  # MediaWiki's mobile pages only fold theirs
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    free = not serializer.flow.in_cell and serializer.flow.kind != "line"
    if free and _is_numbered_formula(node):
        serializer.counters["tables_layout"] += 1
        return _open_equation(serializer)
    if free and _line_numbers(node):
        lines = _code_lines(node)
        if len(lines) > 1:
            serializer.counters["line_numbers_dropped"] += len(lines)
            add_code_block(serializer, "\n".join(lines), language_of(node, attributes))
            return SKIP
    if not free or _is_layout(serializer, node, attributes):
        serializer.counters["tables_layout"] += 1
        serializer.flush()
        return container(serializer, node, attributes)
    return open_table(serializer, node, attributes)


def _is_numbered_formula(node: Node) -> bool:
    """Return whether a table holds a formula and, in the last of its two to four cells, a number in brackets."""
    row = node.first_child
    while row is not None and row.tag in ("-text", "colgroup", "tbody"):
        row = row.first_child if row.tag == "tbody" else row.next
    if row is None or row.tag != "tr" or (row.next is not None and row.next.tag == "tr"):
        return False
    cells: list[Node] = []
    cell = row.first_child
    while cell is not None and len(cells) < 5:
        cells += [cell] if cell.tag in ("td", "th") else []
        cell = cell.next
    if not 2 <= len(cells) <= 4 or _NUMBER_CELL.fullmatch(cells[-1].text(deep=True)[:40]) is None:
        return False
    return any(cell.css_first(_FORMULAS) is not None for cell in cells[:-1])


def _open_equation(serializer: Serializer) -> Leave:
    """Collect what follows as blocks; a formula and its number become one."""
    serializer.flush()
    serializer.push("quote")

    def leave(s: Serializer) -> None:
        blocks = s.pop().blocks
        joined = join_number(blocks)
        s.counters["equation_numbers"] += joined is not None
        for block in blocks if joined is None else [joined]:
            s.block(block)

    return leave


def open_table(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Leave:
    """Collect what follows as the rows of a data table."""
    serializer.flush()
    known = _page_tables(serializer)
    html = not _is_infobox(attributes) and (
        node.mem_id in known.nested or node.mem_id in known.code or node.mem_id in known.double_bars
    )
    if html and serializer.flow.indent >= serializer.limits.max_indent:
        serializer.counters["blocks_flattened"] += 1
        return container(serializer, node, attributes)
    serializer.push("table", Table(html=html)).indent += html
    return _leave_table


def _is_infobox(attributes: dict[str, Any]) -> bool:
    """Return whether this is an infobox; there, inner tables only arrange pictures."""
    return "infobox" in (attributes.get("class") or "")


def _is_layout(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> bool:
    """Return whether a table only arranges what is in it: it says so, has one cell, or headings but no header cells."""
    if attributes.get("role") in ("presentation", "none"):
        return True
    headers, cells = _count_cells(node)
    if headers or _is_infobox(attributes):
        return False
    known = _page_tables(serializer)
    if known.headings is None:
        known.headings = _tables_above(_in_tables(serializer.root, known.outer, _HEADINGS))
    return (
        cells <= 1
        or _line_numbers(node)
        or node.mem_id in known.headings
        or (cells <= 3 and node.mem_id in known.nested)
    )


def _line_numbers(node: Node) -> bool:
    """Return whether the first cell holds the line numbers of a listing."""
    first = node.css_first("td")
    return first is not None and not _LINE_NUMBERS.isdisjoint((first.attributes.get("class") or "").split())


def _code_lines(node: Node) -> list[str]:
    """Return the lines of a listing that has a row for each, without their numbers."""
    section = node.first_child
    while section is not None and section.tag != "tbody":
        section = section.next
    row = section.first_child if section is not None else None
    lines: list[str] = []
    while row is not None:
        cell = row.last_child if row.tag == "tr" else None
        while cell is not None and cell.tag != "td":
            cell = cell.prev
        if cell is not None:
            lines.append(verbatim(cell).strip("\n"))
        row = row.next
    return lines


def _page_tables(serializer: Serializer) -> PageTables:
    """Find out, once for a page, which of its tables hold what GFM cannot.

    Readers disagree on ``\\\\|`` in a cell (some split the row there), so that no spelling of a formula's ``\\|`` is safe.
    """
    known: PageTables | None = serializer.page_tables
    if known is None:
        root = serializer.root
        outer, inner = _sorted_out(root.css("table"))
        if "ltx_tabular" in serializer.source:
            inner += root.css(".ltx_tabular .ltx_tabular")
        code = (
            _in_tables(root, outer, "pre")
            if "<pre" in serializer.source or "<PRE" in serializer.source
            else []
        )
        known = serializer.page_tables = PageTables(
            outer=outer,
            nested=_tables_above(inner),
            headings=None,
            code=_tables_above([node for node in code if _has_lines(node)]),
            double_bars=_tables_above(_double_bars(root)) if _has_double_bar(serializer.source) else set(),
        )
    return known


def _has_double_bar(source: str) -> bool:
    return "\\" in source and "\\|" in source  # the first is many times as fast


def _in_tables(root: Node, outer: list[Node], names: str) -> list[Node]:
    """Return the elements of some names that lie in the tables of a page, those in no other table being ``outer``."""
    if len(outer) <= _FEW:  # what is not in tables need not be looked at
        return [node for one in outer for node in one.css(names)]
    found: list[Node] = root.css(", ".join(f"table {name}" for name in names.split(", ")))
    return found


def _sorted_out(tables: list[Node]) -> tuple[list[Node], list[Node]]:
    """Return the tables that are in no other, and those that are."""
    sorted_out: tuple[list[Node], list[Node]] = [], []
    within: dict[int, bool] = {}
    for table in tables:
        path: list[int] = []
        outer = table.parent
        found = False
        while outer is not None and not found:
            key = outer.mem_id
            if key in within:
                found = within[key]
                break
            path.append(key)
            found = outer.tag == "table"
            outer = outer.parent
        within.update(dict.fromkeys(path, found))
        sorted_out[found].append(table)
    return sorted_out


def _has_lines(node: Node) -> bool:
    """Return whether a ``pre`` has more than one line."""
    return (
        "\n" in (node.text(deep=True) or "").strip("\n\r") or node.css_first("br, div, p, li, tr") is not None
    )


def _double_bars(root: Node) -> list[Node]:
    """Return the nodes with TeX's ``\\|`` that are not code; one pass."""
    found: list[Node] = list(root.css(_DOUBLE_BAR_ATTRIBUTES))
    for node in root.traverse(include_text=True):
        if node.tag == "-text" and "\\|" in (node.text_content or "") and node.parent.tag not in _CODE:
            found.append(node)
    return found


def _tables_above(nodes: list[Node]) -> set[int]:
    """Return the ids of all tables that contain one of ``nodes``; each chain of ancestors is followed once."""
    found: set[int] = set()
    seen: set[int] = set()
    for node in nodes:
        outer = node.parent
        while outer is not None and outer.mem_id not in seen:
            seen.add(outer.mem_id)
            if outer.tag == "table" or "ltx_tabular" in (outer.attributes.get("class") or ""):
                found.add(outer.mem_id)
            outer = outer.parent
    return found


def _count_cells(node: Node) -> tuple[int, int]:
    """Return header cells and all cells of a table, those of nested tables left out, counting no further than needed."""
    headers = cells = 0
    headed = node.css_first("th, thead, caption") is not None
    section = node.first_child
    while section is not None:
        if section.tag == "caption":
            headers += 1
        row = section.first_child if section.tag in ("tbody", "thead", "tfoot") else None
        headers += section.tag == "thead"
        while row is not None:
            cell = row.first_child
            while cell is not None:
                if cell.tag == "th":
                    headers += 1
                    cells += 1
                elif cell.tag == "td":
                    cells += 1
                cell = cell.next
            if cells > 3 and (headers or not headed):
                return headers, cells
            row = row.next
        section = section.next
    return headers, cells


def row(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<tr>``."""
    if serializer.flow.kind != "table":
        return container(serializer, node, attributes)
    if attributes and is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    section = node.parent
    kind, group = "", 0
    if section is not None:
        kind, group = section.tag, section.mem_id
        names = section.attributes.get("class")
        if names and "ltx_thead" in names and "ltx_thead" in names.split():
            kind = "thead"
    serializer.flow.state.rows.append(Row([], group, kind))
    return None


def cell(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<td>``, ``<th>``."""
    if serializer.flow.kind != "table":
        if node.tag == "td" and not _LINE_NUMBERS.isdisjoint((attributes.get("class") or "").split()):
            serializer.counters["line_numbers_dropped"] += 1
            return SKIP
        return container(serializer, node, attributes)
    state: Table = serializer.flow.state
    if not state.rows:
        state.rows.append(Row([], 0, ""))
    entry = Cell("", 1, 1, node.tag == "th", "")
    hidden = False
    if attributes:
        names = attributes.get("class") or ""
        entry.header = entry.header or ("ltx_th" in names and "ltx_th" in names.split())
        entry.columns = _span(attributes.get("colspan"))
        entry.rows = _span(attributes.get("rowspan"), zero=MAX_SPAN)
        entry.align = _align(attributes)
        hidden = is_hidden(attributes)
        if hidden:
            serializer.counters["hidden_dropped"] += 1
    if node.first_child is None and serializer.direct:
        state.rows[-1].cells.append(entry)
        return SKIP
    plain = plain_block(serializer, node)
    if plain is not None:
        entry.text = "" if hidden else serializer.paragraph(plain[0]) if state.html else plain[0]
        state.rows[-1].cells.append(entry)
        serializer.space = True
        return SKIP
    serializer.push("box" if state.html else "cell")

    def leave(s: Serializer) -> None:
        blocks = s.pop().blocks
        text = blocks[0] if len(blocks) == 1 else ("\n\n" if state.html else "<br>").join(blocks)
        if not state.html and "\n" in text:
            text = text.replace("  \n", "<br>").replace("\n", "<br>")
        entry.text = "" if hidden else text
        state.rows[-1].cells.append(entry)

    return leave


def _span(value: str | None, zero: int = 1) -> int:
    if not value:
        return 1
    match = _COUNT.match(value)
    if match is None:
        return 1
    number = int(match.group(1))
    return zero if number == 0 else min(number, MAX_SPAN)


def _align(attributes: dict[str, Any]) -> str:
    if not attributes:
        return ""
    align = (attributes.get("align") or "").lower()
    if align in ("left", "right", "center"):
        return align
    style, classes = attributes.get("style"), attributes.get("class") or ""
    match = _ALIGN.search(style) if style else None
    if match is not None:
        return match.group(1).lower()
    found = classes.find("ltx_align_")
    if found < 0:
        return ""
    match = _LTX_ALIGN.search(classes, found)
    return match.group(1) if match else ""


def _caption(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Leave:
    flow = serializer.flow

    def finish(s: Serializer, text: str) -> None:
        s.counters["captions"] += 1
        if flow.kind == "table":
            flow.state.caption = text
        else:
            s.block(text)

    return open_line(serializer, finish)


def _leave_table(serializer: Serializer) -> None:
    flow = serializer.pop()
    state: Table = flow.state
    outside = list(flow.blocks)
    if state.caption:
        outside.insert(0, state.caption)
    for text in outside:
        serializer.block(text)
    rows = [row for row in state.rows if row.kind != "tfoot"] + [
        row for row in state.rows if row.kind == "tfoot"
    ]
    kind, written = ("html", to_html(rows)) if state.html else to_gfm(rows, serializer.limits.max_cells)
    if kind == "too_large":
        serializer.counters["tables_too_large"] += 1
        for line in rows:
            serializer.block(" | ".join(entry.text for entry in line.cells if entry.text))
    elif written:
        serializer.counters["tables_html" if kind == "html" else "tables_gfm"] += 1
        serializer.counters["cells_spanning"] += sum(
            entry.columns > 1 or entry.rows > 1 for line in rows for entry in line.cells
        )
        serializer.block(written)


TABLE_TAGS: dict[str, Handler] = {"table": table, "tr": row, "td": cell, "th": cell, "caption": _caption}

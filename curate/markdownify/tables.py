"""Tables: spans resolved on a grid, written as GFM; nested ones as clean HTML; layout tables unwrapped.

Source: HTML §4.9.12 (forming a table), GFM §4.10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tootsie.curate.markdownify import formulas
from tootsie.curate.markdownify.blocks import container, open_line
from tootsie.curate.markdownify.escaping import collapse, escape_cell, escape_html
from tootsie.curate.markdownify.grid import Cell, to_gfm
from tootsie.curate.markdownify.inlines import is_hidden
from tootsie.curate.markdownify.listings import verbatim
from tootsie.curate.markdownify.serializer import SKIP, Handler, Leave, Node, Serializer

MAX_SPAN = 65534
_ALIGN = re.compile(r"text-align\s*:\s*(left|right|center)", re.IGNORECASE)
_LTX_ALIGN = re.compile(r"ltx_align_(left|right|center)\b")
_KEEP = frozenset(
    [
        "table",
        "caption",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "td",
        "th",
        "ul",
        "ol",
        "li",
        "p",
        "pre",
        "code",
        "b",
        "strong",
        "i",
        "em",
        "sub",
        "sup",
        "br",
        "blockquote",
        "dl",
        "dt",
        "dd",
        "a",
    ]
)
_DROPPED = frozenset(
    ("navbox", "mw-editsection", "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display", "mw-ref", "noprint",
     "hatnote", "geo-nondefault", "geo-multi-punct", "mw-linkback-text", "mw-cite-backlink", "Z3988",
     "ltx_note_mark", "ltx_note_type")
)  # fmt: skip
"""Classes whose elements a profile that knows them leaves out inside HTML tables as well."""
_OMIT = frozenset(
    [
        "script",
        "style",
        "template",
        "head",
        "link",
        "meta",
        "title",
        "noscript",
        "svg",
        "iframe",
        "select",
        "textarea",
    ]
)


@dataclass
class Table:
    """A table under way."""

    rows: list[list[Cell]] = field(default_factory=list)
    head: int = 0
    """Rows that stand in ``thead``."""
    caption: str = ""
    in_head: bool = False


def table(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<table>``: data, layout or nested."""
    folded = "wikitable" in (attributes.get("class") or "") or "infobox" in (attributes.get("class") or "")
    if is_hidden(attributes) and not folded:  # MediaWiki's mobile pages only fold theirs
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    shape = _shape(serializer, node, attributes)
    if shape == "layout" or serializer.flow.kind in ("cell", "line"):
        serializer.counters["tables_layout"] += 1
        serializer.flush()
        return container(serializer, node, attributes)
    if shape == "nested":
        serializer.counters["tables_html"] += 1
        serializer.block(to_html(serializer, node))
        return SKIP
    return open_table(serializer)


def open_table(serializer: Serializer) -> Leave:
    """Collect what follows as the rows of a data table."""
    serializer.flush()
    serializer.push("table", Table())
    return _leave_table


def _shape(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> str:
    """Return ``layout``, ``nested`` or ``data``."""
    layout = attributes.get("role") in ("presentation", "none")
    if serializer.nested_tables is None:
        serializer.nested_tables = _tables_with_tables(serializer.root)
    nested = node.mem_id in serializer.nested_tables
    if layout:
        return "layout"
    headers, cells = _count_cells(node)
    if cells <= 1 and not headers:
        return "layout"
    if nested and "infobox" not in (
        attributes.get("class") or ""
    ):  # there, inner tables only arrange pictures
        return "layout" if not headers and cells <= 3 else "nested"
    return "data"


def _tables_with_tables(root: Node) -> set[int]:
    """Return the ids of all tables that contain another; each chain of ancestors is followed once."""
    found: set[int] = set()
    for inner in root.css("table table"):
        outer = inner.parent
        while outer is not None:
            if outer.tag == "table":
                if outer.mem_id in found:
                    break
                found.add(outer.mem_id)
            outer = outer.parent
    return found


def _count_cells(node: Node) -> tuple[int, int]:
    """Return header cells and all cells of a table, those of nested tables left out, counting no further than needed."""
    headers = cells = 0
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
            if cells > 3 and headers:
                return headers, cells
            row = row.next
        section = section.next
    return headers, cells


def row(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<tr>``."""
    if serializer.flow.kind != "table":
        return container(serializer, node, attributes)
    if is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    state: Table = serializer.flow.state
    state.rows.append([])
    parent = node.parent
    if parent is not None and parent.tag == "thead" and state.head == len(state.rows) - 1:
        state.head = len(state.rows)
    return None


def cell(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<td>``, ``<th>``."""
    if serializer.flow.kind != "table":
        return container(serializer, node, attributes)
    state: Table = serializer.flow.state
    if not state.rows:
        state.rows.append([])
    header = node.tag == "th" or "ltx_th" in (attributes.get("class") or "").split()
    columns = _span(attributes.get("colspan"))
    rows = _span(attributes.get("rowspan"), zero=MAX_SPAN)
    align = _align(attributes)
    hidden = is_hidden(attributes)
    if hidden:
        serializer.counters["hidden_dropped"] += 1
    serializer.push("cell")

    def leave(s: Serializer) -> None:
        text = "<br>".join(block.replace("  \n", "<br>").replace("\n", "<br>") for block in s.pop().blocks)
        state.rows[-1].append(Cell("" if hidden else escape_cell(text), columns, rows, header, align))

    return leave


def _span(value: str | None, zero: int = 1) -> int:
    match = re.match(r"\s*(\d{1,9})", value or "", re.ASCII)
    if match is None:
        return 1
    number = int(match.group(1))
    return zero if number == 0 else min(number, MAX_SPAN)


def _align(attributes: dict[str, Any]) -> str:
    align = (attributes.get("align") or "").lower()
    if align in ("left", "right", "center"):
        return align
    match = _ALIGN.search(attributes.get("style") or "") or _LTX_ALIGN.search(attributes.get("class") or "")
    return match.group(1).lower() if match else ""


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
    rows = [(index, line) for index, line in enumerate(state.rows) if line]
    if not rows:
        return
    written = to_gfm(
        [line for _, line in rows], sum(1 for i, _ in rows if i < state.head), serializer.limits.max_cells
    )
    if written is None:
        serializer.counters["tables_too_large"] += 1
        for _, line in rows:
            serializer.block(" | ".join(entry.text for entry in line if entry.text))
        return
    if written:
        serializer.counters["tables_gfm"] += 1
        serializer.counters["cells_spanning"] += sum(
            entry.columns > 1 or entry.rows > 1 for _, line in rows for entry in line
        )
        serializer.block(written)


def to_html(serializer: Serializer, root: Node) -> str:
    """Return a table as HTML with structure, spans, text and formulas, and nothing else; one pass, no blank lines."""
    out: list[str] = []
    node = root
    depth = 0
    closing: list[str] = []
    while True:
        tag = node.tag
        child = None
        close = ""
        if tag == "-text":
            text = collapse(node.text_content or "")
            if text != " " or (out and not out[-1].endswith(">")):
                out.append(escape_html(text))
        elif tag[0] != "-" and tag not in _OMIT:
            attributes = node.attributes
            names = (attributes.get("class") or "").split()
            dropped = any(name in _DROPPED and name in serializer.classes for name in names)
            if tag == "math":
                tex, _ = formulas.tex_of_math(node, attributes)
                if tex:
                    display = formulas.is_display(attributes)
                    serializer.counters["formulas_display" if display else "formulas_inline"] += 1
                    mark = "$$" if display else "$"
                    out.append(escape_html(f"{mark}{tex}{mark}"))
            elif tag == "pre" and not dropped:
                # A blank line would end the HTML block.
                code = escape_html(verbatim(node)).replace("\n\n", "\n&#10;")
                out.append(f"<pre>{code}</pre>")
            elif not dropped:
                child = node.first_child
                if tag == "br":
                    out.append("<br>")
                elif tag == "a" or tag not in _KEEP:
                    pass
                else:
                    spans = "".join(
                        f' {name}="{attributes[name]}"'
                        for name in ("colspan", "rowspan")
                        if (attributes.get(name) or "1").isdecimal()
                        and attributes.get(name) not in (None, "1")
                    )
                    newline = "\n" if tag in ("tr", "table") and out else ""
                    out.append(f"{newline}<{tag}{spans}>")
                    close = f"</{tag}>"
        if child is not None:
            closing.append(close)
            depth += 1
            node = child
            continue
        if close:
            out.append(close)
        while depth and node.next is None:
            node = node.parent
            depth -= 1
            close = closing.pop()
            if close:
                out.append(close)
        if depth == 0:
            return re.sub(r"\n[ \n]*\n", "\n", "".join(out)).strip()
        node = node.next


TABLE_TAGS: dict[str, Handler] = {"table": table, "tr": row, "td": cell, "th": cell, "caption": _caption}

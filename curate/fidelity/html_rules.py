"""What the elements of HTML are: lists, links, images, code, formulas, tables.

Source: the HTML standard, MathML 3 §5 (annotations), MathJax 2's ``script[type=math/tex]``.
"""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.fidelity.code_text import language_of, verbatim
from tootsie.curate.fidelity.facts import Formula, Table, bare, clean, normal_tex
from tootsie.curate.fidelity.source_reader import Element, Rule, SourceReader, SourceTable, Walk
from tootsie.curate.fidelity.table_grid import Cell, grid_of
from tootsie.curate.markdownify.options import Images, Links

_UNSAFE = re.compile(r"[\s\x00-\x20]*(?:javascript|vbscript|data)[\s\x00-\x20]*:", re.IGNORECASE)
_STYLE = re.compile(r"^\\(?:display|text)style(?![A-Za-z])\s*")
_STYLED = re.compile(r"\{\\(?:display|text)style(?![A-Za-z])\s*(.*)\}", re.DOTALL)
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_NUMBER = re.compile(r"\s*-?\d{1,9}\s*", re.ASCII)


def _heading(reader: SourceReader, element: Element) -> Walk:
    return reader.open_heading(int(element.tag[1]))


def _list(reader: SourceReader, element: Element) -> Walk:
    if reader.items and reader.items[-1][1] is None:
        reader.items[-1][1] = len(reader.out)
    start = element.attributes.get("start") or ""
    reader.lists.append([element.tag == "ol", int(start) if _NUMBER.fullmatch(start) else 1])

    def leave() -> None:
        reader.lists.pop()
        reader.space()

    return True, leave


def _item(reader: SourceReader, element: Element) -> Walk:
    """An item with its number, up to the first list in it; in a table, which holds no lists, it is text."""
    if reader.in_cell:
        return True, reader.space
    outer = reader.lists[-1] if reader.lists else [False, 1]
    value = element.attributes.get("value") or ""
    if outer[0] and _NUMBER.fullmatch(value):
        outer[1] = int(value)
    state: list[Any] = [len(reader.out), None, outer]
    reader.items.append(state)

    def leave() -> None:
        reader.items.pop()
        if bare("".join(reader.out[state[0] :])):
            reader.facts.items.append(
                f"{outer[1]}." * outer[0] + bare("".join(reader.out[state[0] : state[1]]))
            )
        outer[1] += 1
        reader.space()

    return True, leave


def _link(reader: SourceReader, element: Element) -> Walk:
    href = element.attributes.get("href")
    if reader.options.links is Links.TEXT or href is None or _UNSAFE.match(href):
        return True, None
    start, buffer, pictures = len(reader.out), reader.out, len(reader.facts.images)

    def leave() -> None:
        text = bare("".join(buffer[start:]))
        if text or len(reader.facts.images) > pictures:
            reader.facts.links.append((bare(href), text))

    return True, leave


def _image(reader: SourceReader, element: Element) -> Walk:
    source = bare(element.attributes.get("src") or "")
    if reader.options.images is Images.KEEP and source and not _UNSAFE.match(source):
        reader.facts.images.append(source)
        reader.solid.append(len(reader.out))
    elif reader.options.images is not Images.DROP:
        reader.out.append(clean(element.attributes.get("alt") or ""))
    return False, None


def code(reader: SourceReader, element: Element) -> Walk:
    """Inline code, unless it only dresses formulas or a block."""
    if element.node.css_first("math, pre") is not None:
        return True, None
    reader.code_span(element.node.text(deep=True) or "")
    return False, None


def _pre(reader: SourceReader, element: Element) -> Walk:
    reader.code_block(verbatim(element.node), language_of(element.node, element.attributes))
    return False, None


def _quotation(reader: SourceReader, element: Element) -> Walk:
    reader.out.append("“")
    return True, lambda: reader.out.append("”")


def _reading(reader: SourceReader, element: Element) -> Walk:
    """The reading of a character, in brackets as where there is no ruby."""
    if not bare(element.node.text(deep=True) or ""):
        return False, None
    reader.out.append("(")
    return True, lambda: reader.out.append(")")


def _script(reader: SourceReader, element: Element) -> Walk:
    kind = (element.attributes.get("type") or "").lower()
    if kind.startswith("math/tex"):
        reader.formula(element.node.text(deep=True) or "", "display" in kind)
    return False, None


def _math(reader: SourceReader, element: Element) -> Walk:
    """A formula by LaTeXML's ``alttext``, else by its annotation; MathML that has no TeX is not measured."""
    tex = element.attributes.get("alttext") or ""
    if "ltx_Math" not in element.names:
        note = element.node.css_first('annotation[encoding="application/x-tex"]')
        tex = _without_style(normal_tex((note.text(deep=True) or "") if note is not None else tex))
    if not tex.strip() and not reader.equation:
        tex = _plain(element) or ""
        reader.facts.untold += not tex
    if not reader.equation:
        display = element.attributes.get("display") == "block" or element.attributes.get("mode") == "display"
        reader.formula(tex, display or _in_display(element))
    elif tex := _STYLE.sub("", normal_tex(tex)):
        reader.facts.formulas.append(Formula(tex, display=True, piece=True))
    return False, None


def _plain(element: Element) -> str | None:
    """Return the characters of MathML without TeX that is a mere row of them: they are their own TeX."""
    if element.node.css_first(
        "msub, msup, msubsup, mfrac, msqrt, mroot, mover, munder, munderover, mtable, mfenced, menclose"
    ):
        return None
    texts = [part.text(deep=True) or "" for part in element.node.css("mi, mn, mo, mtext")]
    return None if any(len(text) > 1 for text in texts) else "".join(texts)


def _without_style(tex: str) -> str:
    """Return what MediaWiki's ``{\\displaystyle …}`` wraps."""
    match = _STYLED.fullmatch(tex)
    depth = 0
    for step in _BRACES.finditer(match[1]) if match is not None else ():
        depth += {"{": 1, "}": -1}.get(step[0], 0)
        if depth < 0:
            return tex
    return tex if match is None else match[1].strip()


def _in_display(element: Element) -> bool:
    """Return whether KaTeX shows the formula as a block: ``.katex-display > .katex > .katex-mathml > math``."""
    outer = element.node.parent
    for _ in range(2):
        outer = outer.parent if outer is not None else None
    return outer is not None and "katex-display" in (outer.attributes.get("class") or "")


def table(reader: SourceReader, element: Element) -> Walk:
    """A table; one that only arranges things (``role=presentation``, one cell, tables) is none; one in a cell is its text."""
    layout = element.attributes.get("role") in ("presentation", "none")
    state = SourceTable(layout or _is_box(element) or _arranges_tables(element))
    if not state.layout:
        for outer in reader.tables:
            outer.nested = True
    reader.tables.append(state)

    def leave() -> None:
        reader.tables.pop()
        reader.space()
        if state.layout or reader.in_cell:
            return
        body = [line for index, line in enumerate(state.rows) if index not in state.foot]
        grid = grid_of(body + [state.rows[index] for index in sorted(state.foot)])
        if grid:
            spans = any(cell.columns > 1 or cell.rows > 1 for line in state.rows for cell in line)
            reader.facts.tables.append(Table(grid, spans, state.nested))

    return True, leave


def _is_box(element: Element) -> bool:
    """Return whether a table is one cell without a header or caption: a box around its content."""
    cells = 0
    waiting = [element.node.first_child]
    while waiting:
        node = waiting.pop()
        while node is not None:
            if node.tag in ("caption", "thead", "th") or "ltx_th" in (node.attributes or {}).get("class", ""):
                return False
            cells += node.tag == "td" or "ltx_td" in ((node.attributes or {}).get("class") or "").split()
            if cells > 1:
                return False
            if node.tag in ("tbody", "tfoot", "tr") or (node.tag == "span" and cells == 0):
                waiting.append(node.next)
                node = node.first_child
            else:
                node = node.next
    return True


def _arranges_tables(element: Element) -> bool:
    """Return whether every cell of a table is empty or holds nothing but a table."""
    if element.node.css_first("table table") is None:
        return False
    found = False
    waiting = [element.node.first_child]
    while waiting:
        node = waiting.pop()
        while node is not None:
            if node.tag == "th":
                return False
            if node.tag in ("thead", "tbody", "tfoot", "tr"):
                waiting.append(node.next)
                node = node.first_child
                continue
            if node.tag == "td":
                inner = [
                    one.tag
                    for one in node.iter(include_text=True)
                    if one.tag != "-text" or bare(one.text_content or "")
                ]
                if inner not in ([], ["table"]):
                    return False
                found = found or bool(inner)
            node = node.next
    return found


def row(reader: SourceReader, element: Element) -> Walk:
    """A row of the innermost table."""
    if reader.tables:
        state = reader.tables[-1]
        parent = element.node.parent
        if parent is not None and parent.tag == "tfoot":
            state.foot.add(len(state.rows))
        state.rows.append([])
    return True, reader.space


def cell(reader: SourceReader, element: Element) -> Walk:
    """A cell of the innermost table."""
    if not reader.tables:
        return True, reader.space
    state = reader.tables[-1]
    if not state.rows:
        state.rows.append([])
    line, start, buffer = state.rows[-1], len(reader.out), reader.out

    def leave() -> None:
        across, down = (element.attributes.get(name) for name in ("colspan", "rowspan"))
        line.append(Cell(bare("".join(buffer[start:])), _span(across, 1), _span(down, 65534)))
        buffer.append(" ")

    return True, leave


def _span(value: str | None, unlimited: int) -> int:
    match = re.match(r"\s*(\d{1,9})", value or "", re.ASCII)
    return 1 if match is None else (int(match[1]) or unlimited)


def entry(reader: SourceReader, element: Element) -> Walk | None:
    """Temml keeps a formula's TeX in ``data-entry``."""
    tex = element.attributes.get("data-entry")
    if not tex:
        return None
    shown = element.node.css_first("math")
    reader.formula(tex, shown is not None and shown.attributes.get("display") == "block")
    return False, None


TAG_RULES: dict[str, Rule] = {
    **{f"h{level}": _heading for level in range(1, 7)},
    **dict.fromkeys(("ul", "ol", "menu", "dir"), _list),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), code),
    **dict.fromkeys(("pre", "listing", "xmp"), _pre),
    "li": _item,
    "a": _link,
    "img": _image,
    "q": _quotation,
    "rt": _reading,
    "script": _script,
    "math": _math,
    "table": table,
    "tr": row,
    "td": cell,
    "th": cell,
}
CLASS_RULES: dict[str, Rule] = {"hurmet-tex": entry}

"""A second opinion for the tests: what is in a page and in its Markdown, found without the converter's code.

Pages are parsed by html5lib (HTML's own algorithm in pure Python), Markdown is rendered by markdown-it with a rule for
``$…$`` and ``$$…$$`` and parsed again, so that both sides give trees of the same kind. Formulas become ``<data>`` elements
whose ``value`` is the TeX.
"""

from __future__ import annotations

import html as entities
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import html5lib
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

Tree = Any
"""An ``lxml`` element."""


def tree(page: str) -> Tree:
    """Return the root element of a page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that XML does not allow
        return html5lib.parse(page, treebuilder="lxml", namespaceHTMLElements=False).getroot()


def name_of(element: Tree) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def remove(element: Tree) -> None:
    """Remove an element; the text behind it stays."""
    parent, previous = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail:
        if previous is not None:
            previous.tail = (previous.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def classes(element: Tree) -> set[str]:
    return set((element.get("class") or "").split())


def is_hidden(element: Tree) -> bool:
    style = re.sub(r"\s", "", (element.get("style") or "").lower())
    return "display:none" in style or "visibility:hidden" in style or element.get("hidden") is not None


# -- Markdown


def _formula(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    if source[start] != "$":
        return False
    mark = "$$" if source.startswith("$$", start) else "$"
    end = _closing(source, start + len(mark), mark)
    if end < 0:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = source[start + len(mark) : end]
        token.info = "block" if mark == "$$" else "inline"
    state.pos = end + len(mark)
    return True


def _closing(source: str, begin: int, mark: str) -> int:
    """Return where ``mark`` closes a formula: unescaped and, unless nothing else does, outside braces (``\\mbox{$…$}``)."""
    depth, position, first = 0, begin, -1
    while position < len(source):
        character = source[position]
        if character == "\\":
            position += 2
            continue
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif source.startswith(mark, position) and position > begin:
            if depth == 0:
                return position
            first = position if first < 0 else first
        position += 1
    return first


def _render_formula(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    return f'<data class="{token.info}" value="{entities.escape(token.content)}">FORMULA</data>'


_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
_MARKDOWN.inline.ruler.before("escape", "formula", _formula)
_MARKDOWN.add_render_rule("formula", _render_formula)


def render(markdown: str) -> str:
    """Return the HTML of GFM with formulas; footnotes left as text."""
    return _MARKDOWN.render(markdown)


# -- formulas


def squeeze(tex: str) -> str:
    """Leave out white space and TeX's line-end comments."""
    return re.sub(r"\s+", "", re.sub(r"(?<!\\)((?:\\\\)*)%[ \t]*\r?\n[ \t]*", r"\1", tex))


def formulas(markdown: str) -> list[tuple[str, bool]]:
    """Return ``(tex, displayed)`` of all formulas in Markdown, in their order, white space left out."""
    found = re.findall(r'<data class="(\w+)" value="([^"]*)">', render(markdown))
    return [(squeeze(entities.unescape(tex)), display == "block") for display, tex in found]


# -- tables


def words(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def text_of(element: Tree) -> str:
    """Return the letters and digits below an element; a formula counts as the word ``FORMULA``."""
    return words("".join(element.itertext()))


def classes_of(node: Tree) -> set[str]:
    return classes(node) if isinstance(node.tag, str) else set()


def span(value: str | None, bound: int) -> int:
    match = re.match(r"[ \t\n\f\r]*\+?([0-9]+)", value or "")
    return min(int(match.group(1)), bound) if match else 1


def grid(table: Tree) -> list[dict[int, str]]:
    """Return the text of each cell at its anchor, by HTML's algorithm for forming a table.

    Rows without text and columns in which no cell begins are left out on both sides: Markdown has no use for them.
    """
    groups: list[list[Tree]] = []
    footers: list[list[Tree]] = []
    for child in table:
        name = name_of(child)
        if name in ("thead", "tbody", "tfoot"):
            rows = [row for row in child if name_of(row) == "tr"]
            (footers if name == "tfoot" else groups).append(rows)
    out: list[dict[int, str]] = []
    for rows in groups + footers:
        taken: set[tuple[int, int]] = set()
        for y, row in enumerate(rows):
            x = 0
            line = {}
            for cell in row:
                if name_of(cell) not in ("td", "th"):
                    continue
                while (x, y) in taken:
                    x += 1
                across = max(span(cell.get("colspan"), 1000), 1)
                down = span(cell.get("rowspan"), 65534) or len(rows)
                line[x] = text_of(cell)
                taken.update((x + i, y + j) for i in range(across) for j in range(min(down, len(rows) - y)))
                x += across
            out.append(line)
    used = {column: index for index, column in enumerate(sorted({column for row in out for column in row}))}
    grid = [{used[column]: text for column, text in row.items() if text} for row in out]
    return [row for row in grid if row]


def has_spans(table: Tree) -> bool:
    return any(
        cell.get(name) not in (None, "1")
        for cell in table.iter("td", "th")
        for name in ("colspan", "rowspan")
    )


# -- the real pages


def pages(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield ``(profile, name, page)`` of all real pages."""
    for folder, profile in (
        ("ar5iv", "arxiv"),
        ("wikipedia/parsoid", "wikipedia"),
        ("wikipedia/skin", "wikipedia"),
        ("web", "web"),
    ):
        for path in sorted((data / folder).rglob("*.html")):
            page = path.read_text(encoding="utf-8", errors="replace")
            if page.strip():
                yield profile, str(path.relative_to(data)), page
    for path in sorted((data / "wikipedia" / "enterprise").glob("*json")):
        content = path.read_text(encoding="utf-8")
        lines = content.splitlines() if path.suffix == ".ndjson" else [content]
        for record in map(json.loads, filter(None, lines)):
            yield "wikipedia", f"{path.name} {record['name']}", record["article_body"]["html"]


NOTE = re.compile(r"(?<!\\)\[\^[^\]]*\]")
"""A mark of a footnote, which has no words of its own."""
# What the profiles mean to leave out: these classes, by name, in the words of docs/markdownify.md.
OUT = {
    "wikipedia": frozenset(
        """navbox navbox-styles navbar sidebar vertical-navbox portal-bar portalbox sistersitebox side-box succession-box toc
        catlinks mw-jump-link printfooter mw-portlet vector-header-container mw-indicators mw-authority-control
        navigation-not-searchable bandeau-portail vector-menu vector-toc mw-footer vector-column-start BoxenVerschmelzen
        ambox tmbox ombox cmbox fmbox mbox-small stub metadata bandeau-container bandeau-article
        hatnote dablink rellink noprint shortdescription mw-editsection pcs-edit-section-link-container
        mw-cite-backlink mw-linkback-text Z3988 geo-nondefault geo-multi-punct geo-inline-hidden mw-empty-elt
        geobox navigation-only cs1-visible-error cs1-hidden-error cs1-maint
        mw-references references mw-ref reference""".replace("\n", " ").split(" ")
    ),
    "arxiv": frozenset(("ltx_note", "ltx_listing_data", "ltx_keywords", "ltx_classification", "ltx_dates")),
    "web": frozenset(),
}


def is_left_out(element: Tree, profile: str) -> bool:
    """Return whether a profile means to leave an element out: by its class, or as a link to the editor or to help."""
    if classes_of(element) & OUT[profile]:
        return True
    if profile != "wikipedia" or not isinstance(element.tag, str):
        return False
    href = element.get("href") or ""
    help_mark = name_of(element) == "sup" and "".join(element.itertext()).strip() == "?"
    return (
        ("action=edit" in href and "redlink=1" not in href)
        or element.get("role") == "navigation"
        or element.get("id") == "coordinates"
        or help_mark
    )

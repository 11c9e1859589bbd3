"""Footnotes of LaTeXML pages: ``[^n]``, also where mark and text stand apart (``\\footnotemark``, notes of tables).

Source: LaTeXML 0.8.8, ``ltx_note`` with the roles ``footnote``, ``footnotemark``, ``footnotetext``.
"""

from __future__ import annotations

from typing import Any

from tootsie.curate.markdownify.escaping import escape_text
from tootsie.curate.markdownify.resumption import skip
from tootsie.curate.markdownify.serializer import SKIP, Node, Serializer, text_of

_SYMBOLS = {
    "\\dagger": "†", "\\dag": "†", "\\ddagger": "‡", "\\ddag": "‡", "\\ast": "*", "\\star": "⋆", "\\S": "§", "\\P": "¶",
    "\\|": "‖",
}  # fmt: skip
"""Marks that some bindings leave as TeX."""


def note(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A note becomes a footnote where it has a mark and a text; a mark or a text alone stays where it is."""
    classes = attributes.get("class") or ""
    if "ltx_note_frontmatter" in classes or "ltx_role_institutetext" in classes:
        serializer.counters["front_matter_set_aside"] += 1
        return skip(serializer, node)
    key = f"note:{node.mem_id}"
    if "ltx_role_footnotemark" in classes:
        key = _pairs(serializer).get(node.mem_id, "")
        label = _label(node)
        if key:
            serializer.trim()
            serializer.inline(f"[^{serializer.footnote(key)}]")
        elif label:
            _raise(serializer, label)
        return SKIP
    alone = "ltx_role_footnotetext" in classes
    if alone and node.mem_id not in _pairs(serializer):
        return _in_place(serializer, node)
    serializer.trim()
    if not alone:
        serializer.inline(f"[^{serializer.footnote(key)}]")
    serializer.push("note")

    def leave(s: Serializer) -> None:
        s.define_footnote(key, "\n\n".join(s.pop().blocks))
        s.space = False

    return leave


def _in_place(serializer: Serializer, node: Node) -> Any:
    """The text of a note whose mark is not told from the rest of the page: a paragraph that begins with the mark."""
    serializer.flush()
    label = _label(node)
    if label:
        _raise(serializer, label)
        serializer.text(" ")

    def leave(s: Serializer) -> None:
        s.flush()

    return leave


def _raise(serializer: Serializer, label: str) -> None:
    serializer.counters["note_marks_kept"] += 1
    mark = serializer.options.sup
    close = "</" + mark[1:] if mark.startswith("<") else mark
    serializer.inline(f"{mark}{escape_text(label)}{close}")


def _label(node: Node) -> str:
    mark = node.css_first(".ltx_note_mark")
    label = text_of(mark).strip("$ ") if mark is not None else ""
    return _SYMBOLS.get(label, label)


def _pairs(serializer: Serializer) -> dict[int, str]:
    """Return the key of the footnote of each mark, and of each text that has one, by ``mem_id``; found once for a page.

    Marks belong to the next text with their label, those behind the last one to that. A note that has both is its own.
    """
    notes = serializer.footnotes
    if notes.pairs is None:
        notes.pairs = {}
        waiting: dict[str, list[int]] = {}
        last: dict[str, int] = {}
        root = serializer.root
        for node in root.css(".ltx_note") if root is not None else ():
            classes = node.attributes.get("class") or ""
            label = _label(node)
            if "ltx_role_footnotemark" in classes:
                waiting.setdefault(label, []).append(node.mem_id)
            elif "ltx_role_footnote" in classes and label:
                _pair(notes.pairs, waiting.pop(label, []), node.mem_id)
                last[label] = node.mem_id
        for label, marks in waiting.items():
            if label in last:
                _pair(notes.pairs, marks, last[label])
    return notes.pairs


def _pair(pairs: dict[int, str], marks: list[int], text: int) -> None:
    if marks:
        pairs |= dict.fromkeys([*marks, text], f"note:{text}")

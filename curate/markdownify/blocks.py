"""Handlers of block elements: paragraphs, headings, quotations, definition lists, figures, rules."""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify.inlines import drop, is_empty, is_hidden
from tootsie.curate.markdownify.listings import pre
from tootsie.curate.markdownify.lists import LIST_TAGS, end_paragraph, open_note
from tootsie.curate.markdownify.options import References
from tootsie.curate.markdownify.serializer import SKIP, Handler, Leave, Node, Serializer

_INLINE = re.compile(r"display\s*:\s*inline(-block)?\s*(?:[;!]|$)", re.IGNORECASE)


def container(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Any block that only separates: ``div``, ``section``, ``article`` …"""
    if (
        ("style" in attributes or "hidden" in attributes)
        and is_hidden(attributes)
        and not _is_folded(attributes)
    ):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    if node.tag == "div" and "style" in attributes:
        inline = _INLINE.search(attributes["style"] or "")
        if inline is not None:
            return _open_box(serializer) if inline.group(1) else None
    if serializer.parts or serializer.flow.parts:
        serializer.flush()
    if "id" in attributes and node.tag == "aside" and serializer.footnotes.is_text(attributes["id"]):
        return open_note(serializer, attributes["id"])
    return end_paragraph


def _open_box(serializer: Serializer) -> Leave:
    """A box within the line (``display: inline-block``) is parted from the words around it by spaces."""
    serializer.text(" ")

    def leave(s: Serializer) -> None:
        s.text(" ")

    return leave


def _is_folded(attributes: dict[str, Any]) -> bool:
    """Return whether this is a section of one of MediaWiki's mobile pages, which are hidden only until a tap."""
    return "data-mw-section-id" in attributes


def paragraph(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<p>``; it makes the list around it loose."""
    flow = serializer.flow
    if flow.kind == "item":
        flow.loose = True
    if attributes:
        return container(serializer, node, attributes)
    if serializer.parts or flow.parts:
        serializer.flush()
    return end_paragraph


def open_line(serializer: Serializer, finish: Any) -> Leave:
    """Collect what follows as one line and give it to ``finish(serializer, text)`` at the end."""
    serializer.flush()
    serializer.push("line")

    def leave(s: Serializer) -> None:
        finish(s, " ".join(s.pop().blocks).replace("\n", " "))

    return leave


def add_heading(serializer: Serializer, level: int, text: str) -> None:
    """Add an ATX heading; bold where a heading cannot stand."""
    text = text.strip(" ")
    if not text:
        return
    if serializer.flow.in_cell or serializer.flow.kind == "line":
        serializer.block(_bold(text))
        return
    serializer.counters["headings"] += 1
    if text.endswith("#"):
        text = re.sub(r"(^|\s)(#+)$", r"\1\\\2", text)
    serializer.block(f"{'#' * level} {text}")


def heading(level: int) -> Handler:
    """Return the handler of ``<h1>`` … ``<h6>``."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        if attributes and is_hidden(attributes):
            serializer.counters["hidden_dropped"] += 1
            return SKIP
        if serializer.options.exact and is_empty(node) and _is_block_place(serializer):
            serializer.counters["headings"] += 1
            serializer.block("#" * level)
            return SKIP
        return open_line(serializer, lambda s, text: add_heading(s, level, text))

    return handler


def _bold(text: str) -> str:
    """Make a finished line bold, unless parts of it are; spaces of any kind at its edges stay outside."""
    inner = text.strip()
    if not inner or "**" in inner:
        return text
    before, _, after = text.partition(inner)
    if after and (len(inner) - len(inner.rstrip("\\"))) % 2:
        inner += "\\"  # would escape the mark
    mark = "__" if inner[0] == "*" or inner[-1] == "*" else "**"
    return f"{before}{mark}{inner}{mark}{after}"


def bold_line(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A term or summary: a bold paragraph."""

    def finish(s: Serializer, text: str) -> None:
        if text:
            s.counters["terms"] += 1
            s.block(_bold(text))

    return open_line(serializer, finish)


def caption(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<figcaption>``: a paragraph."""
    serializer.counters["captions"] += 1
    return container(serializer, node, attributes)


def _is_block_place(serializer: Serializer) -> bool:
    """Return whether blocks can stand here: not in a line, nor in what becomes one."""
    return not serializer.flow.in_cell and serializer.flow.kind != "line"


def _opens_footnotes(node: Node, attributes: dict[str, Any]) -> bool:
    """Return whether a rule only sets off the footnotes, which go to the end of the document."""
    parent = node.parent
    return "footnotes" in (attributes.get("class") or "") or (
        parent is not None and "footnotes" in (parent.attributes.get("class") or "")
    )


def rule(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<hr>``."""
    if _is_block_place(serializer):
        if serializer.options.references is References.KEEP and _opens_footnotes(node, attributes):
            serializer.flush()
            return SKIP
        serializer.counters["rules"] += 1
        # In an item, --- would be the underline of a heading, and *** or --- after its marker a rule without item.
        serializer.block("___" if serializer.flow.kind == "item" else "---")
    else:
        serializer.flush()
    return SKIP


def quote(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<blockquote>``."""
    serializer.flush()
    if serializer.flow.in_cell or serializer.flow.kind == "line":
        return end_paragraph
    if serializer.flow.indent >= serializer.limits.max_indent:
        serializer.counters["blocks_flattened"] += 1
        return end_paragraph
    if serializer.options.exact and is_empty(node):
        serializer.counters["quotations"] += 1
        serializer.block(">")
        return SKIP
    serializer.push("quote").indent += 1
    return _leave_quote


def _leave_quote(serializer: Serializer) -> None:
    text = "\n\n".join(serializer.pop().blocks)
    if text:
        serializer.counters["quotations"] += 1
        serializer.block("> " + text.replace("\n", "\n> ").replace("\n> \n", "\n>\n"))


_CONTAINERS = [
    "address",
    "article",
    "aside",
    "body",
    "center",
    "details",
    "dd",
    "dialog",
    "div",
    "dl",
    "fieldset",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "html",
    "legend",
    "main",
    "nav",
    "option",
    "optgroup",
    "search",
    "section",
    "tbody",
    "thead",
    "tfoot",
    "colgroup",
    "frameset",
    "noframes",
]
BLOCK_TAGS: dict[str, Handler] = {
    **dict.fromkeys(_CONTAINERS, container),
    **{f"h{level}": heading(level) for level in range(1, 7)},
    "p": paragraph,
    **LIST_TAGS,
    "blockquote": quote,
    "dt": bold_line,
    "summary": bold_line,
    "figcaption": caption,
    "pre": pre,
    "listing": pre,
    "xmp": pre,
    "plaintext": pre,
    "hr": rule,
    "button": drop("forms_dropped"),
}

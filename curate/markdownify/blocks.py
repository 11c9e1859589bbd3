"""Handlers of block elements: paragraphs, headings, lists, quotations, definition lists, figures, rules."""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify.inlines import drop, is_empty, is_hidden
from tootsie.curate.markdownify.listings import pre
from tootsie.curate.markdownify.options import References
from tootsie.curate.markdownify.serializer import SKIP, Flow, Handler, Leave, Node, Serializer

_INTERRUPTS = re.compile(r"[-+*] |1[.)] |`{3,}|>|#{1,6}(?: |$)|___$")
"""Blocks that end a paragraph without a blank line."""
_ENDS_ITSELF = re.compile(r"`{3,}|#{1,6}(?: |$)|___$")
"""Blocks that no paragraph continues."""


def container(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Any block that only separates: ``div``, ``section``, ``article`` …"""
    if (
        ("style" in attributes or "hidden" in attributes)
        and is_hidden(attributes)
        and not _is_folded(attributes)
    ):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    if serializer.parts or serializer.flow.parts:
        serializer.flush()
    if "id" in attributes and node.tag == "aside" and serializer.footnotes.is_text(attributes["id"]):
        return open_note(serializer, attributes["id"])
    return _flush


def _is_folded(attributes: dict[str, Any]) -> bool:
    """Return whether this is a section of one of MediaWiki's mobile pages, which are hidden only until a tap."""
    return "data-mw-section-id" in attributes


def _flush(serializer: Serializer) -> None:
    serializer.flush()


def paragraph(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<p>``; it makes the list around it loose."""
    if serializer.flow.kind == "item":
        serializer.flow.loose = True
    return container(serializer, node, attributes)


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
        serializer.block(f"**{text}**")
        return
    serializer.counters["headings"] += 1
    if text.endswith("#"):
        text = re.sub(r"(^|\s)(#+)$", r"\1\\\2", text)
    serializer.block(f"{'#' * level} {text}")


def heading(level: int) -> Handler:
    """Return the handler of ``<h1>`` … ``<h6>``."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        if is_hidden(attributes):
            serializer.counters["hidden_dropped"] += 1
            return SKIP
        if serializer.options.exact and is_empty(node) and _is_block_place(serializer):
            serializer.counters["headings"] += 1
            serializer.block("#" * level)
            return SKIP
        return open_line(serializer, lambda s, text: add_heading(s, level, text))

    return handler


def bold_line(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A term or summary: a bold paragraph."""

    def finish(s: Serializer, text: str) -> None:
        if text:
            s.counters["terms"] += 1
            bold = (
                text
                if text.startswith("**") and text.endswith("**") and text.count("**") == 2
                else f"**{text}**"
            )
            s.block(bold if "**" not in text or bold == text else text)

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
        return _flush
    if serializer.flow.indent >= serializer.limits.max_indent:
        serializer.counters["blocks_flattened"] += 1
        return _flush
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


# -- lists


def list_block(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<ul>``, ``<ol>``, ``<menu>``, ``<dir>``."""
    if is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    serializer.flush()
    if serializer.flow.kind == "line" or serializer.flow.indent >= serializer.limits.max_indent:
        serializer.counters["blocks_flattened"] += 1
        return _flush
    state: dict[str, Any] = {"ordered": node.tag == "ol", "items": [], "number": 1, "step": 1}
    if node.tag == "ol":
        start = _integer(attributes.get("start"), 1)
        state["number"] = start if start >= 0 else 1  # Markdown cannot count below zero
    serializer.push("list", state).indent += 1
    return _leave_list


def item(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<li>``; outside a list, an item of one of its own."""
    if is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    flow = serializer.flow
    if "id" in attributes and serializer.footnotes.is_text(attributes["id"]):
        return open_note(serializer, attributes["id"])
    if flow.kind != "list":
        serializer.flush()
        if flow.kind == "line" or flow.indent >= serializer.limits.max_indent:
            return _flush
        serializer.push("item")
        return _leave_orphan
    _adopt(serializer, flow)
    if flow.state["ordered"] and attributes.get("value"):
        flow.state["number"] = _integer(attributes["value"], flow.state["number"])
    if serializer.options.exact and is_empty(node):
        flow.state["items"].append((flow.state["number"], [], False))
        flow.state["number"] += 1
        return SKIP
    serializer.push("item")
    return _leave_item


def open_note(serializer: Serializer, key: str) -> Leave:
    """Collect what follows as the text of a footnote that was mentioned."""
    serializer.push("note")

    def leave(s: Serializer) -> None:
        s.define_footnote(key, "\n\n".join(s.pop().blocks))

    return leave


def _adopt(serializer: Serializer, flow: Flow) -> None:
    """Give content that stands directly in a list (``<ul><ul>``) to the item before it."""
    serializer.flush()
    if flow.blocks:
        items = flow.state["items"]
        if items:
            items[-1][1].extend(flow.blocks)
        else:
            items.append((flow.state["number"], list(flow.blocks), False))
            flow.state["number"] += 1
        flow.blocks.clear()


def _leave_item(serializer: Serializer) -> None:
    done = serializer.pop()
    state = serializer.flow.state
    if done.blocks:
        state["items"].append((state["number"], done.blocks, done.loose))
    state["number"] += 1


def _leave_orphan(serializer: Serializer) -> None:
    done = serializer.pop()
    if done.blocks:
        serializer.counters["list_items"] += 1
        serializer.block("- " + _indented("\n\n".join(done.blocks), 2))


def _leave_list(serializer: Serializer) -> None:
    _adopt(serializer, serializer.flow)
    flow = serializer.pop()
    state = flow.state
    items: list[tuple[int, list[str], bool]] = state["items"]
    if not items:
        return
    outer = serializer.flow
    serializer.counters["lists"] += 1
    serializer.counters["list_items"] += len(items)
    if outer.in_cell:
        marks = [f"{number}. " if state["ordered"] else "- " for number, _, _ in items]
        serializer.block(
            "<br>".join(mark + "<br>".join(blocks) for mark, (_, blocks, _) in zip(marks, items, strict=True))
        )
        return
    tight_paragraphs = serializer.options.profile == "arxiv"
    loose = any(
        len(blocks) > 1 and not (len(blocks) == 2 and _INTERRUPTS.match(blocks[1]))
        if tight_paragraphs
        else was_loose or any(map(_needs_blank_line, blocks, blocks[1:]))
        for _, blocks, was_loose in items
    )
    kind = "ordered" if state["ordered"] else "bullet"
    serializer.flush()
    starts = [blocks[0].partition("\n")[0] for _, blocks, _ in items if blocks and blocks[0][0] in "-*"]
    marker = _marker(serializer, outer, kind, starts)
    lines = []
    for number, blocks, _ in items:
        mark = f"{max(number, 0)}{marker} " if state["ordered"] else f"{marker} "
        text = ("\n\n" if loose else "\n").join(blocks)
        lines.append(mark + _indented(text, len(mark)) if text else mark.rstrip(" "))
    outer.blocks.append(("\n\n" if loose else "\n").join(lines))
    outer.list_end = (len(outer.blocks), kind + marker)


def _needs_blank_line(block: str, following: str) -> bool:
    """Return whether two blocks of an item would be read as one, or otherwise, without a blank line between them."""
    if block[0] == ">" and following[0] == ">":
        return True
    return not (_INTERRUPTS.match(following) or _ENDS_ITSELF.match(block))


def _marker(serializer: Serializer, outer: Flow, kind: str, starts: list[str]) -> str:
    """Choose the marker: another one than that of a list of the same kind which ends right before.

    Args:
      serializer: the conversion.
      outer: where the list goes.
      kind: ``ordered`` or ``bullet``.
      starts: the first lines of those items that start with a bullet: ``- - -`` would be a rule.
    """
    preferred = "." if kind == "ordered" else _bullet(serializer.options.bullets, outer)
    for choice in (preferred, *(")" if kind == "ordered" else "*-+")):
        if outer.list_end == (len(outer.blocks), kind + choice):
            continue
        if not any(start.count(choice) > 1 and not start.strip(f"{choice} ") for start in starts):
            return choice
    return preferred


def _bullet(bullets: str, outer: Flow | None) -> str:
    """Return the marker of a bullet list by the number of bullet lists around it."""
    depth = 0
    while len(bullets) > 1 and outer is not None:
        depth += outer.kind == "list" and not outer.state["ordered"]
        outer = outer.parent
    return bullets[depth % len(bullets)]


def _indented(text: str, width: int) -> str:
    if "\n" not in text:
        return text
    pad = "\n" + " " * width
    return text.replace("\n", pad).replace(pad + "\n", "\n\n")


def _integer(text: str | None, default: int) -> int:
    if text and re.fullmatch(r"\s*[+-]?\d{1,9}\s*", text, re.ASCII):
        return int(text)
    return default


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
    "ul": list_block,
    "ol": list_block,
    "menu": list_block,
    "dir": list_block,
    "li": item,
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

"""Lists: markers, numbers, looseness, nesting; and the lists of footnotes, whose items go elsewhere."""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify.flow import Flow
from tootsie.curate.markdownify.inlines import is_empty, is_hidden
from tootsie.curate.markdownify.plain_blocks import plain_block
from tootsie.curate.markdownify.serializer import SKIP, Handler, Leave, Node, Serializer

_INTERRUPTS = re.compile(r"[-+*] |1[.)] |`{3,}|>|#{1,6}(?: |$)|___$")
"""Blocks that end a paragraph without a blank line."""
_ENDS_ITSELF = re.compile(r"`{3,}|#{1,6}(?: |$)|___$")
"""Blocks that no paragraph continues."""
_HTML_END = "</table>"
"""HTML goes on up to a blank line."""
_MAX_NUMBER = 999_999_999
"""A marker has no more digits; of all items but the first, readers count the number themselves."""


def end_paragraph(serializer: Serializer) -> None:
    """End the paragraph under way."""
    serializer.flush()


def list_block(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<ul>``, ``<ol>``, ``<menu>``, ``<dir>``."""
    if is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    serializer.flush()
    if serializer.flow.kind == "line" or serializer.flow.indent >= serializer.limits.max_indent:
        serializer.counters["blocks_flattened"] += 1
        return end_paragraph
    state: dict[str, Any] = {"ordered": node.tag == "ol", "items": [], "number": 1, "step": 1}
    if node.tag == "ol":
        start = _integer(attributes.get("start"), 1)
        state["number"] = start if start >= 0 else 1  # Markdown cannot count below zero
    serializer.push("list", state).indent += _levels(state["number"])
    return _leave_list


def _levels(number: int) -> int:
    """Return for how many lists one counts among those that lie in each other: the wider its marker, the more."""
    return 1 + len(str(number)) // 3


def item(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<li>``; outside a list, an item of one of its own."""
    if ("style" in attributes or "hidden" in attributes) and is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    flow = serializer.flow
    if "id" in attributes and serializer.footnotes.is_text(attributes["id"]):
        if flow.kind == "list":
            flow.state["number"] += 1
        return open_note(serializer, attributes["id"])
    if flow.kind != "list":
        serializer.flush()
        if flow.kind == "line" or flow.indent >= serializer.limits.max_indent:
            return end_paragraph
        serializer.push("item")
        return _leave_orphan
    if flow.blocks or flow.parts or serializer.parts:
        _adopt(serializer, flow)
    if flow.state["ordered"] and attributes.get("value"):
        number = flow.state["number"] = _integer(attributes["value"], flow.state["number"])
        assert flow.parent is not None
        flow.indent = max(flow.indent, flow.parent.indent + _levels(number))
    plain = plain_block(serializer, node)
    if plain is not None:
        text, loose = plain
        flow.state["items"].append((flow.state["number"], [serializer.paragraph(text)], loose))
        flow.state["number"] += 1
        serializer.space = True
        return SKIP
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
    if serializer.parts or flow.parts:
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
        len(blocks) > 1
        and not (len(blocks) == 2 and _INTERRUPTS.match(blocks[1]) and not blocks[0].endswith(_HTML_END))
        if tight_paragraphs
        else was_loose or (len(blocks) > 1 and any(map(_needs_blank_line, blocks, blocks[1:])))
        for _, blocks, was_loose in items
    )
    kind = "ordered" if state["ordered"] else "bullet"
    serializer.flush()
    starts = [blocks[0].partition("\n")[0] for _, blocks, _ in items if blocks and blocks[0][0] in "-*"]
    marker = _marker(serializer, outer, kind, starts)
    gap = "\n\n" if loose else "\n"
    ordered = state["ordered"]
    mark = f"{marker} "
    lines = []
    for number, blocks, _ in items:
        if ordered:
            mark = f"{min(max(number, 0), _MAX_NUMBER)}{marker} "
        text = blocks[0] if len(blocks) == 1 else gap.join(blocks)
        if "\n" in text:
            text = _indented(text, len(mark))
        lines.append(mark + text if text else mark.rstrip(" "))
    outer.blocks.append(gap.join(lines))
    outer.list_end = (len(outer.blocks), kind + marker)


def _needs_blank_line(block: str, following: str) -> bool:
    """Return whether two blocks of an item would be read as one, or otherwise, without a blank line between them."""
    if (block[0] == ">" and following[0] == ">") or block.endswith(_HTML_END):
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


LIST_TAGS: dict[str, Handler] = {
    "ul": list_block,
    "ol": list_block,
    "menu": list_block,
    "dir": list_block,
    "li": item,
}

"""The page under inspection: as it looks, without anything that could run or load, and as the text of its HTML."""

from __future__ import annotations

import html
from collections import defaultdict
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify import nesting
from tootsie.curate.markdownify.explain.sanitizing import safe_html
from tootsie.curate.markdownify.rules import NOT_SHOWN, Effect
from tootsie.curate.markdownify.serializer import Node
from tootsie.curate.markdownify.source_tree import Step
from tootsie.curate.markdownify.trace import Trace

_MAX_VALUE = 120
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_CLASS_OF = {Effect.DROPPED: "dropped", Effect.ASIDE: "aside"}


@dataclass(frozen=True)
class View:
    """A view of the page as HTML."""

    html: str
    whole: bool
    """Whether all of the page is in it."""


class Marks:
    """What the tags of a page carry: the number of the element, the names of its rules, whether it was left out."""

    def __init__(self, trace: Trace) -> None:
        self.tree = trace.tree
        names: dict[int, list[str]] = defaultdict(list)
        self._lost: dict[int, str] = {}
        for event in trace.events:
            if event.element < 0:
                continue
            if event.rule not in names[event.element]:
                names[event.element].append(event.rule)
            if event.dropped and event.rule not in NOT_SHOWN:
                whole = event.dropped == self.tree.text(event.element, len(event.dropped) + 1)
                if whole:
                    self._lost[event.element] = _CLASS_OF.get(event.effect, "dropped")
                else:
                    self._lost.setdefault(event.element, "partly")
        self._names = dict(names)

    def of(self, number: int) -> str:
        """Return the attributes for the tag of an element."""
        names = self._names.get(number)
        if not names:
            return ""
        lost = self._lost.get(number)
        css = f' class="{lost}"' if lost else ""
        return f'{css} data-n="{number}" title="{html.escape(", ".join(names))}"'


def rendered(trace: Trace, text: str, marks: Marks, limit: int) -> View:
    """Return the page as it looks; what was left out is marked.

    Args:
      text: the page, decoded; the formulas that the converter never parses are taken from it.
    """
    root = next((element.node for element in trace.tree.elements if element.tag == "body"), None)
    if root is None:
        return View("", True)
    formulas = _formulas(text)
    wanted = root.css("math[alttext]")
    mathml = dict(zip((node.mem_id for node in wanted), formulas, strict=False))
    numbers = trace.tree.numbers

    def mark(node: Node) -> str:
        return marks.of(numbers.get(node.mem_id, -1))

    def instead(node: Node) -> str | None:
        if node.tag != "math" or node.mem_id not in mathml or node.first_child is not None:
            return None
        return f"<span{mark(node)}>{mathml[node.mem_id]}</span>"

    return View(*safe_html(root, limit, mark, instead))


def _formulas(text: str) -> list[str]:
    """Return every formula of the page that has an ``alttext``, as harmless MathML."""
    if "alttext" not in text or nesting.is_deep(text.encode(), 512):
        return []
    found = []
    for node in LexborHTMLParser(text).css("math[alttext]"):
        inner, whole = safe_html(node, 20_000)
        display = "block" if node.attributes.get("display") == "block" else "inline"
        tex = f"<code>{html.escape(node.attributes.get('alttext') or '')}</code>"
        found.append(f'<math display="{display}">{inner}</math>' if whole and inner.strip() else tex)
    return found


def as_text(trace: Trace, marks: Marks, limit: int) -> View:
    """Return the HTML of the page as text: tags and attributes coloured, what was left out marked."""
    out: list[str] = []
    size = 0
    tree = trace.tree
    spans: list[int] = []
    for step, number in tree.steps:
        if size > limit:
            break
        if step is Step.TEXT:
            piece = html.escape(tree.texts[number], quote=False)
        elif step is Step.OPEN:
            element = tree.elements[number]
            piece = f"<span{marks.of(number)}>" + _tag(element.node)
            spans.append(number)
        else:
            tag = tree.elements[number].tag
            piece = "" if tag in _VOID else f"<i>&lt;/{html.escape(tag)}&gt;</i>"
            piece += "</span>"
            spans.pop()
        out.append(piece)
        size += len(piece)
    out.append("</span>" * len(spans))
    return View("".join(out), size <= limit)


def _tag(node: Node) -> str:
    attributes = []
    for name, value in list(node.attributes.items())[:50]:
        shown = value if value is None or len(value) <= _MAX_VALUE else value[:_MAX_VALUE] + "…"
        text = "" if shown is None else f'=<u>"{html.escape(shown)}"</u>'
        attributes.append(f" {html.escape(name[:_MAX_VALUE])}{text}")
    return f"<i>&lt;<b>{html.escape(node.tag)}</b>{''.join(attributes)}&gt;</i>"

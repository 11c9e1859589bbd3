"""What the classes are that MediaWiki writes: citations, reference lists, titles.

Source: the Parsoid DOM specification (MediaWiki HTML 2.8), the Cite extension.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.fidelity.facts import bare, collapse
from tootsie.curate.fidelity.source_reader import Element, Node, Rule, SourceReader, Walk
from tootsie.curate.markdownify.options import Options, References

_SITE = re.compile(r"\s+[-–—|]\s+(?:Wiki|维基)\S.*$")


def kept_notes(parser: LexborHTMLParser, options: Options) -> frozenset[str]:
    """Return the ids of the list entries that stay as footnotes: all, or those whose marks are no plain numbers of citations."""
    entries = {node.attributes.get("id") for node in parser.css("li[id]")}
    kept = set()
    for mark in parser.css("sup.mw-ref a, sup.reference a, span.mw-ref a"):
        label = collapse(mark.text(deep=True) or "").strip("[]↑ ")
        if options.references is References.KEEP or (label and not label.isdecimal()):
            kept |= _targets(mark) & entries
    return frozenset(kept)


def _targets(mark: Node) -> set[str]:
    """Return the ids that a mark may lead to: links may have them percent-encoded."""
    target = (mark.attributes.get("href") or "").partition("#")[2]
    return {target, unquote(target)} - {""}


def frame(parser: LexborHTMLParser) -> Iterator[int]:
    """Yield the ``mem_id`` of what stands around the heading and the content of a page of a skin: menus, tools, the footer."""
    kept: dict[int, Node] = {}
    for node in (parser.css_first("#mw-content-text"), parser.css_first("h1.firstHeading")):
        if node is None:
            return
        while node is not None and node.tag != "body":
            kept[node.mem_id] = node
            node = node.parent
    for inner in list(kept.values()):
        child = inner.parent.first_child
        while child is not None:
            if child.mem_id not in kept and child.is_element_node:
                yield child.mem_id
            child = child.next


def _citation(reader: SourceReader, element: Element) -> Walk | None:
    """The mark of a citation: of a footnote, nothing where citations go, else text, as without its note."""
    if element.tag not in ("sup", "span"):
        return None
    anchor = element.node.css_first("a")
    targets = _targets(anchor) if anchor is not None else set()
    if not any(target.startswith("cite_note") for target in targets):
        return "mw-ref" not in element.names, None
    return reader.kept_notes.isdisjoint(targets) and reader.options.references is not References.DROP, None


def _reference_list(reader: SourceReader, element: Element) -> Walk | None:
    """The list of notes: nothing but the texts of those that stay."""
    if element.tag not in ("ol", "ul"):
        return None
    reader.buffers.append(reader.out)
    reader.out = []
    items = len(reader.facts.items)

    def leave() -> None:
        reader.out = reader.buffers.pop()
        del reader.facts.items[items:]

    return True, leave


def _reference_text(reader: SourceReader, element: Element) -> Walk:
    entry = element.node.parent
    while entry is not None and entry.tag != "li":
        entry = entry.parent
    key = (entry.attributes.get("id") or "") if entry is not None else ""
    return reader.open_note() if key in reader.kept_notes else (False, None)


def _raised(reader: SourceReader, element: Element) -> Walk:
    """A raised question mark that is a link leads to help with a script: no text."""
    link = element.node.first_child
    mark = (
        link is not None
        and link.next is None
        and link.tag == "a"
        and collapse(link.text(deep=True) or "") == "?"
    )
    return not mark, None


def _for_readers(reader: SourceReader, element: Element) -> Walk | None:
    """Text for screen readers: the plus of a mixed number is a space to the eye."""
    if collapse(element.node.text(deep=True) or "") != "+":
        return None
    reader.space()
    return False, None


def _player(reader: SourceReader, element: Element) -> Walk | None:
    """Brackets around a player: ``(listen)`` is nothing to read."""
    text = collapse(element.node.text(deep=True) or "")
    player = element.node.css_first(".haudio")
    if player is None or text != f"({collapse(player.text(deep=True) or '')})":
        return None
    return False, None


def _picture_of_signs(reader: SourceReader, element: Element) -> Walk | None:
    """Hieroglyphs, chess, music: what the pictures show is not measured here, and the letters around them are no text."""
    return (False, None) if element.node.css_first("img[alt]") is not None else None


def add_page_title(reader: SourceReader) -> None:
    """Articles have their title in ``<title>`` alone, in pages of a skin with the site's name behind it."""
    if any(level == 1 for level, _, _, _ in reader.sections):
        return
    element = reader.root.css_first("head > title")
    title = _SITE.sub("", collapse(element.text(deep=True) or "")) if element is not None else ""
    if bare(title):
        reader.facts.title = bare(title)
        reader.out.append(f" {title} ")
        reader.sections.insert(0, (1, title, 0, 0))


TAG_RULES: dict[str, Rule] = {"sup": _raised}
CLASS_RULES: dict[str, Rule] = {
    "nowrap": _player,
    "sr-only": _for_readers,
    "visualhide": _for_readers,
    **dict.fromkeys(("mw-hiero-outer", "mw-hiero-table", "chess-board", "mw-ext-score"), _picture_of_signs),
    "mw-ref": _citation,
    "reference": _citation,
    "references": _reference_list,
    "mw-references": _reference_list,
    "mw-reference-text": _reference_text,
    "reference-text": _reference_text,
}

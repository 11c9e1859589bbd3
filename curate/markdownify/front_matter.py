"""Rules for the front matter of LaTeXML pages: title, authors, abstract, affiliations."""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify.blocks import add_heading, container, open_line
from tootsie.curate.markdownify.escaping import collapse
from tootsie.curate.markdownify.resumption import end_of_own, skip
from tootsie.curate.markdownify.serializer import Handler, Node, Serializer, text_of

# Each white-space run is looked at from its start alone, or runs would cost the square of their length.
_AUTHOR_BREAK = re.compile(r"(?<!\s)\s*[,;](?:\s+and\b)?\s*|(?<!\s)\s+and\s+")
_MARK = re.compile(r"(?<!\s)\s*\[\^\w+\]")
_OPEN_LINE = re.compile(r"(?:[,;&]|\band)\s*\Z")
_RAISED = re.compile(r"(?:\{\})?\^(?:\{.{1,24}\}|.)")
_FRONT_MATTER = frozenset(
    ("ltx_title_document", "ltx_authors", "ltx_abstract", "ltx_dates", "ltx_keywords", "ltx_classification")
)


def title(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The title of the document, without its footnote marks."""

    def finish(s: Serializer, text: str) -> None:
        if text and s.title is None:
            s.title = _MARK.sub("", text)
        if s.options.title:
            add_heading(s, 1, text)

    return open_line(serializer, finish)


def abstract(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The abstract: kept in the text and, on its own, in the result."""
    serializer.flush()
    if _is_within(node, "ltx_abstract"):
        return container(serializer, node, attributes)
    serializer.push("note")

    def leave(s: Serializer) -> None:
        blocks = s.pop().blocks
        body = [block for block in blocks if not block.startswith("## ")]
        if not body:
            return
        text = "\n\n".join(body)
        s.counters["abstracts"] += 1
        s.abstracts.append(text)
        heading = next((block for block in blocks if block.startswith("## ")), "## Abstract")
        s.block(heading)
        s.block(text)

    return leave


def section_like(name: str) -> Handler:
    """Return a rule for what is kept in the text and, on its own, in the metadata as ``name``."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        serializer.metadata.setdefault(name, text_of(node))
        return container(serializer, node, attributes)

    return handler


def set_aside(name: str) -> Handler:
    """Front matter that is kept aside: keywords, classification, dates."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        text = text_of(node)
        following = end_of_own(serializer, node)
        if following is not None:
            text = text.partition(text_of(following) or " ")[0].strip()
        if text:
            serializer.metadata[name] = text
            serializer.counters["front_matter_set_aside"] += 1
        return skip(serializer, node)

    return handler


def authors(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The author block: the names go to the result; the block stays where the option says so."""
    for person in node.css(".ltx_personname"):
        if _is_within(person, "ltx_personname"):
            continue
        names = _AUTHOR_BREAK.split(_names_in(person))
        serializer.authors.extend(name.strip(" ,;") for name in names if name.strip(" ,;"))
    if serializer.options.authors:
        return container(serializer, node, attributes)
    serializer.counters["authors_set_aside"] += 1
    return skip(serializer, node)


def _is_within(node: Node, name: str) -> bool:
    """Return whether ``node`` lies in an element of the class ``name``."""
    outer = node.parent
    while outer is not None and name not in (outer.attributes.get("class") or ""):
        outer = outer.parent
    return outer is not None


def _names_in(person: Node) -> str:
    """Return the line of names in ``.ltx_personname``: no marks or notes, and not the affiliations in the lines below."""
    lines: list[list[str]] = [[]]
    left_out: dict[int, bool] = {person.mem_id: False}
    for part in person.traverse(include_text=True):
        outer = part.parent
        if outer is None or outer.mem_id not in left_out:
            continue  # the person itself
        if part.tag not in ("-text", "br"):
            left_out[part.mem_id] = (
                left_out[outer.mem_id]
                or part.tag in ("math", "sup", "cite")
                or (part.is_element_node and "ltx_note" in (part.attributes.get("class") or ""))
            )
            continue
        if left_out[outer.mem_id]:
            continue
        if part.tag == "-text":
            lines[-1].append(part.text_content or "")
            continue
        line = "".join(lines[-1])
        if line.strip() and not _OPEN_LINE.search(line):
            break  # ``\\author{Name \\\\ Institute}``
        lines.append([" "])
    return collapse("".join(piece for line in lines for piece in line).replace("\u00a0", " "))


def is_affiliation(serializer: Serializer, node: Node) -> bool:
    """Return whether ``.ltx_para`` stands right behind the front matter and begins with a raised mark.

    So come affiliations that the source writes by hand: ``$^{1}$Observatory \\qquad $^{2}$Institute``.
    """
    previous = node.prev
    while previous is not None and not previous.is_element_node:
        previous = previous.prev
    if previous is None or node.parent is None or node.parent.tag != "article":
        return False
    classes = (previous.attributes.get("class") or "").split()
    if previous.mem_id != serializer.front_matter_end and _FRONT_MATTER.isdisjoint(classes):
        return False
    first = node.first_child
    while first is not None and (
        first.tag in ("p", "span") or (first.tag == "-text" and not (first.text_content or "").strip())
    ):
        first = first.first_child if first.is_element_node else first.next
    if first is None:
        return False
    if first.tag == "math":
        return _RAISED.fullmatch(first.attributes.get("alttext") or "") is not None
    return first.tag == "sup" and len(text_of(first)) <= 3


def abstract_heading(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The heading of the abstract."""
    return open_line(serializer, lambda s, text: add_heading(s, 2, text))

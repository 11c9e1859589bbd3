"""The elements and texts of a parsed page in document order, as flat lists: what lies in an element is a range."""

from __future__ import annotations

from dataclasses import dataclass, field

from tootsie.curate.markdownify.escaping import collapse
from tootsie.curate.markdownify.serializer import Node


@dataclass
class Element:
    """One element; its number is its place in document order, the root's is 0."""

    node: Node
    tag: str
    classes: tuple[str, ...]
    parent: int
    """Number of the parent; -1 for the root."""
    first_text: int
    """Index of the first text inside."""
    end_text: int = 0
    """Index behind the last text inside."""
    end: int = 0
    """Number behind that of the last element inside."""


@dataclass
class SourceTree:
    """A page as lists."""

    elements: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """For each text, the number of the element it stands in."""
    numbers: dict[int, int] = field(default_factory=dict)
    """``mem_id`` of a node to the number of its element."""

    @classmethod
    def of(cls, root: Node) -> SourceTree:
        """Number all that lies below ``root``; one pass, no recursion."""
        tree = cls()
        if root is None:
            return tree
        node = root
        open_elements: list[int] = []
        while True:
            tag = node.tag
            child = None
            if tag == "-text":
                tree.texts.append(node.text_content or "")
                tree.parents.append(open_elements[-1])
            elif tag is not None and tag[0] != "-":
                number = len(tree.elements)
                tree.numbers[node.mem_id] = number
                classes = tuple((node.attributes.get("class") or "").split())
                parent = open_elements[-1] if open_elements else -1
                tree.elements.append(Element(node, tag, classes, parent, len(tree.texts)))
                child = node.first_child
                if child is None:
                    tree._close(number)
                else:
                    open_elements.append(number)
            if child is not None:
                node = child
                continue
            while open_elements and node.next is None:
                node = node.parent
                tree._close(open_elements.pop())
            if not open_elements:
                return tree
            node = node.next

    def _close(self, number: int) -> None:
        element = self.elements[number]
        element.end_text = len(self.texts)
        element.end = len(self.elements)

    def text(self, number: int, limit: int) -> str:
        """Return what is written in an element, white space collapsed, cut after ``limit`` characters."""
        element = self.elements[number]
        parts: list[str] = []
        size = 0
        for index in range(element.first_text, element.end_text):
            parts.append(self.texts[index])
            size += len(parts[-1].strip())
            if size > limit:
                break
        text = collapse("".join(parts)).strip(" ")
        return text if len(text) <= limit else text[: limit - 1] + "…"

    def path(self, number: int, steps: int = 4) -> str:
        """Return where an element stands, as a CSS selector of its last ``steps`` ancestors: ``div.thumb > p > a``."""
        names: list[str] = []
        while number >= 0 and len(names) < steps:
            element = self.elements[number]
            names.append(".".join((element.tag, *(name[:40] for name in element.classes[:2]))))
            number = element.parent
        return " > ".join(reversed(names))

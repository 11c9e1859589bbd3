"""The elements and texts of a parsed page in document order, as flat lists: what lies in an element is a range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from tootsie.curate.markdownify.blocks import BLOCK_TAGS
from tootsie.curate.markdownify.escaping import collapse
from tootsie.curate.markdownify.serializer import Node
from tootsie.curate.markdownify.tables import TABLE_TAGS

SEPARATE = frozenset((*BLOCK_TAGS, *TABLE_TAGS, "br", "title", "script", "style"))
"""Elements that part the words before them from those behind."""

UNSEEN = frozenset(("script", "style", "template", "title"))
"""Elements whose text no reader of the page sees."""


class Step(Enum):
    """What comes next in document order."""

    OPEN = "open"
    TEXT = "text"
    CLOSE = "close"


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
    steps: list[tuple[Step, int]] = field(default_factory=list)
    """The whole page in document order: starts and ends of elements by number, texts by index."""
    apart: list[bool] = field(default_factory=list)
    """For each text, whether a block begins or ends between it and the text before."""
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
        apart = True
        while True:
            tag = node.tag
            child = None
            if tag == "-text":
                tree.steps.append((Step.TEXT, len(tree.texts)))
                tree.texts.append(node.text_content or "")
                tree.parents.append(open_elements[-1])
                tree.apart.append(apart)
                apart = False
            elif tag is not None and tag[0] != "-":  # A processing instruction has no tag.
                number = len(tree.elements)
                tree.steps.append((Step.OPEN, number))
                tree.numbers[node.mem_id] = number
                classes = tuple((node.attributes.get("class") or "").split())
                parent = open_elements[-1] if open_elements else -1
                tree.elements.append(Element(node, tag, classes, parent, len(tree.texts)))
                apart = apart or tag in SEPARATE
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
                apart = apart or node.tag in SEPARATE
                tree._close(open_elements.pop())
            if not open_elements:
                return tree
            node = node.next

    def _close(self, number: int) -> None:
        self.steps.append((Step.CLOSE, number))
        element = self.elements[number]
        element.end_text = len(self.texts)
        element.end = len(self.elements)

    def text(self, number: int, limit: int) -> str:
        """Return what a reader sees of an element, white space collapsed, cut after ``limit`` characters."""
        element = self.elements[number]
        parts: list[str] = []
        size = 0
        for index in range(element.first_text, element.end_text):
            inner = self.parents[index]
            if inner != number and self.elements[inner].tag in UNSEEN:
                continue
            parts.append(" " + self.texts[index] if self.apart[index] else self.texts[index])
            size += len(self.texts[index].strip())
            if size > limit:
                break
        return cut(collapse("".join(parts)).strip(" "), limit)

    def ancestors(self, number: int) -> Iterator[int]:
        """Yield an element and all that it lies in, innermost first."""
        while number >= 0:
            yield number
            number = self.elements[number].parent

    def path(self, number: int, steps: int = 4) -> str:
        """Return where an element stands, as a CSS selector of its last ``steps`` ancestors: ``div.thumb > p > a``."""
        names: list[str] = []
        for step, ancestor in enumerate(self.ancestors(number)):
            if step == steps:
                break
            element = self.elements[ancestor]
            names.append(".".join((element.tag, *(name[:40] for name in element.classes[:2]))))
        return " > ".join(reversed(names))


def cut(text: str, limit: int) -> str:
    """Return ``text``, or its beginning and an ellipsis where it is longer than ``limit``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"

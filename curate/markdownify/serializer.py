"""The engine: one walk over the parsed page that writes Markdown. Iterative; each element is entered and left once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tootsie.curate.markdownify.class_rules import KNOWN_TAGS, ClassRules, TagHandlers
from tootsie.curate.markdownify.escaping import collapse
from tootsie.curate.markdownify.flow import Flow
from tootsie.curate.markdownify.options import Limits, Options
from tootsie.curate.markdownify.writer import HTML_SPACE as HTML_SPACE
from tootsie.curate.markdownify.writer import Writer

Node = Any
"""A ``selectolax.lexbor.LexborNode``."""
Leave = Callable[["Serializer"], None]
Handler = Callable[["Serializer", Node, dict[str, Any]], Any]

SKIP = object()
"""Returned by a handler that has dealt with the element's content itself."""
PASS = object()
"""Returned by a class rule that does not apply after all."""


class Serializer(Writer):
    """State of one conversion. Handlers (one per tag, one per class of a profile) call its methods."""

    __slots__ = (
        "_met", "abstracts", "authors", "classes", "front_matter_end", "lacking_ends", "metadata", "original", "page_tables",
        "resume", "root", "run_in", "source", "tags", "title",
    )  # fmt: skip

    def __init__(
        self, options: Options, limits: Limits, tags: dict[str, Handler], classes: dict[str, Handler]
    ) -> None:
        super().__init__(options, limits)
        self.direct = type(self) is Serializer
        self.tags = tags
        self._met: dict[int, Handler | None] = tags.met if isinstance(tags, TagHandlers) else {}
        self.classes = classes if isinstance(classes, ClassRules) else ClassRules(classes)
        self.metadata: dict[str, str] = {}
        self.authors: list[str] = []
        self.title: str | None = None
        self.abstracts: list[str] = []
        """arXiv: its abstract, usually one."""
        self.page_tables: Any = None
        """What :mod:`.tables` found out about the tables of the page, once there is one."""
        self.source = ""
        """The page, as it was parsed."""
        self.original = ""
        """The page before :mod:`.nesting` rewrote it with an end tag for each element."""
        self.root: Node = None
        self.run_in: tuple[Flow, int] | None = None
        """A label that the next paragraph continues: its flow, and how many parts that had then."""
        self.resume: Node | None = None
        """Where the page goes on in an element that was left out and that it does not close (:mod:`.resumption`)."""
        self.lacking_ends: dict[str, bool] = {}
        """By tag, whether the page has more start tags than end tags."""
        self.front_matter_end: int | None = None
        """The paragraph of affiliations that was set aside last."""

    def walk(self, root: Node) -> None:
        """Convert all that lies below ``root`` (not ``root`` itself)."""
        # The hottest loop of all: each look at a node costs, and so does each call.
        handler_of, rules_of = self._met.get, self.classes.met.get
        text = self.characters if self.rewrites else self.prose
        node = root.first_child
        if node is None:
            return
        content = node.text_content
        outer: list[tuple[Node, Leave | None]] = []
        while True:
            leave: Any
            if content is not None:
                if content != "\n" and (not content.isspace() or content.strip(HTML_SPACE)):
                    text(content)
                elif not self.space:
                    self.parts.append(" ")
                    self.space = True
            elif node.is_element_node:
                attributes = node.attributes
                leave = PASS
                if attributes and (names := attributes.get("class")):
                    rules = rules_of(names)
                    if rules is None:
                        rules = self.classes.of(names)
                    for rule in rules:
                        leave = rule(self, node, attributes)
                        if leave is not PASS:
                            break
                if leave is PASS:
                    handler = handler_of(node.tag_id, PASS)
                    if handler is PASS:
                        handler = self.handler_of(node)
                    leave = None if handler is None else handler(self, node, attributes)
                if leave is not SKIP:
                    child = node.first_child
                    if child is not None:
                        content = child.text_content
                        if content is None or child.next is not None:
                            outer.append((node, leave))
                            node = child
                            continue
                        if content != "\n" and (not content.isspace() or content.strip(HTML_SPACE)):
                            text(content)
                        elif not self.space:
                            self.parts.append(" ")
                            self.space = True
                    if leave is not None:
                        leave(self)
                elif self.resume is not None:
                    outer.append((node, None))
                    node, self.resume = self.resume, None
                    content = node.text_content
                    continue
            following = node.next
            while following is None:
                if not outer:
                    return
                node, leave = outer.pop()
                if leave is not None:
                    leave(self)
                following = node.next
            node = following
            content = node.text_content

    def handler_of(self, node: Node) -> Handler | None:
        """Return what handles an element, by its tag."""
        number = node.tag_id
        handler = self._met.get(number, PASS)
        if handler is PASS:
            handler = self.tags.get(node.tag)
            if number < KNOWN_TAGS:
                self._met[number] = handler
        return handler  # type: ignore[return-value]


def text_of(node: Node) -> str:
    """Return all text below ``node``, white space collapsed."""
    return collapse(node.text(deep=True) or "").strip(" ")

"""Elements as hooks and callbacks see them: Beautiful Soup's reading interface over a node of the parsed page.

Source: Beautiful Soup 4.13, "Navigating the tree" and "Searching the tree". An element can be read and its attributes
changed; the tree itself stays as it is, since the walk that calls the hook stands in the midst of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tootsie.curate.markdownify.element_search import Criterion, is_wanted, meets
from tootsie.curate.markdownify.serializer import Node
from tootsie.datasets.errors import SpecError

_LISTS = frozenset(("class", "rel", "rev", "accept-charset", "headers", "accesskey", "dropzone"))
"""Attributes whose value is a list of words."""
_CHANGES = frozenset(
    ("append", "clear", "decompose", "extend", "extract", "insert", "insert_after", "insert_before", "replace_with", "smooth",
     "unwrap", "wrap")
)  # fmt: skip


def _stand_in(own: type, name: str) -> type:
    """Return Beautiful Soup's class of that name where a program has loaded it, so that ``isinstance`` holds for ours."""
    package = sys.modules.get("bs4")
    return getattr(package, name, own)


class Text(str):
    """A piece of text between tags."""

    __slots__ = ("_node",)
    _node: Node
    name = None

    @classmethod
    def of(cls, node: Node) -> Text:
        """Return the text node ``node``."""
        text = cls((node.text_content if node.tag == "-text" else node.comment_content) or "")
        text._node = node
        return text

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        return _stand_in(Text, "NavigableString" if self._node.tag == "-text" else "Comment")

    @property
    def parent(self) -> Element | None:
        """The element it stands in."""
        return _element(self._node.parent)

    @property
    def next_sibling(self) -> Element | Text | None:
        """What follows in the same element."""
        return wrap(self._node.next)

    @property
    def previous_sibling(self) -> Element | Text | None:
        """What goes before in the same element."""
        return wrap(self._node.prev)

    def get_text(self, separator: str = "", strip: bool = False) -> str:
        """Return the text."""
        return self.strip() if strip else str(self)

    @property
    def text(self) -> str:
        """The text."""
        return str(self)

    @property
    def string(self) -> str:
        """The text."""
        return str(self)


class Element:
    """An element of the page."""

    __slots__ = ("_attributes", "_node")

    def __init__(self, node: Node, attributes: dict[str, str | None] | None = None) -> None:
        self._node = node
        self._attributes: dict[str, str | None] = node.attributes if attributes is None else attributes

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        return _stand_in(Element, "Tag")

    # -- the element

    @property
    def name(self) -> str:
        """Tag name, in small letters; ``[document]`` for the whole page."""
        tag = self._node.tag
        return "[document]" if tag == "-document" else tag

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes; those that hold words (``class``) as lists. A copy: change them through the element."""
        return {name: _value(name, value) for name, value in self._attributes.items()}

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or ``default``."""
        attributes = self._attributes
        return _value(name, attributes[name]) if name in attributes else default

    def has_attr(self, name: str) -> bool:
        """Return whether there is such an attribute."""
        return name in self._attributes

    def get_attribute_list(self, name: str) -> list[Any]:
        """Return an attribute as a list, an empty one where there is none."""
        value = self.get(name, [])
        return value if isinstance(value, list) else [value]

    def __getitem__(self, name: str) -> Any:
        return _value(name, self._attributes[name])

    def __setitem__(self, name: str, value: Any) -> None:
        self._node.attrs[name] = " ".join(value) if isinstance(value, list | tuple) else str(value)
        self._attributes = self._node.attributes

    def __delitem__(self, name: str) -> None:
        if self.has_attr(name):
            del self._node.attrs[name]
            self._attributes = self._node.attributes

    def __getattr__(self, name: str) -> Element | None:
        """Return the first descendant of that name (``el.code``)."""
        if name in _CHANGES:
            raise SpecError(
                f"a hook called {name}() on an element, but the page cannot be changed while it is converted",
                field=name,
                remedy="Return the text you want, or change the page with Beautiful Soup and pass it to convert_soup",
            )
        if name.startswith("_"):
            raise AttributeError(name)
        return self.find(name)

    def __eq__(self, other: object) -> bool:
        return type(other) is Element and other._node.mem_id == self._node.mem_id

    def __hash__(self) -> int:
        return hash(self._node.mem_id)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Element | Text]:
        return self.children

    def __len__(self) -> int:
        return len(self.contents)

    def __contains__(self, child: object) -> bool:
        return child in self.contents

    def __repr__(self) -> str:
        return self.decode()

    __str__ = __repr__

    def decode(self, *arguments: Any, **options: Any) -> str:
        """Return the element as HTML."""
        return self._node.html or ""

    def decode_contents(self, *arguments: Any, **options: Any) -> str:
        """Return what is in the element as HTML."""
        return self._node.inner_html or ""

    # -- text

    def get_text(self, separator: str = "", strip: bool = False, **options: Any) -> str:
        """Return all text in the element."""
        pieces = (str(piece) for piece in self._texts())
        if strip:
            pieces = (piece for piece in (piece.strip() for piece in pieces) if piece)
        return separator.join(pieces)

    getText = get_text  # noqa: N815 - Beautiful Soup's name

    @property
    def text(self) -> str:
        """All text in the element."""
        return self.get_text()

    @property
    def string(self) -> Text | None:
        """The text of an element that holds nothing else, also through single children."""
        node = self._node
        while True:
            child = node.first_child
            if child is None or child.next is not None:
                return None
            if child.tag == "-text":
                return Text.of(child)
            node = child

    def _texts(self) -> Iterator[Text]:
        for item in self.descendants:
            if type(item) is Text and item._node.tag == "-text":
                yield item

    @property
    def strings(self) -> Iterator[Text]:
        """Each piece of text."""
        return self._texts()

    @property
    def stripped_strings(self) -> Iterator[str]:
        """Each piece of text that is more than white space, without that at its ends."""
        return (piece for piece in (text.strip() for text in self._texts()) if piece)

    # -- the tree

    @property
    def parent(self) -> Element | None:
        """The element around it."""
        return _element(self._node.parent)

    @property
    def parents(self) -> Iterator[Element]:
        """The elements around it, from inside out."""
        node = self._node.parent
        while node is not None:
            yield Element(node)
            node = node.parent

    @property
    def children(self) -> Iterator[Element | Text]:
        """Elements and text in it, not below."""
        node = self._node.first_child
        while node is not None:
            item = wrap(node)
            if item is not None:
                yield item
            node = node.next

    @property
    def contents(self) -> list[Element | Text]:
        """Elements and text in it, not below."""
        return list(self.children)

    @property
    def descendants(self) -> Iterator[Element | Text]:
        """Elements and text in it and below, in the order of the page."""
        node = self._node.first_child
        depth = 0
        while node is not None:
            item = wrap(node)
            if item is not None:
                yield item
            child = node.first_child
            if child is not None:
                node = child
                depth += 1
                continue
            while node.next is None:
                if not depth:
                    return
                node = node.parent
                depth -= 1
            node = node.next

    @property
    def next_siblings(self) -> Iterator[Element | Text]:
        """What follows in the same parent."""
        return _siblings(self._node, "next")

    @property
    def previous_siblings(self) -> Iterator[Element | Text]:
        """What goes before in the same parent, nearest first."""
        return _siblings(self._node, "prev")

    @property
    def next_sibling(self) -> Element | Text | None:
        """What follows next in the same parent."""
        return next(self.next_siblings, None)

    @property
    def previous_sibling(self) -> Element | Text | None:
        """What goes right before in the same parent."""
        return next(self.previous_siblings, None)

    # -- searches

    def find_all(
        self,
        name: Criterion = None,
        attrs: Mapping[str, Criterion] | str | None = None,
        recursive: bool = True,
        string: Criterion = None,
        limit: int | None = None,
        **attributes: Criterion,
    ) -> list[Any]:
        """Return the elements below that meet the criteria; with ``string`` alone, the pieces of text."""
        found: list[Any] = []
        for item in self.descendants if recursive else self.children:
            if name is None and string is not None and not attrs and not attributes:
                if type(item) is Text and meets(str(item), string):
                    found.append(item)
            elif (
                type(item) is Element
                and is_wanted(item, name, attrs, attributes)
                and (string is None or meets(item.string, string))
            ):
                found.append(item)
            if limit is not None and len(found) >= limit:
                break
        return found

    __call__ = find_all

    def find(self, *criteria: Criterion, **options: Any) -> Any:
        """Return the first of :meth:`find_all`, or ``None``."""
        return next(iter(self.find_all(*criteria, **{**options, "limit": 1})), None)

    def find_parents(
        self, name: Criterion = None, attrs: Any = None, **attributes: Criterion
    ) -> list[Element]:
        """Return the elements around it that meet the criteria, from inside out."""
        return [item for item in self.parents if is_wanted(item, name, attrs, attributes)]

    def find_parent(
        self, name: Criterion = None, attrs: Any = None, **attributes: Criterion
    ) -> Element | None:
        """Return the nearest element around it that meets the criteria."""
        return next((item for item in self.parents if is_wanted(item, name, attrs, attributes)), None)

    def find_next_siblings(
        self, name: Criterion = None, attrs: Any = None, **attributes: Any
    ) -> list[Element]:
        """Return the elements that follow in the same parent and meet the criteria."""
        return _chosen(self.next_siblings, name, attrs, attributes)

    def find_previous_siblings(
        self, name: Criterion = None, attrs: Any = None, **attributes: Any
    ) -> list[Element]:
        """Return the elements that go before in the same parent and meet the criteria, nearest first."""
        return _chosen(self.previous_siblings, name, attrs, attributes)

    def find_next_sibling(self, *criteria: Criterion, **attributes: Any) -> Element | None:
        """Return the first of :meth:`find_next_siblings`."""
        return next(iter(self.find_next_siblings(*criteria, **attributes)), None)

    def find_previous_sibling(self, *criteria: Criterion, **attributes: Any) -> Element | None:
        """Return the first of :meth:`find_previous_siblings`."""
        return next(iter(self.find_previous_siblings(*criteria, **attributes)), None)

    def select(self, selector: str, limit: int | None = None) -> list[Element]:
        """Return the elements below that match a CSS selector."""
        own = self._node.mem_id
        found = [Element(node) for node in self._node.css(selector) if node.mem_id != own]
        return found if limit is None else found[:limit]

    def select_one(self, selector: str) -> Element | None:
        """Return the first of :meth:`select`."""
        return next(iter(self.select(selector, 1)), None)


def wrap(node: Node) -> Element | Text | None:
    """Return ``node`` as an element or text; ``None`` for what is neither (a document type)."""
    if node is None:
        return None
    tag = node.tag
    if tag in ("-text", "-comment"):
        return Text.of(node)
    return Element(node) if tag is not None and (tag[0] != "-" or tag == "-document") else None


def _element(node: Node) -> Element | None:
    return None if node is None else Element(node)


def _siblings(node: Node, direction: str) -> Iterator[Element | Text]:
    node = getattr(node, direction)
    while node is not None:
        item = wrap(node)
        if item is not None:
            yield item
        node = getattr(node, direction)


def _value(name: str, value: str | None) -> Any:
    return (value or "").split() if name in _LISTS else value or ""


def _chosen(items: Iterator[Element | Text], name: Criterion, attrs: Any, attributes: Any) -> list[Element]:
    return [item for item in items if type(item) is Element and is_wanted(item, name, attrs, attributes)]

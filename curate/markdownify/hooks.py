"""Hooks in the walk: elements that a :class:`.MarkdownConverter` has a ``convert_*`` method of its own for.

The engine writes all else. A hooked element gets a flow of its own; at its end the text in it goes to the method, and what
that returns is taken as Markdown: a block where it begins or ends with a line break, else part of the line.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterable
from typing import Any

from tootsie.curate.markdownify import inlines, listings
from tootsie.curate.markdownify.blocks import BLOCK_TAGS
from tootsie.curate.markdownify.element import Element
from tootsie.curate.markdownify.escaping import collapse, escape_cell
from tootsie.curate.markdownify.flow import Flow
from tootsie.curate.markdownify.hook_methods import (
    Hook,
    bound,
    escape_hook,
    hooks_of,
    hooks_of_class,
    method_of,
)
from tootsie.curate.markdownify.options import Limits, Options
from tootsie.curate.markdownify.serializer import SKIP, Handler, Node, Serializer
from tootsie.curate.markdownify.styling import StyledSerializer, styled_tags

RAW = re.compile(".\x00.")
"""Stands for what a hook returned until its paragraph is finished; HTML cannot contain it.

The characters on both sides are letters or punctuation as those that it stands for: emphasis depends on that.
"""
BLOCKS = frozenset(BLOCK_TAGS) | {"table", "caption", "tr", "td", "th"}
_LISTS = frozenset(("ul", "ol", "li"))
_ROWS = frozenset(("thead", "tbody", "tfoot", "tr", "td", "th"))
_LINES = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary", "caption"))
_PREFORMATTED = frozenset(("pre", "listing", "xmp"))
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_RAW_TEXT = frozenset(("script", "style", "textarea"))
_WRITTEN_FIRST = frozenset(("table", "ul", "ol", "math"))
"""Elements whose hook gets what the engine writes for them, unless there are hooks for their parts too."""
_INDENTED = frozenset(("ul", "ol", "blockquote", "dd"))
_NAME = re.compile(r"[\[\]:-]")
_HEADING = re.compile(r"h\d+\Z", re.ASCII)


REMEMBERED = 1000
"""How many elements' ancestors, and how many tags, are remembered; a page may have any number of them."""
_PSEUDO = {tag: {tag, "_noformat"} for tag in ("pre", "code", "kbd", "samp")}


class Block(str):
    """A block that a hook returned, with the line breaks it asked for around it."""

    __slots__ = ("after", "before")
    before: int
    after: int


class HookedSerializer(StyledSerializer):
    """The engine with the hooks of ``converter``."""

    def __init__(
        self,
        converter: Any,
        options: Options,
        limits: Limits,
        tags: dict[str, Handler],
        classes: dict[str, Handler],
    ) -> None:
        self.converter = converter
        super().__init__(options, limits, tags, classes)
        self.waiting: dict[Flow, list[str]] = {}
        self._around: dict[int, frozenset[str]] = {}
        self.own_escape: Callable[[str, set[str]], str] | None = None
        if "escape" in hooks_of(converter):
            self.own_escape = escape_hook(converter.escape)
            self.escapes_all = True
            self.escapes_misc = False

    def handlers(self, tags: dict[str, Handler], options: Options) -> dict[str, Handler]:
        """Return the handlers by tag, the same for every page and converter of a class with the same options."""
        kind: Any = type(self.converter)
        return _hooked(kind, options, _Tags(tags))

    def escape(self, text: str, in_link: bool) -> str:
        """Escape prose, by the converter's own method where it has one."""
        if self.own_escape is not None:
            return self.own_escape(text, self._open_tags())
        flow: Flow | None = self.flow
        while not in_link and flow is not None and flow.kind == "hook":
            in_link = flow.state == "a"
            flow = flow.parent
        return super().escape(text, in_link)

    def paragraph(self, text: str) -> str:
        """Finish a paragraph; a converter with its own way to escape has the last word."""
        if self.own_escape is not None and not self.style.wrap:
            return text.replace("  \n", "\\\n") if self.style.newline_style == "backslash" else text
        return super().paragraph(text)

    def _open_tags(self) -> set[str]:
        """Return what is known of the elements around a text: its inline elements and the kinds of its blocks."""
        tags: set[str] = set()
        flow: Flow | None = self.flow
        while flow is not None:
            tags.update(inline.kind for inline in flow.inlines)
            tags.add({"item": "li", "quote": "blockquote", "cell": "td"}.get(flow.kind, flow.kind))
            if flow.in_cell or flow.kind == "line":
                tags.add("_inline")
            flow = flow.parent
        return tags

    def tags_around(self, node: Node) -> set[str]:
        """Return the names of the elements around ``node``, ``_inline`` in a line or cell, ``_noformat`` in code."""
        if len(self._around) > REMEMBERED:
            self._around.clear()
        outer = node.parent
        missing: list[tuple[int, str]] = []
        tags: frozenset[str] = frozenset()
        while outer is not None:
            key = outer.mem_id
            if key in self._around:
                tags = self._around[key]
                break
            missing.append((key, outer.tag))
            outer = outer.parent
        for key, tag in reversed(missing):
            tags |= _PSEUDO.get(tag) or {"[document]" if tag == "-document" else tag}
            self._around[key] = tags
        around = set(tags)
        flow: Flow | None = self.flow
        while flow is not None:
            if flow.in_cell or flow.kind == "line":
                around.add("_inline")
                break
            flow = flow.parent
        return around

    def raw(self, markdown: str) -> None:
        """Add Markdown to the line as it is."""
        self.inline(f"{_likeness(markdown[0])}\x00{_likeness(markdown[-1])}")
        self.waiting.setdefault(self.flow, []).append(markdown)

    def flush(self) -> None:
        """End the paragraph under way and put what hooks returned in its places."""
        if not self.waiting:
            Serializer.flush(self)
            return
        flow = self.flow
        before = len(flow.blocks)
        Serializer.flush(self)
        if flow in self.waiting:
            pieces = iter(self.waiting.pop(flow))
            if len(flow.blocks) > before:
                flow.blocks[-1] = RAW.sub(lambda _: next(pieces, ""), flow.blocks[-1])


def _likeness(character: str) -> str:
    return "." if character in string.punctuation or not character.isalnum() else "a"


class _Tags:
    """Handlers by tag as a key of a cache: the same only as itself."""

    __slots__ = ("by_name",)

    def __init__(self, by_name: dict[str, Handler]) -> None:
        self.by_name = by_name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Tags) and other.by_name is self.by_name

    def __hash__(self) -> int:
        return id(self.by_name)


@functools.lru_cache(maxsize=64)
def _hooked(kind: Any, options: Options, tags: _Tags) -> dict[str, Handler]:
    """Return the handlers of a class of converters."""
    methods = hooks_of_class(kind)
    hooked = _HookedTags(styled_tags(tags.by_name, options.style), kind, methods, options)
    named = {name.removeprefix("convert_") for name in methods if name.startswith("convert_")}
    named.discard("_document_")
    if any("_" in name for name in named):
        return hooked  # may be any of ``ac:image``, ``ac-image`` …
    known = {*tags.by_name, *named, "video", *(f"h{level}" for level in range(7, 21))}
    return {tag: handler for tag in known if (handler := hooked.get(tag)) is not None}


class _HookedTags(dict[str, Handler]):
    """Handlers by tag, those of hooks made as their elements are first met."""

    def __init__(
        self, tags: dict[str, Handler], kind: type, methods: frozenset[str], options: Options
    ) -> None:
        super().__init__()
        self._tags = tags
        self._kind = kind
        self._methods = methods
        self._style = options.style
        self._met: dict[str, Handler | None] = {}
        self._lists = "convert_li" in methods
        self._rows = any(f"convert_{tag}" in methods for tag in _ROWS)

    def get(self, tag: str, default: Any = None) -> Any:
        """Return the handler of ``tag``."""
        if tag in self._met:
            return self._met[tag]
        handler = self._tags.get(tag, default)
        hook = self._hook(tag)
        if hook is not None:
            parts = (self._lists and tag in _LISTS) or (self._rows and (tag in _ROWS or tag == "table"))
            handler = _handler(tag, hook, handler if tag in _WRITTEN_FIRST and not parts else None)
        if len(self._met) > REMEMBERED:
            self._met.clear()
        self._met[tag] = handler
        return handler

    def _hook(self, tag: str) -> Hook | None:
        style = self._style
        if (style.strip is not None and tag in style.strip) or (
            style.convert is not None and tag not in style.convert
        ):
            return None
        name = f"convert_{_NAME.sub('_', tag)}"
        if (
            name in self._methods
            or (self._lists and tag in _LISTS)
            or (self._rows and (tag in _ROWS or tag == "table"))
            or tag == "video"
        ):
            method = method_of(self._kind, name)
            return None if method is None else bound(method)
        if _HEADING.match(tag) and tag != "h0":
            level = int(tag[1:3])
            for name in ("convert_hN", "convert_hn"):
                method = method_of(self._kind, name)
                if method is not None and (name in self._methods or level > 6):
                    return bound(method, level)
        return None


def _handler(tag: str, hook: Hook, original: Handler | None) -> Handler:
    block = tag in BLOCKS
    verbatim = tag in _PREFORMATTED or tag in _CODE or tag in _RAW_TEXT
    kind = "cell" if tag in ("td", "th") else "line" if tag in _LINES or _HEADING.match(tag) else "hook"

    def handler(serializer: Any, node: Node, attributes: dict[str, Any]) -> Any:
        if (
            ("style" in attributes or "hidden" in attributes)
            and inlines.is_hidden(attributes)
            and not (tag == "img" and "display" in (attributes.get("style") or ""))
        ):
            serializer.counters["hidden_dropped"] += 1
            return SKIP
        if verbatim and not (tag in _CODE and node.css_first("math, pre") is not None):
            if tag in _PREFORMATTED:
                text = listings.verbatim(node)
            else:
                text = inlines.text_with_breaks(node)
                if tag in _CODE:
                    text = collapse(text)
            _call(serializer, hook, node, attributes, text, block)
            return SKIP
        outer = serializer.flow
        if outer.indent >= serializer.limits.max_indent and (
            tag in _INDENTED or (tag == "li" and outer.state not in ("ul", "ol"))
        ):
            serializer.counters["blocks_flattened"] += 1
            serializer.flush()
            return lambda s: s.flush()
        if not block and original is None and node.first_child is None:
            _call(serializer, hook, node, attributes, "", block)
            return SKIP
        space = serializer.space
        flow = serializer.push(kind, tag)
        flow.indent += tag in _INDENTED
        if not block:
            serializer.space = space
        if kind == "hook":
            flow.in_cell = outer.in_cell
        inner = original(serializer, node, attributes) if original is not None else None

        def leave(s: Any) -> None:
            if inner is not None and inner is not SKIP:
                inner(s)
            text = _close(s, block)
            if not block:
                s.space = space
            _call(s, hook, node, attributes, text, block)

        if inner is SKIP:
            leave(serializer)
            return SKIP
        return leave

    return handler


def _call(
    serializer: Any, hook: Hook, node: Node, attributes: dict[str, Any], text: str, block: bool
) -> None:
    result = hook(serializer.converter, Element(node, attributes), text, serializer.tags_around(node))
    _deliver(serializer, result, block)


def _close(serializer: Any, block: bool) -> str:
    """End the flow of a hooked element; return the text in it."""
    flow: Flow = serializer.flow
    before = after = ""
    if not block and flow.parts:
        before = " " if not flow.blocks and flow.parts[0][:1] == " " else ""
        after = " " if flow.parts[-1][-1:] == " " else ""
    serializer.pop()
    if flow.kind == "line":
        return before + " ".join(flow.blocks).replace("\n", " ") + after
    if flow.kind == "cell":
        return escape_cell(
            "<br>".join(block.replace("  \n", "<br>").replace("\n", " ") for block in flow.blocks)
        )
    return before + joined(flow.blocks) + after if flow.blocks else before or after


def joined(pieces: Iterable[str]) -> str:
    """Join blocks: one of a hook to what stands before it by the line breaks they ask for, others by a blank line."""
    out: list[str] = []
    last: str | None = None
    for piece in pieces:
        if last is not None:
            breaks = 2
            if isinstance(piece, Block):
                breaks = max(1, piece.before, last.after if isinstance(last, Block) else 0)
            out.append("\n" * min(breaks, 2))
        out.append(piece)
        last = piece
    if isinstance(last, Block) and last.after:
        out.append("\n")
    return "".join(out)


def _deliver(serializer: Any, result: Any, block: bool) -> None:
    """Add what a hook returned."""
    if not result:
        if block:
            serializer.space = True
        return
    markdown = str(result)
    content = markdown.strip("\n")
    before = len(markdown) - len(markdown.lstrip("\n"))
    after = len(markdown) - len(markdown.rstrip("\n"))
    flow: Flow = serializer.flow
    if markdown.strip(" \\") == "\n":
        serializer.line_break()
        return
    if flow.kind == "table":
        flow.state.caption = content.strip()
        return
    if (before or after) and not flow.inlines and flow.kind != "line":
        serializer.flush()
        if content.strip():
            piece = Block(content)
            piece.before, piece.after = before, after
            flow.blocks.append(piece)
        serializer.space = True
        return
    if block:
        if content.strip():
            serializer.raw(content)
        serializer.space = True
        return
    core = content.strip(" ")
    if not core or content[0] == " ":
        _space(serializer)
    if core:
        serializer.raw(core)
        if content[-1] == " ":
            _space(serializer)


def _space(serializer: Any) -> None:
    if not serializer.space:
        serializer.parts.append(" ")
        serializer.space = True


def serializer_of(converter: Any) -> Callable[..., Serializer]:
    """Return the engine of :func:`.convert_by` for ``converter``."""
    return functools.partial(HookedSerializer, converter)

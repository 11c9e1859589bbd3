"""A serializer that writes Markdown in another :class:`.Style` than the default, and the tag handlers it needs."""

from __future__ import annotations

import functools
import re
from typing import Any

from tootsie.curate.markdownify import blocks, inlines, listings, tables
from tootsie.curate.markdownify.element import Element
from tootsie.curate.markdownify.escaping import (
    ESCAPES,
    collapse,
    destination,
    escape_line_start,
    escape_text,
    title_suffix,
)
from tootsie.curate.markdownify.options import Images, Limits, Links, Options
from tootsie.curate.markdownify.serializer import SKIP, Handler, Node, Serializer
from tootsie.curate.markdownify.style import (
    ATX,
    ATX_CLOSED,
    BACKSLASH,
    FINAL_NEWLINE,
    LSTRIP,
    RSTRIP,
    STRIP,
    STRIP_ONE,
    UNDERSCORE,
    Style,
)
from tootsie.curate.markdownify.wrapping import wrap_paragraph

_ATX_HEADING = re.compile(r"(#{1,6}) (.*)", re.DOTALL)
_MISC = r"\[|\]|[\\&<`>~=+|]|(?:(?<=\s)|^)-+(?=\s|$)|(?:(?<=\s)|^)#{1,6}(?=\s|$)|(?:(?<=\s)|^)(?:\d{1,9})(?=[.)](?:\s|$))"
_DROPPED = frozenset(("script", "style", "template", "noscript", "title", "head", "math", "link", "meta"))
"""Elements that ``strip`` and ``convert`` leave to their own rules: their text is not the page's, or is a formula."""
_VOID = frozenset(("img", "hr", "br", "input", "wbr"))
_BLOCKS = frozenset(blocks.BLOCK_TAGS) | {"table", "caption", "tr", "td", "th"}
_SET_OFF = re.compile(r"p|div|article|section|h\d+|pre|table|dl|dt|dd|hr|figcaption|caption", re.ASCII)
"""Elements around which the package leaves a blank line, besides lists and quotations."""


class Heading(str):
    """A heading of the page, which is restyled when all others have been found and empty sections dropped."""

    __slots__ = ()


class StyledSerializer(Serializer):
    """The engine with the options of a :class:`.Style`."""

    def __init__(
        self, options: Options, limits: Limits, tags: dict[str, Handler], classes: dict[str, Handler]
    ) -> None:
        super().__init__(options, limits, self.handlers(tags, options), classes)
        self.style = options.style
        if options.style.strong_em_symbol == UNDERSCORE:
            self.delimiters = "_*"
        self.escapes_misc = self.style.escape_misc is not False
        self._pattern = _escapes(self.style)
        if self._pattern is not None:
            self.escapes_all = True

    def handlers(self, tags: dict[str, Handler], options: Options) -> dict[str, Handler]:
        """Return the handlers by tag."""
        return styled_tags(tags, options.style)

    def escape(self, text: str, in_link: bool) -> str:
        """Escape prose as far as the style asks for it."""
        if self._pattern is None:
            return escape_text(text, in_link=in_link)
        text = self._pattern.sub(_escaped, text)
        return re.sub(r"(?<!\\)[\[\]]", r"\\\g<0>", text) if in_link and self.escapes_misc else text

    def paragraph(self, text: str) -> str:
        """Finish a paragraph: escapes at line starts, line breaks in their style, wrapping."""
        if self.escapes_misc:
            text = super().paragraph(text)
        elif self.style.escape_asterisks is not False:
            text = "\n".join(
                escape_line_start(line) if line[:1] == "*" else line for line in text.split("\n")
            )
        style = self.style
        if style.wrap and style.wrap_width is not None:
            text = "  \n".join(wrap_paragraph(line, style.wrap_width) for line in text.split("  \n"))
        return text.replace("  \n", "\\\n") if style.newline_style == BACKSLASH else text

    def markdown(self) -> str:
        """Return the whole document, its headings and its two ends in their style."""
        self.flush()
        style = self.style
        if style.heading_style != ATX:
            own = self.options.profile == "wikipedia"  # writes the title itself
            self.flow.blocks[:] = [
                _restyled(block, style.heading_style)
                if type(block) is Heading or (own and not index)
                else block
                for index, block in enumerate(self.flow.blocks)
            ]
        text = super().markdown()
        if style.strip_document == FINAL_NEWLINE or not text:
            return text
        text = text.removesuffix("\n")
        if style.strip_document in (RSTRIP, None):
            text = _end(self.root, "first_child", "next") + text
        if style.strip_document in (LSTRIP, None):
            text += _end(self.root, "last_child", "prev")
        return text


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found.isdecimal():
        return found + "\\"
    return "\\" + found


def _escapes(style: Style) -> re.Pattern[str] | None:
    """Return what to escape, ``None`` where the engine's own rules hold."""
    if style.escape_asterisks is None and style.escape_underscores is None and style.escape_misc is None:
        return None
    return _compiled_escapes(style.escape_asterisks, style.escape_underscores, style.escape_misc)


@functools.lru_cache(maxsize=32)
def _compiled_escapes(asterisks: bool | None, underscores: bool | None, misc: bool | None) -> re.Pattern[str]:
    alternatives: list[str] = []
    for policy, always, kind in ((asterisks, r"\*", "*"), (underscores, "_", "_"), (misc, _MISC, "")):
        if policy:
            alternatives.append(always)
        if policy is not False:
            alternatives += ESCAPES[kind]
    return re.compile("|".join(alternatives) or r"(?!)")


def _restyled(block: str, heading_style: str) -> str:
    """Write a heading of the page in another style; other blocks stay as they are."""
    match = _ATX_HEADING.match(block)
    if match is None:
        return block
    marks, text = match.groups()
    if heading_style == ATX_CLOSED:
        return f"{marks} {text} {marks}"
    if len(marks) > 2:
        return block
    text = re.sub(r"\\(#+)$", r"\1", text)
    return f"{escape_line_start(text)}\n{'=-'[len(marks) - 1] * max(len(text), 1)}"


def _end(root: Node, inwards: str, onwards: str) -> str:
    """Return the line breaks by which the package sets off the first or the last block of a page."""
    separator = "\n\n"
    node = root
    while node is not None:
        if node.tag == "-text":
            if (node.text_content or "").strip():
                return ""
        elif node.tag in ("ul", "ol"):
            return separator if inwards == "first_child" else "\n"
        elif node.tag == "blockquote":
            return "\n" if inwards == "first_child" else separator
        elif node.tag is None or node.tag[0] == "-" or node.tag == "head":
            pass
        elif _SET_OFF.fullmatch(node.tag):
            return separator
        else:
            child = getattr(node, inwards)
            if child is not None:
                node = child
                continue
            if node.tag in _VOID:
                return ""
        while node is not None and getattr(node, onwards) is None:
            node = node.parent
            if node is None or node.mem_id == root.mem_id:
                return ""
        node = getattr(node, onwards)
    return ""


# -- handlers


def styled_tags(tags: dict[str, Handler], style: Style) -> dict[str, Handler]:
    """Return ``tags`` with the handlers that ``style`` replaces."""
    styled = dict(tags)
    if style.heading_style != ATX:
        styled.update({f"h{level}": _heading(level, style.heading_style) for level in range(1, 7)})
    if not style.autolinks or style.default_title:
        styled["a"] = _link(style)
    if style.keep_inline_images_in is not None:
        styled["img"] = _image(frozenset(style.keep_inline_images_in))
    if style.code_language_callback is not None or style.strip_pre != RSTRIP:
        for tag in ("pre", "listing", "xmp"):
            styled[tag] = _pre(style)
    if style.table_infer_header:
        styled["table"] = _headed(styled["table"])
    if style.strip is not None or style.convert is not None:
        for tag in styled:
            kept = tag not in style.strip if style.strip is not None else tag in (style.convert or ())
            if not kept and tag not in _DROPPED:
                styled[tag] = _unmarked(tag)
    return styled


def _unmarked(tag: str) -> Handler:
    """Return the handler of an element whose content alone is kept; the ends of a block still part its text."""
    if tag in _VOID:
        return _space if tag == "br" else inlines.drop("elements_stripped")
    return blocks.container if tag in _BLOCKS else inlines.transparent


def _space(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    serializer.text(" ")
    return SKIP


def _heading(level: int, heading_style: str) -> Handler:
    original = blocks.heading(level)

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        leave = original(serializer, node, attributes)
        if leave is SKIP:
            return SKIP

        def restyle(s: Serializer) -> None:
            leave(s)
            if s.flow.blocks and not s.flow.in_cell:
                block = s.flow.blocks[-1]
                s.flow.blocks[-1] = (
                    Heading(block) if s.flow.kind == "page" else _restyled(block, heading_style)
                )

        return restyle

    return handler


def _link(style: Style) -> Handler:
    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        leave = inlines.link(serializer, node, attributes)
        if leave is None or serializer.options.links is Links.TEXT:
            return leave
        href = attributes["href"]
        title = attributes.get("title") or (href if style.default_title else None)
        inline = serializer.flow.inlines[-1]
        original = inline.wrap
        target = f"({destination(href)}{title_suffix(title)})"

        def wrap(s: Serializer, inner: str) -> str:
            marked = original(s, inner)
            if marked == inner or (marked[0] == "<" and style.autolinks and not title):
                return marked
            return f"[{inner}]{target}"

        inline.wrap = wrap
        return leave

    return handler


def _image(kept_in: frozenset[str]) -> Handler:
    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        parent = node.parent
        flow = serializer.flow
        in_line = flow.kind in ("line", "cell") or flow.in_cell
        if (
            not in_line
            or serializer.options.images is not Images.KEEP
            or (parent is not None and parent.tag in kept_in)
        ):
            return inlines.image(serializer, node, attributes)
        alt = collapse(attributes.get("alt") or "").strip(" ")
        serializer.counters["images_as_text" if alt else "images_dropped"] += 1
        serializer.inline(escape_text(alt))
        return SKIP

    return handler


def _pre(style: Style) -> Handler:
    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        if inlines.is_hidden(attributes):
            serializer.counters["hidden_dropped"] += 1
            return SKIP
        language = ""
        if style.code_language_callback is not None:
            language = style.code_language_callback(Element(node)) or ""
        text = strip_lines(listings.verbatim(node), style.strip_pre)
        listings.add_code_block(
            serializer,
            text,
            language or listings.language_of(node, attributes),
            trim=style.strip_pre == RSTRIP,
        )
        return SKIP

    return handler


def strip_lines(code: str, how: str | None) -> str:
    """Remove blank lines at the ends of code as the option ``strip_pre`` says."""
    if how == STRIP:
        leading = len(code) - len(code.lstrip(" \n"))
        return code[code.rfind("\n", 0, leading) + 1 :].rstrip(" \n")
    if how == STRIP_ONE:
        leading = len(code) - len(code.lstrip(" "))
        code = code[leading + 1 :] if code[leading : leading + 1] == "\n" else code
        shown = code.rstrip(" ")
        return shown[:-1] if shown.endswith("\n") else code
    return code.rstrip(" \n") if how == RSTRIP else code


def _headed(original: Handler) -> Handler:
    """Return the handler of a table whose first row is its header when it names none."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        flow = serializer.flow
        leave = original(serializer, node, attributes)
        if serializer.flow is flow or not isinstance(serializer.flow.state, tables.Table):
            return leave
        state = serializer.flow.state

        def infer(s: Serializer) -> None:
            if state.rows and all(row.kind != "thead" for row in state.rows):
                state.rows[0].kind = "thead"
            leave(s)

        return infer

    return handler

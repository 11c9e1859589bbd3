"""Handlers of inline elements: emphasis, links, images, code, sub- and superscripts, quotations, line breaks."""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify.emphasis import EDGES
from tootsie.curate.markdownify.escaping import (
    collapse,
    destination,
    escape_attribute,
    escape_text,
    title_suffix,
)
from tootsie.curate.markdownify.flow import Flow
from tootsie.curate.markdownify.footnotes import is_back_link
from tootsie.curate.markdownify.options import Images, Links, References
from tootsie.curate.markdownify.plain_content import is_autolink, plain_content, plain_link
from tootsie.curate.markdownify.resumption import skip
from tootsie.curate.markdownify.serializer import HTML_SPACE, SKIP, Handler, Leave, Node, Serializer, text_of

_TICKS = re.compile(r"`+")
_UNSAFE = "|".join(r"[\t\n\r]*".join(scheme) for scheme in ("javascript", "vbscript", "data"))
"""Browsers leave tabs and line breaks out of addresses."""
UNSAFE_SCHEME = re.compile(rf"[\s\x00-\x20]*(?:{_UNSAFE})[\s\x00-\x20]*:", re.IGNORECASE)
_SAFE = ("http:", "https:")
_MARKUP = re.compile(r"[&<>\\`*_\[\]$~|]")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
MAX_REPEATED = 8192
"""Characters of the target of one link that are written again, in each of the blocks that it holds after the first."""
_PLAIN = frozenset(("span", "em", "strong", "a", "i", "b", "var"))
"""Elements in code of which nothing but their text counts."""
_LINKS_AS_TEXT, _KEEPS_REFERENCES = Links.TEXT, References.KEEP  # looked up once: that is slow in Python 3.11
_DEFINES = re.compile(r"(?<!\\)\]:")


def is_hidden(attributes: dict[str, Any]) -> bool:
    """Return whether an element is not shown: ``hidden`` or its own ``style``."""
    if "style" in attributes and _HIDDEN.search(attributes["style"] or ""):
        return True
    return "hidden" in attributes


def is_empty(node: Node) -> bool:
    """Return whether an element holds nothing but white space."""
    child = node.first_child
    if child is None:
        return True
    text = child.text_content
    return (
        text is not None
        and (not text or text.isspace())
        and not text.strip(HTML_SPACE)
        and child.next is None
    )


def transparent(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Keep the content of an element, nothing of the element; hidden ones go."""
    if ("style" in attributes or "hidden" in attributes) and is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    return None


def drop(name: str) -> Handler:
    """Return a handler that leaves an element out and counts it under ``name``."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        serializer.counters[name] += 1
        serializer.leave_out()
        return skip(serializer, node)

    return handler


def _nothing(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Elements without text, which say nothing to a reader."""
    return SKIP


def _emphasis(kind: str) -> Handler:
    opening, closing = EDGES[kind]

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        text = plain_content(serializer, node, kind)
        if text is None:
            return serializer.open_emphasis(kind)
        serializer.counters["emphasis"] += 1
        serializer.flow.emphatic = True
        serializer.parts.append(f"{opening}{text}{closing}")
        serializer.space = False
        return SKIP

    return handler


EMPHASIS: dict[Handler, str] = {_emphasis(kind): kind for kind in EDGES}
"""The kind by what handles its elements."""
_em, _strong, _del = EMPHASIS


def _script(which: str) -> Handler:
    """Sub- and superscripts: an HTML tag by default, since Markdown has none."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Leave | None:
        serializer.counters["raised_or_lowered"] += 1
        mark = serializer.options.sub if which == "sub" else serializer.options.sup
        close = "</" + mark[1:] if mark.startswith("<") else mark
        return serializer.open_inline(
            which, lambda s, inner: f"{mark}{inner}{close}", nests=mark.startswith("<")
        )

    return handler


_raise = _script("sup")


def _quotation(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Leave:
    serializer.counters["quotation_marks"] += 1
    serializer.inline("“")
    serializer.space = True

    def leave(s: Serializer) -> None:
        s.inline("”")

    return leave


def link(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<a href>`` by the links policy: a link, an autolink, or its text."""
    if ("style" in attributes or "hidden" in attributes) and is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    href = attributes.get("href")
    options = serializer.options
    if (
        href
        and href[0] == "#"
        and options.references is _KEEPS_REFERENCES
        and _footnote(serializer, node, attributes, href)
    ):
        return SKIP
    if options.links is _LINKS_AS_TEXT or href is None:
        return None
    if ":" in href and not href.startswith(_SAFE) and UNSAFE_SCHEME.match(href):
        return None
    title = attributes.get("title")
    plain = plain_link(serializer, node, href, title)
    if plain is not None:
        serializer.marked(plain)
        serializer.space = False
        return SKIP
    target = ""
    repeated = 0

    def wrap(s: Serializer, inner: str) -> str:
        nonlocal target, repeated
        if target:  # a link around several blocks
            repeated += len(target)
            if repeated > MAX_REPEATED:
                return inner
        else:
            target = _target(href, title)
        return _link(s, inner, href, title, target)

    if options.exact and is_empty(node):
        serializer.counters["links"] += 1
        serializer.inline(f"[]({destination(href)}{title_suffix(title)})")
        return SKIP
    return serializer.open_inline("a", wrap)


def _target(href: str, title: str | None) -> str:
    return f"({destination(href)}{title_suffix(title)})" if title else f"({destination(href)})"


def _link(serializer: Serializer, inner: str, href: str, title: str | None, target: str) -> str:
    """Return a link, ``inner`` and ``target`` being Markdown already."""
    serializer.counters["links"] += 1
    if not title and inner[0] == href[:1] and is_autolink(inner, href):
        return f"<{href}>"
    if "]:" in inner and _DEFINES.search(inner):
        # In code it cannot be escaped; at the start of a paragraph it would make a link definition.
        named = f' title="{escape_attribute(title)}"' if title else ""
        return f'<a href="{escape_attribute(href)}"{named}>{inner}</a>'
    return f"[{inner}]{target}"


def _footnote(serializer: Serializer, node: Node, attributes: dict[str, Any], href: str) -> bool:
    """Write a link within the page as a footnote's mark, or leave it out where it leads back from one."""
    key = serializer.footnotes.target(serializer.root, href)
    if key is not None:
        serializer.trim()
        serializer.inline(f"[^{serializer.footnote(key)}]")
        return True
    if not in_note(serializer.flow) or not is_back_link(text_of(node), attributes.get("class")):
        return False
    serializer.counters["back_links_dropped"] += 1
    return True


def in_note(flow: Flow | None) -> bool:
    """Return whether what is written to ``flow`` is part of a footnote."""
    while flow is not None and flow.kind != "note":
        flow = flow.parent
    return flow is not None


def lone_link(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> str | None:
    """Return the Markdown of a link with nothing else in its block; ``None`` where :func:`link` must look at it."""
    href = attributes.get("href")
    options = serializer.options
    if not href or options.links is _LINKS_AS_TEXT or "style" in attributes or "hidden" in attributes:
        return None
    if href[0] == "#":
        if options.references is _KEEPS_REFERENCES and (
            serializer.footnotes.target(serializer.root, href) is not None or in_note(serializer.flow)
        ):
            return None
    elif ":" in href and not href.startswith(_SAFE):
        return None
    return plain_link(serializer, node, href, attributes.get("title"))


def _superscript(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<sup>``; around nothing but the mark of a footnote, it goes."""
    child = node.first_child
    if child is not None and child.tag == "a" and child.next is None:
        href = child.attributes.get("href")
        if (
            href
            and href[0] == "#"
            and serializer.options.references is _KEEPS_REFERENCES
            and _footnote(serializer, child, child.attributes, href)
        ):
            return SKIP
    return _raise(serializer, node, attributes)


def image(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<img>`` by the images policy: an image, its alternative text, or nothing."""
    if is_hidden(attributes) and "display" not in (attributes.get("style") or ""):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    policy = serializer.options.images
    source = (attributes.get("src") or "").strip(HTML_SPACE)
    alt = collapse(attributes.get("alt") or "").strip(" ")
    if policy is Images.KEEP and source and not UNSAFE_SCHEME.match(source):
        serializer.counters["images"] += 1
        label = escape_text(alt, in_link=True)
        if label[:1] == "^":  # cmark-gfm reads ![^ as text and a footnote.
            label = "\\" + label
        serializer.inline(f"![{label}]({destination(source)}{title_suffix(attributes.get('title'))})")
    elif policy is not Images.DROP and alt:
        serializer.counters["images_as_text"] += 1
        serializer.inline(escape_text(alt))
    else:
        serializer.counters["images_dropped"] += 1
        serializer.leave_out()
    return SKIP


def code_span(text: str) -> str:
    """Return ``text`` as a code span with fences longer than any run of backticks in it."""
    text = collapse(text)
    if not text.strip(" "):
        return f"`{text}`" if text else ""
    return _fenced(text)


def _fenced(text: str) -> str:
    """Return text with collapsed white space, and more than that, as a code span."""
    fence = "`"
    if "`" in text:
        runs = {len(run) for run in _TICKS.findall(text)}
        while len(fence) in runs:
            fence += "`"
    if text[0] == "`" or text[-1] == "`" or (text[0] == " " and text[-1] == " "):
        text = f" {text} "
    return f"{fence}{text}{fence}"


def text_with_breaks(node: Node) -> str:
    """Return all text below ``node``, a line break for each ``<br>``."""
    if node.css_first("br") is None:
        return node.text(deep=True) or ""
    return "".join(
        "\n" if item.tag == "br" else item.text_content or ""
        for item in node.traverse(include_text=True)
        if item.tag in ("br", "-text")
    )


def _only_text(node: Node) -> str | None:
    """Return the text of an element that holds but text and ``span`` elements of one text each; else ``None``."""
    texts: list[str] = []
    child = node.first_child
    while child is not None:
        text = child.text_content
        if text is None:
            if child.tag not in _PLAIN:
                return None
            inner = child.first_child
            if inner is None or inner.next is not None:
                return None
            text = inner.text_content
            if text is None:
                return None
        child = child.next
        if child is None and not texts:
            return text
        texts.append(text)
    return "".join(texts) if texts else None


def code(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<code>``, ``<kbd>``, ``<samp>``, ``<tt>``: verbatim text in a code span."""
    if ("style" in attributes or "hidden" in attributes) and is_hidden(attributes):
        serializer.counters["hidden_dropped"] += 1
        return SKIP
    content = _only_text(node)
    if content is None:
        if node.css_first("math, pre") is not None:
            return None
        content = text_with_breaks(node)
    options = serializer.options
    text = content
    if "  " in content or not content.isprintable():
        text = collapse(content)
        if "\u00a0" in text:
            text = collapse(text.replace("\u00a0", options.nbsp))
    inner = text.strip(" ")
    exact = options.exact
    if not inner:
        if text and exact:
            serializer.counters["code_spans"] += 1
            serializer.inline(code_span(text))
        else:
            serializer.text(text)
        return SKIP
    # Spaces at the edges go outside, to part words; at the edges of the paragraph they would be lost there.
    if text[0] == " ":
        if exact and not serializer.parts:
            inner = " " + inner
        else:
            serializer.text(" ")
    if text[-1] == " " and exact and node.next is None and not serializer.flow.inlines:
        inner += " "
    serializer.counters["code_spans"] += 1
    parts = serializer.parts
    if (serializer.flow.in_cell and "\\|" in inner) or (parts and parts[-1][0] == parts[-1][-1] == "`"):
        # A cell takes the backslash from \|, and the fences of two spans that touch are read as one.
        serializer.inline(f"<code>{_MARKUP.sub(lambda found: f'&#{ord(found.group())};', inner)}</code>")
    else:
        serializer.inline(_fenced(inner))
    if text[-1] == " " and inner[-1] != " ":
        serializer.text(" ")
    return SKIP


def _ruby(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Leave:
    """``<rt>``: the reading in brackets, as browsers without ruby show it; one that has an empty ``<rp>`` about it likewise."""
    serializer.push("line")

    def leave(s: Serializer) -> None:
        reading = " ".join(s.pop().blocks)
        if reading:
            s.counters["ruby_readings"] += 1
            s.trim()
            s.inline(f"({reading})")

    return leave


def _break(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    serializer.line_break()
    return SKIP


def _word_break(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    return SKIP


def _input(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The checkbox of a task, at the start of a list item; other form fields say nothing."""
    flow = serializer.flow
    if flow.kind == "item" and attributes.get("type") == "checkbox" and not (flow.blocks or flow.parts):
        serializer.counters["tasks"] += 1
        serializer.parts.append("[x] " if "checked" in attributes else "[ ] ")
        serializer.space = True
    return SKIP


INLINE_TAGS: dict[str, Handler] = {
    "em": _em,
    "i": _em,
    "dfn": _em,
    "var": _em,
    "cite": transparent,
    "strong": _strong,
    "b": _strong,
    "del": _del,
    "s": _del,
    "strike": _del,
    "sub": _script("sub"),
    "sup": _superscript,
    "q": _quotation,
    "a": link,
    "img": image,
    "code": code,
    "kbd": code,
    "samp": code,
    "tt": code,
    "br": _break,
    "wbr": _word_break,
    "span": transparent,
    "style": drop("styles_dropped"),
    "template": drop("templates_dropped"),
    "link": _nothing,
    "meta": _nothing,
    "title": drop("page_titles_set_aside"),
    "noscript": drop("noscript_dropped"),
    "input": _input,
    "select": drop("forms_dropped"),
    "textarea": drop("forms_dropped"),
    "iframe": drop("embeds_dropped"),
    "object": transparent,
    "svg": drop("pictures_dropped"),
    "canvas": drop("pictures_dropped"),
    "audio": drop("embeds_dropped"),
    "video": drop("embeds_dropped"),
    "datalist": drop("forms_dropped"),
    "rp": drop("ruby_brackets"),
    "rt": _ruby,
}

"""HTML that cannot do anything: listed elements and attributes only, all text escaped, no address of any kind."""

from __future__ import annotations

import html
from collections.abc import Callable

from tootsie.curate.markdownify.serializer import Node

_HTML = (
    "a abbr address article aside b bdi bdo blockquote body br caption center cite code col colgroup dd del details dfn div dl"
    " dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i ins kbd li main mark nav ol p pre q rp rt ruby s samp section"
    " small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr"
)
_MATHML = (
    "math merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup"
    " msup mtable mtd mtext mtr munder munderover menclose none semantics"
)
KEPT = frozenset((_HTML + " " + _MATHML).split())
_VOID = frozenset(("br", "col", "hr", "wbr"))
_LEFT_OUT = frozenset(
    ("script", "style", "template", "link", "meta", "base", "head", "title", "annotation", "annotation-xml", "iframe", "frame",
     "object", "embed", "applet", "param", "source", "track", "noembed", "noframes", "plaintext")
)  # fmt: skip
_ATTRIBUTES = frozenset(
    ("colspan", "rowspan", "start", "value", "dir", "lang", "display", "mathvariant", "stretchy", "fence", "separator", "accent",
     "accentunder", "form", "lspace", "rspace", "columnalign", "rowalign", "width", "height", "depth", "minsize", "maxsize",
     "linethickness", "displaystyle", "scriptlevel", "movablelimits", "largeop", "symmetric", "notation", "data-lines")
)  # fmt: skip
_MAX_VALUE = 100


def attributes_of(node: Node) -> str:
    """Return the listed attributes of an element, as they stand in a tag."""
    return "".join(
        f' {name}="{html.escape(value[:_MAX_VALUE])}"'
        for name, value in node.attributes.items()
        if name in _ATTRIBUTES and value is not None
    )


def shown_as(node: Node) -> str:
    """Return what stands for an element that cannot be shown: an image, a control, a drawing; empty for any other."""
    tag = node.tag
    if tag == "img":
        return f'<span class="absent">image {html.escape((node.attributes.get("alt") or "")[:_MAX_VALUE])}</span>'
    if tag in ("input", "svg", "canvas", "video", "audio", "iframe", "object", "embed"):
        return f'<span class="absent">{tag}</span>'
    return ""


def safe_html(
    root: Node,
    limit: int,
    mark: Callable[[Node], str] = lambda node: "",
    instead: Callable[[Node], str | None] = lambda node: None,
) -> tuple[str, bool]:
    """Return what lies in ``root`` as harmless HTML, and whether that is all of it; one pass, no recursion.

    Args:
      limit: characters of the result, about.
      mark: more attributes for the tag of an element, safe as they are.
      instead: HTML to stand for an element and all that is in it, safe as it is; ``None`` where the element is taken.
    """
    out: list[str] = []
    size = 0
    closing: list[str] = []
    node = root.first_child
    while node is not None and size < limit:
        tag = node.tag
        child = None
        close = ""
        if tag == "-text":
            out.append(html.escape(node.text_content or "", quote=False))
        elif tag is not None and tag[0] != "-":
            replaced = instead(node)
            if replaced is not None:
                out.append(replaced)
            elif shown := shown_as(node):
                out.append(shown)
            elif tag not in _LEFT_OUT:
                name = tag if tag in KEPT else "span"
                out.append(f"<{name}{attributes_of(node)}{mark(node)}>")
                if name not in _VOID:
                    close = f"</{name}>"
                    child = node.first_child
                    if child is None:
                        out.append(close)
        size += len(out[-1]) if out else 0
        if child is not None:
            closing.append(close)
            node = child
            continue
        while closing and node.next is None:
            node = node.parent
            out.append(closing.pop())
        if not closing and node.next is None:
            return "".join(out), True
        node = node.next
    out.extend(reversed(closing))
    return "".join(out), node is None

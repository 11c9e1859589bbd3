"""Rules for MediaWiki pages (Parsoid, Enterprise, skins): boxes, references, formulas, code.

Source: the Parsoid DOM specification (MediaWiki HTML 2.8) and the class names of the large Wikipedias' templates.
"""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify import formulas
from tootsie.curate.markdownify.blocks import container
from tootsie.curate.markdownify.editorial_remarks import asks_editors
from tootsie.curate.markdownify.escaping import escape_text
from tootsie.curate.markdownify.inlines import INLINE_TAGS, drop, link, transparent
from tootsie.curate.markdownify.options import References
from tootsie.curate.markdownify.resumption import skip
from tootsie.curate.markdownify.serializer import HTML_SPACE, PASS, SKIP, Handler, Node, Serializer, text_of
from tootsie.curate.markdownify.wikipedia_notations import NOTATION_CLASSES

_FRACTIONS = frozenset(("frac", "sfrac", "bruch", "template-frac"))
_NOTE_ID = re.compile(r"#cite_note-[^\s]+$")


def math_element(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``.mwe-math-element``: the annotation in its (hidden) MathML, else the alternative text of the image."""
    element = node.css_first("math")
    tex = origin = ""
    display = False
    if element is not None:
        own = element.attributes
        tex, origin = formulas.tex_of_math(element, own)
        display = formulas.is_display(own)
    if not tex or origin == "mathml":
        image = node.css_first("img")
        alt = (image.attributes.get("alt") or "") if image is not None else ""
        if alt.strip():
            tex, origin = formulas.unwrap_display_style(formulas.normalise(alt)), "image"
            display = display or "display" in (image.attributes.get("class") or "")
    if not tex:
        return None
    serializer.counters[f"formulas_from_{origin}"] += 1
    serializer.formula(tex, display or _alone_in_dd(node))
    return SKIP


def _fallback_image(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """An image of a formula without MathML beside it."""
    alt = attributes.get("alt") or ""
    if not alt.strip():
        serializer.counters["images_dropped"] += 1
        return SKIP
    serializer.counters["formulas_from_image"] += 1
    display = "display" in (attributes.get("class") or "")
    serializer.formula(formulas.unwrap_display_style(formulas.normalise(alt)), display)
    return SKIP


def _alone_in_dd(node: Node) -> bool:
    """Return whether a formula is all that stands in an indented line (``:<math>…</math>``): display by convention."""
    parent = node.parent
    if parent is None or parent.tag != "dd":
        return False
    for step in ("prev", "next"):
        sibling = getattr(node, step)
        while sibling is not None:
            if sibling.tag == "-text":
                if (sibling.text_content or "").strip(HTML_SPACE + ".,;"):
                    return False
            elif sibling.is_element_node and sibling.tag not in ("link", "style", "meta", "dl"):
                return False
            sibling = getattr(sibling, step)
    return True


def _reference(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``sup.mw-ref``: notes of a named group stay footnotes whatever the policy, citations follow it.

    A mark whose note is not in the page is no footnote.
    """
    if node.tag not in ("sup", "span"):
        return PASS
    anchor = node.css_first("a")
    href = (anchor.attributes.get("href") or "") if anchor is not None else ""
    match = _NOTE_ID.search(href)
    if match is None:
        if "mw-ref" not in (attributes.get("class") or ""):
            return PASS
        serializer.counters["citations_dropped"] += 1
        serializer.leave_out()
        return SKIP
    label = text_of(node).strip("[]↑ ")
    policy = serializer.options.references
    key = serializer.footnotes.entry(serializer.root, href)
    if policy is References.DROP and (label.isdecimal() or not label or key is None):
        serializer.counters["citations_dropped"] += 1
        serializer.leave_out()
        return SKIP
    if key is None or (policy is References.CITE_KEYS and label.isdecimal()):
        serializer.counters["citations"] += 1
        serializer.inline(f"[{escape_text(label)}]" if label else "")
        return SKIP
    while serializer.parts and serializer.parts[-1] == " ":
        serializer.parts.pop()
    serializer.inline(f"[^{serializer.footnote(key)}]")
    return SKIP


def _separator(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The raised comma between two citations, where citations go."""
    if serializer.options.references is References.DROP:
        serializer.counters["citation_commas_dropped"] += 1
        serializer.trim()
        return SKIP
    return PASS


def _references(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``ol.references``: each entry becomes the text of its footnote, if that footnote was mentioned."""
    if node.tag not in ("ol", "ul"):
        return PASS
    serializer.counters["reference_lists"] += 1
    serializer.flush()
    serializer.push("references")

    def leave(s: Serializer) -> None:
        s.pop()

    return leave


def _reference_text(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    item = node.parent
    while item is not None and item.tag != "li":
        item = item.parent
    key = (item.attributes.get("id") or "") if item is not None else ""
    if key not in serializer.footnotes and (serializer.options.references is not References.KEEP or not key):
        serializer.counters["references_dropped"] += 1
        return SKIP
    serializer.push("note")

    def leave(s: Serializer) -> None:
        s.define_footnote(key, "\n\n".join(s.pop().blocks))

    return leave


def _infobox(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    if not serializer.options.infobox:
        serializer.counters["infoboxes_dropped"] += 1
        return skip(serializer, node)
    if node.tag == "table":
        serializer.counters["infoboxes"] += 1
    return PASS


def _variable(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``{{mvar|x}}``: an italic letter by its style, as ``{{math|''x''}}`` beside it is by its markup."""
    return serializer.open_emphasis("em")


def _skin_title(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    if serializer.title is None:
        serializer.title = text_of(node)
    return PASS


def _hidden(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    return container(serializer, node, attributes)


def _span(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``span#coordinates`` stands at the corner of the page, whatever paragraph its source is in."""
    if attributes.get("id") == "coordinates":
        serializer.counters["coordinates_dropped"] += 1
        return SKIP
    if attributes.get("role") == "navigation":
        serializer.counters["hatnotes_dropped"] += 1
        return skip(serializer, node)
    return transparent(serializer, node, attributes)


def _box(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A block, unless it belongs to the frame of a skin's page, points elsewhere, or only holds a place."""
    if "id" in attributes and attributes["id"] in _FRAME:
        serializer.counters["navigation_dropped"] += 1
        return skip(serializer, node)
    if attributes.get("role") == "navigation":
        serializer.counters["hatnotes_dropped"] += 1
        return skip(serializer, node)
    if _is_blank(node):
        serializer.flush()
        serializer.counters["empty_elements_dropped"] += 1
        return SKIP
    return container(serializer, node, attributes)


def _is_blank(node: Node) -> bool:
    """Return whether nothing stands below ``node`` but one text of zero-width spaces, as templates write to keep a line open."""
    child = node.first_child
    while child is not None and child.next is None and child.tag == "span":
        child = child.first_child
    if child is None or child.next is not None or child.tag != "-text":
        return False
    text = child.text_content or ""
    return "\u200b" in text and not text.strip(HTML_SPACE + "\u200b")


def _link(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A link, unless it opens the editor; links to articles that do not exist yet only seem to."""
    href = attributes.get("href") or ""
    if "action=edit" in href and "redlink=1" not in href:
        serializer.counters["edit_links_dropped"] += 1
        return SKIP
    return link(serializer, node, attributes)


def _audio(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``(listen)``: brackets around nothing but a player."""
    first = node.first_child
    if first is None or first.tag != "-text" or (first.text_content or "").strip() != "(":
        return PASS
    player = first.next
    if (
        player is None
        or not player.is_element_node
        or "haudio" not in (player.attributes.get("class") or "").split()
    ):
        return PASS
    serializer.counters["audio_links_dropped"] += 1
    serializer.trim()
    return SKIP


def _for_readers(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Text for screen readers only; the plus of a mixed number (three "+" one half) is a space to the eye."""
    if text_of(node) != "+":
        return PASS
    serializer.counters["mixed_number_signs_dropped"] += 1
    serializer.text(" ")
    return SKIP


def _script(name: str) -> Handler:
    """The halves of a fraction in one line are not raised or lowered: ``9 3⁄4``. A raised ``?`` that is a link leads to help."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        parent = node.parent
        names = (parent.attributes.get("class") or "").split() if parent is not None else []
        if not _FRACTIONS.isdisjoint(names):
            return None
        if name == "sup" and asks_editors(node):
            serializer.counters["inline_maintenance_dropped"] += 1
            serializer.leave_out()
            return SKIP
        child = node.first_child
        if (
            name == "sup"
            and child is not None
            and child.tag == "a"
            and child.next is None
            and text_of(child) == "?"
        ):
            serializer.counters["help_marks_dropped"] += 1
            serializer.trim()
            return SKIP
        return INLINE_TAGS[name](serializer, node, attributes)

    return handler


def drop_empty_sections(blocks: list[str]) -> tuple[list[str], int]:
    """Leave out headings with nothing below them, as the removal of boxes and lists makes them.

    Returns:
      The blocks that stay, and how many headings went.
    """
    kept: list[str] = []
    dropped = 0
    deepest_open = 0
    for block in reversed(blocks):
        level = heading_level(block)
        if level == 0:
            deepest_open = 7
            kept.append(block)
        elif level == 1 or level < deepest_open:
            kept.append(block)
            deepest_open = level
        else:
            dropped += 1
    return kept[::-1], dropped


def heading_level(block: str) -> int:
    """Return the level of an ATX heading, 0 for any other block."""
    level = len(block) - len(block.lstrip("#"))
    return level if 1 <= level <= 6 and block[level : level + 1] == " " and "\n" not in block else 0


_NAVIGATION = [
    "navbox",
    "navbox-styles",
    "navbar",
    "navbox-inner",
    "vertical-navbox",
    "sidebar",
    "portal-bar",
    "portalbox",
    "portal",
    "sistersitebox",
    "side-box",
    "succession-box",
    "toc",
    "catlinks",
    "mw-jump-link",
    "printfooter",
    "mw-portlet",
    "vector-header-container",
    "mw-indicators",
    "mw-authority-control",
    "authority-control",
    "BoxenVerschmelzen",
    "Vorlage_Navigationsleiste",
    "navigation-not-searchable",
    "bandeau-portail",
    "navigation-box",
    "mw-interlanguage-selector",
    "vector-menu",
    "vector-toc",
    "mw-footer",
    "vector-column-start",
    "vector-column-end",
    "vector-toc-landmark",
    "cdx-button",
    "vector-main-menu-container",
    "vector-page-toolbar",
    "vector-body-before-content",
    "vector-settings",
    "mw-footer-container",
]
_FRAME = frozenset(
    ("mw-navigation", "mw-head", "mw-panel", "footer", "siteSub", "contentSub", "siteNotice", "jump-to-nav")
)
"""Ids of what stands around the content in pages of older skins."""
_MAINTENANCE = [
    "ambox",
    "tmbox",
    "ombox",
    "cmbox",
    "fmbox",
    "mbox-small",
    "stub",
    "metadata",
    "bandeau-container",
    "bandeau-article",
]
MEDIAWIKI_MATH: dict[str, Handler] = {
    "mwe-math-element": math_element,
    "mwe-math-fallback-image-inline": _fallback_image,
    "mwe-math-fallback-image-display": _fallback_image,
}
"""Formulas of MediaWiki, on whatever page they stand."""
WIKIPEDIA_TAGS: dict[str, Handler] = {
    **dict.fromkeys(("div", "footer", "nav", "header"), _box),
    "a": _link,
    "span": _span,
    "sub": _script("sub"),
    "sup": _script("sup"),
}
WIKIPEDIA_CLASSES: dict[str, Handler] = {
    **MEDIAWIKI_MATH,
    **{name: drop("navigation_dropped") for name in _NAVIGATION},
    **{name: drop("maintenance_boxes_dropped") for name in _MAINTENANCE},
    "hatnote": drop("hatnotes_dropped"),
    "dablink": drop("hatnotes_dropped"),
    "rellink": drop("hatnotes_dropped"),
    "Template-Fact": drop("inline_maintenance_dropped"),
    "Inline-Template": drop("inline_maintenance_dropped"),
    **dict.fromkeys(
        ("cs1-visible-error", "cs1-hidden-error", "cs1-maint"), drop("inline_maintenance_dropped")
    ),
    "noprint": drop("noprint_dropped"),
    "navigation-only": drop("edit_links_dropped"),
    "geobox": drop("maps_dropped"),
    "mvar": _variable,
    "nowrap": _audio,
    **NOTATION_CLASSES,
    "shortdescription": drop("short_descriptions_dropped"),
    "mw-editsection": drop("edit_links_dropped"),
    "pcs_edit_section_link_container": drop("edit_links_dropped"),
    "pcs-edit-section-link-container": drop("edit_links_dropped"),
    "mw-cite-backlink": drop("backlinks_dropped"),
    "mw-linkback-text": drop("backlinks_dropped"),
    "Z3988": drop("metadata_dropped"),
    "geo-nondefault": drop("coordinates_dropped"),
    "geo-multi-punct": drop("coordinates_dropped"),
    "geo-inline-hidden": drop("coordinates_dropped"),
    "sr-only": _for_readers,
    "visualhide": _for_readers,
    "mw-empty-elt": drop("empty_elements_dropped"),
    "cite_virgule": _separator,
    "mw-ref": _reference,
    "reference": _reference,
    "references": _references,
    "mw-references": _references,
    "mw-reference-text": _reference_text,
    "reference-text": _reference_text,
    "infobox": _infobox,
    "infobox_v2": _infobox,
    "infobox_v3": _infobox,
    "sinottico": _infobox,
    "firstHeading": _skin_title,
}

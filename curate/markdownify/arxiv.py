"""Rules for LaTeXML pages (ar5iv): one per class that LaTeXML writes.

Source: LaTeXML 0.8.8's XSLT for HTML5 and the pages of ar5iv-04.2024.
"""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify import front_matter, latexml_notes
from tootsie.curate.markdownify.blocks import open_line
from tootsie.curate.markdownify.citations import can_go
from tootsie.curate.markdownify.equations import equation_table
from tootsie.curate.markdownify.inlines import code, drop, transparent
from tootsie.curate.markdownify.listings import add_code_block, verbatim
from tootsie.curate.markdownify.options import References
from tootsie.curate.markdownify.resumption import skip
from tootsie.curate.markdownify.serializer import PASS, SKIP, Handler, Node, Serializer, text_of
from tootsie.curate.markdownify.tables import cell, open_table, row

# -- text


def _runin(name: str) -> Handler:
    """The title of a theorem or proof: bold, and the text follows in the same paragraph."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        serializer.counters[name] += 1

        def finish(s: Serializer, text: str) -> None:
            plain = re.sub(r"(?<!\\)\*+", "", text).strip()
            if plain:
                label(s, f"**{plain}** ")

        return open_line(serializer, finish)

    return handler


def _para(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A paragraph after a run-in title continues its line; one of affiliations goes with the authors."""
    if node.tag == "div" and not serializer.options.authors and front_matter.is_affiliation(serializer, node):
        serializer.front_matter_end = node.mem_id
        serializer.counters["front_matter_set_aside"] += 1
        return SKIP
    run_in = serializer.run_in
    if run_in is not None and run_in[0] is serializer.flow and run_in[1] == len(serializer.flow.parts):
        return None
    return PASS


def label(serializer: Serializer, text: str) -> None:
    """Start a paragraph with ``text``; the next paragraph continues it."""
    serializer.flush()
    serializer.flow.parts.append(text)
    serializer.space = True
    serializer.run_in = (serializer.flow, len(serializer.flow.parts))


def _item_tag(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The bullet or number of a list item: dropped where Markdown writes its own, kept where it says more."""
    parent = node.parent
    if parent is None or parent.tag != "li":
        return None
    text = text_of(node)
    flow = serializer.flow.parent
    if flow is not None and flow.kind == "list" and flow.state["ordered"]:
        match = re.fullmatch(r"\(?(\d{1,9})[.):]?", text)
        if match:
            flow.state["number"] = int(match.group(1))
            serializer.counters["item_numbers"] += 1
            return SKIP
        flow.state["ordered"] = False
    if not any(character.isalnum() for character in text):
        serializer.counters["item_bullets_dropped"] += 1
        return SKIP
    serializer.counters["item_labels"] += 1

    def finish(s: Serializer, line: str) -> None:
        label(s, line + " ")

    return open_line(serializer, finish)


def _cite(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Citations by the references policy. ``drop`` keeps those that the sentence needs."""
    if serializer.options.references is not References.DROP:
        serializer.counters["citations"] += 1
        return None
    if can_go(serializer, node):
        serializer.counters["citations_dropped"] += 1
        serializer.trim()
        return SKIP
    serializer.counters["citations"] += 1
    return None


def _bibliography(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    if serializer.options.references is References.KEEP:
        return PASS
    serializer.counters["reference_lists_dropped"] += 1
    return skip(serializer, node)


def _bibitem_tag(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    def finish(s: Serializer, text: str) -> None:
        if text:
            s.inline(text)
            s.text(" ")

    return open_line(serializer, finish)


def _bibblock(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    serializer.text(" ")
    return None


def _listing(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Listings become code blocks when they hold no formulas; algorithms become lines with their indentation."""
    classes = attributes.get("class") or ""
    if node.css_first(".ltx_listingline") is None:
        return PASS
    language = ""
    match = re.search(r"ltx_lst_language_([A-Za-z0-9+#-]+)", classes)
    if match:
        language = match.group(1).lower()
    if "ltx_lstlisting" in classes and not node.css_first("math"):
        serializer.counters["listings"] += 1
        text = "\n".join(_listing_text(line) for line in node.css(".ltx_listingline")).replace("\u00a0", " ")
        add_code_block(serializer, text, language)
        return SKIP
    serializer.counters["algorithms"] += 1
    serializer.flush()
    serializer.push("note")

    def leave(s: Serializer) -> None:
        blocks = s.pop().blocks
        if s.flow.in_cell or s.flow.kind == "line":
            s.block("<br>".join(blocks))
        else:
            s.block("  \n".join(blocks))

    return leave


def _listing_line(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """One line of an algorithm; leading no-break spaces are its indentation and stay."""
    serializer.flush()
    indent = 0
    number = ""
    child = node.first_child
    while child is not None:
        name = (child.attributes.get("class") or "") if child.is_element_node else ""
        if "ltx_tag_listingline" in name:
            number = text_of(child)
        elif child.tag == "-text" and not (child.text_content or "").strip():
            indent += (child.text_content or "").count("\u00a0")
        elif child.tag == "-text":
            text = child.text_content or ""
            indent += text[: len(text) - len(text.lstrip())].count("\u00a0")
            break
        else:
            break
        child = child.next
    if number:
        serializer.inline(number + " ")
    if indent:
        serializer.inline("\u00a0" * indent)
    serializer.space = True

    def leave(s: Serializer) -> None:
        s.flush()

    return leave


def _listing_text(line: Node) -> str:
    return verbatim_without_number(line).rstrip()


def verbatim_without_number(line: Node) -> str:
    """Return the text of a listing line without its number."""
    tag = line.css_first(".ltx_tag_listingline")
    text = verbatim(line)
    if tag is not None:
        number = verbatim(tag)
        text = text.lstrip("\n")
        text = text[len(number) :] if text.startswith(number) else text
    return text.strip("\n")


def _inline_table(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``span.ltx_tabular``: LaTeXML's spelling of a table inside a paragraph."""
    if node.tag != "span" or serializer.flow.in_cell or serializer.flow.kind == "line":
        return PASS
    serializer.counters["tables_inline"] += 1
    return open_table(serializer, node, attributes)


def _inline_row(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    return (
        row(serializer, node, attributes) if node.tag == "span" and serializer.flow.kind == "table" else PASS
    )


def _inline_cell(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    if node.tag != "span":
        return PASS
    if serializer.flow.kind == "table":
        return cell(serializer, node, attributes)
    serializer.text(" ")
    return None


def _bold(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    if node.tag != "span" or serializer.flow.kind == "line":
        return PASS
    return serializer.open_emphasis("strong")


def _italic(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Italics inside a paragraph; a paragraph that is italic as a whole (a theorem's) is not emphasis."""
    if node.tag != "span" or serializer.flow.kind == "line":
        return PASS
    if node.prev is None and node.next is None:
        return None
    return serializer.open_emphasis("em")


def _plain(kind: str) -> Handler:
    """Medium weight or upright shape inside emphasis: the emphasis ends before it and begins again behind."""

    def handler(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
        inlines = serializer.flow.inlines
        if node.tag != "span" or not inlines or inlines[-1].kind != kind:
            return PASS
        serializer.close_inline()

        def leave(s: Serializer) -> None:
            s.open_emphasis(kind)

        return leave

    return handler


def _typewriter(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    return (
        code(serializer, node, attributes) if node.tag == "span" and serializer.flow.kind != "line" else PASS
    )


def _float_right(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """A comment at the right margin of an algorithm's line."""
    if "float:right" in (attributes.get("style") or ""):
        serializer.text(" ")
    return PASS


def _picture(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``svg.ltx_picture``: its labels, so that no formula is lost."""
    serializer.counters["pictures_as_labels"] += 1
    return None


def _marked_as_math(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """What the source marks as a formula: a formula where it is one (``math``), otherwise text."""
    return PASS if node.tag == "math" else transparent(serializer, node, attributes)


def _error(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    serializer.counters["latexml_errors"] += 1
    return None


ARXIV_CLASSES: dict[str, Handler] = {
    "ltx_eqn_table": equation_table,
    "ltx_title_document": front_matter.title,
    "ltx_abstract": front_matter.abstract,
    "ltx_title_abstract": front_matter.abstract_heading,
    "ltx_authors": front_matter.authors,
    "ltx_keywords": front_matter.set_aside("keywords"),
    "ltx_classification": front_matter.set_aside("classification"),
    "ltx_dates": front_matter.set_aside("dates"),
    "ltx_title_theorem": _runin("theorems"),
    "ltx_title_proof": _runin("proofs"),
    "ltx_para": _para,
    "ltx_p": _para,
    "ltx_note": latexml_notes.note,
    "ltx_note_mark": drop("note_marks_dropped"),
    "ltx_note_type": drop("note_marks_dropped"),
    "ltx_tag_note": drop("note_marks_dropped"),
    "ltx_tag_item": _item_tag,
    "ltx_cite": _cite,
    "ltx_bibliography": _bibliography,
    "ltx_tag_bibitem": _bibitem_tag,
    "ltx_bibblock": _bibblock,
    "ltx_listing": _listing,
    "ltx_listingline": _listing_line,
    "ltx_tag_listingline": drop("listing_numbers_moved"),
    "ltx_listing_data": drop("listing_downloads_dropped"),
    "ltx_tr": _inline_row,
    "ltx_td": _inline_cell,
    "ltx_th": _inline_cell,
    "ltx_font_bold": _bold,
    "ltx_font_italic": _italic,
    "ltx_font_slanted": _italic,
    "ltx_font_medium": _plain("strong"),
    "ltx_font_upright": _plain("em"),
    "ltx_font_typewriter": _typewriter,
    "ltx_text": _float_right,
    "ltx_tabular": _inline_table,
    "ltx_picture": _picture,
    "ltx_ERROR": _error,
    "ltx_page_footer": drop("page_footers_dropped"),
    "ltx_page_header": drop("page_headers_dropped"),
    "ltx_page_navbar": drop("page_headers_dropped"),
    "ltx_page_logo": drop("page_footers_dropped"),
    "ltx_pagination": drop("page_breaks_dropped"),
    "ltx_TOC": drop("contents_dropped"),
    "ltx_toclist": drop("contents_dropped"),
    "ltx_rdf": drop("metadata_dropped"),
    "ltx_markedasmath": _marked_as_math,
    "package-alerts": drop("page_headers_dropped"),
    "ar5iv-footer": drop("page_footers_dropped"),
    "ltx_acknowledgements": front_matter.section_like("acknowledgements"),
}

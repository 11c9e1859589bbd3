"""What the classes are that LaTeXML writes: equations, notes, labels of items, listings, front matter.

Source: LaTeXML 0.8.8's HTML5 output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.fidelity import html_rules
from tootsie.curate.fidelity.code_text import verbatim
from tootsie.curate.fidelity.facts import Formula, bare, collapse, words
from tootsie.curate.fidelity.source_reader import Element, Node, Rule, SourceReader, Walk

_LANGUAGE = re.compile(r"ltx_lst_language_([A-Za-z0-9+#-]+)")
_RAISED = re.compile(r"(?:\{\})?\^(?:\{[^{}]{1,24}\}|.)")
_ITEM_NUMBER = re.compile(r"\(?(\d{1,9})[.):]?")


def _equations(reader: SourceReader, element: Element) -> Walk:
    """``equation``, ``align`` …: its formulas are displayed, together where they are several; words among them are its own."""
    reader.buffers.append(reader.out)
    reader.out = []
    reader.equation.append(len(reader.facts.formulas))

    def leave() -> None:
        inside, reader.out = reader.out, reader.buffers.pop()
        reader.facts.equation_text.extend(words("".join(inside)))
        first = reader.equation.pop()
        reader.solid.append(len(reader.out))
        reader.space()
        if len(reader.facts.formulas) == first + 1:
            reader.facts.formulas[first] = Formula(reader.facts.formulas[first].tex, display=True)

    return True, leave


def _equation_number(reader: SourceReader, element: Element) -> Walk | None:
    if not reader.equation:
        return None
    formula = element.node.css_first("math[alttext]")
    inside = (formula.attributes.get("alttext") or "") if formula is not None else ""
    text = f"${bare(inside)}$" if inside else bare(element.node.text(deep=True) or "")
    reader.facts.equation_numbers.append(text[1:-1] if text.startswith("(") and text.endswith(")") else text)
    return False, None


def _note(reader: SourceReader, element: Element) -> Walk:
    if "ltx_role_footnotemark" in element.names:
        return False, None
    descend, finish = reader.open_note()
    if "ltx_role_footnotetext" not in element.names or finish is None:
        return descend, finish
    mark = element.node.css_first(".ltx_note_mark")
    known = len(reader.facts.notes)

    def leave() -> None:
        finish()
        if len(reader.facts.notes) > known:
            text = reader.facts.notes.pop()
            reader.facts.notes_apart.append((mark.text(deep=True) or "" if mark is not None else "", text))

    return True, leave


def _item_label(reader: SourceReader, element: Element) -> Walk | None:
    """The bullet or number of an item: text where Markdown cannot write it."""
    if element.node.parent is None or element.node.parent.tag != "li" or not reader.items:
        return None
    label = collapse(element.node.text(deep=True) or "")
    outer = reader.items[-1][2]
    number = _ITEM_NUMBER.fullmatch(label)
    if number and outer[0]:
        outer[1] = int(number[1])
        return False, None
    outer[0] = False
    return any(character.isalnum() for character in label), reader.space


def _listing(reader: SourceReader, element: Element) -> Walk | None:
    """A listing without formulas is code; one with them, like an algorithm, is lines of text."""
    lines = element.node.css(".ltx_listingline")
    if "ltx_lstlisting" not in element.names or not lines or element.node.css_first("math") is not None:
        return None
    language = _LANGUAGE.search(element.attributes.get("class") or "")
    texts = [verbatim(line, skip="ltx_tag_listingline").strip("\n") for line in lines]
    reader.code_block("\n".join(texts), language[1].lower() if language else "")
    return False, None


def _span_only(rule: Rule) -> Rule:
    """Return a rule for the spans of a class; other elements are what their tag says."""

    def spans(reader: SourceReader, element: Element) -> Walk | None:
        return rule(reader, element) if element.tag == "span" else None

    return spans


def _inline_table(reader: SourceReader, element: Element) -> Walk | None:
    """``span.ltx_tabular``: a table inside a paragraph."""
    return html_rules.table(reader, element) if not reader.tables else None


def _run_in(reader: SourceReader, element: Element) -> Walk:
    """The title of a theorem or proof begins its paragraph, whatever its tag."""
    return True, reader.space


def _title(reader: SourceReader, element: Element) -> Walk:
    _, finish = reader.open_heading(1)
    start = len(reader.out)

    def leave() -> None:
        reader.facts.title = reader.facts.title or bare("".join(reader.out[start:]))
        assert finish is not None
        finish()

    return True, leave


def _abstract(reader: SourceReader, element: Element) -> Walk:
    start, buffer = len(reader.out), reader.out

    def leave() -> None:
        heading = element.node.css_first(".ltx_title_abstract")
        behind = len(words(heading.text(deep=True) or "")) if heading is not None else 0
        reader.facts.abstract = " ".join(words("".join(buffer[start:]))[behind:])
        reader.space()

    return True, leave


def _abstract_title(reader: SourceReader, element: Element) -> Walk:
    return reader.open_heading(0)


def affiliations(parser: LexborHTMLParser) -> Iterator[int]:
    """Yield the ``mem_id`` of affiliations written by hand: paragraphs behind the front matter that begin with a raised mark."""
    for front in parser.css(".ltx_authors, .ltx_abstract, .ltx_dates, .ltx_keywords, h1.ltx_title_document"):
        node: Node = front.next
        while node is not None and (
            not node.is_element_node or "ltx_para" in (node.attributes.get("class") or "").split()
        ):
            if node.is_element_node:
                mark = node.css_first("math, sup")
                if mark is None or not bare(node.text(deep=True) or "").startswith(
                    bare(mark.text(deep=True) or "")
                ):
                    break
                if mark.tag == "math" and not _RAISED.fullmatch(mark.attributes.get("alttext") or ""):
                    break
                yield node.mem_id
            node = node.next


CLASS_RULES: dict[str, Rule] = {
    "ltx_eqn_table": _equations,
    "ltx_tag_equation": _equation_number,
    "ltx_tag_equationgroup": _equation_number,
    "ltx_note": _note,
    "ltx_tag_item": _item_label,
    "ltx_listing": _listing,
    "ltx_font_typewriter": _span_only(html_rules.code),
    "ltx_tabular": _span_only(_inline_table),
    "ltx_tr": _span_only(html_rules.row),
    "ltx_td": _span_only(html_rules.cell),
    "ltx_th": _span_only(html_rules.cell),
    "ltx_title_theorem": _run_in,
    "ltx_title_proof": _run_in,
    "ltx_title_document": _title,
    "ltx_title_abstract": _abstract_title,
    "ltx_abstract": _abstract,
}

"""The names of all rules: what each one does, and in which profiles it can apply.

A rule counts itself in :attr:`.Conversion.counters`; every name that can stand there is in :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tootsie.curate.markdownify.options import Profile


class Effect(StrEnum):
    """What a rule does to the text of the element it applies to."""

    KEPT = "kept"
    """The text stays, as the same kind of thing in Markdown."""
    REWRITTEN = "rewritten"
    """The text is expressed otherwise: as a formula, by a marker of Markdown, in another place."""
    ASIDE = "set aside"
    """The text goes to another field of the result: title, authors, metadata."""
    DROPPED = "dropped"
    """The text goes nowhere."""


@dataclass(frozen=True)
class Rule:
    """One rule of the converter."""

    name: str
    """The name of its counter."""
    effect: Effect
    description: str
    """What it does, in one sentence."""
    profiles: frozenset[Profile]
    """Where it can apply."""


_ALL = frozenset(Profile)
_MATH = _ALL - {Profile.ARXIV}
_ARXIV = frozenset({Profile.ARXIV})
_WIKIPEDIA = frozenset({Profile.WIKIPEDIA})
_CORPORA = _ALL - {Profile.WEB}
_STACKEXCHANGE = frozenset({Profile.STACKEXCHANGE})
_K, _R, _A, _D = Effect.KEPT, Effect.REWRITTEN, Effect.ASIDE, Effect.DROPPED
_TABLE: tuple[tuple[str, Effect, frozenset[Profile], str], ...] = (
    # formulas
    ("formulas_inline", _R, _ALL, "A formula in the line, $…$."),
    ("formulas_display", _R, _ALL, "A displayed formula, $$…$$."),
    ("formulas_from_alttext", _R, _ALL, "TeX taken from the alttext of a math element."),
    ("formulas_from_annotation", _R, _ALL, "TeX taken from the annotation in MathML."),
    ("formulas_from_mathml", _R, _ALL, "TeX made from MathML that carries none."),
    ("formulas_from_script", _R, _ALL, "TeX taken from a script of type math/tex."),
    ("formulas_from_image", _R, _MATH, "TeX taken from the alternative text of a formula's image."),
    ("formulas_from_entry", _R, _MATH, "TeX taken from the data-entry of Temml."),
    ("formulas_from_container", _R, _MATH, "TeX taken from the text of an element marked as a formula (span.math-container)."),
    ("formulas_from_rendering", _R, _ALL, "TeX made from MathJax's rendering, of which nothing else is left."),
    ("formulas_joined", _R, _ALL, "A formula in text that emphasis, line breaks or links had torn apart."),
    ("formulas_empty", _D, _ALL, "A formula with neither TeX nor MathML that says anything."),
    ("formulas_without_source", _K, _ALL, "A rendered formula whose structure cannot be told: its characters stay as text."),
    ("formulas_pipes_rewritten", _R, _ALL, "\\| in a table cell, which GFM cannot hold, becomes \\Vert."),
    ("rendered_formulas_dropped", _D, _MATH, "The rendered copy of a formula whose source stands beside it."),
    ("equations", _K, _ARXIV, "An equation environment of one row."),
    ("equation_groups", _K, _ARXIV, "Rows of align, eqnarray, gather joined into one formula."),
    ("equation_texts", _K, _ARXIV, "Text between the rows of a group (\\intertext), as a paragraph."),
    ("equation_numbers", _R, _ALL, "An equation number, as \\tag{…}."),
    # tables
    ("tables_gfm", _K, _ALL, "A table written as GFM."),
    ("tables_html", _K, _ALL, "A table of what GFM cannot hold, written as HTML around Markdown."),
    ("tables_layout", _K, _ALL, "A table that only arranges: its cells become blocks."),
    ("tables_inline", _K, _ARXIV, "A table that LaTeXML wrote with span elements."),
    ("tables_too_large", _K, _ALL, "A table beyond max_cells: its rows become lines of text."),
    ("cells_spanning", _K, _ALL, "A cell that spans rows or columns."),
    ("captions", _K, _ALL, "A caption, as a paragraph."),
    # code
    ("code_blocks", _K, _ALL, "Preformatted text, as a fenced block."),
    ("code_languages", _R, _ALL, "The language of a code block, as its info string."),
    ("code_spans", _K, _ALL, "Code in the line."),
    ("line_numbers_dropped", _D, _ALL, "The column of line numbers beside a listing."),
    ("listings", _K, _ARXIV, "A listing of LaTeX, as a fenced block."),
    ("algorithms", _K, _ARXIV, "An algorithm, as lines with numbers and indentation."),
    ("listing_numbers_moved", _R, _ARXIV, "The number of an algorithm's line, written before the line."),
    ("listing_downloads_dropped", _D, _ARXIV, "The link to a listing as a file."),
    # blocks
    ("headings", _K, _ALL, "A heading."),
    ("lists", _K, _ALL, "A list."),
    ("list_items", _K, _ALL, "Items of a list."),
    ("back_links_dropped", _D, _ALL, "The link at the end of a footnote back to its mark."),
    ("tasks", _R, _ALL, "The checkbox at the start of a list item, as [ ] or [x]."),
    ("item_labels", _K, _ARXIV, "The label of an item that Markdown cannot number, kept as text."),
    ("item_numbers", _R, _ARXIV, "The number of an item, as the marker of the list."),
    ("item_bullets_dropped", _D, _ARXIV, "The bullet of an item: Markdown writes its own."),
    ("quotations", _K, _ALL, "A block quotation."),
    ("terms", _K, _ALL, "The term of a definition list or a summary, in bold."),
    ("rules", _K, _ALL, "A thematic break."),
    ("blocks_flattened", _K, _ALL, "A list or quotation beyond max_indent, or in a line of text: no indentation."),
    ("theorems", _K, _ARXIV, "The title of a theorem, run in."),
    ("proofs", _K, _ARXIV, "The title of a proof, run in."),
    # inline
    ("emphasis", _K, _ALL, "Emphasis, strong emphasis or struck text."),
    ("raised_or_lowered", _K, _ALL, "A superscript or subscript."),
    ("quotation_marks", _K, _ALL, "A quotation in the line, in quotation marks."),
    ("links", _K, _ALL, "A link."),
    ("images", _K, _ALL, "An image."),
    ("images_as_text", _K, _ALL, "An image replaced by its alternative text."),
    ("images_dropped", _D, _ALL, "An image left out."),
    ("ruby_readings", _K, _ALL, "The reading of ruby text, in brackets."),
    ("ruby_brackets", _R, _ALL, "The brackets of rp, written by the reading's rule."),
    ("pictures_as_labels", _K, _ARXIV, "A picture of LaTeXML, kept as the labels in it."),
    # notes and citations
    ("footnotes", _R, _ALL, "A note, as [^n] with its text at the end."),
    ("note_marks_kept", _K, _ARXIV, "The mark of a note whose text or other mark cannot be told: raised, where it stands."),
    ("note_marks_dropped", _D, _ARXIV, "The mark in a note: [^n] stands for it."),
    ("citations", _K, frozenset({Profile.ARXIV, Profile.WIKIPEDIA}), "A citation, kept as text."),
    ("citations_dropped", _D, frozenset({Profile.ARXIV, Profile.WIKIPEDIA}), "A citation left out."),
    ("citation_commas_dropped", _D, _WIKIPEDIA, "The comma between two citations that were left out."),
    ("reference_lists", _R, _WIKIPEDIA, "A list of notes: each goes to its [^n]."),
    ("references_dropped", _D, _WIKIPEDIA, "A note that no mark in the text refers to any more."),
    ("reference_lists_dropped", _D, _ARXIV, "The bibliography."),
    ("backlinks_dropped", _D, _WIKIPEDIA, "Links from a note back to its marks."),
    # front matter
    ("abstracts", _K, _ARXIV, "The abstract: in the text and in Conversion.abstract."),
    ("authors_set_aside", _A, _ARXIV, "The author block; the names are in Conversion.authors."),
    ("front_matter_set_aside", _A, _ARXIV, "Keywords, classification, dates (in Conversion.metadata), affiliations."),
    ("page_titles_set_aside", _A, _ALL, "The title element of the page."),
    # what a profile leaves out
    ("hidden_dropped", _D, _ALL, "An element that is not shown."),
    ("scripts_dropped", _D, _ALL, "A script."),
    ("styles_dropped", _D, _ALL, "A style sheet."),
    ("templates_dropped", _D, _ALL, "A template, which is shown only by scripts."),
    ("noscript_dropped", _D, _ALL, "What is shown where scripts do not run."),
    ("forms_dropped", _D, _ALL, "Buttons, menus and text fields."),
    ("embeds_dropped", _D, _ALL, "A frame, sound or film."),
    ("pictures_dropped", _D, _ALL, "A drawing: svg, canvas."),
    ("page_headers_dropped", _D, _ARXIV, "The header of the page."),
    ("page_footers_dropped", _D, _ARXIV, "The footer of the page."),
    ("page_breaks_dropped", _D, _ARXIV, "A page break."),
    ("contents_dropped", _D, _ARXIV, "A table of contents."),
    ("metadata_dropped", _D, frozenset({Profile.ARXIV, Profile.WIKIPEDIA}), "Data for machines: RDF, COinS."),
    ("latexml_errors", _K, _ARXIV, "A command that LaTeXML did not know, kept as text."),
    ("infoboxes", _K, _WIKIPEDIA, "An infobox, as a table."),
    ("infoboxes_dropped", _D, _WIKIPEDIA, "An infobox left out."),
    ("navigation_dropped", _D, _WIKIPEDIA, "Navigation: boxes, bars, contents, categories."),
    ("maintenance_boxes_dropped", _D, _WIKIPEDIA, "A box that asks editors for something."),
    ("inline_maintenance_dropped", _D, _WIKIPEDIA, "A remark that asks editors for something."),
    ("hatnotes_dropped", _D, _WIKIPEDIA, "A pointer to another article above the text, or a block that says it is navigation."),
    ("noprint_dropped", _D, _WIKIPEDIA, "What is not printed."),
    ("short_descriptions_dropped", _D, _WIKIPEDIA, "The short description, which is not shown."),
    ("edit_links_dropped", _D, _WIKIPEDIA, "A link to edit a section, template or table."),
    ("help_marks_dropped", _D, _WIKIPEDIA, "A raised question mark that links to help with a script."),
    ("audio_links_dropped", _D, _WIKIPEDIA, "Brackets around nothing but a player."),
    ("maps_dropped", _D, _WIKIPEDIA, "The labels of pins on a map that is a picture."),
    ("hieroglyphs", _R, _WIKIPEDIA, "Pictures of hieroglyphs, as their codes in Gardiner's list."),
    ("chess_diagrams", _R, _WIKIPEDIA, "A picture of a chessboard, as the position in Forsyth–Edwards notation."),
    ("scores", _R, _WIKIPEDIA, "A picture of music, as its source."),
    ("coordinates_dropped", _D, _WIKIPEDIA, "A second spelling of coordinates, or those of the page's corner."),
    ("empty_elements_dropped", _D, _WIKIPEDIA, "An element that is marked as empty, or holds zero-width spaces only."),
    ("empty_sections_dropped", _D, _WIKIPEDIA, "A heading with nothing left below it."),
    ("mixed_number_signs_dropped", _D, _WIKIPEDIA, "The plus for screen readers in a mixed number."),
    ("snippets", _K, _STACKEXCHANGE, "A runnable snippet, as its code blocks."),
    ("snippet_results_dropped", _D, _STACKEXCHANGE, "The place where a snippet would run."),
    ("duplicate_notices_dropped", _D, _STACKEXCHANGE, "A notice that a question is a duplicate or closed."),
    # repairs of the input
    ("soft_hyphens_removed", _R, _CORPORA, "Hints where a word may be broken, in running text."),
    ("ends_recovered", _K, _ALL, "An end that an unclosed comment, script, quotation mark, hidden element or emphasis took."),
    ("contents_recovered", _K, _ALL, "What follows the own content of an element that is left out and never closed: kept."),
    ("elements_too_deep", _K, _ALL, "An element beyond max_depth, or of too many names of tags: unwrapped, its text stays."),
    ("invalid_characters_replaced", _R, _ALL, "Bytes that are no text in the page's encoding, as U+FFFD."),
    ("control_characters_removed", _D, _ALL, "Control characters."),
)  # fmt: skip
RULES: Mapping[str, Rule] = {
    name: Rule(name, effect, description, profiles) for name, effect, profiles, description in _TABLE
}
NOT_SHOWN = frozenset(("scripts_dropped", "styles_dropped", "templates_dropped", "page_titles_set_aside"))
"""Rules for what no reader of the page sees in it."""

LOST_BY: Mapping[str, str] = {"headings": "empty_sections_dropped", "reference_lists": "references_dropped"}
"""By the rule that read a text, the rule that left it out later on."""


def rules_of(profile: str | Profile) -> dict[str, Rule]:
    """Return the rules that can apply in a profile, by name; those absent from the counters matched nothing."""
    return {name: rule for name, rule in RULES.items() if profile in rule.profiles}


def table(profile: str | Profile | None = None) -> str:
    """Return the rules (of one profile) as lines ``name  effect  description``."""
    chosen = list(RULES.values()) if profile is None else list(rules_of(profile).values())
    width = max(len(rule.name) for rule in chosen)
    return "".join(f"{rule.name:{width}}  {rule.effect:9}  {rule.description}\n" for rule in chosen)


def as_markdown() -> str:
    """Return all rules as ``docs/markdownify-rules.md``."""
    lines = [
        "# Rules of the converter",
        "",
        "Written by `python -m tootsie.curate.markdownify.rules > docs/markdownify-rules.md`. Each rule counts itself in",
        "`Conversion.counters`; `python -m curate.markdownify --rules --profile P` lists those of one profile,",
        "`--explain` shows what they do to one page.",
        "",
        "| rule | its text is | profiles | what it does |",
        "|---|---|---|---|",
    ]
    for rule in RULES.values():
        profiles = "all" if rule.profiles == _ALL else ", ".join(sorted(rule.profiles))
        lines.append(
            f"| `{rule.name}` | {rule.effect} | {profiles} | {rule.description.replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")

"""What each profile means to leave out of a page: the one list that the measure grants a converter. Everything else must arrive.

Written from what the pages are, not from the converter's rules, so that a rule that takes too much shows as lost text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tootsie.curate.markdownify.options import Options, Profile, References


@dataclass(frozen=True)
class Omission:
    """Elements that are no loss."""

    reason: str
    """Why they are no loss; the measure counts their words under it."""
    selectors: tuple[str, ...]
    """CSS selectors of the elements; nothing below them is expected."""
    profiles: tuple[Profile, ...] = tuple(Profile)
    references: tuple[References, ...] = tuple(References)
    """Policies under which they go."""
    infobox: bool | None = None
    """Only under this policy for infoboxes; ``None``: always."""
    authors: bool | None = None
    """Only under this policy for author blocks; ``None``: always."""


ARXIV, WIKIPEDIA = (Profile.ARXIV,), (Profile.WIKIPEDIA,)
WITHOUT_LISTS = (References.CITE_KEYS, References.DROP)

OMISSIONS = (
    Omission(
        "no content",
        ("head", "title", "style", "template", "noscript", "iframe", "audio", "video", "canvas", "datalist", "rp"),
    ),
    Omission("forms", ("button", "select", "textarea", "input")),
    Omission("hidden", ("[hidden]",)),
    Omission("drawings", ("svg:not(.ltx_picture)",)),
    Omission(
        "second copies of a formula",
        (".MathJax", ".MathJax_Preview", ".MathJax_Display", ".MathJax_SVG", ".MathJax_SVG_Display", ".MathJax_CHTML",
         ".katex-html", ".mwe-math-fallback-image-inline", ".mwe-math-fallback-image-display"),
    ),
    # -- LaTeXML and ar5iv
    Omission(
        "frame of the page",
        (".ltx_page_footer", ".ltx_page_header", ".ltx_page_navbar", ".ltx_page_logo", ".ltx_pagination",
         ".ar5iv-footer", ".package-alerts", ".ltx_rdf"),
        ARXIV,
    ),
    Omission("contents", (".ltx_TOC", ".ltx_toclist"), ARXIV),
    Omission("authors and affiliations", (".ltx_authors", ".ltx_role_institutetext"), ARXIV, authors=False),
    Omission(
        "front matter set aside", (".ltx_keywords", ".ltx_classification", ".ltx_dates", ".ltx_note_frontmatter"), ARXIV
    ),
    Omission("marks of notes", (".ltx_note_mark", ".ltx_note_type", ".ltx_tag_note"), ARXIV),
    Omission("downloads of listings", (".ltx_listing_data",), ARXIV),
    Omission("bibliography", (".ltx_bibliography",), ARXIV, references=WITHOUT_LISTS),
    # -- MediaWiki
    Omission(
        "navigation",
        (".navbox", ".navbox-styles", ".navbar", ".vertical-navbox", ".sidebar", ".portal-bar", ".portalbox", ".portal",
         ".bandeau-portail", ".sistersitebox", ".side-box", ".succession-box", ".toc", ".catlinks", ".authority-control",
         ".mw-authority-control", ".navigation-not-searchable", ".navigation-box", ".BoxenVerschmelzen",
         ".Vorlage_Navigationsleiste"),
        WIKIPEDIA,
    ),
    Omission(
        "frame of the page",
        (".mw-jump-link", ".printfooter", ".mw-portlet", ".vector-header-container", ".vector-menu", ".vector-toc",
         ".vector-column-start", ".mw-indicators", ".mw-footer", ".mw-interlanguage-selector", ".shortdescription"),
        WIKIPEDIA,
    ),
    Omission(
        "maintenance",
        (".ambox", ".tmbox", ".ombox", ".cmbox", ".fmbox", ".mbox-small", ".stub", ".metadata", ".bandeau-container",
         ".bandeau-article", ".Template-Fact", ".Inline-Template", ".cs1-visible-error", ".cs1-hidden-error", ".cs1-maint"),
        WIKIPEDIA,
    ),
    Omission(
        "pointers to other articles",
        (".hatnote", ".dablink", ".rellink", "div[role=navigation]", "span[role=navigation]", "nav[role=navigation]"),
        WIKIPEDIA,
    ),
    Omission("pins of maps", (".geobox",), WIKIPEDIA),
    Omission(
        "links for editors",
        (".mw-editsection", ".navigation-only", ".pcs-edit-section-link-container", ".pcs_edit_section_link_container",
         "a[href*='action=edit']:not([href*='redlink=1'])"),
        WIKIPEDIA,
    ),
    Omission("not for print", (".noprint",), WIKIPEDIA),
    Omission("backlinks of notes", (".mw-cite-backlink", ".mw-linkback-text"), WIKIPEDIA),
    Omission("metadata", (".Z3988",), WIKIPEDIA),
    Omission("second form of coordinates", (".geo-nondefault", ".geo-multi-punct", ".geo-inline-hidden"), WIKIPEDIA),
    Omission("coordinates at the corner", ("span#coordinates",), WIKIPEDIA),
    Omission("commas between citations", (".cite_virgule",), WIKIPEDIA, references=(References.DROP,)),
    Omission("infobox", (".infobox", ".infobox_v2", ".infobox_v3", ".sinottico"), WIKIPEDIA, infobox=False),
    # -- StackExchange
    Omission(
        "notices and results of snippets",
        (".snippet-result", ".question-originals-of-duplicate", ".special-status"),
        (Profile.STACKEXCHANGE,),
    ),
)  # fmt: skip


def of(options: Options) -> Iterator[Omission]:
    """Yield what a conversion with ``options`` leaves out."""
    for omission in OMISSIONS:
        if (
            options.profile in omission.profiles
            and options.references in omission.references
            and omission.infobox in (None, options.infobox)
            and omission.authors in (None, options.authors)
        ):
            yield omission

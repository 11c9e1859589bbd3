"""Profiles, policies and limits of the converter."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tootsie.curate.markdownify.style import OPTIONS as STYLE_OPTIONS
from tootsie.curate.markdownify.style import SYNONYMS, Style
from tootsie.datasets.errors import SpecError


class Profile(StrEnum):
    """What kind of page is converted: decides the rules for boxes, notes, titles and the default policies."""

    WEB = "web"
    """Any page: nothing but scripts, styles, forms and hidden elements is left out."""
    ARXIV = "arxiv"
    """LaTeXML output as in ar5iv: equation groups, theorems, listings, notes, citations, abstract, authors."""
    WIKIPEDIA = "wikipedia"
    """Parsoid and skin HTML of MediaWiki, Enterprise dumps: infobox, references, navigation, maintenance boxes."""
    STACKEXCHANGE = "stackexchange"
    """Bodies of StackExchange posts: MathJax delimiters in text, prettyprint languages, snippets, spoilers."""


class References(StrEnum):
    """What becomes of citations and reference lists."""

    KEEP = "keep"
    """Citations and lists stay (Wikipedia: as footnotes)."""
    CITE_KEYS = "cite-keys"
    """Citations stay as their text, the lists go."""
    DROP = "drop"
    """Lists and parenthetical citations go; a citation that is part of the sentence stays as text."""


class Links(StrEnum):
    """What becomes of ``<a href>``."""

    KEEP = "keep"
    TEXT = "text"


class Images(StrEnum):
    """What becomes of ``<img>``."""

    KEEP = "keep"
    ALT = "alt"
    DROP = "drop"


class Dollars(StrEnum):
    """Whether ``$…$`` and its kin in text are formulas (MathJax)."""

    NONE = "none"
    STRICT = "strict"
    """``\\(…\\)``, ``$$…$$`` always; ``$…$`` where Pandoc would see a formula and it does not look like money."""
    AUTO = "auto"
    """``strict`` on a page that loads MathJax or KaTeX's auto-render, else ``none``."""
    ALL = "all"
    """As MathJax reads them on a site that has it."""


@dataclass(frozen=True)
class Options:
    """The policies of one conversion; :meth:`of` gives the defaults of a profile."""

    profile: Profile = Profile.WEB
    links: Links = Links.KEEP
    images: Images = Images.KEEP
    references: References = References.KEEP
    dollars: Dollars = Dollars.NONE
    infobox: bool = True
    """Wikipedia: keep the infobox, as a table."""
    authors: bool = False
    """arXiv: keep the author block in the text (it is always in ``Conversion.authors``)."""
    title: bool = True
    """Start with ``# title`` where the page body has no title heading of its own."""
    exact: bool = True
    """Keep also what a reader does not see: elements without content, emphasis within emphasis of its kind, white space at
    the edges of code."""
    nbsp: str = "\u00a0"
    """What a no-break space becomes."""
    bullets: str = "-"
    """Markers of bullet lists, one for each depth of nesting among themselves, then from the first again."""
    code_language: str = ""
    """Info string of code blocks whose language the page does not declare."""
    sub: str = "<sub>"
    """What surrounds subscripts: an HTML tag, any other mark, or nothing."""
    sup: str = "<sup>"
    """Likewise, superscripts."""
    style: Style = dataclasses.field(default_factory=lambda: Style.of({}))
    """How the Markdown is written: the options of the ``markdownify`` package, each by its own name."""

    @classmethod
    def of(cls, profile: str | Profile, **options: Any) -> Options:
        """Return the defaults of ``profile`` with ``options`` on top: fields of this class and of :class:`.Style`.

        Raises:
          SpecError: unknown profile or option, or a value that is none of the allowed ones.
        """
        chosen = _enum(Profile, profile, "profile")
        settings: dict[str, Any] = {**_DEFAULTS[chosen]}
        style: dict[str, Any] = {}
        for given, value in options.items():
            name = SYNONYMS.get(given, given)
            if name != given and options.get(name, value) != value:
                raise SpecError(
                    f"{given} is another name of {name}, and the two differ",
                    field=given,
                    value=value,
                    remedy="Give one of them",
                )
            if name in STYLE_OPTIONS:
                style[name] = value
            elif name in OPTIONS:
                kind = _ENUMS.get(name)
                settings[name] = _enum(kind, value, name) if kind else value
            else:
                raise unknown_option(given)
        if not isinstance(settings.get("bullets", "-"), str) or not settings.get("bullets", "-"):
            settings["bullets"] = _bullets(settings["bullets"])
        return cls(profile=chosen, style=Style.of(style), **settings)


OPTIONS = frozenset(field.name for field in dataclasses.fields(Options)) - {"profile", "style"}
KNOWN = OPTIONS | STYLE_OPTIONS | frozenset(SYNONYMS)
"""Every option by name."""


def unknown_option(name: str) -> SpecError:
    """Return the error for an option that does not exist."""
    near = difflib.get_close_matches(name, KNOWN, 1)
    return SpecError(
        "unknown option of the converter",
        field=name,
        remedy=f"Did you mean {near[0]}?" if near else f"Known: {', '.join(sorted(KNOWN))}",
    )


def _bullets(value: Any) -> str:
    """Join the markers of a list; refuse what holds none."""
    marks = "".join(value) if isinstance(value, list | tuple) else ""
    if not marks:
        raise SpecError(
            "bullets names no marker",
            field="bullets",
            value=value,
            remedy="Give markers such as '-' or '*+-'",
        )
    return marks


_ENUMS: dict[str, type[StrEnum]] = {
    "links": Links,
    "images": Images,
    "references": References,
    "dollars": Dollars,
}
_DEFAULTS: dict[Profile, dict[str, Any]] = {
    Profile.WEB: {"dollars": Dollars.AUTO},
    Profile.ARXIV: {
        "links": Links.TEXT, "images": Images.DROP, "references": References.CITE_KEYS, "nbsp": " ",
        "exact": False,
    },
    Profile.WIKIPEDIA: {
        "links": Links.TEXT, "images": Images.DROP, "references": References.DROP, "nbsp": " ",
        "exact": False,
    },
    Profile.STACKEXCHANGE: {"dollars": Dollars.ALL, "nbsp": " ", "title": False, "exact": False},
}  # fmt: skip


def _enum(kind: Any, value: Any, field: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise SpecError(
            f"the option {field} has a value that does not exist",
            field=field,
            value=value,
            remedy=f"Use one of {', '.join(kind)}",
        ) from None


@dataclass(frozen=True)
class Limits:
    """Bounds that keep hostile pages cheap."""

    max_bytes: int = 64 * 2**20
    """A longer page (bytes, or characters of text) is refused with :class:`InputError`."""
    max_depth: int = 256
    """Elements nested deeper are unwrapped: their text stays, ``elements_too_deep`` counts them."""
    max_indent: int = 16
    """Lists and quotations nested deeper are written without further indentation (``blocks_flattened``). A list numbered from
    100 on counts for more than one, since its number is part of the indentation."""
    max_cells: int = 1_000_000
    """A table whose grid would have more cells becomes plain lines of text (``tables_too_large``)."""

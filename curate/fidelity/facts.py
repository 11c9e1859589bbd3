"""What a page holds, in the form in which its source and its Markdown are compared.

Text travels with its formulas and code spans in it, each between two private characters (:data:`MATH`, :data:`CODE`), so that a
heading, a cell or an item can be compared with them and the running text without them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MATH = ("\ue000", "\ue001")
CODE = ("\ue002", "\ue003")
_MARKS = re.compile("[\ue000-\ue003]")
_SPANS = re.compile("\ue000[^\ue001]*\ue001|\ue002[^\ue003]*\ue003")
_MATH_SPANS = re.compile("\ue000[^\ue001]*\ue001")
_SPACE = re.compile(r"[\s\u200b\ufeff]+")
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORDS = re.compile(rf"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}_])\w)+|[^\w\s]|_")
_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)%[ \t]*\r?\n[ \t]*")
_ZERO_WIDTH = dict.fromkeys((0x00AD, 0x200B, 0xFEFF))
_NORM = re.compile(r"\\Vert(?![A-Za-z]) ?")

Grid = tuple[tuple[tuple[int, str], ...], ...]
"""A table: for each row that is not empty, ``(column, content)`` of its cells that are not empty.

Columns in which no cell begins are not counted."""


@dataclass(frozen=True)
class Formula:
    """A formula as TeX, white space normalised."""

    tex: str
    display: bool
    piece: bool = False
    """A cell of an aligned group: it stands inside a larger formula in the Markdown."""


@dataclass(frozen=True)
class Table:
    """A table and whether any of its cells spans rows or columns."""

    grid: Grid
    spans: bool
    nested: bool = False
    """It holds another table: Markdown has it as HTML."""


@dataclass
class Facts:
    """What one document holds; each list in the order of the document."""

    text: list[str] = field(default_factory=list)
    """Running text with formulas and code in it: the page, then each note."""
    equation_text: list[str] = field(default_factory=list)
    """Words among the cells of an equation: in Markdown they may be inside the formula."""
    formulas: list[Formula] = field(default_factory=list)
    untold: int = 0
    """Formulas of which the page has no TeX."""
    equation_numbers: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    code_blocks: list[tuple[str, str]] = field(default_factory=list)
    """Text and language (empty: none declared)."""
    code_spans: list[str] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    """Level (0: any) and text."""
    items: list[str] = field(default_factory=list)
    """List items up to the first list inside them, with their number in an ordered list."""
    links: list[tuple[str, str]] = field(default_factory=list)
    """Target and text."""
    images: list[str] = field(default_factory=list)
    """Sources."""
    notes: list[str] = field(default_factory=list)
    """Texts of footnotes."""
    notes_apart: list[tuple[str, str]] = field(default_factory=list)
    """Marks and texts of notes that stand apart from where they are mentioned: a footnote, or the mark and the text in place."""
    title: str = ""
    abstract: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    """Words that the profile leaves out, by reason."""


def clean(text: str) -> str:
    """Return ``text`` without the characters that mark formulas and code here."""
    return _MARKS.sub("", text) if _MARKS.search(text) else text


def words(text: str) -> list[str]:
    """Return the words and symbols of running text, without formulas, code and what has no width; an ideograph is a word."""
    return _WORDS.findall(_SPANS.sub(" ", text).translate(_ZERO_WIDTH))


def bare(text: str) -> str:
    """Return ``text`` without white space, formulas and code included: how headings, cells and items are compared."""
    return _SPACE.sub("", text).replace("\u00ad", "")


def without_math(text: str) -> str:
    """Return ``text`` without its formulas."""
    return _MATH_SPANS.sub(" ", text)


def normal_tex(tex: str) -> str:
    r"""Return ``tex`` with runs of white space as one space and TeX's comment-newlines joined.

    ``\Vert`` is ``\|``, which a table cell of GFM cannot hold: they are one symbol.
    """
    return _SPACE.sub(" ", _NORM.sub(r"\\|", _CONTINUATION.sub(r"\1", clean(tex)))).strip()


def normal_code(text: str) -> str:
    """Return a code block without the white space at line ends and the blank lines around it."""
    lines = [line.rstrip() for line in clean(text).replace("\u00a0", " ").expandtabs(4).split("\n")]
    return "\n".join(lines).strip("\n")


def collapse(text: str) -> str:
    """Return ``text`` with runs of white space as one space."""
    return _SPACE.sub(" ", text).strip()

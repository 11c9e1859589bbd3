"""How the documents of a corpus are written: how they end, white space, Markdown, formulas, code, languages, lengths.

A tally adds up documents, tallies add up to the tally of all, and a profile is what a tally says in shares. Two corpora that are
to be compared by a model's loss (training data and an evaluation set, say) should have the same profile but for their subject:
:mod:`.format_comparison`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FORMAT = "tootsie-format-profile/1"
"""What :func:`profile` returns."""
BUCKETS = 8
"""Buckets of lengths for each doubling: quantiles are right to a twelfth."""
QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)
MAX_ENDS = 20
"""Last characters that are told apart in a profile; the others are one."""
MAX_FORMULA = 400
"""Characters of a formula between single dollars."""
_FEATURES = {
    "byte order mark": re.compile("\ufeff"),
    "carriage returns": re.compile("\r"),
    "tabs": re.compile("\t"),
    "no-break spaces": re.compile("\u00a0"),
    "control characters": re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"),
    "replacement characters": re.compile("\ufffd"),
    "trailing whitespace on lines": re.compile(r"(?<![^\S\n])[^\S\n]+(?=\n)"),
    "three empty lines or more": re.compile(r"\n[^\S\n]*\n[^\S\n]*\n[^\S\n]*\n"),
    "headings": re.compile(r"^ {0,3}#{1,6} \S", re.MULTILINE),
    "underlined headings": re.compile(r"^\S.*\n(?:=+|-{3,})[ \t]*$", re.MULTILINE),
    "bullet lists": re.compile(r"^ {0,8}[-*+] +\S", re.MULTILINE),
    "numbered lists": re.compile(r"^ {0,8}\d{1,4}[.)] +\S", re.MULTILINE),
    "tables": re.compile(r"^\|?[ \t]*:?-{2,}:?[ \t]*\|[-:| \t]*$", re.MULTILINE),
    "code blocks": re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE),
    "code spans": re.compile(r"(?<!`)`[^`\n]{1,200}`(?!`)"),
    "emphasis": re.compile(r"(?<![\w*])\*{1,2}[^\s*][^*\n]{0,200}\*{1,2}(?![\w*])"),
    "links": re.compile(r"\]\([^()\s]{1,500}\)"),
    "bare addresses": re.compile(r"(?<![(<\w])https?://\S"),
    "quotations": re.compile(r"^ {0,3}> ", re.MULTILINE),
    "escapes": re.compile(r"\\[*_#\[\]`>~|]"),
    "HTML tags": re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,20}(?:\s[^<>]{0,500})?/?>"),
    "HTML entities": re.compile(r"&(?:[a-zA-Z]{2,10}|#\d{1,6});"),
    "inline formulas": re.compile(
        rf"(?<![\\$])\$(?![\s$])[^$\n]{{1,{MAX_FORMULA}}}(?<![\s\\])\$(?![\d$])|\\\(.{{1,{MAX_FORMULA}}}?\\\)"
    ),
    "display formulas": re.compile(r"\$\$|\\\[|\\begin\{(?:equation|align|gather|multline)\*?\}"),
    "sentence ends": re.compile(r"[.!?。！？…][\"'”’)\]]*(?=\s|$)"),
}
"""What is looked for in a text; each pattern takes time linear in it."""
MARKDOWN = frozenset(("headings", "tables", "code blocks", "emphasis", "links"))
"""Features of which a document that is Markdown has one."""
FORMULAS = frozenset(("inline formulas", "display formulas"))
ENDS = {
    "space": re.compile(r" \Z"),
    "two line breaks or more": re.compile(r"\n\s*\n\Z"),
    "line break": re.compile(r"\n\Z"),
    "other white space": re.compile(r"\s\Z"),
}
"""How a text ends, the first that applies; else ``character``."""
_LENGTHS: tuple[str, ...] = ("characters", "words", "lines")
EMPTY, CHARACTER = "empty", "character"


@dataclass
class FormatTally:
    """Counts over documents; two of them can be added."""

    documents: int = 0
    characters: int = 0
    bytes: int = 0
    lines: int = 0
    words: int = 0
    with_feature: Counter[str] = field(default_factory=Counter)
    """Documents that have it."""
    occurrences: Counter[str] = field(default_factory=Counter)
    """How often it is there in all."""
    ends: Counter[str] = field(default_factory=Counter)
    """Documents by how they end: :data:`ENDS`, ``character``, ``empty``."""
    last_characters: Counter[str] = field(default_factory=Counter)
    """Documents by their last character that is no white space; letters and digits by their kind."""
    starts: Counter[str] = field(default_factory=Counter)
    """Documents by how they begin: white space, heading, letter …"""
    languages: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, Counter[int]] = field(default_factory=lambda: {name: Counter() for name in _LENGTHS})
    """Documents by the bucket of their characters, words and lines."""

    def add(self, text: str, language: str | None = None) -> None:
        """Add a document; time is linear in its text."""
        lines, words = text.count("\n") + 1, len(text.split())
        self.documents += 1
        self.characters += len(text)
        self.bytes += len(text.encode("utf-8", "surrogatepass"))
        self.lines += lines
        self.words += words
        found = {name: sum(1 for _ in pattern.finditer(text)) for name, pattern in _FEATURES.items()}
        present = {name for name, count in found.items() if count}
        if present & MARKDOWN:
            present.add("Markdown")
        if present & FORMULAS:
            present.add("formulas")
        if text[:1].isspace():
            present.add("leading whitespace")
        if text and text[-1].isspace():
            present.add("trailing whitespace")
        self.with_feature.update(present)
        self.occurrences.update({name: count for name, count in found.items() if count})
        self.ends[_end(text)] += 1
        self.last_characters[_kind(text.rstrip()[-1:])] += 1
        self.starts[_start(text)] += 1
        if language is not None:
            self.languages[language] += 1
        for name, value in zip(_LENGTHS, (len(text), words, lines), strict=True):
            self.lengths[name][_bucket(value)] += 1

    def __add__(self, other: FormatTally) -> FormatTally:
        """Return the tally of the documents of both."""
        return FormatTally(
            self.documents + other.documents,
            self.characters + other.characters,
            self.bytes + other.bytes,
            self.lines + other.lines,
            self.words + other.words,
            self.with_feature + other.with_feature,
            self.occurrences + other.occurrences,
            self.ends + other.ends,
            self.last_characters + other.last_characters,
            self.starts + other.starts,
            self.languages + other.languages,
            {name: self.lengths[name] + other.lengths[name] for name in _LENGTHS},
        )


def profile(tally: FormatTally) -> dict[str, Any]:
    """Return what a tally says, as JSON values.

    Returns:
      ``format``; ``documents``, ``characters``, ``bytes``, ``words``, ``lines``; ``shares``: of the documents, by feature;
      ``per_million_characters``: occurrences; ``ends``, ``starts``, ``last_characters``, ``languages``: shares of the
      documents; ``lengths``: quantiles.
    """
    documents = max(tally.documents, 1)
    names = sorted({*_FEATURES, "Markdown", "formulas", "leading whitespace", "trailing whitespace"})
    return {
        "format": FORMAT,
        **{name: getattr(tally, name) for name in ("documents", "characters", "bytes", "words", "lines")},
        "shares": {name: tally.with_feature[name] / documents for name in names},
        "per_million_characters": {
            name: count * 1e6 / max(tally.characters, 1) for name, count in sorted(tally.occurrences.items())
        },
        "ends": _shares(tally.ends, documents),
        "starts": _shares(tally.starts, documents),
        "last_characters": _shares(tally.last_characters, documents, MAX_ENDS),
        "languages": _shares(tally.languages, documents),
        "lengths": {name: _quantiles(counts) for name, counts in tally.lengths.items()},
    }


def _shares(counts: Mapping[str, int], documents: int, most: int | None = None) -> dict[str, float]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    kept, others = ordered[:most], ordered[most:] if most is not None else []
    shares = {name: count / documents for name, count in kept}
    if others:
        shares["others"] = sum(count for _, count in others) / documents
    return shares


def _end(text: str) -> str:
    if not text:
        return EMPTY
    tail = text[-200:]
    return next((name for name, pattern in ENDS.items() if pattern.search(tail)), CHARACTER)


def _start(text: str) -> str:
    if not text:
        return EMPTY
    if text[0].isspace():
        return "white space"
    return "heading" if re.match(r"#{1,6} ", text) else _kind(text[0])


def _kind(character: str) -> str:
    if not character:
        return EMPTY
    if character.isalpha():
        return (
            "lower-case letter"
            if character.islower()
            else "upper-case letter"
            if character.isupper()
            else "letter"
        )
    if character.isdigit():
        return "digit"
    return character if character.isprintable() else f"U+{ord(character):04X}"


def _bucket(value: int) -> int:
    return 0 if value < 1 else 1 + int(math.log2(value) * BUCKETS)


def _quantiles(counts: Mapping[int, int]) -> dict[str, int]:
    total, passed, found = sum(counts.values()), 0, {}
    wanted = list(QUANTILES)
    for bucket in sorted(counts):
        passed += counts[bucket]
        while wanted and passed >= wanted[0] * total:
            found[f"p{wanted.pop(0) * 100:g}"] = 0 if bucket == 0 else round(2 ** ((bucket - 0.5) / BUCKETS))
    return found

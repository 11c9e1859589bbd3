"""How much of a source arrived in its Markdown, kind by kind: counts that add up over documents.

``expected`` is what the source holds, ``kept`` what of it stands in the Markdown, ``written`` what the Markdown holds: recall is
kept / expected, precision kept / written.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tootsie.curate.fidelity.facts import CODE, MATH, Facts, Formula, bare, collapse, words

KINDS = (
    "formulas", "display", "equation numbers", "tables", "span tables", "code blocks", "languages", "inline code", "headings",
    "list items", "links", "images", "footnotes", "titles", "abstracts", "text",
)  # fmt: skip
MAX_EXAMPLES = 20


@dataclass
class Score:
    """Counts of one kind."""

    expected: int = 0
    kept: int = 0
    written: int = 0
    lost: list[str] = field(default_factory=list)
    """Examples of what did not arrive."""
    surplus: list[str] = field(default_factory=list)
    """Examples of what the source does not hold."""

    @property
    def recall(self) -> float:
        """Share of what the source holds that arrived; 1 where it holds nothing."""
        return self.kept / self.expected if self.expected else 1.0

    @property
    def precision(self) -> float:
        """Share of what was written that the source holds; 1 where nothing was written."""
        return self.kept / self.written if self.written else 1.0

    def add(self, other: Score) -> None:
        """Add another document's counts; its examples stay its own."""
        self.expected += other.expected
        self.kept += other.kept
        self.written += other.written


def compare(source: Facts, markdown: Facts) -> dict[str, Score]:
    """Return the score of each kind in :data:`KINDS` for one document."""
    scores = {kind: Score() for kind in KINDS}
    _formulas(source, markdown, scores)
    _count(scores["equation numbers"], source.equation_numbers, markdown.equation_numbers)
    _count(scores["tables"], [t.grid for t in source.tables], [t.grid for t in markdown.tables])
    spanning = {t.grid for t in source.tables if t.spans}
    _count(
        scores["span tables"],
        [t.grid for t in source.tables if t.spans],
        [t.grid for t in markdown.tables if t.grid in spanning],
    )
    _count(
        scores["code blocks"],
        [text for text, _ in source.code_blocks],
        [text for text, _ in markdown.code_blocks],
    )
    _count(
        scores["languages"],
        [pair for pair in source.code_blocks if pair[1]],
        [pair for pair in markdown.code_blocks if pair[1]],
    )
    _count(scores["inline code"], source.code_spans, markdown.code_spans)
    free = {text for level, text in source.headings if level == 0}
    _count(
        scores["headings"],
        [(0 if text in free else level, text) for level, text in source.headings],
        [(0 if text in free else level, text) for level, text in markdown.headings],
    )
    _count(scores["list items"], source.items, markdown.items)
    _count(scores["links"], source.links, markdown.links)
    _count(scores["images"], source.images, markdown.images)
    apart = [text for _, text in source.notes_apart if text in markdown.notes]
    _count(scores["footnotes"], source.notes + apart, markdown.notes)
    if source.title:
        _count(
            scores["titles"], [source.title], [text for level, text in markdown.headings if level == 1][:1]
        )
    _text(source, markdown, scores)
    return scores


def _count(score: Score, expected: Iterable[Hashable], written: Iterable[Hashable]) -> None:
    """Count what the two have in common, each as often as it stands there."""
    wanted, found = Counter(expected), Counter(written)
    score.expected, score.written = wanted.total(), found.total()
    score.kept = (wanted & found).total()
    if score.kept < score.expected:
        score.lost = [_show(one) for one in list((wanted - found).elements())[:MAX_EXAMPLES]]
    if score.kept < score.written:
        score.surplus = [_show(one) for one in list((found - wanted).elements())[:MAX_EXAMPLES]]


def _formulas(source: Facts, markdown: Facts, scores: dict[str, Score]) -> None:
    """A formula is kept where its TeX stands between delimiters; the cells of an aligned group, inside a larger display."""
    inline = Counter(one.tex for one in markdown.formulas if not one.display)
    display = Counter(one.tex for one in markdown.formulas if one.display)
    score, displayed = scores["formulas"], scores["display"]
    score.expected = len(source.formulas)
    displayed.expected = sum(one.display for one in source.formulas)
    found: list[tuple[Formula, str]] = []
    for one in source.formulas:
        places = (
            (("display", display), ("inline", inline))
            if one.display
            else (("inline", inline), ("display", display))
        )
        where = (
            next((name for name, formulas in places if formulas[one.tex] > 0), "") if not one.piece else ""
        )
        if where:
            dict(places)[where][one.tex] -= 1
        found.append((one, where))
    groups = _Groups(list((+display).elements()))
    for one, place in found:
        where = groups.take(one.tex) if one.piece else place
        score.kept += bool(where)
        displayed.kept += one.display and where == "display"
        if one.display and where != "display" and len(displayed.lost) < MAX_EXAMPLES:
            displayed.lost.append(one.tex)
        if not where and len(score.lost) < MAX_EXAMPLES:
            score.lost.append(one.tex)
    others = [*groups.untouched(), *(+inline).elements()]
    score.written = score.kept + len(others)
    displayed.written = displayed.kept + len(groups.untouched())
    # Formulas of which the page has only MathML are no surplus.
    score.written -= min(source.untold, len(others))
    score.surplus, displayed.surplus = others[:MAX_EXAMPLES], groups.untouched()[:MAX_EXAMPLES]


class _Groups:
    """Displayed formulas that may hold several of the source's: the cells of an alignment, in their order."""

    def __init__(self, formulas: list[str]) -> None:
        self._formulas = formulas
        self._ends: list[int] = []
        self._touched: set[int] = set()
        length = 0
        for tex in formulas:
            length += len(bare(tex)) + 1
            self._ends.append(length)
        self._joined = "\n".join(bare(tex) for tex in formulas)
        self._cursor = 0

    def take(self, tex: str) -> str:
        """Return ``display`` when ``tex`` is part of one of the formulas, behind the part that was taken last where possible."""
        piece = bare(tex)
        place = self._joined.find(piece, self._cursor)
        if place < 0:
            place = self._joined.find(piece)
        else:
            self._cursor = place + len(piece)
        if place < 0:
            return ""
        self._touched.add(bisect.bisect_right(self._ends, place))
        return "display"

    def untouched(self) -> list[str]:
        """Return the formulas of which nothing was taken."""
        return [tex for index, tex in enumerate(self._formulas) if index not in self._touched]


def _text(source: Facts, markdown: Facts, scores: dict[str, Score]) -> None:
    wanted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    stream: list[str] = []
    for text in source.text:
        wanted.update(words(text))
    for text in markdown.text:
        stream += words(text)
    found.update(stream)
    if source.equation_text:
        shown = bare("".join(one.tex for one in markdown.formulas if one.display))
        wanted.update(word for word in source.equation_text if word not in shown)
    notes = set(markdown.notes)
    for mark, text in source.notes_apart:
        if text not in notes:
            wanted.update(words(mark))
    score = scores["text"]
    score.expected, score.written = wanted.total(), found.total()
    score.kept = (wanted & found).total()
    score.lost = _most(wanted - found)
    score.surplus = _most(found - wanted)
    if source.abstract:
        abstract = scores["abstracts"]
        whole = f" {source.abstract} " in f" {' '.join(stream)} "
        abstract.expected, abstract.kept, abstract.written = 1, int(whole), 1
        if not whole:
            abstract.lost.append(source.abstract)


def _most(counts: Counter[str]) -> list[str]:
    return [f"{word} ×{count}" if count > 1 else word for word, count in counts.most_common(MAX_EXAMPLES)]


def _show(one: Any) -> str:
    text = one if isinstance(one, str) else repr(one)
    for marks, mark in ((MATH, "$"), (CODE, "`")):
        for character in marks:
            text = text.replace(character, mark).replace(repr(character)[1:-1], mark)
    return collapse(text)

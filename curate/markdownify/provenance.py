"""Where the words of each element went: the span of the Markdown that they make, or the rule that lost them on the way."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass

from tootsie.curate.markdownify.alignment import align, without_syntax, words
from tootsie.curate.markdownify.source_tree import SEPARATE, SourceTree, Step


@dataclass(frozen=True)
class Lost:
    """Text that was read and yet is not in the Markdown."""

    element: int
    """Number of the element it stands in."""
    text: str


class Provenance:
    """The words of a page, aligned with those of its Markdown."""

    def __init__(
        self, tree: SourceTree, written: dict[int, list[str]], apart: set[int], markdown: str
    ) -> None:
        """Align ``tree`` with ``markdown``.

        Args:
          tree: the page.
          written: by element, the Markdown that stands for all that lies in it (nothing: an element left out).
          apart: elements whose text is written somewhere else than between its neighbours.
          markdown: what the page was converted to.
        """
        self.tree = tree
        self._pieces: list[str] = []
        """What the page says, in order: its texts, and in place of some elements what was written for them."""
        self._starts: list[int] = []
        """For each piece, its offset in all of them."""
        self._texts: list[int] = []
        """For each piece, the index of the text; -1 for what was written."""
        self._size = 0
        self._extents = [(0, 0)] * len(tree.elements)
        """For each element, where it begins and ends in the pieces."""
        self._collect(written, apart)
        self._page = "".join(self._pieces)
        source = words(without_syntax(self._page))
        output = words(without_syntax(markdown))
        self._found = align([word for word, _, _ in source], [word for word, _, _ in output])
        self._spans = [(start, end) for _, start, end in source]
        self._begins = [start for start, _ in self._spans]
        self._ends = [end for _, end in self._spans]
        self._offsets = [(start, end) for _, start, end in output]
        self._after = self._scan(range(len(self._found) - 1, -1, -1))
        self._before = self._scan(range(len(self._found)))

    def _collect(self, written: dict[int, list[str]], apart: set[int]) -> None:
        hidden = -1
        for step, number in self.tree.steps:
            if step is Step.TEXT:
                if hidden < 0:
                    self._add(self.tree.texts[number], number)
                continue
            separate = number in apart or self.tree.elements[number].tag in SEPARATE
            if step is Step.OPEN:
                if separate:
                    self._add("\n", -1)
                self._extents[number] = (self._size, self._size)
                if hidden < 0 and number in written:
                    for part in written[number]:
                        self._add(part, -1)
                    hidden = number
            else:
                self._extents[number] = (self._extents[number][0], self._size)
                hidden = -1 if hidden == number else hidden
                if separate:
                    self._add("\n", -1)

    def _add(self, piece: str, text: int) -> None:
        self._pieces.append(piece)
        self._starts.append(self._size)
        self._texts.append(text)
        self._size += len(piece)

    def _scan(self, order: range) -> list[int]:
        """Return for each word the nearest matched one, itself included, in the direction that ``order`` comes from."""
        nearest = [-1] * len(self._found)
        last = -1
        for index in order:
            if self._found[index] >= 0:
                last = index
            nearest[index] = last
        return nearest

    def span(self, number: int) -> tuple[int, int]:
        """Return start and end in the Markdown of what an element became; an empty span where nothing of it is left."""
        start, stop = self._extents[number]
        first, end = bisect_right(self._ends, start), bisect_left(self._begins, stop)
        if first < end:
            head, tail = self._after[first], self._before[end - 1]
            if 0 <= head < end and tail >= first:
                start, stop = self._offsets[self._found[head]][0], self._offsets[self._found[tail]][1]
                return (start, stop) if start < stop else self._offsets[self._found[head]]
        before = self._before[first - 1] if first else -1
        place = self._offsets[self._found[before]][1] if before >= 0 else 0
        return place, place

    def lost(self) -> list[Lost]:
        """Return the runs of words that were read and are not in the Markdown, in document order."""
        runs: list[Lost] = []
        index = 0
        while index < len(self._found):
            start, end = self._spans[index]
            piece = bisect_right(self._starts, start) - 1
            text = self._texts[piece]
            index += 1
            if self._found[index - 1] >= 0 or text < 0:
                continue
            limit = self._starts[piece] + len(self._pieces[piece])
            while index < len(self._found) and self._found[index] < 0 and self._spans[index][0] < limit:
                end = self._spans[index][1]
                index += 1
            runs.append(Lost(self.tree.parents[text], self._page[start:end]))
        return runs


def left_out(tree: SourceTree, number: int, parts: list[str]) -> str:
    """Return the words of an element, formulas aside, that ``parts`` do not hold: line numbers of code and the like."""
    held = Counter(word for part in parts for word, _, _ in words(without_syntax(part)))
    missing: list[str] = []
    element = tree.elements[number]
    shown = [
        "\n" * tree.apart[index] + tree.texts[index]
        for index in range(element.first_text, element.end_text)
        if not any(tree.elements[outer].tag == "math" for outer in _within(tree, tree.parents[index], number))
    ]
    for word, _, _ in words(without_syntax("".join(shown))):
        if held[word]:
            held[word] -= 1
        else:
            missing.append(word)
    return " ".join(missing)


def _within(tree: SourceTree, number: int, outermost: int) -> list[int]:
    """Return an element and what it lies in, up to ``outermost``."""
    found = []
    for outer in tree.ancestors(number):
        if outer < outermost:
            break
        found.append(outer)
    return found

"""Find the words of an extract in the page that it was made from, in time linear in both.

An extractor of main content returns a text and not where it was. Runs of four words are looked up in the page, each run is
followed as far as page and extract agree, and shorter texts are looked for between the runs around them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

GRAM = 4
"""Words that are looked up together."""
MAX_GAP = 5_000
"""Words between two runs among which a short text is looked for."""
MAX_TRIES = 64
"""Occurrences of a word that are looked at: a page may repeat itself at any length."""
MAX_STEP = 40
"""Words behind the place of a word among which the next one is looked for where no run tells."""
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_IDEOGRAPHS}]|[^\\W_{_IDEOGRAPHS}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of letters and digits, single ideographs and kana."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(text.translate(_INVISIBLE).lower())


def aligned(page: list[str], extract: Sequence[Sequence[str]]) -> tuple[bytearray, int]:
    """Return which words of a page are in an extract of it.

    Args:
      page: words, in order.
      extract: the words of each of its texts, mostly in the order of the page.

    Returns:
      One byte for each word of the page, 1 where the extract has it; and how many words of the extract were found.
    """
    flat = [word for text in extract for word in text]
    taken = bytearray(len(page))
    places = _Places(page, taken)
    at = [-1] * len(flat)
    number = follow = 0
    while number < len(flat):
        start = places.run(flat, number, follow)
        if start is None:
            number += 1
            continue
        place = start
        back = 1
        while (
            number >= back
            and place >= back
            and at[number - back] < 0
            and not taken[place - back]
            and flat[number - back] == page[place - back]
        ):
            at[number - back] = place - back
            taken[place - back] = 1
            back += 1
        while number < len(flat) and place < len(page) and not taken[place] and flat[number] == page[place]:
            at[number] = place
            taken[place] = 1
            number, place = number + 1, place + 1
        follow = place
    _place_texts(places, len(page), extract, at, taken)
    _place_words(places, len(page), flat, at, taken)
    return taken, sum(place >= 0 for place in at)


def _place_texts(
    places: _Places, length: int, extract: Sequence[Sequence[str]], at: list[int], taken: bytearray
) -> None:
    """Find the texts of which no word has a place yet between the places of the texts around them."""
    ends: list[tuple[int, int]] = []
    first = 0
    for text in extract:
        ends.append((first, first + len(text)))
        first += len(text)
    following = [length] * (len(ends) + 1)
    for index in range(len(ends) - 1, -1, -1):
        start, end = ends[index]
        following[index] = next((place for place in at[start:end] if place >= 0), following[index + 1])
    anchored = any(place >= 0 for place in at)
    cursor = 0
    leading: list[int] = []
    begun = not anchored
    for index, (start, end) in enumerate(ends):
        placed = [place for place in at[start:end] if place >= 0]
        if placed:
            cursor, begun = placed[-1] + 1, True
        elif end > start and begun:
            found = places.search(extract[index], cursor, min(following[index], cursor + MAX_GAP))
            if found is not None:
                _take(at, taken, start, end, found)
                cursor = found + end - start
        elif end > start:
            leading.append(index)
    limit = following[0]
    for index in reversed(leading):  # what stands before the first run stands as near to it as it can
        start, end = ends[index]
        found = places.search(extract[index], max(0, limit - MAX_GAP), limit, last=True)
        if found is not None:
            _take(at, taken, start, end, found)
            limit = found


class _Places:
    """Where each word stands in a page, and which places are taken already."""

    def __init__(self, page: list[str], taken: bytearray) -> None:
        self._page = page
        self._taken = taken
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(page):
            self._places.setdefault(word, []).append(place)

    def run(self, flat: list[str], number: int, follow: int) -> int | None:
        """Return where a run of :data:`GRAM` words stands: behind ``follow`` if it does, and where nothing is taken."""
        run = flat[number : number + GRAM]
        if len(run) < GRAM:
            return None
        known = [self._places.get(word, ()) for word in run]
        rarest = min(range(GRAM), key=lambda one: len(known[one]))
        places = known[rarest]
        if not places:
            return None
        middle = bisect_left(places, follow + rarest)
        near = (*places[middle : middle + MAX_TRIES], *places[:MAX_TRIES])
        for place in near:
            start = place - rarest
            if start >= 0 and not self._taken[start] and self._page[start : start + GRAM] == run:
                return start
        return None

    def search(self, text: Sequence[str], start: int, end: int, *, last: bool = False) -> int | None:
        """Return where the words of a text stand between two places of the page: first, or last."""
        places = self._places.get(text[0], ())
        low, high = bisect_left(places, start), bisect_left(places, end - len(text) + 1)
        found = (
            places[max(low, high - MAX_TRIES) : high][::-1]
            if last
            else places[low : min(high, low + MAX_TRIES)]
        )
        wanted = list(text)
        return next(
            (
                place
                for place in found
                if self._page[place : place + len(text)] == wanted
                and self._taken.find(1, place, place + len(text)) < 0
            ),
            None,
        )


def _place_words(places: _Places, length: int, flat: list[str], at: list[int], taken: bytearray) -> None:
    """Find single words behind the place of the word before: of texts that have in part become others, as formulas do."""
    following = length
    limits = [0] * len(flat)
    for number in range(len(flat) - 1, -1, -1):
        limits[number] = following
        following = at[number] if at[number] >= 0 else following
    first = next((number for number, place in enumerate(at) if place >= 0), None)
    if first is None:
        return
    limit = at[first]
    for number in range(first - 1, -1, -1):
        found = places.search((flat[number],), max(0, limit - MAX_STEP), limit, last=True)
        if found is not None:
            _take(at, taken, number, number + 1, found)
            limit = found
    cursor = at[first] + 1
    for number, word in enumerate(flat[first:], first):
        if at[number] < 0:
            found = places.search((word,), cursor, min(limits[number], cursor + MAX_STEP))
            if found is not None:
                _take(at, taken, number, number + 1, found)
        if at[number] >= 0:
            cursor = at[number] + 1


def _take(at: list[int], taken: bytearray, start: int, end: int, place: int) -> None:
    for offset in range(end - start):
        at[start + offset] = place + offset
        taken[place + offset] = 1

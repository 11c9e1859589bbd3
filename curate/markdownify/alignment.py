"""Which words of a page became which words of its Markdown.

Runs of words that occur once on both sides are found first, long ones before short ones, and grow in both directions; text
that was moved (a note, a caption) is found as well. What is left between two neighbours is compared word by word; what is
left then is matched in order of occurrence. Time is linear in the number of words.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W_{_IDEOGRAPHS}]"
# Characters of inline markup do not end a word, in the page (where they mean themselves) as in the Markdown.
_MARKS = r"[*_~`\[\]\\]"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|{_LETTER}(?:{_MARKS}*{_LETTER})*")
_MARK = re.compile(_MARKS)
# What Markdown says that no reader sees: destinations of links, marks of notes, tags.
_SYNTAX = re.compile(
    r"\]\((?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?: \"[^\n\"]{0,400}\")?\)?|(\[\^)[^\]\s]{1,40}\]"
    r"|</?([a-z]{1,10})(?: [^<>\n]{1,200})?>"
)
_INLINE = frozenset(("sub", "sup", "em", "strong", "del", "code", None))
_RUNS = (12, 6, 3, 2)
MAX_GAP = 120
"""Words of the longest gap that is compared word by word."""


def words(text: str) -> list[tuple[str, int, int]]:
    """Return ``(word, start, end)`` for each run of letters and digits, and each ideograph or kana."""
    return [(_MARK.sub("", match.group()), match.start(), match.end()) for match in _WORD.finditer(text)]


def without_syntax(markdown: str) -> str:
    """Return ``markdown`` with destinations, tags and marks of notes overwritten; as long as before."""
    return _SYNTAX.sub(_overwritten, markdown)


def _overwritten(match: re.Match[str]) -> str:
    mark, tag = match.groups()
    return (" " if mark or tag not in _INLINE else "\\") * len(match.group())


def align(source: Sequence[str], output: Sequence[str]) -> list[int]:
    """Return for each word of ``source`` its index in ``output``, -1 where it is not there; none is given twice."""
    found = [-1] * len(source)
    taken = [False] * len(output)
    for length in _RUNS:
        _match_unique(source, output, found, taken, length)
    _match_between(source, output, found, taken)
    _match_rest(source, output, found, taken)
    return found


def _match_unique(
    source: Sequence[str], output: Sequence[str], found: list[int], taken: list[bool], length: int
) -> None:
    """Match the runs of ``length`` free words that occur once on either side, and their free neighbours."""
    here = _unique(source, [index >= 0 for index in found], length)
    there = _unique(output, taken, length)
    for run, start in here.items():
        other = there.get(run, -1)
        if start < 0 or other < 0 or found[start] >= 0 or taken[other]:
            continue
        for step in (1, -1):
            i, j = (start, other) if step == 1 else (start - 1, other - 1)
            while (
                0 <= i < len(source)
                and 0 <= j < len(output)
                and found[i] < 0
                and not taken[j]
                and source[i] == output[j]
            ):
                found[i], taken[j] = j, True
                i, j = i + step, j + step


def _unique(sequence: Sequence[str], busy: Sequence[bool], length: int) -> dict[tuple[str, ...], int]:
    """Return where each run of ``length`` free words starts; -1 for those that occur again."""
    places: dict[tuple[str, ...], int] = {}
    free = 0
    for end in range(len(sequence)):
        free = 0 if busy[end] else free + 1
        if free >= length:
            start = end - length + 1
            run = tuple(sequence[start : end + 1])
            places[run] = -1 if run in places else start
    return places


def _match_between(source: Sequence[str], output: Sequence[str], found: list[int], taken: list[bool]) -> None:
    """Match words in the gaps whose neighbours on both sides are matched in order."""
    start, before = 0, -1
    for end in range(len(source) + 1):
        after = found[end] if end < len(source) else len(output)
        if end < len(source) and after < 0:
            continue
        if end > start and before < after and max(end - start, after - before - 1) <= MAX_GAP:
            for i, j in _common(source[start:end], output[before + 1 : after]):
                if not taken[before + 1 + j]:
                    found[start + i], taken[before + 1 + j] = before + 1 + j, True
        start, before = end + 1, after


def _common(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Return the index pairs of a longest common subsequence; ``len(left) * len(right)`` steps."""
    if not set(left) & set(right):
        return []
    lengths = [[0] * (len(right) + 1)]
    for word in left:
        row, above = [0], lengths[-1]
        for j, other in enumerate(right):
            row.append(above[j] + 1 if word == other else max(row[j], above[j + 1]))
        lengths.append(row)
    pairs: list[tuple[int, int]] = []
    i, j = len(left), len(right)
    while i and j:
        if left[i - 1] == right[j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif lengths[i - 1][j] >= lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return pairs


def _match_rest(source: Sequence[str], output: Sequence[str], found: list[int], taken: list[bool]) -> None:
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for index, word in enumerate(output):
        if not taken[index]:
            waiting[word].append(index)
    for index, word in enumerate(source):
        if found[index] < 0 and waiting[word]:
            found[index] = waiting[word].popleft()

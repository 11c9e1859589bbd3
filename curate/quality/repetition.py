"""datatrove's filter of repetition (Gopher's table A1), with the same verdicts in somewhat less time.

An n-gram is a slice of the joined words, not a join of a slice of them; and where all n-grams of a length are different, which is
what most texts are like, none is looked at one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from datatrove.data import Document
from datatrove.pipeline.filters import GopherRepetitionFilter
from datatrove.pipeline.filters.gopher_repetition_filter import find_duplicates
from datatrove.utils.text import split_into_words


class FastRepetitionFilter(GopherRepetitionFilter):
    """The same filter: thresholds, rules and their order are those of its parent."""

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """Return whether a document stays, or the rule by which it does not."""
        text = doc.text
        if not text:
            return False, "empty"
        size = len(text)
        paragraphs = self.paragraph_exp.split(text.strip())
        count, characters = find_duplicates(paragraphs)
        if self.dup_para_frac and count / len(paragraphs) > self.dup_para_frac:
            return False, "dup_para_frac"
        if self.dup_para_char_frac and characters / size > self.dup_para_char_frac:
            return False, "dup_para_char_frac"
        lines = self._line_splitter.split(text)
        count, characters = find_duplicates(lines)
        if self.dup_line_frac and count / len(lines) > self.dup_line_frac:
            return False, "dup_line_frac"
        if self.dup_line_char_frac and characters / size > self.dup_line_char_frac:
            return False, "dup_line_char_frac"
        words = split_into_words(text, self.language)
        for length, share in self.top_n_grams:
            grams = n_grams(words, length, " ")
            if grams and top_characters(grams) / size > share:
                return False, f"top_{length}_gram"
        for length, share in self.dup_n_grams:
            if duplicate_characters(n_grams(words, length, ""), length) / size > share:
                return False, f"duplicated_{length}_n_grams"
        return True


def n_grams(words: Sequence[str], length: int, separator: str) -> list[str]:
    """Return the n-grams of words as texts, joined by ``separator``."""
    gap = len(separator)
    joined = separator.join(words)
    starts = list(accumulate((len(word) + gap for word in words), initial=0))
    return [
        joined[start : end - gap]
        for start, end in zip(starts, starts[length:], strict=False)
    ]  # fmt: skip


def top_characters(grams: Sequence[str]) -> int:
    """Return the characters of all occurrences of the most frequent n-gram, the first of them where several are."""
    gram, count = Counter(grams).most_common(1)[0]
    return len(gram) * count


def duplicate_characters(grams: Sequence[str], length: int) -> int:
    """Return the characters of the n-grams that were there before; behind one of them the search goes on after its words."""
    if len(set(grams)) == len(grams):
        return 0
    seen: set[str] = set()
    characters = at = 0
    while at < len(grams):
        if grams[at] in seen:
            characters += len(grams[at])
            at += length
        else:
            seen.add(grams[at])
            at += 1
    return characters

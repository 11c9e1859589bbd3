"""Words and word n-grams of a text as 64-bit numbers: what duplicates and leaks are told by.

Two ways to take a text apart, neither of which sees its layout, its case or the spelling of its characters:

- :func:`plain_words`: runs of letters and digits only. For leaks, which must be found in any dress.
- :func:`exact_words`: also what changes the meaning of a line of figures or code: decimal points, signs, operators, symbols.
  For duplicates, where two texts that differ in one sign are two texts.

Scripts that are written without spaces (Han, kana, Thai …) give a word for each character.
A hash is xxh3 of the word; that of an n-gram is a polynomial of its words' hashes modulo 2**64.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import regex
import xxhash
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
"""uint64[k]."""

MAX_REMEMBERED_WORDS = 1 << 20
"""Words whose hash a process remembers; then it starts anew."""
_MULTIPLIER = 0x9E3779B97F4A7C15
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), 0x2060, 0xFEFF])
_DASHES = {0x2212: "-", 0x2010: "-", 0x2011: "-"}
_RAISED = dict(zip(map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹"), (f"^{digit}" for digit in range(10)), strict=True))
"""NFKC would make 102 of 10²."""
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_PLAIN_ASCII = re.compile(r"[a-z0-9]+")
_ALONE = r"\p{Han}|\p{Hiragana}|\p{Katakana}|\p{Thai}|\p{Lao}|\p{Khmer}|\p{Myanmar}"
_WORD = r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]++"
_PLAIN = regex.compile(rf"(?V1){_ALONE}|{_WORD}")
# Markers at the begin of a line (quote, bullet, heading, rule) are layout; the same characters between operands are not.
_LAYOUT = r"^[ \t]*+(?:[>+*=#|~`-]++(?:[ \t]++|$))++"
# Each begins at the first character of its run only, or a long run would be tried from every place in it.
_OPERATORS = (
    r"(?<![a-z0-9])-(?=[a-z0-9])|(?<![+=<>/&^])[+=<>/&^]++(?= ?[a-z0-9(\[-])|!=|(?<=[0-9])%|(?<=[0-9] )%"
    r"|(?<=[a-z0-9])\*++(?=[a-z0-9])|(?<= )\*++(?= )"
)
_NUMBER = r"[0-9]+(?:[.,:][0-9]+)*"
_EXACT_ASCII = re.compile(rf"{_LAYOUT}|({_NUMBER}|[a-z0-9]+|{_OPERATORS}|\$(?=[0-9]))", re.MULTILINE)
_EXACT = regex.compile(
    rf"(?V1){_LAYOUT}|({_ALONE}|{_NUMBER}|{_WORD}|{_OPERATORS}|\$(?=[0-9])|[[\p{{Sc}}\p{{Sm}}\p{{So}}]--\p{{ASCII}}])",
    regex.MULTILINE,
)


def plain_words(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, case folded, in NFKC; ``1,000`` is ``1000``."""
    if text.isascii():
        return _PLAIN_ASCII.findall(_THOUSANDS.sub("", text.lower()))
    return _PLAIN.findall(_THOUSANDS.sub("", _folded(text)))


def exact_words(text: str) -> list[str]:
    """Return the words of a text together with the signs, operators and symbols that carry meaning."""
    if text.isascii():
        return [word for word in _EXACT_ASCII.findall(text.lower()) if word]
    return [word for word in _EXACT.findall(_folded(text.translate(_RAISED)).translate(_DASHES)) if word]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_INVISIBLE).casefold()


class _WordHashes(dict[str, int]):
    """Remembers the hashes of words."""

    def __missing__(self, word: str) -> int:
        if len(self) >= MAX_REMEMBERED_WORDS:
            self.clear()
        found = self[word] = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"))
        return found


_HASHES = _WordHashes()


def word_hashes(words: Sequence[str]) -> Hashes:
    """Return uint64[k], one hash a word."""
    return np.fromiter(map(_HASHES.__getitem__, words), np.uint64, len(words))


def ngram_hashes(words: Hashes, n: int) -> Hashes:
    """Return the hash of each run of ``n`` words: uint64[k - n + 1], empty where there are fewer words."""
    count = len(words) - n + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    total = np.zeros(count, np.uint64)
    factor = np.uint64(_MULTIPLIER)
    for offset in range(n):
        total *= factor
        total += words[offset : offset + count]
    # Mixed, so that every bit of a hash may be used alone.
    total ^= total >> np.uint64(32)
    total *= factor
    return total


def sequence_hash(words: Hashes, seed: int = 0) -> tuple[int, int]:
    """Return a 128-bit hash of a whole sequence of words, as two halves."""
    digest = xxhash.xxh3_128_intdigest(words.astype("<u8").tobytes(), seed)
    return digest >> 64, digest & (2**64 - 1)

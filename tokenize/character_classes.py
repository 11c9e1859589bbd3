"""Which characters two engines take for letters, digits or white space differently, and which texts hold any of them.

Engines carry Unicode tables of their own: to one of a newer Unicode a new ideograph is a letter, to the other it is nothing yet,
and so they split the text around it at different places. All that a pre-tokenizer's pattern can know of a character is its class;
so each character is shown to both engines between characters of every class, with a vocabulary in which a token joins any two
neighbours: where ids differ, so do the classes. Texts with such a character are left to the reference.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

Ranges = tuple[tuple[int, int], ...]
"""Code points, both ends included."""
Encode = Callable[[str], np.ndarray]
"""Text to ids."""

CONTEXT = "a{0}A1{0}1!{0}!{0}\u0301{0} {0}'{0}\n"
"""What each character is shown in: letters of both cases, digits, marks, white space, apostrophes (contractions)."""
_NEIGHBOURS = sorted(set(CONTEXT.format("").encode()))
_BATCH = 2**9


def probing_ranks() -> dict[bytes, int]:
    """Return a vocabulary of the 256 bytes and of each byte beside each one that stands next to a probed character."""
    ranks = {bytes([value]): value for value in range(256)}
    for value in range(256):
        for neighbour in _NEIGHBOURS:
            for token in (bytes([value, neighbour]), bytes([neighbour, value])):
                ranks.setdefault(token, len(ranks))
    return ranks


def uncertain_characters() -> list[int]:
    """Return all characters but those of which no engine can be in doubt.

    Left out are surrogates, private use, the ten planes in which Unicode has assigned nothing nor plans to, and what this Python
    knows as an ideograph or a Hangul syllable: those blocks have been letters since they were assigned.
    """
    planes = itertools.chain(range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xF0000))
    return [point for point in planes if not _certain(chr(point))]


def differing_characters(reference: Encode, other: Encode, points: Sequence[int] | None = None) -> Ranges:
    """Return the characters that two engines with the vocabulary of :func:`probing_ranks` split differently.

    Args:
      reference: one engine.
      other: the other.
      points: the code points to try; by default :func:`uncertain_characters`.
    """
    points = uncertain_characters() if points is None else points

    def found_in(batch: Sequence[int]) -> list[int]:
        if _equal(reference, other, "".join(map(_probe, batch))):
            return []
        return [point for point in batch if not _equal(reference, other, _probe(point))]

    batches = [points[start : start + _BATCH] for start in range(0, len(points), _BATCH)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [point for part in pool.map(found_in, batches) for point in part]
    return _ranges(found)


class CharacterSet:
    """Finds characters of a set in UTF-8 text, fast where there are none: most texts lack even their first byte.

    Args:
      ranges: the characters.
    """

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        by_first: dict[int, list[bytes]] = defaultdict(list)
        for first, last in ranges:
            for point in range(first, last + 1):
                encoded = chr(point).encode()
                by_first[encoded[0]].append(encoded)
        self._patterns = [
            (bytes([first]), [(stem, re.compile(re.escape(stem) + ends)) for stem, ends in _stems(encoded)])
            for first, encoded in sorted(by_first.items())
        ]

    def found_in(self, text: bytes) -> bool:
        """Return whether UTF-8 text holds one of the characters."""
        return any(
            stem in text and pattern.search(text) is not None
            for first, patterns in self._patterns
            if first in text
            for stem, pattern in patterns
        )


def _stems(encoded: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the first two bytes of characters, and a pattern of what may follow them."""
    by_stem: dict[bytes, dict[bytes, list[int]]] = defaultdict(lambda: defaultdict(list))
    for character in encoded:
        rest = by_stem[character[:2]]
        if len(character) > 2:
            rest[character[2:-1]].append(character[-1])
    for stem, middles in by_stem.items():
        choices = [
            re.escape(middle) + b"[" + b"".join(b"\\x%02x" % last for last in lasts) + b"]"
            for middle, lasts in middles.items()
        ]
        yield stem, b"(?:" + b"|".join(choices) + b")"


def _probe(point: int) -> str:
    return CONTEXT.format(chr(point))


def _certain(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Lo":
        return unicodedata.name(character, "").startswith(("CJK ", "HANGUL SYLLABLE ", "TANGUT IDEOGRAPH"))
    return category in ("Co", "Cs")


def _equal(reference: Encode, other: Encode, text: str) -> bool:
    return np.array_equal(reference(text), other(text))


def _ranges(points: Iterable[int]) -> Ranges:
    found: list[list[int]] = []
    for point in sorted(points):
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return tuple((first, last) for first, last in found)

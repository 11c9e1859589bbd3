"""What is compared of a document: its words, paragraph by paragraph, without boilerplate."""

from __future__ import annotations

import re
from collections.abc import Container
from urllib.parse import urlsplit

import numpy as np
import xxhash

from tootsie.curate.deduplication.settings import Variant
from tootsie.curate.ngrams import Hashes, exact_words, ngram_hashes, sequence_hash, word_hashes
from tootsie.datasets.document import Document

MIN_LINE = 20
"""Characters of the shortest line that can be boilerplate."""
_BLANK = re.compile(r"\n[ \t\r]*\n")


def site_of(document: Document) -> str:
    """Return what boilerplate is counted within: the host of the document's URL, else its source."""
    url = document.metadata.get("url")
    if isinstance(url, str):
        try:
            host = urlsplit(url).hostname
        except ValueError:
            host = None
        if host:
            return host
    return document.source


def line_hash(site: str, line: str) -> int | None:
    """Return the hash of a line of a site whatever its case and spaces, ``None`` where it is too short to be boilerplate."""
    if len(line) < MIN_LINE:
        return None
    plain = " ".join(line.split()).casefold()
    if len(plain) < MIN_LINE:
        return None
    return xxhash.xxh3_64_intdigest(f"{site}\n{plain}".encode("utf-8", "surrogatepass"))


def without_boilerplate(document: Document, boilerplate: Container[int]) -> tuple[str, int]:
    """Return the text without the lines whose hash is in ``boilerplate``, and how many those were."""
    site = site_of(document)
    lines = document.text.split("\n")
    kept = [line for line in lines if (found := line_hash(site, line)) is None or found not in boilerplate]
    gone = len(lines) - len(kept)
    return ("\n".join(kept), gone) if gone else (document.text, 0)


def paragraphs(text: str) -> list[Hashes]:
    """Return the hashes of the words of each paragraph; those without a word are left out."""
    found = (word_hashes(exact_words(part)) for part in _BLANK.split(text))
    return [words for words in found if len(words)]


def exact_hash(text: str, words: Hashes, variant: Variant) -> tuple[int, int]:
    """Return the 128-bit hash that exact duplicates share; a text without a word is told by its characters."""
    if variant is Variant.WORDS and len(words):
        return sequence_hash(words)
    plain = text if variant is Variant.RAW else " ".join(text.split())
    digest = xxhash.xxh3_128_intdigest(plain.encode("utf-8", "surrogatepass"), 1)
    return digest >> 64, digest & (2**64 - 1)


def segments(parts: list[Hashes], n: int) -> list[Hashes]:
    """Join paragraphs of fewer than ``n`` words to the next one (at the end, to the one before).

    N-grams of a removed document are taken within these, so that a paragraph which only the kept document has, between two of
    the removed one, is no difference; and yet no word goes unchecked.
    """
    joined: list[Hashes] = []
    held: list[Hashes] = []
    for part in parts:
        held.append(part)
        if sum(map(len, held)) >= n:
            joined.append(np.concatenate(held))
            held = []
    if held:
        joined.append(np.concatenate(([joined.pop()] if joined else []) + held))
    return joined


def fingerprint(parts: list[Hashes], n: int) -> tuple[Hashes, np.ndarray]:
    """Return the n-grams of a document, and which of them are to be found in a document that replaces it.

    Returns:
      uint64[k] sorted, unique: of the whole text; bool[k]: those that lie within one segment.
    """
    if not parts:
        return np.empty(0, np.uint64), np.empty(0, bool)
    whole = np.unique(ngram_hashes(np.concatenate(parts), n))
    within = np.zeros(len(whole), bool)
    for segment in segments(parts, n):
        within[np.searchsorted(whole, ngram_hashes(segment, n))] = True
    return whole, within


def containment(small: tuple[Hashes, np.ndarray], large: Hashes) -> float:
    """Return the share of the n-grams of one document that another has; 0 where it has none to compare."""
    wanted = small[0][small[1]]
    if not len(wanted) or not len(large):
        return 0.0
    places = np.minimum(np.searchsorted(large, wanted), len(large) - 1)
    return float((large[places] == wanted).mean())

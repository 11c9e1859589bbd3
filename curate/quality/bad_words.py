"""datatrove's filter of bad words (C4's), with lists that are files here: nothing is fetched.

The lists are those of https://github.com/LDNOOBW/List-of-Dirty-Naughty-Obscene-and-Otherwise-Bad-Words: a file for each language,
named by its code, a word or phrase a line.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import xxhash
from datatrove.data import Document
from datatrove.pipeline.filters import C4BadWordsFilter, c4_filters

from tootsie.datasets import storage


class ListedBadWords(C4BadWordsFilter):
    """The same filter: the languages, the words that are allowed after all and the rules are those of its parent.

    Where a share of such documents is kept (``keep_fraction``), what decides about one is its text and the seed, not how many
    were before it: any number of workers keeps the same ones.
    """

    def __init__(self, lists: str, seed: int | None = None, **parameters: Any) -> None:
        """Read nothing yet.

        Args:
          lists: URL of the folder of the lists.
          seed: of what is kept; none means 0.
          parameters: of datatrove's filter.
        """
        super().__init__(seed=seed, **parameters)
        self._lists = lists
        self._seed = seed or 0

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """Return whether a document stays, or the rule by which it does not."""
        number = xxhash.xxh3_64_intdigest(doc.text.encode("utf-8", "surrogatepass"))
        self.uniform = lambda: np.random.default_rng((self._seed, number)).uniform()
        answer: bool | tuple[bool, str] = super().filter(doc)
        return answer

    def _get_badwords(self, lang: str) -> re.Pattern[str] | None:
        if lang in self._badwords_regex:
            return self._badwords_regex[lang]
        url = storage.join(self._lists, lang)
        known = lang in c4_filters._BADWORDS_LANGS
        if not known or not storage.exists(url):
            if self.fail_on_missing_language:
                raise ValueError(f"no list of bad words for the language {lang!r}")
            return None
        self._badwords_regex[lang] = pattern(words_of(url), lang)
        return self._badwords_regex[lang]


def words_of(url: str) -> set[str]:
    """Return the words of a list, those aside that datatrove allows; an empty line is no word."""
    lines = storage.read_bytes(url).decode("utf-8").splitlines()
    allowed = set().union(*c4_filters._BADWORDS_ALLOWLIST.values())
    return {line.strip() for line in lines} - allowed - {""}


def pattern(words: set[str], language: str) -> re.Pattern[str]:
    """Return what finds a word in a text in lower case; one that finds nothing where there are none."""
    if not words:
        return re.compile(r"(?!)")
    choice = "|".join(re.escape(word) for word in sorted(words))
    return re.compile(choice if language in ("ja", "th", "zh") else rf"(?:\W|^)(?:{choice})(?:\W|$)")

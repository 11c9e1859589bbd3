"""Let the splitter of words remember the words it has seen: the same words and sentences in a fraction of the time.

datatrove gives each text a memory zone of spaCy, in which every word is new: its affixes are split by regular expressions again,
twenty attributes of it are computed again that no filter looks at, and all of it is forgotten with the text. Here a splitter
keeps its words until they are many, and is then made anew, so that memory stays bounded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

MAX_WORDS = 200_000
"""Words after which a splitter is made anew: some hundred megabytes."""
CHECK_TEXTS = 64
"""Texts after which they are counted."""
LONG_WORD = 256
"""Characters of a word beyond which affixes are looked for near its ends only."""

Search = Callable[[str], Any]
"""Returns a match, or nothing."""


class WordMemory:
    """The splitters that filters use, by language."""

    def __init__(self, languages: set[str]) -> None:
        """Take the languages of the filters."""
        self._languages = sorted(languages)
        self._texts = 0
        for language in self._languages:
            self._renew(language)

    def next_text(self) -> None:
        """Count a text; to be called before each one."""
        self._texts += 1
        if self._texts % CHECK_TEXTS == 0:
            for language in self._languages:
                self._renew(language)

    def _renew(self, language: str) -> None:
        from datatrove.utils.word_tokenizers import SpaCyTokenizer, load_word_tokenizer
        from spacy.tokenizer import Tokenizer

        splitter = load_word_tokenizer(language)
        if not isinstance(splitter, SpaCyTokenizer):
            return
        made: Any = splitter.tokenizer
        if (
            type(made.tokenizer) is not Tokenizer
        ):  # of Chinese, Japanese, Korean …: words by a dictionary, no memory of them
            return
        if len(made.vocab) > MAX_WORDS:
            splitter._tokenizer = None  # which makes the property make another one
            made = splitter.tokenizer
        if made.memory_zone is not contextlib.nullcontext:
            _remember(made)


def _remember(made: Any) -> None:
    """Take the memory zones off a pipeline of spaCy, and the attributes of words that splitting does not look at.

    Affixes of long runs without a space are looked for at their ends only: 10,000 signs of per cent took 17 seconds.
    """
    from spacy.attrs import IS_PUNCT

    made.memory_zone = contextlib.nullcontext
    made.tokenizer.max_cache_size = MAX_WORDS
    made.tokenizer.prefix_search = _at_begin(made.tokenizer.prefix_search)
    made.tokenizer.suffix_search = _at_end(made.tokenizer.suffix_search)
    made.vocab.lex_attr_getters = {IS_PUNCT: made.vocab.lex_attr_getters[IS_PUNCT]}  # ends of sentences do


def _at_begin(search: Search) -> Search:
    """Return the search for a prefix, which does not look behind the begin of a long word; unless one is as long as that."""

    def near_the_begin(word: str) -> Any:
        if len(word) <= LONG_WORD:
            return search(word)
        found = search(word[:LONG_WORD])
        return search(word) if found is not None and found.end() > LONG_WORD // 2 else found

    return near_the_begin


def _at_end(search: Search) -> Search:
    """Return the search for a suffix, which does not look before the end of a long word; unless one is as long as that."""

    def near_the_end(word: str) -> Any:
        if len(word) <= LONG_WORD:
            return search(word)
        found = search(word[-LONG_WORD:])
        return search(word) if found is not None and found.start() < LONG_WORD // 2 else found

    return near_the_end

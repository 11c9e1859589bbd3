"""Where each n-gram of the evaluation sets stands, and which of them a text has.

A part of at least ``ngram`` words is looked for by its n-grams; a shorter one, of at least ``shortest`` words, as a whole. A hash
proposes; the words themselves decide, so that what is found is there, word for word.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tootsie.curate.decontamination.evaluation_sets import Part
from tootsie.curate.decontamination.leak_words import leak_words
from tootsie.curate.ngrams import Hashes, ngram_hashes, word_hashes
from tootsie.datasets import storage


class EvaluationIndex:
    """All n-grams of some parts, numbered."""

    def __init__(self, parts: Sequence[Part], ngram: int, shortest: int) -> None:
        self.parts = tuple(parts)
        self.ngram = ngram
        self.shortest = shortest
        numbers: dict[tuple[str, ...], int] = {}
        self.grams_of: list[tuple[int, ...]] = []
        """For each part the numbers of its n-grams, by position; none where it is too short."""
        for part in self.parts:
            length = min(len(part.words), ngram)
            grams = (
                [part.words[at : at + length] for at in range(len(part.words) - length + 1)]
                if length >= shortest
                else []
            )
            self.grams_of.append(tuple(numbers.setdefault(gram, len(numbers)) for gram in grams))
        self.grams: list[tuple[str, ...]] = list(numbers)
        """The words of each n-gram."""
        self._tables = self._make_tables()

    def _make_tables(self) -> dict[int, tuple[Hashes, Any]]:
        """Return for each length of n-grams their hashes, sorted, and their numbers in that order."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for number, gram in enumerate(self.grams):
            by_length[len(gram)].append(number)
        tables = {}
        for length, numbers in sorted(by_length.items()):
            hashes = np.concatenate([ngram_hashes(word_hashes(self.grams[n]), length) for n in numbers])
            order = np.argsort(hashes, kind="stable")
            tables[length] = (hashes[order], np.array(numbers)[order])
        return tables

    @property
    def parts_of(self) -> list[list[int]]:
        """For each n-gram the numbers of the parts that have it."""
        found: list[list[int]] = [[] for _ in self.grams]
        for part, grams in enumerate(self.grams_of):
            for gram in set(grams):
                found[gram].append(part)
        return found

    def find(self, text: str) -> list[int]:
        """Return the numbers of all n-grams that a text has, ascending."""
        words = leak_words(text)
        hashes = word_hashes(words)
        found: set[int] = set()
        for length, (table, numbers) in self._tables.items():
            grams = ngram_hashes(hashes, length)
            if not len(grams):
                continue
            places = np.minimum(np.searchsorted(table, grams), len(table) - 1)
            for at in np.flatnonzero(table[places] == grams).tolist():
                place = int(places[at])
                # N-grams with the same hash stand side by side.
                while place < len(table) and table[place] == grams[at]:
                    number = int(numbers[place])
                    if number not in found and tuple(words[at : at + length]) == self.grams[number]:
                        found.add(number)
                    place += 1
        return sorted(found)

    def save(self, url: str) -> None:
        """Write what the index is made of."""
        parts = [[part.evaluation, part.item, part.name, part.words] for part in self.parts]
        content = {"ngram": self.ngram, "shortest": self.shortest, "parts": parts}
        with storage.atomic_zstd(url) as stream:
            stream.write(json.dumps(content).encode())

    @staticmethod
    def load(url: str) -> EvaluationIndex:
        """Return the index that was saved at ``url``."""
        with storage.open_decompressed(url) as stream:
            content = json.loads(stream.read())
        parts = [
            Part(evaluation, item, name, tuple(words)) for evaluation, item, name, words in content["parts"]
        ]
        return EvaluationIndex(parts, content["ngram"], content["shortest"])

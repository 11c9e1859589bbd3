"""What can be counted of the documents of a corpus: licences, languages, lengths and where they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tootsie.datasets.document import Document

FIELDS = {
    "licences": "license",
    "languages": "language",
    "severities": "severity",
    "sites": "site",
    "projects": "project",
}
"""Name of a statistic, and the field of ``Document.metadata`` it counts."""
MAX_VALUES = 1000
"""Distinct values that a shard tells apart; further ones are counted as ``other``."""
LENGTHS = "characters"
"""Statistic of lengths: keys are the least length of a class in characters, powers of two."""
SMALLEST_LENGTH = 256
"""Least length of the second class."""

Statistics = dict[str, dict[str, int]]


def length_class(characters: int) -> int:
    """Return the least length of the class that a length belongs to: 0, 256, 512, 1024 …"""
    return 0 if characters < SMALLEST_LENGTH else 1 << (characters.bit_length() - 1)


class Tally:
    """Counts documents."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in (*FIELDS, "categories", LENGTHS)}

    def add(self, document: Document) -> None:
        """Count one document."""
        for name, field in FIELDS.items():
            self._count(name, document.metadata.get(field))
        categories = document.metadata.get("categories")
        self._count("categories", categories[0] if isinstance(categories, list) and categories else None)
        self._count(LENGTHS, str(length_class(len(document.text))))

    def _count(self, name: str, value: object) -> None:
        if not isinstance(value, str) or not value:
            return
        counts = self._counts[name]
        counts[value if value in counts or len(counts) < MAX_VALUES else "other"] += 1

    def result(self) -> Statistics:
        """Return the counts by statistic and value, both sorted; statistics without a count are left out."""
        return {name: dict(sorted(counts.items())) for name, counts in sorted(self._counts.items()) if counts}


def total(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Statistics:
    """Return the sum of the statistics of several shards."""
    sums: dict[str, Counter[str]] = {}
    for part in parts:
        for name, counts in part.items():
            sums.setdefault(name, Counter()).update(counts)
    return {name: dict(sorted(counts.items())) for name, counts in sorted(sums.items())}

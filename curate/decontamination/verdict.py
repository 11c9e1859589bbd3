"""Which n-grams are common, and which documents leak a question or an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tootsie.curate.decontamination.index import EvaluationIndex
from tootsie.curate.decontamination.scan import Found
from tootsie.curate.decontamination.settings import DecontaminationSettings


@dataclass(frozen=True)
class Leak:
    """A part of an evaluation set in a document."""

    evaluation: str
    item: str
    part: str
    overlap: float
    """Share of the part's n-grams, of those that are not common, that the document has."""
    matched: int
    """How many those are."""


def document_counts(scans: Iterable[Iterable[Found]]) -> Counter[int]:
    """Return in how many documents each n-gram is."""
    counts: Counter[int] = Counter()
    for scan in scans:
        for found in scan:
            counts.update(found.grams)
    return counts


def common_grams(
    index: EvaluationIndex,
    counts: Mapping[int, int],
    documents: int,
    items: Mapping[str, int],
    known: Iterable[int],
    settings: DecontaminationSettings,
) -> set[int]:
    """Return the n-grams that say nothing.

    Args:
      index: the n-grams.
      counts: in how many documents each is.
      documents: how many there are.
      items: how many each evaluation set has.
      known: n-grams of texts that are said to be common.
      settings: what common is.
    """
    often = max(settings.common_documents, settings.common_share * documents)
    common = {gram for gram, count in counts.items() if count > often} | set(known)
    for gram, parts in enumerate(index.parts_of):
        by_set: dict[str, set[str]] = defaultdict(set)
        for part in parts:
            by_set[index.parts[part].evaluation].add(index.parts[part].item)
        if any(
            len(found) > max(settings.template_items, settings.template_share * items[name])
            for name, found in by_set.items()
        ):
            common.add(gram)
    return common


class LeakFinder:
    """Says of a document's n-grams what it leaks."""

    def __init__(self, index: EvaluationIndex, common: set[int], overlap: float) -> None:
        self._index = index
        self._common = common
        self._overlap = overlap
        self._parts_of = index.parts_of
        self._telling = [Counter(gram for gram in grams if gram not in common) for grams in index.grams_of]
        self._totals = [counts.total() for counts in self._telling]

    def undecidable(self, evaluation: str) -> int:
        """Return how many parts of a set are looked for but have common n-grams only."""
        return sum(
            bool(grams) and not total
            for part, grams, total in zip(self._index.parts, self._index.grams_of, self._totals, strict=True)
            if part.evaluation == evaluation
        )

    def leaks(self, grams: Iterable[int]) -> list[Leak]:
        """Return the parts that a document with these n-grams leaks, in the order of the sets."""
        matched: Counter[int] = Counter()
        for gram in grams:
            if gram not in self._common:
                for part in self._parts_of[gram]:
                    matched[part] += self._telling[part][gram]
        return [
            Leak(
                self._index.parts[part].evaluation,
                self._index.parts[part].item,
                self._index.parts[part].name,
                round(count / self._totals[part], 6),
                count,
            )
            for part, count in sorted(matched.items())
            if count >= self._overlap * self._totals[part]
        ]

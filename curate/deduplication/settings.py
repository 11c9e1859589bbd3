"""What duplicates are, and how they are looked for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum

from tootsie.datasets.errors import SpecError


class Variant(StrEnum):
    """In what two texts may differ and still be exact duplicates."""

    RAW = "raw"
    """In nothing."""
    WHITESPACE = "whitespace"
    """Spaces and line breaks."""
    WORDS = "words"
    """Also case, layout, punctuation and the coding of characters: see :func:`tootsie.curate.ngrams.exact_words`."""


class Boilerplate(StrEnum):
    """What is done with lines that most pages of a site have."""

    OFF = "off"
    """They are text like other text."""
    IGNORE = "ignore"
    """Documents are compared without them."""
    STRIP = "strip"
    """They are also left out of what is written."""


@dataclass(frozen=True)
class DeduplicationSettings:
    """Options that change what is written."""

    exact: Variant = Variant.WORDS
    """What exact duplicates are."""
    shingle: int = 5
    """Words of the n-grams that signatures are made of."""
    bands: int = 20
    """Bands of a signature; documents that agree in one are proposed as a pair."""
    rows: int = 5
    """Hashes of a band. Two documents of Jaccard similarity J are proposed with probability 1 − (1 − J^rows)^bands."""
    ngram: int = 5
    """Words of the n-grams that are looked up in the longer document."""
    containment: float = 1.0
    """Share of the n-grams of the shorter document that the longer one must have for it to be removed."""
    cluster_containment: float = 0.5
    """Share from which two documents belong to one cluster, which training and validation must not share."""
    boilerplate: Boilerplate = Boilerplate.IGNORE
    """What is done with boilerplate."""
    boilerplate_share: float = 0.5
    """Share of the documents of a host (or of a source, where there is no URL) that have a line of boilerplate."""
    boilerplate_documents: int = 10
    """Documents that must have it at least."""
    seed: int = 0
    """Of the hash functions."""

    def check(self) -> None:
        """Raise :class:`SpecError` where a value is out of range."""
        for name in ("shingle", "bands", "rows", "ngram"):
            if not 1 <= getattr(self, name) <= 1000:
                raise SpecError(
                    "must be between 1 and 1000", field=option(name), value=str(getattr(self, name))
                )
        for name in ("containment", "cluster_containment", "boilerplate_share"):
            if not 0 < getattr(self, name) <= 1:
                raise SpecError(
                    "must be a share above 0 and at most 1",
                    field=option(name),
                    value=str(getattr(self, name)),
                )
        if self.boilerplate_documents < 2:
            raise SpecError(
                "must be at least 2",
                field=option("boilerplate_documents"),
                value=str(self.boilerplate_documents),
            )
        if not 0 <= self.seed < 2**63:
            raise SpecError("must be between 0 and 2**63", field="--seed", value=str(self.seed))

    def content(self) -> dict[str, object]:
        """Return the settings as a manifest states them."""
        return dataclasses.asdict(self)


def option(name: str) -> str:
    """Return the option of the command that a setting is given by."""
    return "--" + name.replace("_", "-")

"""What a leak is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from tootsie.datasets.errors import SpecError


@dataclass(frozen=True)
class DecontaminationSettings:
    """Options that change what is found."""

    ngram: int = 13
    """Words of an n-gram."""
    shortest: int = 8
    """Words of the shortest question or answer that is looked for, as a whole; shorter ones are in every text."""
    overlap: float = 0.5
    """Share of the n-grams of a question or answer (of those that are not common) that make a document contaminated."""
    common_share: float = 0.001
    """Share of all documents above which an n-gram that they have is common."""
    common_documents: int = 50
    """Documents that must have it at least."""
    template_items: int = 10
    """Items of one evaluation set above which an n-gram is part of their template."""
    template_share: float = 0.01
    """Share of its items, likewise: the larger number counts."""

    def check(self) -> None:
        """Raise :class:`SpecError` where a value is out of range."""
        for name, low in (("ngram", 2), ("shortest", 2), ("common_documents", 1), ("template_items", 1)):
            if getattr(self, name) < low:
                raise SpecError(
                    f"must be at least {low}", field="--" + name.replace("_", "-"), value=getattr(self, name)
                )
        for name in ("overlap", "common_share", "template_share"):
            if not 0 < getattr(self, name) <= 1:
                raise SpecError(
                    "must be a share above 0 and at most 1",
                    field="--" + name.replace("_", "-"),
                    value=getattr(self, name),
                )
        if self.shortest > self.ngram:
            raise SpecError(
                f"must not be more than --ngram ({self.ngram})", field="--shortest", value=self.shortest
            )

    def content(self) -> dict[str, object]:
        """Return the settings as a manifest states them."""
        return dataclasses.asdict(self)

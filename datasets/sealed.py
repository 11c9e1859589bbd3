"""Artefacts that carry the hash of their own content, so that an edit by hand or a flipped bit is noticed."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel

from tootsie.datasets.provenance import fingerprint


class Sealed(BaseModel):
    """A model with a field ``hash: str = ""``: the SHA-256 of the canonical JSON of all its other fields."""

    def content_hash(self) -> str:
        """Return what ``hash`` must be (64 hex digits)."""
        return fingerprint(self.model_dump(mode="json", exclude={"hash"}))

    def sealed(self) -> Self:
        """Return the artefact with its hash."""
        return self.model_copy(update={"hash": self.content_hash()})

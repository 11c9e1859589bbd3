"""Which documents are kept: by language, licence, length and how many errors LaTeXML left in them.

Each filter that is set has its reason in the books, and what it drops is in the rejects with the value that decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tootsie.curate.corpus import Corpus, Dropped, Kept, Outcome
from tootsie.datasets.document import Document

WORDS = 1000
"""Words that an error density is counted over."""


@dataclass(frozen=True)
class FilteredCorpus(Corpus):
    """A corpus whose documents are filtered; its fields are the filters."""

    min_characters: int = 200
    """Shortest text that is kept, without the white space around it."""
    max_characters: int | None = None
    """Longest text that is kept."""
    languages: tuple[str, ...] = ()
    """ISO 639 codes of the languages that are kept; none means all."""
    language_identifier: str | None = None
    """What tells the language where the source does not; part of what makes a run reproducible."""
    licences: tuple[str, ...] = ()
    """Licences that are kept, as they stand in ``metadata.license``; none means all."""
    max_error_density: float | None = None
    """Most ``latexml_errors`` for each 1,000 words of text."""

    def filtered(
        self, document: Document, content: str, counters: Mapping[str, int], source_bytes: int
    ) -> Outcome:
        """Return the document as kept, or why it is dropped.

        Args:
          document: as it is written if it is kept, its language aside.
          content: its text without what was put there by us, such as a title.
          counters: of the conversion.
          source_bytes: bytes of markup.
        """
        metadata = document.metadata

        def dropped(reason: str, detail: str) -> Dropped:
            return Dropped(reason, document.id, document.text, detail, metadata)

        length = len(content.strip())
        if length < self.min_characters:
            return dropped("too short" if length else "empty page", f"{length:,} characters")
        if self.max_characters is not None and length > self.max_characters:
            return dropped("too long", f"{length:,} characters")
        licence = str(metadata.get("license", "unknown"))
        if self.licences and licence.lower() not in {one.lower() for one in self.licences}:
            return dropped("licence not wanted", licence)
        errors = counters.get("latexml_errors", 0)
        if self.max_error_density is not None and errors:
            density = errors * WORDS / max(len(content.split()), 1)
            if density > self.max_error_density:
                return dropped("too many errors", f"{density:.2f} errors for each {WORDS:,} words")
        if self.languages:
            language = str(metadata.get("language") or self._identify(content))
            metadata = {**metadata, "language": language}
            if language.split("-")[0].lower() not in self.languages:
                return dropped("other language", language)
            document = document.model_copy(update={"metadata": metadata})
        return Kept(document, counters, source_bytes)

    def _identify(self, content: str) -> str:
        from tootsie.curate.language import identify

        return identify(content)

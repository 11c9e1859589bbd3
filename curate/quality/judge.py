"""What becomes of a document under the filters: the first that objects decides, and is named with its rule."""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tootsie.curate.corpus import Dropped, Kept, Outcome
from tootsie.curate.document_inputs import InputFile
from tootsie.curate.quality.attributes import AttributeFile
from tootsie.curate.quality.filter_settings import (
    PACKAGES,
    RULE,
    AttributeFilter,
    DatatroveFilter,
    Filter,
    load_class,
)
from tootsie.curate.quality.word_memory import WordMemory
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import UserError, shorten

FAILED = "filter failed"
"""Reason of a document on which a filter raised."""


def make_filter(settings: DatatroveFilter) -> Any:
    """Return datatrove's filter; that of URLs knows the suffixes of domains by the list in its package and asks no server."""
    if settings.name == "gopher_repetition":
        from tootsie.curate.quality.repetition import FastRepetitionFilter

        return FastRepetitionFilter(**settings.parameters)
    if settings.name == "c4_badwords":
        from tootsie.curate.quality.bad_words import ListedBadWords

        return ListedBadWords(**settings.parameters)
    made = load_class(settings.name)(**settings.parameters)
    if settings.name == "url":
        from tldextract import TLDExtract

        made.tldextractor = TLDExtract(suffix_list_urls=(), cache_dir=None)
    return made


class FilterJudge:
    """A :data:`tootsie.curate.cleaning_run.Judge`; travels to workers by its settings, and makes the filters there."""

    def __init__(self, filters: Sequence[Filter], files: Sequence[InputFile] = ()) -> None:
        """Make nothing yet.

        Args:
          filters: in their order.
          files: where the documents are, for attributes, which are by file and row.
        """
        self._filters = tuple(filters)
        self._files = tuple(files)
        self._made: list[Any] | None = None
        self._words: WordMemory | None = None
        self._open: dict[int, tuple[int, AttributeFile]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return FilterJudge, (self._filters, self._files)

    def __call__(self, number: int, document: Document) -> Outcome:
        """Return the document, as the filters leave it, or which of them drops it.

        Raises:
          ArtefactError: an attribute that a filter looks at is missing.
        """
        from datatrove.data import Document as Element

        if self._made is None:
            _quiet()
            gc.freeze()  # what is imported by now is never garbage, and is not looked through again and again
            self._made = [
                make_filter(one) if isinstance(one, DatatroveFilter) else None for one in self._filters
            ]
            self._words = WordMemory(
                {
                    made.language
                    for one, made in zip(self._filters, self._made, strict=True)
                    if "spacy" in PACKAGES.get(one.name, ())
                }
            )
        assert self._words is not None
        self._words.next_text()
        metadata = {**document.metadata}
        element = Element(text=document.text, id=document.id, metadata=metadata)
        for place, settings in enumerate(self._filters):
            try:
                if isinstance(settings, AttributeFilter):
                    rule = self._bound(place, settings, number, document)
                else:
                    rule = verdict(self._made[place], element)
            except UserError:
                raise
            except Exception as error:
                detail = f"{settings.name}: {shorten(f'{type(error).__name__}: {error}', 300)}"
                return Dropped(FAILED, document.id, document.text, detail, document.metadata, failure=True)
            if rule is not None:
                reason = f"{settings.name}: {rule}"
                return Dropped(reason, document.id, document.text, metadata=document.metadata)
        changed = element.text != document.text
        counters = {"texts_changed": 1} if changed else {}
        kept = document.model_copy(update={"text": element.text}) if changed else document
        return Kept(kept, counters, len(document.text.encode("utf-8", "replace")))

    def _bound(self, place: int, settings: AttributeFilter, number: int, document: Document) -> str | None:
        index = bisect_right([file.first for file in self._files], number) - 1
        file = self._files[index]
        row = number - file.first
        held = self._open.get(place)
        if held is None or held[0] != index:
            held = (index, AttributeFile(storage.join(settings.folder, file.name)))
            self._open[place] = held
        score = held[1].score(row, document.id, settings.key, settings.reduce, len(document.text))
        if settings.minimum is not None and score < settings.minimum:
            return "below minimum"
        if settings.maximum is not None and score > settings.maximum:
            return "above maximum"
        return None


def verdict(made: Any, element: Any) -> str | None:
    """Return the rule by which a filter of datatrove drops a document, ``None`` where it keeps it.

    Args:
      made: the filter.
      element: datatrove's document; a filter may change its text.
    """
    answer = made.filter(element)
    kept, rule = answer if isinstance(answer, tuple) else (answer, None)
    return None if kept else RULE.sub(" ", str(rule or "dropped")).strip()


def _quiet() -> None:
    """Keep datatrove's progress out of ours."""
    from datatrove.utils.logging import logger

    logger.disable("datatrove")

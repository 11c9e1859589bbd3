"""Held-out sets of a run: token caches, documents of any format, and folders in the layout of Paloma.

Paloma (Magnusson et al. 2023): ``<source>/<split>/*.jsonl.gz``, each line with ``text`` and, where a source has several
domains, ``subdomain``. Averages go over tags; a tag ``a/b`` is also the tag ``a``.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError
from tootsie.datasets.readers.reading import read_records
from tootsie.datasets.readers.record import text_of

ALL = "all"
"""The tag of every set."""


class Domains(enum.StrEnum):
    """What is a set of its own in a folder of Paloma's layout."""

    SOURCE = "source"
    """Each source."""
    SUBDOMAIN = "subdomain"
    """Each subdomain of each source."""


class EvaluationSet(BaseModel):
    """One held-out set, or a folder of many: exactly one of ``cache``, ``documents`` and ``paloma``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cache: str | None = Field(default=None, min_length=1)
    """URL of a token cache."""
    documents: str | None = Field(default=None, min_length=1)
    """URL or pattern of files of any format with a text for each record; tokenized when the run starts."""
    paloma: str | None = Field(default=None, min_length=1)
    """URL of a folder ``<source>/<split>/*.jsonl.gz``."""
    text: str = "text"
    """Key of a record's text; dots lead inwards."""
    split: str = "val"
    """Of ``paloma``."""
    by: Domains = Domains.SOURCE
    """Of ``paloma``: what is a set of its own."""
    tags: tuple[str, ...] = ()
    """Averages that the set is part of, besides that of all; ``a/b`` is part of ``a`` too."""

    @model_validator(mode="after")
    def _one_place(self) -> EvaluationSet:
        given = [name for name in ("cache", "documents", "paloma") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of cache, documents and paloma, not {len(given)} of them")
        return self

    def resolved(self, folder: str) -> EvaluationSet:
        """Return it with its URL relative to the working folder instead of ``folder``."""
        urls = {
            name: storage.resolve(folder, url)
            for name in ("cache", "documents", "paloma")
            if (url := getattr(self, name)) is not None
        }
        return self.model_copy(update=urls)


EvaluationSetField = Annotated[
    EvaluationSet, BeforeValidator(lambda given: {"cache": given} if isinstance(given, str) else given)
]
"""A pydantic field that takes the URL of a token cache for short."""


class Encoded(NamedTuple):
    """A document as :func:`tootsie.train.evaluate.pack` takes it."""

    input_ids: np.ndarray  # int32 [tokens].
    byte_length: int  # UTF-8 bytes of its text.
    loss_mask: np.ndarray | None = None  # bool [tokens]: which of them carry loss; None: all.


class Named(NamedTuple):
    """The texts of one set."""

    name: str  # Of the set.
    tags: tuple[str, ...]  # Its tags.
    texts: Iterable[str]  # Its documents, in order; read once.


def open_texts(name: str, given: EvaluationSet) -> Iterator[Named]:
    """Yield the sets that an entry with ``documents`` or ``paloma`` stands for, in order of their names.

    Raises:
      InputError: no file is there, one is damaged, or a record has no text.
    """
    if given.documents is not None:
        files = storage.expand([given.documents])
        if not files:
            raise InputError(
                "no file matches", file=given.documents, field=f"evaluation.sets.{name}.documents"
            )
        yield Named(name, given.tags, _texts(files, given.text))
        return
    assert given.paloma is not None
    pattern = storage.join(given.paloma, "*", given.split, "*.jsonl*")
    sources: dict[str, list[str]] = {}
    for file in storage.expand([pattern]):
        sources.setdefault(file.rsplit("/", 3)[1], []).append(file)
    if not sources:
        raise InputError(
            "no file matches",
            file=pattern,
            field=f"evaluation.sets.{name}.paloma",
            remedy="The layout is <source>/<split>/*.jsonl.gz; check 'split'",
        )
    for source, files in sorted(sources.items()):
        tags = (*given.tags, f"{name}/{source}")
        if given.by is Domains.SOURCE:
            yield Named(f"{name}/{source}", tags, _texts(files, given.text))
            continue
        domains: dict[str, list[str]] = {}
        for record in _records(files):
            domain = str(record.fields.get("subdomain") or source)
            domains.setdefault(domain, []).append(text_of(record, given.text))
        for domain, texts in sorted(domains.items()):
            yield Named(f"{name}/{source}/{domain}", tags, texts)


def _records(files: Iterable[str]) -> Iterator[Any]:
    for file in files:
        yield from read_records(file)


def _texts(files: Iterable[str], key: str) -> Iterator[str]:
    return (text_of(record, key) for record in _records(files))


def encode(texts: Iterable[str], encode_document: Callable[[str], Any]) -> Iterator[Encoded]:
    """Tokenize texts one by one; empty ones are left out."""
    for text in texts:
        if text:
            yield Encoded(
                np.asarray(encode_document(text), np.int32), len(text.encode("utf-8", "surrogatepass"))
            )


def with_parents(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags, those that they are part of, and that of all sets; each once, in order."""
    found: dict[str, None] = {}
    for tag in tags:
        parts = tag.split("/")
        found.update(dict.fromkeys("/".join(parts[:depth]) for depth in range(1, len(parts) + 1)))
    return tuple(found | {ALL: None})


def averages(scores: Mapping[str, Any], tags: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, float]]:
    """Return the averages over the sets of each tag that has several.

    Macro: the mean of the sets' own figures. Micro: all nats by all tokens, all bits by all bytes.

    Args:
      scores: of each set, with ``loss``, ``tokens_scored``, ``bytes``.
      tags: of each set, as :func:`with_parents` gives them.
    """
    members: dict[str, list[Any]] = {}
    for name, score in scores.items():
        for tag in tags[name]:
            members.setdefault(tag, []).append(score)
    result = {}
    for tag, found in members.items():
        if len(found) < 2:
            continue
        nats = math.fsum(score.loss * score.tokens_scored for score in found)
        result[tag] = {
            "sets": len(found),
            "macro_loss": math.fsum(score.loss for score in found) / len(found),
            "micro_loss": nats / sum(score.tokens_scored for score in found),
            "macro_bits_per_byte": math.fsum(score.bits_per_byte for score in found) / len(found),
            "micro_bits_per_byte": nats / math.log(2) / sum(score.bytes for score in found),
        }
    return result

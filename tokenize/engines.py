"""Which engine encodes: tiktoken, the reference, or a faster one that has proved to give the same ids.

An engine is a matter of speed. Fingerprint and shards are the same whichever did the work, and the ledger says which it was. What
has to hold before gigatoken encodes anything:

1. it has a pre-tokenizer for the pattern, the characters that it classes otherwise than tiktoken are known, and it gives
   tiktoken's ids for golden texts: proved once for each build of both engines (:mod:`tootsie.tokenize.engine_proof`);
2. ids of documents from the beginning of files all over the input are tiktoken's, each time a build begins.

Each process compares one golden document. While it encodes, one document in :data:`AUDITED` is compared again in every shard;
a difference ends the build.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize import engine_proof, fast_engine
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.character_classes import Ranges
from tootsie.tokenize.document_files import TextRecord
from tootsie.tokenize.engine_proof import fault, same_ids
from tootsie.tokenize.fast_engine import GigatokenTokenizer
from tootsie.tokenize.identity import GOLDEN_DOCUMENT, Tokenizer
from tootsie.tokenize.tokenizers import load_tokenizer

WORTHWHILE_BYTES = 2**26
"""Bytes of text below which ``auto`` stays with tiktoken: the proof takes as long as encoding them."""
AUDITED = 512
"""One document of so many, the first of each shard among them, is encoded by both engines."""


class Engine(StrEnum):
    """What the user may ask for."""

    AUTO = "auto"
    """gigatoken where it is installed, worth its start and proved equal; else the tokenizer's own."""
    TIKTOKEN = "tiktoken"
    """The reference."""
    GIGATOKEN = "gigatoken"
    """gigatoken, or an error."""

    @classmethod
    def named(cls, name: str) -> Engine:
        """Return the engine of a name.

        Raises:
          SpecError: there is none.
        """
        try:
            return cls(name)
        except ValueError:
            raise SpecError(
                "no such engine", field="--engine", value=name, remedy=f"Use one of {', '.join(cls)}"
            ) from None


@dataclass(frozen=True)
class EngineChoice:
    """The engine of one build, as workers are told."""

    name: str
    """Package name, for example ``tiktoken``."""
    version: str
    """Its version."""
    differing: Ranges = ()
    """Characters whose texts are left to the reference."""
    proof: str | None = None
    """Under which conditions it was proved equal, see :func:`tootsie.tokenize.engine_proof.conditions_hash`."""
    note: str | None = None
    """Why the faster one was not taken, where that is news to the user."""


def choose_engine(
    tokenizer: Tokenizer,
    asked: Engine,
    weight: int,
    sample: Iterable[tuple[str, TextRecord]],
    likely: Callable[[EngineChoice], None] | None = None,
) -> EngineChoice:
    """Return the engine for a build.

    Args:
      tokenizer: the reference.
      asked: what the user asks for.
      weight: bytes of text to encode.
      sample: documents of the input, each with the URL of its file; read only where a faster engine is to be compared.
      likely: called before the sample is compared with what the choice is then, unless there is a difference.

    Raises:
      SpecError: the engine that is asked for cannot encode for this tokenizer.
      InputError: the engine that is asked for gives other ids for a document of the sample.
      ArtefactError: it gives other ids for a golden text.
    """
    own = EngineChoice(tokenizer.engine, tokenizer.engine_version)
    if asked == own.name:
        return own
    if not isinstance(tokenizer, BytePairTokenizer) or tokenizer.allows_special:
        if asked is Engine.AUTO:
            return own
        raise SpecError(
            f"the only engine of {tokenizer.identity.name} is {own.name}",
            field="--engine",
            value=asked.value,
            remedy="Leave the option out",
        )
    if asked is Engine.AUTO and weight < WORTHWHILE_BYTES:
        return own
    try:
        differing = engine_proof.prove(tokenizer)
        choice = EngineChoice(
            fast_engine.PACKAGE,
            fast_engine.installed_version(),
            differing,
            engine_proof.conditions_hash(tokenizer),
        )
        if likely is not None:
            likely(choice)
        fast = engine_proof.with_engine(tokenizer, differing)
    except SpecError:
        if asked is Engine.AUTO:
            return own
        raise
    except ArtefactError as error:
        if asked is Engine.AUTO:
            return EngineChoice(own.name, own.version, note=f"{error.problem}, so {own.name} encodes all")
        raise
    different = first_different(fast, sample)
    if different is None:
        return choice
    url, name = different
    problem = f"{fast.engine} {fast.engine_version} gives other ids than {own.name} {own.version} for {name}"
    if asked is Engine.AUTO:
        return EngineChoice(
            own.name, own.version, note=f"{url + ': ' if url else ''}{problem}, so {own.name} encodes all"
        )
    raise InputError(problem, file=url or None, remedy=f"Use --engine {own.name}, or leave the option out")


def first_different(
    fast: GigatokenTokenizer, records: Iterable[tuple[str, TextRecord]]
) -> tuple[str, str] | None:
    """Return URL and id of the first document whose ids are not the reference's, or ``None``."""
    for url, record in records:
        if not same_ids(fast, record.text):
            return url, record.id
    return None


@functools.lru_cache(maxsize=4)
def load_with_engine(
    name: str, add_bos: bool | None, add_eos: bool | None, choice: EngineChoice | None
) -> Tokenizer:
    """Return a tokenizer with the engine that was chosen when the build began; once for each process.

    Args:
      name, add_bos, add_eos: see :func:`tootsie.tokenize.tokenizers.load_tokenizer`.
      choice: the engine; ``None`` is the tokenizer's own.

    Raises:
      SpecError: this worker has another version of it, or none.
      ArtefactError: this worker's build of it does not give the reference's ids.
    """
    tokenizer = load_tokenizer(name, add_bos=add_bos, add_eos=add_eos)
    if choice is None or choice.name == tokenizer.engine:
        return tokenizer
    assert isinstance(tokenizer, BytePairTokenizer)
    if fast_engine.installed_version() != choice.version:
        raise SpecError(
            f"this worker has {choice.name} {fast_engine.installed_version()}, the build began with {choice.version}",
            field="--engine",
            remedy="Install the same version on all workers, or use --engine tiktoken",
        )
    differing = choice.differing
    if choice.proof != engine_proof.conditions_hash(
        tokenizer
    ):  # another machine, or another build of an engine
        differing = engine_proof.prove(tokenizer)
    fast = engine_proof.with_engine(tokenizer, differing)
    if not same_ids(fast, GOLDEN_DOCUMENT):
        raise fault(fast, "", "the golden document")
    return fast


def audit(tokenizer: Tokenizer, record: TextRecord, ids: np.ndarray, url: str) -> None:
    """Compare the ids that a faster engine gave with the reference's.

    Args:
      tokenizer: the one that encoded; the reference itself is not compared.
      record: a document.
      ids: its ids, BOS and EOS included.
      url: its file, for the message.

    Raises:
      ArtefactError: they differ.
    """
    if isinstance(tokenizer, GigatokenTokenizer) and not np.array_equal(
        ids, tokenizer.reference.encode_document(record.text)
    ):
        raise fault(tokenizer, url, f"document {record.id}")

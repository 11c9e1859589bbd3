"""Which engine encodes: tiktoken, the reference, or a faster one that has proved to give the same ids.

An engine is a matter of speed. Fingerprint and shards are the same whichever did the work, and the ledger says which it was. What
has to hold before gigatoken encodes anything, each time a build begins:

1. it has a pre-tokenizer for the pattern, and the characters that it classes otherwise than tiktoken are known;
2. ids of :data:`CHECKED_TEXTS`, and of documents from the beginning of files all over the input, are tiktoken's.

While it encodes, one document in :data:`AUDITED` is compared again in every shard; a difference ends the build.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import tiktoken

from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize import fast_engine
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.character_classes import Ranges
from tootsie.tokenize.document_files import TextRecord
from tootsie.tokenize.fast_engine import GigatokenTokenizer
from tootsie.tokenize.identity import GOLDEN_DOCUMENT, Tokenizer
from tootsie.tokenize.tokenizers import load_tokenizer

WORTHWHILE_BYTES = 2**26
"""Bytes of text below which ``auto`` stays with tiktoken: the proof takes as long as encoding them."""
AUDITED = 512
"""One document of so many, the first of each shard among them, is encoded by both engines."""

_WHITE_SPACE = (
    "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
CHECKED_TEXTS = (
    GOLDEN_DOCUMENT,
    "",
    *(f"a{space}{space}b{space}\n{space} 1{space}\u0301" for space in _WHITE_SPACE),
    _WHITE_SPACE * 3,
    "it's IT'S it'\u017f we'LL we'lL 'Re're d'\u212a o''s '\u00df 's1 1's",
    "1234567 \u0663\u0664\u0665\u0666 \u00b2\u00bd\u2167 \uff14\uff15\uff16\uff17",
    *(
        character * 3000 + "x"
        for character in ("a", " ", "\n", "-", "=", "\u3000", "\u00e9", "\u5b57", "\u0301", "'", "\r\n")
    ),
    "\ud800 \udfff \ud83d\ude42",
    "\U0001f469\u200d\U0001f52c\U0001f3f3\ufe0f\u200d\U0001f308\U000e0067\U0010fffd\U000323b0's\u088f\u0c5c",
)
"""What every engine must encode as the reference does, whatever the input is."""


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
    note: str | None = None
    """Why the faster one was not taken, where that is news to the user."""


def choose_engine(
    tokenizer: Tokenizer, asked: Engine, weight: int, sample: Iterable[tuple[str, TextRecord]]
) -> EngineChoice:
    """Return the engine for a build.

    Args:
      tokenizer: the reference.
      asked: what the user asks for.
      weight: bytes of text to encode.
      sample: documents of the input, each with the URL of its file; read only where a faster engine is to be compared.

    Raises:
      SpecError: the engine that is asked for cannot encode for this tokenizer.
      InputError: the engine that is asked for gives other ids for a document of the sample.
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
        fast = _fast(tokenizer, _differing(tokenizer.pattern))
    except SpecError:
        if asked is Engine.AUTO:
            return own
        raise
    different = first_different(
        fast, (("", TextRecord(f"golden text {n}", text, 0)) for n, text in enumerate(CHECKED_TEXTS))
    )
    different = different or first_different(fast, sample)
    if different is None:
        return EngineChoice(fast.engine, fast.engine_version, fast.differing)
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


def same_ids(fast: GigatokenTokenizer, text: str) -> bool:
    """Return whether an engine gives the reference's ids, alone and as one of several documents."""
    expected = fast.reference.encode_document(text)
    return np.array_equal(fast.encode_document(text), expected) and all(
        np.array_equal(ids, expected) for ids in fast.encode_documents([text, text])
    )


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
    fast = _fast(tokenizer, choice.differing)
    for text in CHECKED_TEXTS:
        if not same_ids(fast, text):
            raise _fault(fast, "", "a golden text")
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
        raise _fault(tokenizer, url, f"document {record.id}")


def _fault(fast: GigatokenTokenizer, url: str, name: str) -> ArtefactError:
    return ArtefactError(
        f"{fast.engine} {fast.engine_version} gives other ids than {fast.reference.engine} for {name}",
        file=url or None,
        remedy=f"Run again with --engine {fast.reference.engine}: all is encoded anew",
    )


@functools.lru_cache(maxsize=2)
def _fast(reference: BytePairTokenizer, differing: Ranges) -> GigatokenTokenizer:
    return GigatokenTokenizer(reference, differing)


@functools.lru_cache(maxsize=8)
def _differing(pattern: str) -> Ranges:
    def reference(ranks: Mapping[bytes, int]) -> Any:
        encoding = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={})
        return lambda text: encoding.encode_to_numpy(text, disallowed_special=())

    return fast_engine.differing_classes(pattern, reference)

"""gigatoken as the engine of a byte-pair tokenizer: the same ids as tiktoken's, several times as fast (extra ``fast``).

Used through :mod:`tootsie.tokenize.engines`, which compares ids first. Two kinds of text are left to tiktoken: with characters
that the two engines class differently (:mod:`tootsie.tokenize.character_classes`), and whatever the engine refuses to encode.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tootsie.datasets.errors import SpecError
from tootsie.datasets.provenance import fingerprint
from tootsie.tokenize import derived_files, rank_merges
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.character_classes import (
    CharacterSet,
    Ranges,
    differing_characters,
    probing_ranks,
)
from tootsie.tokenize.identity import Tokenizer, without_surrogates

PACKAGE = "gigatoken"
SPELLINGS = {
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
"""cl100k_base's pattern as tiktoken writes it for speed → as it was published and gigatoken knows it; both split alike."""
MEMORY_BYTES = 2**29
"""How much memory may grow by before the engine, which remembers each word it has seen, is loaded anew."""
LOOK_BYTES = 2**24
"""Bytes of text after which memory is looked at."""
BLIND_BYTES = 2**28
"""Bytes of text after which the engine is loaded anew on systems that do not tell a process's memory."""


class GigatokenTokenizer(Tokenizer):
    """A tiktoken encoding whose work gigatoken does; identity and ids are the reference's.

    Args:
      reference: the encoding.
      differing: characters whose class is another one to gigatoken, see :func:`differing_classes`.

    Raises:
      SpecError: gigatoken is not installed, or has no pre-tokenizer for the pattern.
    """

    engine = PACKAGE

    def __init__(self, reference: BytePairTokenizer, differing: Ranges) -> None:
        self.reference = reference
        self.identity = reference.identity
        self.specials = reference.specials
        self.engine_version = installed_version()
        self._head, self._tail = reference._head, reference._tail
        self.differing = differing
        self._foreign = CharacterSet(differing)
        self._lock = threading.RLock()
        self._json = _vocabulary(reference)
        self._load()

    def encode_array(self, text: str) -> np.ndarray:
        """Return the ids of ``text``, uint32[n], without BOS and EOS."""
        return self._encode([text])[0]

    def encode_documents(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return :meth:`encode_document` of each text; many short ones at a time are fastest."""
        return [self._framed(ids) for ids in self._encode(texts)]

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id; a special token gives its name."""
        return self.reference.token_bytes(token)

    def _encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        encoded = [_utf8(text) for text in texts]
        same = [
            text.isascii() or not self._foreign.found_in(content)
            for text, content in zip(texts, encoded, strict=True)
        ]
        contents = [content for content, alike in zip(encoded, same, strict=True) if alike]
        try:
            with self._lock:  # the engine refuses a second thread
                batch = self._engine.encode_batch(contents, parallel=False)
        except BaseException as error:
            if not is_refusal(error):
                raise
            self._load()
            return [self.reference.encode_array(text) for text in texts]
        offsets = np.asarray(batch.layout.offsets.data).tolist()
        ids = np.asarray(batch.layout.content.data)
        found = iter(ids[start:stop] for start, stop in itertools.pairwise(offsets))
        made = [
            next(found) if alike else self.reference.encode_array(text)
            for text, alike in zip(texts, same, strict=True)
        ]
        self._watch_memory(sum(map(len, encoded)))
        return made

    def _load(self) -> None:
        with self._lock:
            self._engine: Any = None  # the old one goes before the new one comes
            self._engine = load(self._json)
            self._seen = self._looked = 0
            self._resident = _resident_bytes()

    def _watch_memory(self, size: int) -> None:
        self._seen += size
        if self._seen - self._looked < LOOK_BYTES:
            return
        self._looked = self._seen
        resident = _resident_bytes()
        if resident - self._resident > MEMORY_BYTES or (not resident and self._seen > BLIND_BYTES):
            self._load()


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text)[0].encode()


def installed_version() -> str:
    """Return the version of gigatoken.

    Raises:
      SpecError: it is not installed.
    """
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise SpecError(
            "the engine is not installed",
            field="--engine",
            value=PACKAGE,
            remedy='Run: pip install "tootsie[fast]", or leave the option out',
        ) from None


def load(content: str | bytes) -> Any:
    """Return the engine for a ``tokenizer.json``.

    Raises:
      SpecError: gigatoken is not installed, or it cannot use this one.
    """
    installed_version()
    import gigatoken

    try:
        return gigatoken.Tokenizer.from_json(content)
    except BaseException as error:
        if not is_refusal(error):
            raise
        raise SpecError(
            "the engine cannot do what this tokenizer does",
            field="--engine",
            value=" ".join(str(error).split())[:200],
            remedy="Use --engine tiktoken, or leave the option out",
        ) from None


def is_refusal(error: BaseException) -> bool:
    """Return whether an engine raised this of itself: a panic of its Rust code is no ``Exception``."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def differing_classes(pattern: str, reference: Callable[[Mapping[bytes, int]], Any]) -> Ranges:
    """Return the characters that gigatoken and the reference class differently under a pre-tokenizer's pattern.

    Args:
      pattern: the pattern.
      reference: makes the reference's encoder of a vocabulary.

    Raises:
      SpecError: gigatoken is not installed, or has no pre-tokenizer for the pattern.
    """
    ranks = probing_ranks()
    engine, lock = load(rank_merges.tokenizer_json(ranks, SPELLINGS.get(pattern, pattern))), threading.Lock()

    def encode(text: str) -> np.ndarray:
        with lock:
            return engine.encode(text)

    return differing_characters(reference(ranks), encode)


def _vocabulary(reference: BytePairTokenizer) -> bytes:
    """Return the ``tokenizer.json`` of a tokenizer, kept from an earlier time where there was one."""
    pattern = SPELLINGS.get(reference.pattern, reference.pattern)
    code = hashlib.sha256(Path(rank_merges.__file__).read_bytes()).hexdigest()
    name = f"vocabulary-{fingerprint([reference.identity.fingerprint, pattern, code])}.json"
    content = derived_files.recall(name)
    if content is None:
        content = rank_merges.tokenizer_json(reference.ranks, pattern).encode()
        derived_files.keep(name, content)
    return content


def _resident_bytes() -> int:
    """Return the memory of this process, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0

"""What a tokenizer is, as far as a cache is concerned: its identity, and the interface of every engine.

Two tokenizers are the same exactly when their fingerprints are: ranks, pre-tokenizer pattern, special ids, the
policy on BOS and EOS and the ids of one fixed document all go into it. A back end that is swapped or upgraded and
from then on loses the BOS, or splits one character otherwise, has another fingerprint and is refused.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.provenance import fingerprint

UINT16_VOCABULARY = 65_536
"""Largest vocabulary whose ids are stored in 16 bits."""

SPECIAL_SUFFIX = "+special"
"""End of the names of tokenizers to which text can spell special tokens."""

GOLDEN_DOCUMENT = (
    "The quick brown fox can't jump 12345.67 m; we'LL see, IT'S 3:00!\n\n"
    "# Heading\n\n* item\t\ttabbed   \r\n\r\n"
    "Let $\\alpha_{i}^{2} = \\frac{1}{\\sqrt{2\\pi}}\\int_0^\\infty e^{-x^2}\\,dx$ hold.\n\n"
    "    def f(x):\n        return {'a': x ** 2}  # comment\n\n"
    "Zażółć gęślą jaźń. Größe, façade, naïve cafe\u0301. Съешь же ещё этих мягких булок. Ξεσκεπάζω. "
    "שלום עולם. مرحبا بالعالم. नमस्ते दुनिया। สวัสดีชาวโลก 你好，世界！こんにちは 안녕하세요 "
    "\U0001f469\u200d\U0001f52c\U0001f3f3\ufe0f\u200d\U0001f308 \u00a0\u2003\u3000\ufeff\u0000\x1f\u2028 "
    "<|endoftext|><|begin_of_text|><|end_of_text|></s> " + "a" * 40 + " " * 20 + "=" * 30 + "\n"
)
"""Fixed for ever: its ids stand in every ledger. Scripts, digits, code, TeX, white space, special-token text."""


class TokenizerIdentity(BaseModel):
    """The tokenizer's block in a ledger and a plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    """The name under which it was loaded, without any path, for example ``llama3``."""
    fingerprint: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 over ranks, pattern, special ids, BOS/EOS policy and golden ids; the name is not part of it."""
    vocabulary_size: int = Field(gt=0)
    """Number of ids, specials included: every id is below it."""
    dtype: Literal["uint16", "uint32"]
    """How ids are stored; ``uint16`` only where ``vocabulary_size`` is at most 65,536."""
    bos_id: int | None
    """Id that begins a document, where the vocabulary has one."""
    eos_id: int
    """Id that ends a document."""
    add_bos: bool
    """Whether each document in a cache begins with ``bos_id``."""
    add_eos: bool
    """Whether each document in a cache ends with ``eos_id``."""
    golden_ids: tuple[int, ...]
    """The ids of :data:`GOLDEN_DOCUMENT` as a cache would hold them, BOS and EOS included."""

    @model_validator(mode="after")
    def _consistent(self) -> TokenizerIdentity:
        if self.dtype != dtype_of(self.vocabulary_size):
            raise ValueError(
                f"a vocabulary of {self.vocabulary_size:,} is stored as {dtype_of(self.vocabulary_size)}, not {self.dtype}"
            )
        if self.add_bos and self.bos_id is None:
            raise ValueError("add_bos is set but there is no bos_id")
        specials = [self.eos_id] if self.bos_id is None else [self.bos_id, self.eos_id]
        if any(not 0 <= value < self.vocabulary_size for value in (*specials, *self.golden_ids)):
            raise ValueError("an id lies outside the vocabulary")
        return self


def dtype_of(vocabulary_size: int) -> Literal["uint16", "uint32"]:
    """Return the smallest dtype that holds every id of a vocabulary."""
    return "uint16" if vocabulary_size <= UINT16_VOCABULARY else "uint32"


def require_same(found: TokenizerIdentity, expected: TokenizerIdentity, file: str) -> None:
    """Compare two tokenizers by fingerprint.

    Args:
      found: the tokenizer at hand.
      expected: the one that made the artefact.
      file: the artefact, for the error message.

    Raises:
      ArtefactError: they differ; the first field that differs is named.
    """
    if found.fingerprint == expected.fingerprint:
        return
    fields = [name for name in TokenizerIdentity.model_fields if name not in ("name", "fingerprint")]
    field = next((name for name in fields if getattr(found, name) != getattr(expected, name)), "fingerprint")
    raise ArtefactError(
        f"made by another tokenizer ({expected.name}, the one at hand is {found.name})",
        file=file,
        field=f"tokenizer.{field}",
        value=getattr(expected, field),
        remedy=f"Use the tokenizer that made it, or tokenize again; this one has {str(getattr(found, field))[:80]}",
    )


class Tokenizer(abc.ABC):
    """Text to ids and back. Text that spells a special token is ordinary text: nothing can be injected.

    Lone surrogates, which no UTF-8 file can hold, are encoded as U+FFFD, one for each; see :func:`without_surrogates`.
    """

    engine: str
    """Name of the library that does the work."""
    engine_version: str
    """Its version."""
    identity: TokenizerIdentity
    specials: dict[str, int]
    """Name to id of the tokens that no text can spell."""
    allows_special = False
    """Whether text can spell them after all; see :meth:`allowing_special`."""

    @abc.abstractmethod
    def encode_array(self, text: str) -> np.ndarray:
        """Return the ids of ``text``, uint32[n], without BOS and EOS."""

    @abc.abstractmethod
    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id; a special token gives its name.

        Raises:
          KeyError: the vocabulary has no such id.
        """

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text`` without BOS and EOS."""
        return self.encode_array(text).tolist()

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Return :meth:`encode` of each text."""
        return [self.encode(text) for text in texts]

    def encode_document(self, text: str) -> np.ndarray:
        """Return the ids as a cache holds them, uint32[n]: BOS and EOS as the policy says, appended as ids."""
        return self._framed(self.encode_array(text))

    def allowing_special(self) -> Tokenizer:
        """Return the same tokenizer, but with text that spells a special token encoded as that token.

        Whoever writes documents can then put BOS, EOS or turns of a conversation into them. It is another tokenizer, with another
        name and fingerprint.
        """
        made = copy.copy(self)
        made._allow_special()
        identity = self.identity
        made._identify(
            identity.name + SPECIAL_SUFFIX,
            {**self._vocabulary, "text_spells_special_tokens": True},
            vocabulary_size=identity.vocabulary_size,
            bos_id=identity.bos_id,
            eos_id=identity.eos_id,
            add_bos=identity.add_bos,
            add_eos=identity.add_eos,
        )
        return made

    def _allow_special(self) -> None:
        """Let this engine take text for special tokens from now on."""
        self.allows_special = True

    def encode_documents(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return :meth:`encode_document` of each text."""
        return [self.encode_document(text) for text in texts]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes that the ids stand for.

        Raises:
          ArtefactError: an id is not in the vocabulary.
        """
        try:
            return b"".join([self.token_bytes(int(token)) for token in ids])
        except KeyError as error:
            raise ArtefactError(
                f"the vocabulary of {self.identity.name} has no such id",
                value=error.args[0],
                remedy="Is it this tokenizer's?",
            ) from None

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that the ids stand for; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def pieces(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id."""
        return [self.decode_bytes([token]) for token in ids]

    def _framed(self, ids: np.ndarray) -> np.ndarray:
        return np.concatenate((self._head, ids, self._tail))

    def _identify(
        self,
        name: str,
        vocabulary: dict[str, Any],
        *,
        vocabulary_size: int,
        bos_id: int | None,
        eos_id: int,
        add_bos: bool,
        add_eos: bool,
    ) -> None:
        """Set :attr:`identity`, once the engine can encode.

        Args:
          name: see :class:`TokenizerIdentity`, like the rest.
          vocabulary: whatever decides the ids (ranks, pattern, specials), as JSON values.
        """
        self._vocabulary = vocabulary
        self._head = np.array([bos_id] if add_bos else [], np.uint32)
        self._tail = np.array([eos_id] if add_eos else [], np.uint32)
        golden = self._framed(self.encode_array(GOLDEN_DOCUMENT)).tolist()
        policy = {"bos_id": bos_id, "eos_id": eos_id, "add_bos": add_bos, "add_eos": add_eos}
        self.identity = TokenizerIdentity(
            name=name,
            fingerprint=fingerprint(
                {**vocabulary, **policy, "vocabulary_size": vocabulary_size, "golden_ids": golden}
            ),
            vocabulary_size=vocabulary_size,
            dtype=dtype_of(vocabulary_size),
            golden_ids=tuple(golden),
            **policy,
        )


def without_surrogates(text: str) -> tuple[str, int]:
    """Return ``text`` with each lone surrogate replaced by U+FFFD, and how many there were.

    Two halves that stand side by side are joined into the character they spell, as tiktoken does.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        replaced = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return replaced, replaced.count("\ufffd") - text.count("\ufffd")
    return text, 0

"""Tokenizers by name.

===============================  ==========================================================================
``tootsie-16k``                  the embedded default: byte-level BPE, 16,384 ids
``tootsie-4k``                   its first merges, 4,096 ids: for models small enough that the vocabulary is most of their work
``llama3``                       from the package ``llama-models`` (extra ``llama3``)
``llama3:PATH_OR_URL``           from a ``tokenizer.model``
``cl100k_base``, ``gpt2``, …     tiktoken's encodings, from its cache (``TIKTOKEN_CACHE_DIR``)
``cl100k_base:PATH_OR_URL``      likewise, from a ``.tiktoken`` file
``PATH_OR_URL/tokenizer.json``   any Hugging Face tokenizer (extra ``huggingface``)
any of these and ``+special``    text that spells a special token is encoded as that token
===============================  ==========================================================================
"""

from __future__ import annotations

import difflib
import functools

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.identity import SPECIAL_SUFFIX, Tokenizer, TokenizerIdentity, require_same

DEFAULT_TOKENIZER = "tootsie-16k"


def load_tokenizer(name: str, *, add_bos: bool | None = None, add_eos: bool | None = None) -> Tokenizer:
    """Return a tokenizer by name; see the table above.

    >>> tokenizer = load_tokenizer("tootsie-16k")
    >>> tokenizer.decode(tokenizer.encode("Any text, 42 × 🙂"))
    'Any text, 42 × 🙂'

    Args:
      name: one of the spellings above.
      add_bos: whether documents in a cache begin with BOS; by default as the tokenizer's makers do.
      add_eos: whether they end with EOS; by default yes.

    Raises:
      SpecError: no such name, or a file or package that it needs is not here.
      InputError: its file is damaged or of another kind.
    """
    return _load(name, add_bos, add_eos)


@functools.lru_cache(maxsize=8)
def _load(name: str, add_bos: bool | None, add_eos: bool | None) -> Tokenizer:
    from tootsie.tokenize import encodings

    if name.endswith(SPECIAL_SUFFIX):
        return _load(name.removesuffix(SPECIAL_SUFFIX), add_bos, add_eos).allowing_special()
    kind, _, location = name.partition(":")
    if name.endswith(".json"):
        from tootsie.tokenize.huggingface import HuggingFaceTokenizer

        return HuggingFaceTokenizer(name.removeprefix("huggingface:"), add_bos, add_eos)
    if name in encodings.EMBEDDED:
        return encodings.embedded(name, add_bos, add_eos)
    if kind == "llama3":
        return encodings.llama3(location or None, add_bos, add_eos)
    known = encodings.tiktoken_names()
    if kind in known:
        return encodings.tiktoken_encoding(kind, location or None, add_bos, add_eos)
    near = difflib.get_close_matches(name, [*encodings.EMBEDDED, "llama3", *known], n=1)
    raise SpecError(
        "no such tokenizer",
        field="tokenizer",
        value=name,
        remedy=f"Did you mean {near[0]}?"
        if near
        else f"Use {DEFAULT_TOKENIZER}, llama3, a path to a tokenizer.json, or one of " + ", ".join(known),
    )


def tokenizer_of(identity: TokenizerIdentity, *, file: str, name: str | None = None) -> Tokenizer:
    """Return the tokenizer that made an artefact.

    Args:
      identity: the artefact's tokenizer block.
      file: the artefact, for the error message.
      name: where to load it from, when its plain name is not enough (a ``tokenizer.json``).

    Raises:
      ArtefactError: the tokenizer at hand has another fingerprint.
      SpecError: it can't be loaded by that name.
    """
    location = name or identity.name
    try:
        tokenizer = load_tokenizer(location, add_bos=identity.add_bos, add_eos=identity.add_eos)
    except SpecError as error:
        if error.field != "add_bos":
            raise
        # A vocabulary without a BOS, where the artefact's begins documents with one.
        tokenizer = load_tokenizer(location, add_eos=identity.add_eos)
    require_same(tokenizer.identity, identity, file)
    return tokenizer

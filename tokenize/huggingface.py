"""Any Hugging Face ``tokenizer.json``, with the package ``tokenizers`` as the engine (extra ``huggingface``)."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.datasets.json_text import parse_json
from tootsie.tokenize.identity import GOLDEN_DOCUMENT, Tokenizer, without_surrogates
from tootsie.tokenize.rank_merges import byte_alphabet

EOS_NAMES = ("<|end_of_text|>", "<|endoftext|>", "</s>", "<eos>")
"""Names taken for EOS when no ``tokenizer_config.json`` lies beside the file."""


class HuggingFaceTokenizer(Tokenizer):
    """A ``tokenizer.json``; BOS and EOS come from the ``tokenizer_config.json`` beside it.

    Without that file EOS is the one token of :data:`EOS_NAMES` that the vocabulary has, and no BOS is added.

    Args:
      location: path or URL of ``tokenizer.json``.
      add_bos: default as in ``tokenizer_config.json``, else no.
      add_eos: default yes.

    Raises:
      SpecError: ``tokenizers`` is not installed, or no EOS is known.
      InputError: not a ``tokenizer.json``.
    """

    engine = "tokenizers"

    def __init__(self, location: str, add_bos: bool | None = None, add_eos: bool | None = None) -> None:
        try:
            import tokenizers
        except ImportError:
            raise SpecError(
                "tokenizer.json needs the package tokenizers",
                field="tokenizer",
                value=location,
                remedy='Run: pip install "tootsie[huggingface]"',
            ) from None
        self.engine_version = tokenizers.__version__
        content = storage.read_bytes(location)
        try:
            description = parse_json(content)
            self._tokenizer = tokenizers.Tokenizer.from_str(content.decode())
        except Exception as error:  # the package raises bare Exception
            raise InputError("not a tokenizer.json", file=location, value=str(error)) from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # special-token text is ordinary text
        self._refuse_loss(location)
        self._byte_level = any(
            '"ByteLevel"' in json.dumps(description.get(part)) for part in ("pre_tokenizer", "decoder")
        )
        self._specials = {
            t["id"]: t["content"] for t in description.get("added_tokens", ()) if t.get("special")
        }
        self.specials = {name: token for token, name in self._specials.items()}
        config = _config_beside(location)
        eos_id = self._id_of(config.get("eos_token"))
        if eos_id is None:
            known = [value for name in EOS_NAMES if (value := self._tokenizer.token_to_id(name)) is not None]
            if len(known) != 1:
                raise SpecError(
                    "no EOS is known for this tokenizer",
                    file=location,
                    remedy="Put a tokenizer_config.json with eos_token beside it",
                )
            eos_id = known[0]
        bos_id = self._id_of(config.get("bos_token"))
        if add_bos is None:
            add_bos = bool(config.get("add_bos_token", False))
        if add_bos and bos_id is None:
            raise SpecError(
                "add_bos is asked for but no BOS is known",
                file=location,
                remedy="Add bos_token to its config",
            )
        folder = location.rstrip("/").split("/")[-2:-1]
        self._identify(
            "huggingface:" + (folder[0] if folder and folder[0] else "tokenizer"),
            {
                "tokenizer_json": {
                    key: value for key, value in description.items() if key not in ("truncation", "padding")
                }
            },
            vocabulary_size=max(self._tokenizer.get_vocab(with_added_tokens=True).values()) + 1,
            bos_id=bos_id,
            eos_id=eos_id,
            add_bos=add_bos,
            add_eos=add_eos is not False,
        )

    def _refuse_loss(self, location: str) -> None:
        """Refuse a vocabulary with neither bytes nor an unknown token: letters and digits would vanish without a trace."""
        kept = bytearray(len(GOLDEN_DOCUMENT))
        try:
            offsets = self._tokenizer.encode(GOLDEN_DOCUMENT, add_special_tokens=False).offsets
        except Exception as error:  # the package raises bare Exception
            raise InputError("it cannot encode every text", file=location, value=str(error)) from None
        for start, stop in offsets:
            kept[start:stop] = b"\1" * (stop - start)
        lost = {
            char for char, there in zip(GOLDEN_DOCUMENT, kept, strict=True) if char.isalnum() and not there
        }
        if lost:
            raise InputError(
                "the vocabulary leaves out characters that it does not know, without a trace",
                file=location,
                value="".join(sorted(lost))[:20],
                remedy="Use a tokenizer with byte fallback or an unknown token",
            )

    def encode_array(self, text: str) -> np.ndarray:
        """Return the ids of ``text``, uint32[n], without BOS and EOS."""
        clean, _ = without_surrogates(text)
        return np.asarray(self._tokenizer.encode(clean, add_special_tokens=False).ids, np.uint32)

    def _allow_special(self) -> None:
        super()._allow_special()
        self._tokenizer = type(self._tokenizer).from_str(self._tokenizer.to_str())
        self._tokenizer.encode_special_tokens = False

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id; outside byte-level vocabularies, of its text standing alone."""
        text = self._tokenizer.id_to_token(token)
        if text is None:
            raise KeyError(token)
        if token in self._specials:
            return self._specials[token].encode()
        if not self._byte_level:
            return self._tokenizer.decode([token], skip_special_tokens=False).encode()
        table = _byte_alphabet()
        return bytes(table[c] for c in text) if all(c in table for c in text) else text.encode()

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that the ids stand for; bytes that are not UTF-8 become U+FFFD."""
        listed = [int(token) for token in ids]
        if self._byte_level:
            return super().decode(listed)
        unknown = next((token for token in listed if self._tokenizer.id_to_token(token) is None), None)
        if unknown is not None:
            raise ArtefactError(
                "the vocabulary has no such id", value=unknown, remedy="Is it this tokenizer's?"
            )
        return self._tokenizer.decode(listed, skip_special_tokens=False)

    def _id_of(self, token: Any) -> int | None:
        name = token.get("content") if isinstance(token, dict) else token
        return self._tokenizer.token_to_id(name) if isinstance(name, str) else None


def _config_beside(location: str) -> dict[str, Any]:
    url = (
        location.rsplit("/", 1)[0] + "/tokenizer_config.json" if "/" in location else "tokenizer_config.json"
    )
    if not storage.exists(url):
        return {}
    try:
        config = parse_json(storage.read_bytes(url))
    except ValueError as error:
        raise InputError("not JSON", file=url, value=str(error)) from None
    return config if isinstance(config, dict) else {}


@functools.cache
def _byte_alphabet() -> dict[str, int]:
    return {character: value for value, character in byte_alphabet().items()}

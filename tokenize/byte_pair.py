"""Byte-pair encoding from a file of ranks, with tiktoken as the engine.

A rank file has one token a line: its bytes in Base64, a space, its id. Lower ranks merge first.
Source: tiktoken, ``tiktoken/load.py`` (format), ``src/lib.rs`` (algorithm).
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import re
from collections.abc import Mapping
from typing import Literal

import numpy as np
import regex
import tiktoken

from tootsie.datasets.errors import InputError
from tootsie.tokenize.identity import Tokenizer, without_surrogates


def parse_ranks(content: bytes, file: str) -> dict[bytes, int]:
    """Parse a rank file.

    Raises:
      InputError: a line is not Base64 and a number, a token or an id is given twice, or a single byte is missing.
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise InputError(
                "not a line of a rank file",
                file=f"{file}:{number}",
                value=line[:60].decode("utf-8", "replace"),
                remedy="Each line must be a Base64 token, a space and its rank, as in tiktoken's files",
            ) from None
    bytes_present = sum(bytes([value]) in ranks for value in range(256))
    if bytes_present < 256:
        raise InputError(
            f"the ranks lack {256 - bytes_present} of the 256 single bytes, so not every text can be encoded",
            file=file,
            remedy="Is the file whole?",
        )
    if sorted(ranks.values()) != list(range(len(ranks))):
        raise InputError(
            "ranks must run from 0 without gaps or repeats", file=file, remedy="Is the file whole?"
        )
    return ranks


class BytePairTokenizer(Tokenizer):
    """A tiktoken encoding with a policy on BOS and EOS.

    Args:
      name: see :class:`~tootsie.tokenize.identity.TokenizerIdentity`.
      pattern: the pre-tokenizer, a regular expression in tiktoken's (Rust) dialect.
      ranks: token bytes to id.
      specials: name to id of the tokens that no text can spell.
      bos_id, eos_id, add_bos, add_eos: see :class:`~tootsie.tokenize.identity.TokenizerIdentity`.
    """

    engine = "tiktoken"
    engine_version = tiktoken.__version__

    def __init__(
        self,
        name: str,
        *,
        pattern: str,
        ranks: Mapping[bytes, int],
        specials: Mapping[str, int],
        bos_id: int | None,
        eos_id: int,
        add_bos: bool,
        add_eos: bool = True,
    ) -> None:
        self.pattern = pattern
        self.ranks = dict(ranks)
        self.specials = dict(specials)
        self._encoding = tiktoken.Encoding(
            name, pat_str=pattern, mergeable_ranks=self.ranks, special_tokens=self.specials
        )
        self._bytes = {rank: token for token, rank in ranks.items()}
        self._bytes.update({rank: token.encode() for token, rank in specials.items()})
        digest = hashlib.sha256()
        for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
            digest.update(rank.to_bytes(4, "big") + len(token).to_bytes(4, "big") + token)
        self._identify(
            name,
            {"ranks_sha256": digest.hexdigest(), "pattern": pattern, "specials": dict(specials)},
            vocabulary_size=max(self._bytes) + 1,
            bos_id=bos_id,
            eos_id=eos_id,
            add_bos=add_bos,
            add_eos=add_eos,
        )

    def encode_array(self, text: str) -> np.ndarray:
        """Return the ids of ``text``, uint32[n], without BOS and EOS."""
        allowed: Literal["all"] | set[str] = "all" if self.allows_special else set()
        try:
            return self._encoding.encode_to_numpy(text, allowed_special=allowed, disallowed_special=())
        except UnicodeEncodeError:
            return self.encode_array(without_surrogates(text)[0])
        except ValueError:
            # tiktoken's regex engine has a limit on backtracking, which very long runs of white space exceed.
            return self._encode_by_piece(text)

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id; a special token gives its name."""
        return self._bytes[token]

    def _encode_by_piece(self, text: str) -> np.ndarray:
        """Split with an engine that has no limit, then merge each piece with tiktoken: the same ids, slowly."""
        parts = [text]
        if self.allows_special:
            parts = re.split("(" + "|".join(map(re.escape, self.specials)) + ")", text)
        known: dict[str, list[int]] = {}
        ids: list[int] = []
        for number, part in enumerate(parts):
            if number % 2:
                ids.append(self.specials[part])
                continue
            for match in _unlimited(self.pattern).finditer(part):
                piece = match[0]
                if piece not in known:
                    known[piece] = self._encoding._encode_single_piece(piece)
                ids.extend(known[piece])
        return np.asarray(ids, np.uint32)


@functools.cache
def _unlimited(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern of tiktoken's dialect with the package ``regex``.

    White space is Unicode's property in Rust; the Python engine would also count U+001C to U+001F.
    """
    return regex.compile(pattern.replace(r"\s", r"\p{White_Space}").replace(r"\S", r"\P{White_Space}"))

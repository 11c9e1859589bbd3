"""A file of ranks written as a ``tokenizer.json``, for engines that take no other.

Ranks name tokens, ``tokenizer.json`` names merges of two tokens. tiktoken merges any two neighbours whose bytes together are a
token, lowest rank first; so every way to cut a token into two tokens is a merge, at the rank of the whole. And a piece that is a
token needs no merging, whether merges lead to it or not: ``ignore_merges``.
Source: tiktoken, ``src/lib.rs``; Hugging Face tokenizers, ``models/bpe/model.rs``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping


@functools.cache
def byte_alphabet() -> dict[int, str]:
    """Map bytes to the printable characters that byte-level vocabularies are written in.

    Bytes that print stand for themselves; the 68 others, in order, for the characters from U+0100.
    Source: the GPT-2 release, ``encoder.py``.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [value for value in range(256) if value not in printable]
    return {value: chr(value if value in printable else 0x100 + others.index(value)) for value in range(256)}


def merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return every pair of tokens that makes a token, by the rank of the whole.

    >>> merges({b"a": 0, b"b": 1, b"ab": 2, b"bab": 3})
    [(b'a', b'b'), (b'b', b'ab')]
    """
    found = []
    for token in sorted(ranks, key=ranks.__getitem__):
        cuts = range(1, len(token))
        pairs = [(token[:cut], token[cut:]) for cut in cuts if token[:cut] in ranks and token[cut:] in ranks]
        found += sorted(pairs, key=lambda pair: ranks[pair[0]]) if len(pairs) > 1 else pairs
    return found


def tokenizer_json(ranks: Mapping[bytes, int], pattern: str) -> str:
    """Return the content of a ``tokenizer.json``, without special tokens: text that spells one is ordinary.

    Args:
      ranks: token bytes to id, all 256 single bytes among them.
      pattern: the pre-tokenizer, a regular expression.
    """
    alphabet = byte_alphabet()
    table = {value: ord(character) for value, character in alphabet.items()}
    spelt = {token: token.decode("latin-1").translate(table) for token in ranks}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {
                        "type": "Split",
                        "pattern": {"Regex": pattern},
                        "behavior": "Isolated",
                        "invert": False,
                    },
                    {
                        "type": "ByteLevel",
                        "add_prefix_space": False,
                        "trim_offsets": True,
                        "use_regex": False,
                    },
                ],
            },
            "post_processor": None,
            "decoder": {
                "type": "ByteLevel",
                "add_prefix_space": True,
                "trim_offsets": True,
                "use_regex": True,
            },
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": True,
                "vocab": {spelt[token]: rank for token, rank in ranks.items()},
                "merges": [[spelt[left], spelt[right]] for left, right in merges(ranks)],
            },
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )

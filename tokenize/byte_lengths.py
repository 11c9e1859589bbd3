"""How many bytes of text each id of a vocabulary stands for."""

from __future__ import annotations

import numpy as np

from tootsie.tokenize.identity import Tokenizer

HOLE = -1
"""Length of an id that the vocabulary does not have."""


def byte_lengths(tokenizer: Tokenizer) -> np.ndarray:
    """Return int64[V], V ids of the vocabulary: the bytes of each; 0 for special tokens, :data:`HOLE` where there is none."""
    identity = tokenizer.identity
    special = {*tokenizer.specials.values(), identity.bos_id, identity.eos_id}
    lengths = np.full(identity.vocabulary_size, HOLE, np.int64)
    for token in range(identity.vocabulary_size):
        try:
            lengths[token] = 0 if token in special else len(tokenizer.token_bytes(token))
        except KeyError:
            continue
    return lengths

"""Does the text of a document still encode to the ids that a cache has of it?"""

from __future__ import annotations

import itertools

import numpy as np

from tootsie.tokenize.cache import CachedDocument
from tootsie.tokenize.identity import Tokenizer
from tootsie.tokenize.ledger import Ledger


def encodes_again(tokenizer: Tokenizer, document: CachedDocument, ledger: Ledger) -> bool:
    """Decode a document and encode it again.

    In a cache of documents, special tokens stand at the ends only. Conversations and imported documents may have them
    inside: there what lies between two of them is taken alone.

    Args:
      tokenizer: the one that made the cache.
      document: from the cache.
      ledger: the cache's.

    Returns:
      Whether ids and bytes are the same.
    """
    identity, ids = tokenizer.identity, document.input_ids
    inner = ids[int(identity.add_bos) : len(ids) - int(identity.add_eos)]
    text = tokenizer.decode_bytes(inner.tolist())
    again = tokenizer.encode_document(text.decode("utf-8", "replace"))
    if len(text) == document.byte_length and np.array_equal(again, ids):
        return True
    if not {"template", "format"} & ledger.settings.keys():
        return False
    special = np.isin(ids, [*tokenizer.specials.values(), identity.eos_id])
    edges = [0, *(np.flatnonzero(np.diff(special)) + 1).tolist(), len(ids)]
    runs = [ids[start:end] for start, end in itertools.pairwise(edges) if start < end and not special[start]]
    texts = [tokenizer.decode_bytes(run.tolist()) for run in runs]
    # The last text of a conversation that was cut ends where no text would.
    cut = ledger.settings.get("overlong") == "cut" and len(ids) == ledger.row_tokens
    whole = len(runs) - int(cut)
    return sum(map(len, texts)) == document.byte_length and all(
        np.array_equal(tokenizer.encode_array(text.decode("utf-8", "replace")), run)
        for text, run in zip(texts[:whole], runs[:whole], strict=True)
    )

"""Of which documents it is written down what the converter left out: some of each shard, told by their identifiers."""

from __future__ import annotations

import hashlib

MAX_DOCUMENTS = 50
"""Most documents of a shard."""


class DroppedTextSample:
    """Tells for one document after another of a shard whether it is in the sample."""

    def __init__(self, one_in: int) -> None:
        """Begin a shard.

        Args:
          one_in: about one document in so many is in the sample; 0 for none.
        """
        self._one_in = one_in
        self._taken = 0

    def __call__(self, identity: str) -> bool:
        """Return whether a document is in the sample; to be asked in the order of the documents."""
        if not self._one_in or self._taken >= MAX_DOCUMENTS:
            return False
        name = identity.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(name, digest_size=8, person=b"dropped text").digest()
        taken = int.from_bytes(digest, "little") % self._one_in == 0
        self._taken += taken
        return taken

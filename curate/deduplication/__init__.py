"""Remove documents whose content another document, which is kept, has in full; say by which evidence.

Hashes only propose pairs; each removal is decided by comparing the two texts (:mod:`.verification`), against a document that
stays (:mod:`.decision`). So no chain of likenesses removes what is like nothing that is left.
"""

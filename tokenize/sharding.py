"""Which documents go into which shard: decided by the input alone, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError
from tootsie.tokenize.document_files import DocumentFile

BYTES_PER_TOKEN = 4
"""Text bytes that a token stands for, about: what shard sizes are reckoned with."""
SHARD_TOKENS = 2**24
"""Default target size of a shard, in tokens."""
SPREAD_BYTES = 2 * 2**20
"""Small inputs get a shard for each so many bytes, up to :data:`SPREAD_SHARDS`, so that all cores have work."""
SPREAD_SHARDS = 8


@dataclass(frozen=True)
class Slice:
    """Consecutive documents of one file."""

    url: str
    first: int
    """Zero-based number of the first document within the file."""
    stop: int
    """End, exclusive."""
    state: str = ""
    """Of the file when it was looked through, see :class:`DocumentFile`."""


def shard_count(
    weight: int,
    documents: int,
    *,
    shards: int | None = None,
    shard_tokens: int | None = None,
    share: float = 1.0,
) -> int:
    """Return how many shards to write; never more than documents.

    Args:
      weight: bytes of text.
      documents: documents.
      shards: the number that was asked for, if any.
      shard_tokens: the target size that was asked for, in tokens.
      share: the share of the text that goes into these shards.
    """
    if shards is None:
        expected = int(weight * share)
        shards = -(-expected // (BYTES_PER_TOKEN * (shard_tokens or SHARD_TOKENS)))
        if shard_tokens is None:
            shards = max(shards, min(SPREAD_SHARDS, expected // SPREAD_BYTES))
    return max(1, min(shards, documents))


def cut(files: Sequence[DocumentFile], count: int) -> list[tuple[Slice, ...]]:
    """Cut the files, in order, into ``count`` runs of documents of about the same weight.

    Every document is in exactly one run, and no run is without documents: there are fewer where one document weighs as much
    as several runs. Within a file, documents count as equally heavy, and a run ends at the document whose
    end is nearest.
    """
    files = [file for file in files if file.documents]
    total = sum(file.weight for file in files)
    runs: list[list[Slice]] = [[] for _ in range(count)]
    number = before = 0
    for file in files:
        first = 0
        while first < file.documents:
            # The run ends where its share of the weight does; the last one takes all that is left.
            end = total * (number + 1) // count - before
            whole = number == count - 1 or end >= file.weight
            nearest = (2 * file.documents * end + file.weight) // max(1, 2 * file.weight)
            stop = file.documents if whole else max(first, nearest)
            if stop > first:
                runs[number].append(Slice(file.url, first, stop, file.state))
                first = stop
            if not whole:
                number += 1
        before += file.weight
    return [tuple(run) for run in runs if run]


def limited(files: Sequence[DocumentFile], limit: int | None) -> list[DocumentFile]:
    """Return the files cut to the first ``limit`` documents in all."""
    if limit is None:
        return list(files)
    kept = []
    for file in files:
        documents = min(file.documents, limit)
        if documents:
            weight = max(1, file.weight * documents // file.documents)
            kept.append(DocumentFile(file.url, documents, weight, file.state))
        limit -= documents
    return kept


def require_unchanged(slices: Sequence[Slice]) -> None:
    """Make sure that the files are still those that were looked through, whose checksums the ledger will have.

    To be called when a shard is written: what was read then is what was looked through.

    Raises:
      InputError: a file was written anew in the meantime.
    """
    states = {part.url: part.state for part in slices if part.state}
    for url, before in states.items():
        if storage.state(url) != before:
            raise InputError(
                "the file was changed while it was tokenized",
                file=url,
                remedy="Let it come to rest, delete what was begun of the output, and run again",
            )

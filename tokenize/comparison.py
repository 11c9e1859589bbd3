"""What differs between two token caches: their tokenizers, settings and sources, their shards, and their documents.

Documents are matched by id (the second of an id with the second, and so on) and compared by ids, loss spans and bytes, through
64-bit hashes: memory is 24 bytes a document of the larger cache and as much of the other. Shards that are the same in both are
not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xxhash

from tootsie.datasets.errors import shorten
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.ledger import Ledger

COMPARED = ("name", "split", "tokenizer", "engine", "sources", "settings", "code_version")
"""Fields of a ledger that say what a cache was made from."""


@dataclass(frozen=True)
class Comparison:
    """Two caches, A and B."""

    fields: list[tuple[str, Any, Any]]
    """What differs in their ledgers: field, value in A, value in B."""
    same_shards: int
    """Shards that are the same, byte for byte."""
    other_shards: list[str]
    """Paths of shards that differ or are in one of the two only."""
    same: int
    """Documents that are in both."""
    added: list[str] = field(default_factory=list)
    """Ids of documents that only B has, as many as were asked for."""
    removed: list[str] = field(default_factory=list)
    """Likewise of those that only A has."""
    changed: list[str] = field(default_factory=list)
    """Likewise of those whose tokens, loss or bytes differ."""
    counts: dict[str, int] = field(default_factory=dict)
    """How many there are: ``added``, ``removed``, ``changed``."""

    @property
    def equal(self) -> bool:
        """Whether both hold the same documents, made the same way."""
        return not self.fields and not self.other_shards and not any(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        fields = [{"field": name, "a": before, "b": after} for name, before, after in self.fields]
        return {**vars(self), "fields": fields, "equal": self.equal}


def compare(one: TokenCache, two: TokenCache, limit: int = 20) -> Comparison:
    """Compare two caches.

    Args:
      one: A.
      two: B.
      limit: ids to name of each kind of difference.

    Raises:
      ArtefactError: a shard is damaged.
    """
    entries = [{shard.path: shard for shard in cache.ledger.shards} for cache in (one, two)]
    same_paths = {
        path for path, shard in entries[0].items() if path in entries[1] and shard == entries[1][path]
    }
    same = sum(entries[0][path].documents for path in same_paths)
    before, after = _Documents(one, same_paths), _Documents(two, same_paths)
    _, in_one, in_two = np.intersect1d(before.keys, after.keys, assume_unique=True, return_indices=True)
    equal = before.contents[in_one] == after.contents[in_two]
    found = {
        "added": after.names(np.setdiff1d(np.arange(len(after.keys)), in_two), limit),
        "removed": before.names(np.setdiff1d(np.arange(len(before.keys)), in_one), limit),
        "changed": before.names(in_one[~equal], limit),
    }
    return Comparison(
        fields=list(_differences(one.ledger, two.ledger)),
        same_shards=len(same_paths),
        other_shards=sorted((entries[0].keys() | entries[1].keys()) - same_paths),
        same=same + int(equal.sum()),
        counts={
            "added": len(after.keys) - len(in_two),
            "removed": len(before.keys) - len(in_one),
            "changed": int((~equal).sum()),
        },
        **found,
    )


class _Documents:
    """The documents of a cache that are not in shards left out."""

    def __init__(self, cache: TokenCache, without: set[str]) -> None:
        self._cache = cache
        names, contents, places = [], [], []
        for number, entry in enumerate(cache.ledger.shards):
            if entry.path in without:
                continue
            for batch in cache.open_shard(number).batches:
                listed = batch.column("document_id").to_pylist()
                names.append(np.fromiter(map(_hash, listed), np.uint64, len(listed)))
                contents.append(np.fromiter(_contents(batch), np.uint64, len(listed)))
                places.append((np.int64(number) << 40) + batch.first_row + np.arange(len(listed)))
        empty = np.zeros(0, np.uint64)
        hashes = np.concatenate([empty, *names])
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        begins = np.concatenate(([True], hashes[1:] != hashes[:-1])) if len(hashes) else np.zeros(0, bool)
        occurrence = np.arange(len(hashes)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
        self.keys = hashes + occurrence.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        """uint64[documents], unique: of the id and how often it stood there before."""
        self.contents = np.concatenate([empty, *contents])[order]
        """uint64[documents]: of the tokens, loss spans and bytes."""
        self._places = np.concatenate([np.zeros(0, np.int64), *places])[order]

    def names(self, which: np.ndarray, limit: int) -> list[str]:
        """Return the ids of some documents, in the order of the cache, at most ``limit``."""
        places = np.sort(self._places[which])[:limit].tolist()
        return [self._cache.document(place >> 40, place & (2**40 - 1)).document_id for place in places]


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


def _contents(batch: Any) -> Iterator[int]:
    ids, bounds, spans = batch.ids.astype(np.uint32), batch.offsets.tolist(), batch.loss_spans
    lengths = batch.column("byte_length").to_pylist()
    for row, length in enumerate(lengths):
        digest = xxhash.xxh3_64(ids[bounds[row] : bounds[row + 1]].tobytes())
        digest.update(length.to_bytes(8, "little"))
        scored = np.array([[bounds[row]], [bounds[row + 1]]])
        if spans is not None:
            first, last = int(spans[0][row]), int(spans[0][row + 1])
            scored = np.stack([spans[1][first:last], spans[2][first:last]])
        digest.update((scored - bounds[row]).tobytes())
        yield digest.intdigest()


def _differences(one: Ledger, two: Ledger) -> Iterator[tuple[str, Any, Any]]:
    left, right = (_flat(ledger.model_dump(mode="json", include=set(COMPARED))) for ledger in (one, two))
    for name in [*left, *(name for name in right if name not in left)]:
        before, after = left.get(name), right.get(name)
        if before != after:
            yield name, _short(before), _short(after)


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        items = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        items = [(str(number), part) for number, part in enumerate(value)]
    else:
        return {prefix: value}
    return {
        name: part
        for key, inner in items
        for name, part in _flat(inner, f"{prefix}.{key}" if prefix else key).items()
    }


def _short(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else shorten(str(value), 100)

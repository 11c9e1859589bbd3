"""Write a cache of Levanter's; the format is described in :mod:`tootsie.tokenize.exchange.levanter`."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator

import numpy as np
import tensorstore as ts

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.tokenize.exchange.levanter import IDS, LEAVES, LEDGER, LENGTH, place
from tootsie.tokenize.identity import TokenizerIdentity

CHUNK = 2**18
"""Elements of a chunk."""
FILE = 2**27
"""Elements of a file."""
PART = 2**24
"""Elements written at a time: a multiple of a chunk. TensorStore reads and writes all of a file for each."""


class LevanterWriter:
    """Writes all documents as the only store of a cache (layout ``consolidated``, which every version reads), and its ledger.

    Args:
      folder: the cache.
      identity: the tokenizer.
      loss: whether there are masks.

    Raises:
      SpecError: TensorStore does not write where the folder lies, or ids do not fit 32 bits.
    """

    def __init__(self, folder: str, identity: TokenizerIdentity, *, loss: bool) -> None:
        if identity.vocabulary_size > 2**31:
            raise SpecError(
                "the vocabulary is too large for 32 bits with a sign", value=identity.vocabulary_size
            )
        self._folder, self._identity = folder, identity
        storage.remove(storage.join(folder, LEDGER))
        for leaf in LEAVES:
            ts.KvStore.open(place(storage.join(folder, leaf))).result().delete_range(
                ts.KvStore.KeyRange()
            ).result()
        self._leaves = {
            leaf: (
                _ArrayWriter(folder, leaf, "data", "int32"),
                _ArrayWriter(folder, leaf, "offsets", "int64"),
            )
            for leaf in LEAVES[: 1 + loss]
        }
        self.files: tuple[str, ...] = ()

    def write(self, batches: Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]) -> None:
        """Write all documents.

        Args:
          batches: ids unsigned [tokens], offsets int64 [documents + 1], mask bool [tokens] or ``None``.
        """
        rows = tokens = 0
        for _, ends in self._leaves.values():
            ends.write(np.zeros(1, np.int64))  # The number of rows, set when they are all there.
        for ids, offsets, mask in batches:
            for leaf, (data, ends) in self._leaves.items():
                values = ids if leaf == IDS else np.ones(len(ids), bool) if mask is None else mask
                data.write(values.astype(np.int32))
                ends.write(tokens + offsets[1:])
            rows, tokens = rows + len(offsets) - 1, tokens + len(ids)
        files: list[str] = []
        for data, ends in self._leaves.values():
            data.finish()
            ends.finish()
            ends.put(0, np.array([rows], np.int64))
            files += data.files + ends.files
        url = storage.join(self._folder, LEDGER)
        name, identity = "", self._identity  # as Levanter names what one writer wrote
        ledger = {
            "total_num_rows": rows,
            "shard_rows": {name: rows},
            "is_finished": True,
            "finished_shards": [name],
            "field_counts": dict.fromkeys(self._leaves, tokens),
            "metadata": {
                "preprocessor_metadata": {
                    "tokenizer": identity.name,
                    "vocab_size": identity.vocabulary_size,
                    "append_bos": identity.add_bos,
                    "append_eos": identity.add_eos,
                    "fingerprint": identity.fingerprint,
                }
            },
        }
        storage.write_bytes(url, json.dumps(ledger, ensure_ascii=False).encode())
        self.files = (*files, url)


class _ArrayWriter:
    """Writes an array from its beginning, in parts that begin and end with chunks."""

    def __init__(self, folder: str, leaf: str, part: str, dtype: str) -> None:
        self._url = storage.join(folder, leaf, part)
        codecs = [{"name": "blosc", "configuration": {"clevel": 5}}]
        sharding = {"name": "sharding_indexed", "configuration": {"chunk_shape": [CHUNK], "codecs": codecs}}
        spec = {
            "driver": "zarr3",
            "kvstore": place(self._url),
            "metadata": {
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [FILE]}},
                "codecs": [sharding],
            },
            "store_data_equal_to_fill_value": True,  # else a chunk of zeros would be missing
        }
        self._array = ts.open(spec, dtype=dtype, shape=[LENGTH], create=True, delete_existing=True).result()
        self._held: list[np.ndarray] = []
        self._waiting = self._written = 0

    def write(self, values: np.ndarray) -> None:
        """Take the next values."""
        while len(values):
            part, values = np.split(values, [PART - self._waiting])
            self._held.append(part)
            self._waiting += len(part)
            if self._waiting == PART:
                self.finish()

    def finish(self) -> None:
        """Write what waits."""
        if self._held:
            self.put(self._written, np.concatenate(self._held))
            self._written += self._waiting
            self._held, self._waiting = [], 0

    def put(self, at: int, values: np.ndarray) -> None:
        """Write values at a position."""
        self._array[at : at + len(values)].write(values).result()

    @functools.cached_property
    def files(self) -> list[str]:
        """The files that were written."""
        numbers = range(-(-self._written // FILE))
        return [
            storage.join(self._url, name) for name in ("zarr.json", *(f"c/{number}" for number in numbers))
        ]

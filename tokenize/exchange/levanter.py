"""Levanter's caches: a folder with ``shard_ledger.json`` and *stores* of jagged arrays, which TensorStore reads and writes.

    STORE/input_ids/data             the ids of all rows, one row after another
    STORE/input_ids/offsets          int64: [0] is the number of rows, [n] where row n - 1 ends
    STORE/assistant_masks/…          the same for conversations: 1 where a token carries loss

Each array is one of zarr 3, 2**54 long by its own account: chunks of 2**18 elements, 2**9 of them in a file, Blosc. What was
never written reads as 0, files included; so a lost file is an error here, and so is a chunk of zeros. In the layout
``consolidated`` the folder itself is the only store; in ``sharded`` every folder that the ledger lists is one.

Source: Levanter, ``store/cache.py``, ``store/jagged_array.py``, ``store/tree_store.py``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorstore as ts

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.datasets.json_text import parse_json
from tootsie.tokenize.exchange.token_file import TokenDocument, TokenFile, damaged

LEDGER = "shard_ledger.json"
IDS = "input_ids"
LOSS = "assistant_masks"
LEAVES = (IDS, LOSS)
IGNORED = "attention_mask"
"""A field that says nothing about whole documents."""
LENGTH = 2**54
"""Elements that an array claims to have."""
WINDOW = 2**20
"""Elements read at a time, about."""
TEXT = 2**10
"""A chunk of fewer ids than this may have nothing but zeros."""
ROWS = 2**16
"""Rows whose ends are read at a time."""


def find_levanter(inputs: Sequence[str]) -> list[LevanterStore]:
    """Return the stores of the caches in folders (or at their ledgers, globs, brace ranges), in the order of their rows.

    Raises:
      InputError: there is none, or one is not finished, damaged, or has fields that cannot be imported.
    """
    end = f"/{IDS}/offsets/c/0"
    found: list[LevanterStore] = []
    for url in storage.expand(inputs):
        if url.endswith(end):
            found.append(LevanterStore(url.removesuffix(end)))
        else:
            found += _cache(url.removesuffix("/" + LEDGER).rstrip("/"))
    return list({store.url: store for store in found}.values())


def _cache(folder: str) -> list[LevanterStore]:
    url = storage.join(folder, LEDGER)
    if not storage.exists(url):
        filesystem, path = storage.url_to_fs(folder)
        inside = [name for name in filesystem.ls(path, detail=False) if filesystem.isdir(name)]
        splits = [name.rsplit("/", 1)[-1] for name in inside if filesystem.exists(f"{name}/{LEDGER}")]
        raise InputError(
            f"no {LEDGER}, so no finished cache of Levanter's",
            file=folder,
            remedy=f"There is one in each of these folders, name one: {', '.join(sorted(splits))}"
            if splits
            else "Check the path",
        )
    try:
        ledger = parse_json(storage.read_bytes(url))
        rows, counts = ledger["total_num_rows"], ledger.get("field_counts") or {}
        layout, finished = ledger.get("layout", "consolidated"), ledger.get("is_finished", False)
        shards = ledger.get("finished_shards") or []
        by_shard, counts_by_shard = ledger["shard_rows"], ledger.get("field_counts_by_shard") or {}
        names = [(str(name), by_shard[name], counts_by_shard.get(name, {}).get(IDS)) for name in shards]
        total, listed = counts.get(IDS), sum(count for _, count, _ in names)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(url, "not a ledger of Levanter's", value=f"{type(error).__name__}: {error}") from None
    if finished is not True:
        raise damaged(url, "the cache is not finished", "is_finished", finished)
    if layout == "consolidated":
        return [LevanterStore(folder, rows, total, folder)] if _begun(folder) or rows else []
    if layout != "sharded":
        raise damaged(url, "another layout than consolidated and sharded", "layout", layout)
    if listed != rows:
        raise damaged(url, f"the shards have {listed:,} rows", "total_num_rows", rows)
    if len({name for name, _, _ in names}) != len(names):
        raise damaged(url, "a shard stands there twice", "finished_shards")
    stores = []
    for name, count, tokens in names:
        if "://" in name or name.startswith("/") or ".." in name.split("/"):
            raise damaged(url, "a shard lies outside the folder", "finished_shards", name)
        store = storage.join(folder, name)
        if count or _begun(store):
            stores.append(LevanterStore(store, count, tokens, folder))
    return stores


def _begun(store: str) -> bool:
    """Return whether a number of rows was ever written."""
    return storage.exists(storage.join(store, IDS, "offsets/c/0"))


class LevanterStore(TokenFile):
    """One store.

    Args:
      store: its folder.
      rows: how many the ledger says; absent: not compared.
      tokens: likewise.
      folder: of the cache, where a record of an export lies.

    Raises:
      InputError: see :func:`find_levanter`.
    """

    def __init__(
        self, store: str, rows: int | None = None, tokens: int | None = None, folder: str | None = None
    ) -> None:
        self._store = store
        self.folder = folder or store
        fields = _fields(store)
        strange = [name for name in fields if name not in (*LEAVES, IGNORED)]
        if strange:
            raise InputError(
                f"a field beside {IDS} that cannot be imported: which tokens carry loss would not be known",
                file=store,
                field=strange[0],
                remedy=f"Write a cache with {IDS} and, where not all tokens carry loss, {LOSS}",
            )
        self.has_loss = LOSS in fields
        inside = {name: url for leaf in LEAVES[: 1 + self.has_loss] for name, url in _files(store, leaf)}
        self._leaves = {name: _Leaf(store, name, inside) for name in LEAVES[: 1 + self.has_loss]}
        ids = self._leaves[IDS]
        for field, said, there in (
            ("total_num_rows", rows, ids.rows),
            (f"field_counts.{IDS}", tokens, ids.size),
        ):
            if said is not None and said != there:
                raise damaged(
                    store, f"the arrays have {there:,}, the ledger says another number", field, said
                )
        for leaf in self._leaves.values():
            if (leaf.rows, leaf.size) != (ids.rows, ids.size):
                raise damaged(
                    store,
                    f"{leaf.rows:,} rows with {leaf.size:,} values for {ids.rows:,} with {ids.size:,} ids",
                    leaf.name,
                )
        wanted = [file for leaf in self._leaves.values() for file in leaf.files]
        ledger = () if folder is None else (storage.join(folder, LEDGER),)
        self.files = (*(inside[name] for name in wanted), *ledger)
        # The number of rows is in it: it changes when anything is added.
        self.url = inside[f"{IDS}/offsets/c/0"]

    def documents(self, first: int = 0, stop: int | None = None) -> Iterator[TokenDocument]:
        """Yield rows; they have no ids."""
        ids, loss = self._leaves[IDS], self._leaves.get(LOSS)
        stop = ids.rows if stop is None else min(stop, ids.rows)
        row = first
        masks = None if loss is None else loss.read(first, stop)
        for values in ids.read(first, stop):
            mask = None if masks is None else next(masks)
            if mask is not None and len(mask) != len(values):
                raise damaged(
                    self._store, f"{len(mask):,} values for {len(values):,} tokens", f"row {row}, {LOSS}"
                )
            yield TokenDocument(None, values, None if mask is None else mask != 0)
            row += 1


class _Leaf:
    """One field of a store: a jagged array."""

    def __init__(self, store: str, name: str, inside: dict[str, str]) -> None:
        self.name = name
        self._url = storage.join(store, name)
        arrays = {}
        for part in ("offsets", "data"):
            if f"{name}/{part}/zarr.json" not in inside:
                raise damaged(self._url, "the store has no such array", f"{part}/zarr.json")
            with self._honest():
                arrays[part] = ts.open({"driver": "zarr3", "kvstore": place(self._url, part)}).result()
        self._offsets, self._data = arrays["offsets"], arrays["data"]
        for part, array in arrays.items():
            kind = np.dtype(array.dtype.numpy_dtype).kind
            if array.rank != 1 or kind not in "iu" or (part == "offsets" and array.dtype != ts.int64):
                raise damaged(
                    self._url, "numbers in one row are needed", part, f"{array.dtype.name}, rank {array.rank}"
                )
        self._chunk = _elements(self._data.chunk_layout.read_chunk)
        self._need("offsets", 1, inside)
        self.rows = int(self._numbers(self._offsets, 0, 1)[0])
        if not 0 <= self.rows < LENGTH:
            raise damaged(self._url, "no number of rows", "offsets[0]", self.rows)
        self.files = self._need("offsets", self.rows + 1, inside)
        self.size = self._end(self.rows)
        if not 0 <= self.size < LENGTH:
            raise damaged(self._url, "no number of values", f"offsets[{self.rows}]", self.size)
        self.files += self._need("data", self.size, inside)

    def read(self, first: int, stop: int) -> Iterator[np.ndarray]:
        """Yield the rows ``[first, stop)``."""
        begin = self._end(first)
        held: list[np.ndarray] = []
        window, window_start = np.zeros(0, self._data.dtype.numpy_dtype), 0
        for start in range(first, stop, ROWS):
            ends = self._numbers(self._offsets, start + 1, min(start + ROWS, stop) + 1)
            steps = np.diff(ends, prepend=begin)
            if (steps < 0).any() or ends[-1] > self.size:
                raise damaged(
                    self._url,
                    "the ends of rows do not ascend",
                    f"offsets[{start + 1 + int((steps < 0).argmax())}]",
                )
            for end in ends.tolist():
                while begin < end:
                    if not window_start <= begin < window_start + len(window):
                        window_start = begin // self._chunk * self._chunk
                        window = self._window(window_start)
                    piece = window[begin - window_start : end - window_start]
                    held.append(piece)
                    begin += len(piece)
                yield held[0] if len(held) == 1 else np.concatenate([window[:0], *held])
                held = []

    def _end(self, row: int) -> int:
        return int(self._numbers(self._offsets, row, row + 1)[0]) if row else 0

    def _window(self, start: int) -> np.ndarray:
        """Return the values from the beginning of a chunk on."""
        chunk = self._chunk
        found = self._numbers(self._data, start, min(start + max(1, WINDOW // chunk) * chunk, self.size))
        if self.name == IDS and chunk >= TEXT:
            for at in range(0, len(found) - chunk + 1, chunk):
                if not found[at : at + chunk].any():
                    raise damaged(
                        self._url, "a chunk was never written: all its ids are 0", f"data[{start + at}]"
                    )
        return found

    def _need(self, part: str, size: int, inside: dict[str, str]) -> list[str]:
        """Return the files of so many elements; a file that is not there would be read as zeros."""
        array = {"offsets": self._offsets, "data": self._data}[part]
        elements = _elements(array.chunk_layout.write_chunk)
        files = [f"{self.name}/{part}/zarr.json"]
        for number in range(-(-size // elements)):
            files.append(f"{self.name}/{part}/c/{number}")
            if files[-1] not in inside:
                raise damaged(
                    self._url, f"the ledger lists {size:,} elements, a file of them is missing", files[-1]
                )
        return files

    def _numbers(self, array: Any, start: int, stop: int) -> np.ndarray:
        with self._honest():
            return array[start:stop].read().result()

    @contextlib.contextmanager
    def _honest(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, OSError, IndexError, RuntimeError, NotImplementedError) as error:
            raise damaged(
                self._url,
                "an array is damaged",
                value=re.sub(r" \[source.*", "", str(error).split("\n")[0])[:200],
            ) from None


def _elements(grid: ts.ChunkLayout.Grid) -> int:
    """Return how many elements of an array lie together."""
    (length,) = grid.shape or (None,)
    assert length, "zarr arrays have chunks"
    return length


def place(url: str, *parts: str) -> dict[str, str]:
    """Return where TensorStore finds a folder.

    Raises:
      SpecError: it has no way there.
    """
    url = storage.join(url, *parts)
    local = storage.local_path(url)
    if local is not None:
        return {"driver": "file", "path": f"{local}/"}
    protocol, _, rest = url.partition("://")
    bucket, _, path = rest.partition("/")
    drivers = {"gs": "gcs", "gcs": "gcs", "s3": "s3"}
    if protocol not in drivers:
        raise SpecError(
            "Levanter's caches are read and written on local disks, gs:// and s3://",
            file=url,
            value=protocol,
            remedy="Copy it",
        )
    return {"driver": drivers[protocol], "bucket": bucket, "path": f"{path}/"}


def _fields(store: str) -> list[str]:
    """Return the names of the arrays of a store. Stores may lie below it, which are no part of it."""
    if not storage.exists(store):
        raise damaged(store, "the ledger lists a store that is missing")
    filesystem, path = storage.url_to_fs(store)
    names = sorted(name.rstrip("/").rsplit("/", 1)[-1] for name in filesystem.ls(path, detail=False))
    return [name for name in names if filesystem.exists(f"{path}/{name}/data/zarr.json")]


def _files(store: str, leaf: str) -> Iterator[tuple[str, str]]:
    """Yield the files of an array: path within the store and URL."""
    folder = storage.join(store, leaf)
    if storage.exists(folder):
        for url in storage.find_files(folder):
            parts = url.rsplit(f"/{leaf}/", 1)
            yield f"{leaf}/{parts[-1]}", url

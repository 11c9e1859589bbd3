"""Megatron-LM's indexed datasets: ``NAME.bin`` with the ids, ``NAME.idx`` with lengths, positions and the ends of documents.

The index: ``MMIDIDX\\0\\0``, version 1 (uint64), dtype code (uint8), number of sequences S and of document indices D (uint64
each), then S lengths (int32), S byte positions (int64), D document indices (int64, in sequences, the first is 0), and for
multimodal data S modes (int8). All little endian. A document is one sequence, or several one after another.

Source: megatron-core, ``core/datasets/indexed_dataset.py``.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.tokenize.exchange.token_file import TokenDocument, TokenFile, damaged, located

MAGIC = b"MMIDIDX\0\0"
HEADER = 34
"""Bytes before the lengths."""
DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
"""Codes of integers; 6 and 7 are floating point."""
UINT16_VOCABULARY = 65_500
"""Vocabularies below this are stored in 16 bits, as Megatron does."""


def find_megatron(inputs: Sequence[str]) -> list[MegatronFile]:
    """Return the datasets at prefixes, or at their ``.bin`` or ``.idx`` files, globs, brace ranges and folders.

    Raises:
      InputError: there is none, or an index is damaged.
    """
    files: list[str] = []
    for item in inputs:
        prefixed = storage.exists(item + ".idx") and not storage.exists(item)
        files += [item + ".idx"] if prefixed else located([item], (".idx", ".bin"))
    prefixes = dict.fromkeys(name.removesuffix(".idx").removesuffix(".bin") for name in files)
    return [MegatronFile(prefix) for prefix in prefixes]


class MegatronFile(TokenFile):
    """One pair of files. The index is held in memory: 20 bytes a document.

    Args:
      prefix: the path without ``.bin`` and ``.idx``.

    Raises:
      InputError: a file is missing, or the index is damaged or does not fit the ids.
    """

    def __init__(self, prefix: str) -> None:
        self.url, index = prefix + ".bin", prefix + ".idx"
        self.files = (self.url, index)
        for name in self.files:
            if not storage.exists(name):
                raise InputError(
                    "no such file",
                    file=name,
                    remedy="A dataset of Megatron's is a .bin and an .idx side by side",
                )
        size, total = storage.size(index), storage.size(self.url)
        with storage.open_binary(index) as stream:
            head = stream.read(HEADER)
            if len(head) < HEADER or not head.startswith(MAGIC):
                raise damaged(index, "not an index of Megatron's")
            version, code, sequences, documents = struct.unpack("<QBQQ", head[len(MAGIC) :])
            if version != 1 or code not in DTYPES:
                raise damaged(
                    index,
                    "an index of version 1 with a dtype of integers is needed",
                    "version, dtype code",
                    (version, code),
                )
            self.dtype = np.dtype(DTYPES[code])
            expected = HEADER + 12 * sequences + 8 * documents
            if size not in (expected, expected + sequences):
                raise damaged(
                    index,
                    f"{sequences:,} sequences and {documents:,} document indices do not fit its {size:,} bytes",
                )
            if size > expected:
                raise InputError("multimodal sequences", file=index, remedy="Only text can be imported")
            self._lengths = _array(stream, "<i4", sequences)
            self._positions = _array(stream, "<i8", sequences)
            self._documents = _array(stream, "<i8", documents)
        ends = self._positions + self._lengths.astype(np.int64) * self.dtype.itemsize
        wrong = (self._lengths < 0) | (self._positions < 0) | (self._positions > total) | (ends > total)
        if wrong.any():
            raise damaged(index, "a sequence lies outside the .bin", f"sequence {int(wrong.argmax())}")
        covered = int(ends.max(initial=0))
        if covered != total:
            raise damaged(
                self.url,
                f"the index ends after {covered:,} of its {total:,} bytes: it is another file's, or names another dtype",
            )
        limits = self._documents
        if not len(limits) or limits[0] != 0 or limits[-1] != sequences or (np.diff(limits) < 0).any():
            raise damaged(index, f"the document indices do not run from 0 to {sequences:,}")

    def documents(self, first: int = 0, stop: int | None = None) -> Iterator[TokenDocument]:
        """Yield documents; they have no ids."""
        stop = len(self._documents) - 1 if stop is None else stop
        with storage.open_binary(self.url) as stream:
            for number in range(first, stop):
                parts = [
                    self._sequence(stream, sequence)
                    for sequence in range(int(self._documents[number]), int(self._documents[number + 1]))
                ]
                ids = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, self.dtype), *parts])
                yield TokenDocument(None, ids, None)

    def _sequence(self, stream: IO[bytes], number: int) -> np.ndarray:
        position, size = int(self._positions[number]), int(self._lengths[number]) * self.dtype.itemsize
        if stream.tell() != position:
            stream.seek(position)
        content = stream.read(size)
        if len(content) != size:
            raise damaged(self.url, "the file ends within a sequence", f"sequence {number}")
        return np.frombuffer(content, self.dtype.newbyteorder("<"))


class MegatronWriter:
    """Writes documents, one sequence each; the index appears after the ids.

    Args:
      prefix: the path without ``.bin`` and ``.idx``.
      vocabulary_size: decides the width, as in Megatron: 16 bits below 65,500, else 32.
    """

    def __init__(self, prefix: str, vocabulary_size: int) -> None:
        self.dtype = np.dtype("<u2") if vocabulary_size < UINT16_VOCABULARY else np.dtype("<i4")
        if vocabulary_size > 2**31:
            raise SpecError("the vocabulary is too large for Megatron's 32 bits", value=vocabulary_size)
        self.prefix = prefix
        self.files = (prefix + ".bin", prefix + ".idx")
        self._lengths = array("i")

    def write(self, batches: Iterator[tuple[np.ndarray, np.ndarray]]) -> None:
        """Write all documents.

        Args:
          batches: pairs of ids, unsigned [tokens], and offsets, int64 [documents + 1].
        """
        with storage.atomic_write(self.prefix + ".bin") as stream:
            for ids, offsets in batches:
                stream.write(ids.astype(self.dtype).tobytes())
                self._lengths.frombytes(np.diff(offsets).astype(np.int32).tobytes())
        with storage.atomic_write(self.prefix + ".idx") as stream:
            code = next(code for code, name in DTYPES.items() if np.dtype(name) == self.dtype)
            lengths = np.frombuffer(self._lengths, np.int32) if len(self._lengths) else np.zeros(0, np.int32)
            ends = np.cumsum(lengths, dtype=np.int64) * self.dtype.itemsize
            stream.write(MAGIC + struct.pack("<QBQQ", 1, code, len(lengths), len(lengths) + 1))
            stream.write(lengths.astype("<i4").tobytes())
            stream.write((ends - lengths.astype(np.int64) * self.dtype.itemsize).astype("<i8").tobytes())
            stream.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())


def _array(stream: IO[bytes], dtype: str, count: int) -> np.ndarray:
    return np.frombuffer(stream.read(count * np.dtype(dtype).itemsize), dtype)

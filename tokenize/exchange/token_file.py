"""What every foreign format of token files gives: documents in order, from any row on, in bounded memory."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError


class Format(StrEnum):
    """The formats that are read and written."""

    MEGATRON = "megatron"
    """``.bin`` and ``.idx`` of Megatron-LM."""
    PARQUET = "parquet"
    """A column of lists ``input_ids``: Parquet, Hugging Face's datasets (also their ``.arrow``), Levanter's prebuilt data."""
    OLMO = "olmo"
    """``.npy`` of OLMo and dolma (ids without a header) with ``.csv.gz`` beside it."""
    LEVANTER = "levanter"
    """A cache of Levanter's: ``shard_ledger.json`` and arrays of zarr 3."""


class TokenDocument(NamedTuple):
    """One document of a foreign file."""

    id: str | None
    """Its id, where the format has one."""
    ids: np.ndarray
    """Integers [n], whatever their width."""
    loss_mask: np.ndarray | None
    """bool[n]: which tokens carry loss; ``None``: all."""


class TokenFile(abc.ABC):
    """One file of documents (with what belongs to it)."""

    url: str
    """The file that holds the ids."""
    files: tuple[str, ...]
    """All files that it consists of."""
    folder: str | None = None
    """Where a record of an export would lie, if not beside the files."""
    has_loss: bool = False
    """Whether its documents have loss masks."""

    @abc.abstractmethod
    def documents(self, first: int = 0, stop: int | None = None) -> Iterator[TokenDocument]:
        """Yield the documents ``[first, stop)``, by default all.

        Raises:
          InputError: the file is damaged, or no file of its format.
        """


def damaged(url: str, problem: str, field: str | None = None, value: object = None) -> InputError:
    """Return an error about a file that is not what its format says."""
    return InputError(
        problem,
        file=url,
        field=field,
        value=value,
        remedy="Copy it again and compare its checksum, or write it again",
    )


def located(inputs: Sequence[str], endings: tuple[str, ...]) -> list[str]:
    """Return the files with one of the endings that paths, globs, brace ranges and folders stand for, in order, no repeats.

    Raises:
      InputError: there is none.
    """
    found: dict[str, None] = {}
    for url in storage.expand(inputs):
        filesystem, path = storage.url_to_fs(url)
        inside = storage.find_files(url) if filesystem.isdir(path) else [url]
        matching = [name for name in inside if name.endswith(endings)]
        if not matching:
            raise InputError(
                f"no file named {' or '.join('*' + ending for ending in endings)}",
                file=url,
                remedy="Check the path and the format",
            )
        found.update(dict.fromkeys(matching))
    return list(found)

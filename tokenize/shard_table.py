"""The shards that a ledger lists, kept as columns: a hundred thousand take ten megabytes; one is an object while it is used."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, overload

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter

LARGEST = 2**63 - 1
"""What a number can be at most."""
NUMBERS = ("documents", "tokens", "bytes", "size", "body")
CHECKSUMS = ("xxh3_128", "trailer_xxh3_128")
DIGEST = 16
"""Bytes of a checksum."""


class ShardEntry(BaseModel):
    """One shard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Relative to the ledger."""
    documents: int = Field(ge=0, le=LARGEST)
    """Rows."""
    tokens: int = Field(ge=0, le=LARGEST)
    """Ids, BOS and EOS included."""
    bytes: int = Field(ge=0, le=LARGEST)
    """UTF-8 bytes of the texts."""
    size: int = Field(gt=0, le=LARGEST)
    """Bytes of the file."""
    xxh3_128: str = Field(pattern=r"^[0-9a-f]{32}$")
    """Of the bytes of the file."""
    body: int = Field(ge=0, le=LARGEST)
    """Bytes before the trailer (:mod:`tootsie.tokenize.trailer`)."""
    trailer_xxh3_128: str = Field(pattern=r"^[0-9a-f]{32}$")
    """Of the rest, which has the checksums of the body's blocks."""


class ShardTable(Sequence[ShardEntry]):
    """Shards in reading order."""

    def __init__(self, entries: Iterable[ShardEntry] = ()) -> None:
        self._paths, self._ends = bytearray(), array("q")
        self._numbers = {name: array("q") for name in NUMBERS}
        self._checksums = {name: bytearray() for name in CHECKSUMS}
        for entry in entries:
            self._paths += entry.path.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._paths))
            for name, column in self._numbers.items():
                column.append(getattr(entry, name))
            for name, digests in self._checksums.items():
                digests += bytes.fromhex(getattr(entry, name))

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> ShardEntry: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ShardEntry, ...]: ...
    def __getitem__(self, place: int | slice) -> ShardEntry | tuple[ShardEntry, ...]:
        if isinstance(place, slice):
            return tuple(self[number] for number in range(*place.indices(len(self))))
        return ShardEntry.model_construct(**self.fields(range(len(self))[place]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardTable) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((len(self), bytes(self._checksums[CHECKSUMS[0]])))

    def __repr__(self) -> str:
        return f"ShardTable({list(self)!r})"

    def fields(self, number: int) -> dict[str, Any]:
        """Return the fields of one shard, as they stand in the ledger."""
        at = DIGEST * number
        return {
            "path": self._path(number),
            **{name: column[number] for name, column in self._numbers.items()},
            **{name: digests[at : at + DIGEST].hex() for name, digests in self._checksums.items()},
        }

    @property
    def paths(self) -> Iterator[str]:
        """The paths of all."""
        return (self._path(number) for number in range(len(self)))

    def column(self, name: str) -> np.ndarray:
        """Return one of the numbers of all shards, int64[shards]."""
        return np.frombuffer(self._numbers[name], np.int64) if len(self) else np.zeros(0, np.int64)

    def total(self, name: str) -> int:
        """Return the sum of a column, however large."""
        return sum(self._numbers[name])

    def _path(self, number: int) -> str:
        start = self._ends[number - 1] if number else 0
        return self._paths[start : self._ends[number]].decode("utf-8", "surrogatepass")

    def listed(self) -> list[dict[str, Any]]:
        """Return the fields of all."""
        return [self.fields(number) for number in range(len(self))]

    @classmethod
    def of(cls, items: Any) -> ShardTable:
        """Return a table of entries or their fields, one of which is looked at after the other.

        Raises:
          ValidationError: one is not valid; its number comes first in the location.
        """
        return items if isinstance(items, cls) else cls(_ENTRIES.validate_python(items))


_ENTRIES = TypeAdapter(Iterable[ShardEntry])
Shards = Annotated[ShardTable, BeforeValidator(ShardTable.of), PlainSerializer(ShardTable.listed)]
"""For a field of a model, which needs ``arbitrary_types_allowed``."""

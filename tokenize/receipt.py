"""What a finished shard leaves in ``progress/`` until the ledger is written, so that a killed build continues after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic import ConfigDict, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.sealed import Sealed
from tootsie.tokenize.build_key import PROGRESS
from tootsie.tokenize.ledger import ShardEntry
from tootsie.tokenize.shard_writer import OpenShard
from tootsie.tokenize.verification import xxh3_128


class Receipt(Sealed):
    """What a finished shard leaves behind until the ledger is written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    build: str
    entry: ShardEntry
    accounting: Accounting
    counters: dict[str, int]
    first_tokens: dict[int, int]
    last_tokens: dict[int, int]
    hash: str = ""
    """SHA-256 of the canonical JSON of all other fields; set by :meth:`sealed`."""


class Task(Protocol):
    """A shard to write, whatever it is made from."""

    @property
    def folder(self) -> str:
        """The cache."""

    @property
    def path(self) -> str:
        """Of the shard, relative to it."""

    @property
    def build(self) -> str:
        """Fingerprint of the :class:`~tootsie.tokenize.build_key.BuildKey`."""


def receipt_url(folder: str, path: str) -> str:
    """Return where the receipt of the shard at ``path`` lies."""
    name = path.rsplit("/", 1)[-1].removesuffix(".arrow")
    return storage.join(folder, PROGRESS, f"{name}.receipt.json")


def read_receipt(task: Task) -> Receipt | None:
    """Return the receipt of a shard that an earlier attempt finished, if its file is still that one."""
    url, shard = receipt_url(task.folder, task.path), storage.join(task.folder, task.path)
    if not storage.exists(url) or not storage.exists(shard):
        return None
    try:
        receipt = Receipt.model_validate_json(storage.read_bytes(url))
    except ValidationError:
        return None
    whole = receipt.hash == receipt.content_hash() and receipt.build == task.build
    whole = whole and receipt.entry.path == task.path
    return receipt if whole and xxh3_128(shard) == receipt.entry.xxh3_128 else None


def leave_receipt(
    task: Task, shard: OpenShard, read: int, dropped: Mapping[str, int], counters: Mapping[str, int]
) -> None:
    """Check the books of a shard whose file is there and write its receipt.

    Args:
      task: what was asked for.
      shard: what was written; its block has ended.
      read: documents read.
      dropped: how many of them were left out, by reason.
      counters: other things to add up in the ledger; zeros are left out.

    Raises:
      ConservationError: documents read differ from those written and dropped.
    """
    assert shard.entry is not None
    accounting = Accounting(read=read, written=shard.entry.documents, dropped=dict(sorted(dropped.items())))
    receipt = Receipt(
        build=task.build,
        entry=shard.entry,
        accounting=accounting.check(task.path),
        counters={name: count for name, count in sorted(counters.items()) if count},
        first_tokens=shard.writer.first_tokens,
        last_tokens=shard.writer.last_tokens,
    )
    storage.write_bytes(receipt_url(task.folder, task.path), receipt.sealed().model_dump_json().encode())

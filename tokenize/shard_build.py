"""Build one shard: read its documents, encode them, write the file and a receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.provenance import fingerprint
from tootsie.tokenize.build_key import PROGRESS, Split
from tootsie.tokenize.document_files import RecordReader, TextRecord
from tootsie.tokenize.engines import AUDITED, EngineChoice, audit, load_with_engine
from tootsie.tokenize.hold_out import is_held_out
from tootsie.tokenize.identity import TokenizerIdentity, require_same
from tootsie.tokenize.ledger import ShardEntry
from tootsie.tokenize.shard_writer import write_shard
from tootsie.tokenize.sharding import Slice, require_unchanged
from tootsie.tokenize.verification import xxh3_128

BATCH_LENGTH = 2**20
"""Characters of texts and ids after which texts go to the engine; one document may be longer."""
BATCH_RECORDS = 2**12
"""Likewise documents."""


@dataclass(frozen=True)
class ShardTask:
    """One element of the pipeline: a shard to write."""

    folder: str
    """The cache."""
    path: str
    """Of the shard, relative to it."""
    slices: tuple[Slice, ...]
    """The documents to read."""
    files: tuple[int, ...]
    """Of each slice, the number of its file among those of the ledger."""
    split: Split
    fraction: float
    seed: int
    tokenizer: str
    """Its name."""
    add_bos: bool | None
    add_eos: bool | None
    identity: TokenizerIdentity
    """What it must turn out to be on the worker."""
    build: str
    """Fingerprint of the :class:`BuildKey`."""
    engine: EngineChoice | None = None
    """What encodes; ``None`` is the tokenizer's own engine."""


class Receipt(BaseModel):
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

    def content_hash(self) -> str:
        """Return what :attr:`hash` must be."""
        return fingerprint(self.model_dump(mode="json", exclude={"hash"}))

    def sealed(self) -> Receipt:
        """Return the receipt with its hash."""
        return self.model_copy(update={"hash": self.content_hash()})


def build_run(tasks: Sequence[ShardTask]) -> list[str]:
    """Write consecutive shards, reading their input once; see :func:`build_shard`."""
    reader = RecordReader()
    return [build_shard(task, reader) for task in tasks]


def build_shard(task: ShardTask, reader: RecordReader | None = None) -> str:
    """Write one shard and its receipt, unless both are there; return its path.

    Raises:
      UserError: an input is damaged, or the worker's tokenizer is another one.
    """
    if read_receipt(task) is not None:
        return task.path
    identity = task.identity
    tokenizer = load_with_engine(task.tokenizer, task.add_bos, task.add_eos, task.engine)
    require_same(tokenizer.identity, identity, storage.join(task.folder, task.path))
    reader = reader or RecordReader()
    read = surrogates = kept = 0
    dropped: Counter[str] = Counter()
    with write_shard(task.folder, task.path, identity, urls=True, origins=True) as shard:
        batch: list[TextRecord] = []
        origins: list[tuple[int, int]] = []
        length = 0

        def encode(url: str) -> None:
            nonlocal kept, surrogates
            encoded = tokenizer.encode_documents([record.text for record in batch])
            for record, ids, origin in zip(batch, encoded, origins, strict=True):
                if kept % AUDITED == 0:
                    audit(tokenizer, record, ids, url)
                kept += 1
                surrogates += record.surrogates
                size = len(record.text) if record.text.isascii() else len(record.text.encode())
                shard.writer.append(record.id, ids, size, url=record.url, origin=origin)
            batch.clear()
            origins.clear()

        for part, file in zip(task.slices, task.files, strict=True):
            for row, record in enumerate(reader.read(part.url, part.first, part.stop), start=part.first):
                read += 1
                held_out = is_held_out(record.cluster or record.id, task.fraction, task.seed)
                if held_out != (task.split == "validation"):
                    dropped["other_split"] += 1
                elif not record.text:
                    dropped["empty_text"] += 1
                else:
                    batch.append(record)
                    origins.append((file, row))
                    length += len(record.text) + len(record.id)
                    if length >= BATCH_LENGTH or len(batch) >= BATCH_RECORDS:
                        encode(part.url)
                        length = 0
            encode(part.url)
            length = 0
    require_unchanged(task.slices)
    assert shard.entry is not None
    accounting = Accounting(read=read, written=shard.entry.documents, dropped=dict(sorted(dropped.items())))
    receipt = Receipt(
        build=task.build,
        entry=shard.entry,
        accounting=accounting.check(task.path),
        counters={"lone_surrogates_replaced": surrogates} if surrogates else {},
        first_tokens=shard.writer.first_tokens,
        last_tokens=shard.writer.last_tokens,
    )
    storage.write_bytes(receipt_url(task.folder, task.path), receipt.sealed().model_dump_json().encode())
    return task.path


def receipt_url(folder: str, path: str) -> str:
    """Return where the receipt of the shard at ``path`` lies."""
    name = path.rsplit("/", 1)[-1].removesuffix(".arrow")
    return storage.join(folder, PROGRESS, f"{name}.receipt.json")


def read_receipt(task: ShardTask) -> Receipt | None:
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

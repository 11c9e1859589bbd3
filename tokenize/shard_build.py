"""Build one shard: read its documents, encode them, write the file and a receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tootsie.datasets import storage
from tootsie.tokenize.build_key import Split
from tootsie.tokenize.document_files import RecordReader, TextRecord
from tootsie.tokenize.engines import AUDITED, EngineChoice, audit, load_with_engine
from tootsie.tokenize.hold_out import is_held_out
from tootsie.tokenize.identity import TokenizerIdentity, require_same
from tootsie.tokenize.receipt import leave_receipt, read_receipt
from tootsie.tokenize.shard_writer import write_shard
from tootsie.tokenize.sharding import Slice, require_unchanged

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
    leave_receipt(task, shard, read, dropped, {"lone_surrogates_replaced": surrogates})
    return task.path

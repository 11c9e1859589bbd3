"""Build one shard of a supervised cache: render, encode and pack its conversations, write the rows and a receipt.

A row is exactly ``row_tokens`` long, so that window n of the cache is row n and begins with a conversation. What a row has
over is filled with EOS at the end of its last conversation, without loss.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError
from tootsie.datasets.readers.reading import read_records
from tootsie.datasets.readers.record import Limits, Record
from tootsie.tokenize.build_key import Split
from tootsie.tokenize.chat.budget import ChatTemplateError
from tootsie.tokenize.chat.conversation import Conversation, parse_conversation
from tootsie.tokenize.chat.encoding import ConversationEncoder, EncodedConversation
from tootsie.tokenize.chat.packing import Packer, Row
from tootsie.tokenize.chat.template import ChatTemplate, TemplateSource
from tootsie.tokenize.chat.tracked import Tracked
from tootsie.tokenize.hold_out import is_held_out
from tootsie.tokenize.identity import TokenizerIdentity, require_same
from tootsie.tokenize.receipt import leave_receipt, read_receipt
from tootsie.tokenize.shard_writer import ShardWriter, write_shard
from tootsie.tokenize.sharding import Slice, require_unchanged
from tootsie.tokenize.tokenizers import load_tokenizer

CHAT_LIMITS = Limits(record_bytes=2**26)
"""What a file of conversations may cost: a rendering may take 64 times the memory of its conversation."""


class Overlong(StrEnum):
    """What to do with a conversation that is longer than a row."""

    DROP = "drop"
    """Leave it out."""
    CUT = "cut"
    """Keep its beginning, one row long."""
    SPLIT = "split"
    """Keep all of it, in rows of its own that follow one another."""
    REFUSE = "refuse"
    """End with an error."""


@dataclass(frozen=True)
class ChatTask:
    """One shard to write."""

    folder: str
    """The cache."""
    path: str
    """Of the shard, relative to it."""
    slices: tuple[Slice, ...]
    """The records to read."""
    files: tuple[int, ...]
    """Of each slice, the number of its file among those of the ledger."""
    paths: tuple[str, ...]
    """Of each slice, how the ledger names its file."""
    split: Split
    fraction: float
    seed: int
    tokenizer: str
    """Its name."""
    add_bos: bool | None
    add_eos: bool | None
    identity: TokenizerIdentity
    """What it must turn out to be on the worker."""
    template: TemplateSource
    date: datetime.date | None
    """What the template takes for today."""
    row_tokens: int
    overlong: Overlong
    build: str
    """Fingerprint of the :class:`~tootsie.tokenize.build_key.BuildKey`."""


@dataclass
class _Item:
    """A conversation on its way into a row."""

    id: str
    encoded: EncodedConversation
    origin: tuple[int, int]

    @property
    def tokens(self) -> int:
        return len(self.encoded.ids)


def build_chat_shards(tasks: Sequence[ChatTask]) -> list[str]:
    """Write consecutive shards, reading their input once; return their paths.

    Raises:
      UserError: a record is no conversation, or the template does not take it.
    """
    reader = _Reader()
    return [build_chat_shard(task, reader) for task in tasks]


def build_chat_shard(task: ChatTask, reader: _Reader | None = None) -> str:
    """Write one shard and its receipt, unless both are there; return its path.

    Raises:
      UserError: see :func:`build_chat_shards`.
    """
    if read_receipt(task) is not None:
        return task.path
    tokenizer = load_tokenizer(task.tokenizer, add_bos=task.add_bos, add_eos=task.add_eos)
    require_same(tokenizer.identity, task.identity, storage.join(task.folder, task.path))
    template, encoder = ChatTemplate(task.template, tokenizer, task.date), ConversationEncoder(tokenizer)
    packer: Packer[_Item] = Packer(task.row_tokens)
    reader = reader or _Reader()
    read = 0
    dropped: Counter[str] = Counter()
    counters: Counter[str] = Counter()
    with write_shard(task.folder, task.path, task.identity, loss_spans=True, origins=True) as shard:
        numbered = zip(task.slices, task.files, task.paths, strict=True)
        for record, origin, path in (
            (record, (file, row), path)
            for part, file, path in numbered
            for row, record in enumerate(reader.read(part), start=part.first)
        ):
            read += 1
            conversation = parse_conversation(record, f"{path}:{origin[1]}")
            held_out = is_held_out(conversation.cluster or conversation.id, task.fraction, task.seed)
            if held_out != (task.split == "validation"):
                dropped["other_split"] += 1
                continue
            counters["lone_surrogates_replaced"] += conversation.surrogates
            item = _Item(
                conversation.id,
                encoder.encode(_rendered(template, conversation, record)),
                origin,
            )
            reason = _reason(item, task, record, counters, encoder)
            if reason:
                dropped[reason] += 1
                continue
            counters["loss_tokens"] += item.encoded.loss_tokens
            for row in packer.add(item):
                _write(shard.writer, row, task, counters)
        for row in packer.rest():
            _write(shard.writer, row, task, counters)
    require_unchanged(task.slices)
    leave_receipt(task, shard, read, dropped, counters)
    return task.path


class _Reader:
    """Reads slices of files; one that goes on where an earlier one ended is not read from the start."""

    def __init__(self) -> None:
        self._url = ""
        self._records: Iterator[Record] = iter(())
        self._number = 0

    def read(self, part: Slice) -> Iterator[Record]:
        if part.url != self._url or part.first < self._number:
            self._url, self._records, self._number = part.url, read_records(part.url, CHAT_LIMITS), 0
        while self._number < part.stop:
            record = next(self._records, None)
            if record is None:
                raise InputError(
                    f"the file ends after {self._number:,} of {part.stop:,} records",
                    file=part.url,
                    remedy="Was it changed meanwhile? Run again",
                )
            self._number += 1
            if self._number > part.first:
                yield record


def _rendered(template: ChatTemplate, conversation: Conversation, record: Record) -> Tracked:
    try:
        return template.render(conversation)
    except ChatTemplateError as fault:
        raise InputError(
            f"the chat template {template.source.name} does not take this conversation: {fault}",
            file=record.source_file,
            field=f"row {record.number}",
            value=conversation.id,
            remedy="Mend the record or the template, or take it out",
        ) from None


def _reason(
    item: _Item, task: ChatTask, record: Record, counters: Counter[str], encoder: ConversationEncoder
) -> str | None:
    """Return why a conversation is left out; one that is too long is cut here where that is asked for."""
    if not item.encoded.loss_spans:
        return "no_loss"
    if item.tokens <= task.row_tokens:
        return None
    if task.overlong is Overlong.REFUSE:
        raise InputError(
            f"the conversation has {item.tokens:,} tokens, a row {task.row_tokens:,}",
            file=record.source_file,
            field=f"row {record.number}",
            value=item.id,
            remedy="Choose what to do with such: --overlong drop, cut or split; or longer rows",
        )
    if task.overlong is Overlong.DROP:
        return "longer_than_row"
    counters["overlong_conversations"] += 1
    if task.overlong is Overlong.CUT:
        counters["tokens_cut"] += item.tokens - task.row_tokens
        item.encoded = encoder.cut(item.encoded, task.row_tokens)
        if not item.encoded.loss_spans:
            return "no_loss_after_cut"
    return None


def _write(writer: ShardWriter, row: Row[_Item], task: ChatTask, counters: Counter[str]) -> None:
    counters["padding_tokens"] += row.padding
    for number, item in enumerate(row.items, start=1):
        ids = item.encoded.ids
        if number == len(row.items) and row.padding:
            ids = np.concatenate((ids, np.full(row.padding, task.identity.eos_id, np.uint32)))
        encoded = item.encoded
        writer.append(item.id, ids, encoded.byte_length, encoded.loss_spans, origin=item.origin)

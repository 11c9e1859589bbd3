"""Check every byte of a token cache against its ledger."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.cache import Checking, TokenCache, check_sizes
from tootsie.tokenize.encoding_again import encodes_again
from tootsie.tokenize.ledger import Ledger, ShardEntry, Source, TokenCount, ledger_url
from tootsie.tokenize.shard_reader import REMEDY, Batch, ShardReader
from tootsie.tokenize.tokenizers import tokenizer_of

HISTOGRAM_SIZE = 16
"""Tokens that a histogram in a ledger names."""


@dataclass(frozen=True)
class Verification:
    """What a full check read, all of it as the ledger says."""

    shards: int
    """Files."""
    documents: int
    """Rows."""
    tokens: int
    """Ids."""
    size: int
    """Bytes."""
    first_tokens: tuple[TokenCount, ...]
    """The most frequent first ids of documents."""
    last_tokens: tuple[TokenCount, ...]
    """The most frequent last ids."""


def verify(cache: TokenCache, progress: Callable[[ShardEntry], None] | None = None) -> Verification:
    """Read everything: checksums, counts, that each id is in the vocabulary, BOS and EOS of each document, histograms.

    Shards on other file systems are read from there, one at a time into a temporary file, whatever the block cache holds.

    Args:
      cache: an opened cache.
      progress: called after each shard.

    Raises:
      ArtefactError: the first thing that is not as the ledger says.
    """
    ledger = cache.ledger
    check_sizes(cache.url, ledger)
    first_tokens: Counter[int] = Counter()
    last_tokens: Counter[int] = Counter()
    for entry in ledger.shards:
        with _on_this_machine(storage.join(cache.url, entry.path), entry) as path:
            shard = ShardReader(cache.url, entry, ledger.tokenizer, Checking.OPEN, copy=path)
            _check_content(shard, ledger, first_tokens, last_tokens)
            del shard
        if progress is not None:
            progress(entry)
    verification = Verification(
        shards=len(ledger.shards),
        documents=ledger.documents,
        tokens=ledger.tokens,
        size=sum(entry.size for entry in ledger.shards),
        first_tokens=histogram(first_tokens),
        last_tokens=histogram(last_tokens),
    )
    for field in ("first_tokens", "last_tokens"):
        if getattr(verification, field) != getattr(ledger, field):
            raise ArtefactError(
                "the histogram differs from the shards",
                file=ledger_url(cache.url),
                field=field,
                remedy=REMEDY,
            )
    return verification


@contextlib.contextmanager
def _on_this_machine(url: str, entry: ShardEntry) -> Iterator[Path]:
    """Read a shard and compare its checksum; give a path to the bytes that were read."""
    path = storage.local_path(url)
    with (
        tempfile.TemporaryDirectory(prefix="tootsie-verify-")
        if path is None
        else contextlib.nullcontext("") as folder
    ):
        if path is not None:
            found = xxh3_128(url)
        else:
            path = Path(folder) / "shard.arrow"
            digest = xxhash.xxh3_128()
            with storage.open_binary(url) as stream, path.open("wb") as copy:
                while chunk := stream.read(2**20):
                    digest.update(chunk)
                    copy.write(chunk)
            found = digest.hexdigest()
        if found != entry.xxh3_128:
            raise ArtefactError(
                f"the checksum differs from the ledger's {entry.xxh3_128}",
                file=url,
                value=found,
                remedy=REMEDY,
            )
        yield path


def verify_sample(cache: TokenCache, count: int, name: str | None = None) -> int:
    """Decode documents, spread evenly over the cache, and encode their text again: the ids must be the same.

    Args:
      cache: an opened cache.
      count: documents to take.
      name: where the tokenizer lies, when its name is not enough.

    Returns:
      How many documents were compared.

    Raises:
      ArtefactError: the tokenizer at hand is another one, or gives other ids.
    """
    tokenizer = tokenizer_of(cache.ledger.tokenizer, file=ledger_url(cache.url), name=name)
    identity = tokenizer.identity
    count = min(count, cache.documents)
    before = np.cumsum([0] + [entry.documents for entry in cache.ledger.shards])
    for number in range(count):
        position = number * cache.documents // count
        shard = int(np.searchsorted(before, position, "right")) - 1
        found = cache.document(shard, position - int(before[shard]))
        if not encodes_again(tokenizer, found, cache.ledger):
            raise ArtefactError(
                f"{identity.name} encodes this document otherwise now",
                file=storage.join(cache.url, cache.ledger.shards[shard].path),
                field=f"document {found.document_id}",
                remedy="Was the cache made by another engine version? Build it again",
            )
    return count


def verify_identity(cache: TokenCache, identity: str) -> None:
    """Compare a cache with one that is known, as plans know it.

    Raises:
      ArtefactError: it is another, however whole.
    """
    if not identity or not cache.ledger_sha256.startswith(identity):
        raise ArtefactError(
            f"another cache lies here: its identity is not {identity}",
            file=ledger_url(cache.url),
            field="hash",
            value=cache.ledger_sha256,
            remedy="Restore the cache, or use this one knowingly: plans over the other do not take it",
        )


def verify_sources(cache: TokenCache, inputs: Sequence[str]) -> int:
    """Compare what a cache was made from with what lies there now, byte for byte.

    Args:
      cache: an opened cache.
      inputs: as they were given to the build.

    Returns:
      How many files were compared.

    Raises:
      ArtefactError: a file is another, missing or new; or a corpus is not as its own manifest says.
    """
    # Imported here: whoever reads a cache need not be able to read documents.
    from tootsie.tokenize.sources import find_corpora

    def files(sources: Iterable[Source]) -> list[tuple[str, str]]:
        return [(file.path, file.sha256) for source in sources for file in source.files]

    then, now = files(cache.ledger.sources), files(corpus.source for corpus in find_corpora(inputs))
    for before, found in itertools.zip_longest(then, now):
        if before != found:
            problem = "not there" if before is None else "there" if found is None else "another"
            raise ArtefactError(
                f"not what the cache was made from: this file was {problem} then",
                file=(found or before or ("",))[0],
                field="sha256",
                value=found and found[1],
                remedy="Build the cache again, or restore the source",
            )
    return len(then)


def histogram(counts: Counter[int]) -> tuple[TokenCount, ...]:
    """Return the most frequent tokens, ties by id."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:HISTOGRAM_SIZE]
    return tuple(TokenCount(token=token, documents=documents) for token, documents in ordered)


def xxh3_128(url: str) -> str:
    """Return the XXH3 128-bit checksum of a file, 32 hex digits."""
    digest = xxhash.xxh3_128()
    with storage.open_binary(url) as stream:
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def _check_content(
    shard: ShardReader, ledger: Ledger, first_tokens: Counter[int], last_tokens: Counter[int]
) -> None:
    identity = ledger.tokenizer
    total_bytes = 0
    for batch in shard.batches:
        try:
            batch.columns.validate(full=True)
        except pa.ArrowInvalid as error:
            raise _fault(shard, batch.first_row, str(error)) from None
        if not batch.columns.num_rows:
            continue
        lengths = np.diff(batch.offsets)
        if int(lengths.min()) < 1:
            raise _fault(shard, batch.first_row + int(lengths.argmin()), "a document without tokens")
        if int(batch.ids.max()) >= identity.vocabulary_size:
            row = int(np.searchsorted(batch.offsets, int(batch.ids.argmax()), "right")) - 1
            raise _fault(
                shard,
                batch.first_row + row,
                f"id {int(batch.ids.max())} is outside the vocabulary of {identity.vocabulary_size:,}",
            )
        ends = (
            (
                identity.add_bos,
                identity.bos_id,
                batch.ids[batch.offsets[:-1]],
                "begin with BOS",
                first_tokens,
            ),
            (
                identity.add_eos,
                identity.eos_id,
                batch.ids[batch.offsets[1:] - 1],
                "end with EOS",
                last_tokens,
            ),
        )
        for required, special, found, verb, counts in ends:
            if required and (found != special).any():
                row = int((found != special).argmax())
                raise _fault(shard, batch.first_row + row, f"the document does not {verb} ({special})")
            values, times = np.unique(found, return_counts=True)
            counts.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
        _check_loss_spans(shard, batch, lengths)
        _check_origins(shard, batch, ledger)
        total_bytes += int(np.asarray(batch.columns.column("byte_length")).sum())
    if total_bytes != shard.entry.bytes:
        raise ArtefactError(
            f"its texts have {total_bytes:,} bytes, the ledger says {shard.entry.bytes:,}",
            file=shard.url,
            remedy=REMEDY,
        )


def _check_loss_spans(shard: ShardReader, batch: Batch, lengths: np.ndarray) -> None:
    """Check that spans lie within their documents, none empty, each after the one before."""
    if "loss_spans" not in batch.columns.schema.names:
        return
    column = batch.columns.column("loss_spans")
    spans = column.flatten()
    row = np.repeat(np.arange(len(lengths)), column.value_lengths().fill_null(0))
    start, end = (np.asarray(spans.field(name)).astype(np.int64) for name in ("start", "end"))
    before = np.concatenate(([0], np.where(row[1:] == row[:-1], end[:-1], 0))) if len(row) else row
    wrong = (start < before) | (end <= start) | (end > lengths[row])
    if wrong.any():
        at = int(wrong.argmax())
        raise _fault(
            shard,
            batch.first_row + int(row[at]),
            f"the loss span {start[at]} to {end[at]} is not one of its tokens",
        )


def _check_origins(shard: ShardReader, batch: Batch, ledger: Ledger) -> None:
    """Check that each document comes from a row that its source file has."""
    if "source_row" not in batch.columns.schema.names:
        return
    rows = np.array([file.documents for source in ledger.sources for file in source.files], np.int64)
    file, row = (np.asarray(batch.columns.column(name)) for name in ("source_file", "source_row"))
    known = (file >= 0) & (file < len(rows))
    wrong = ~known | (row < 0) | (row >= np.append(rows, 0)[np.where(known, file, len(rows))])
    if wrong.any():
        at = int(wrong.argmax())
        raise _fault(
            shard, batch.first_row + at, f"the ledger lists no row {row[at]} of source file {file[at]}"
        )


def _fault(shard: ShardReader, row: int, problem: str) -> ArtefactError:
    return ArtefactError(problem, file=shard.url, field=f"row {row}", remedy=REMEDY)

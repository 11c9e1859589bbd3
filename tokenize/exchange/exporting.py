"""Token cache → files of Megatron's, OLMo's or Parquet, one for each shard, or a cache of Levanter's.

A record with checksums comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.exchange.columns import ParquetWriter
from tootsie.tokenize.exchange.export_record import RECORD_NAME, ExportedFile, ExportRecord, write_export
from tootsie.tokenize.exchange.levanter import LEAVES
from tootsie.tokenize.exchange.levanter import LEDGER as LEVANTER_LEDGER
from tootsie.tokenize.exchange.levanter_writer import LevanterWriter
from tootsie.tokenize.exchange.megatron import MegatronWriter
from tootsie.tokenize.exchange.olmo import OlmoWriter
from tootsie.tokenize.exchange.token_file import Format

PART_TOKENS = 2**20
"""Tokens of whole documents that are taken at a time, about; a longer document is taken alone."""
WITH_LOSS = (Format.PARQUET, Format.LEVANTER)
"""Formats that have a place for loss masks."""


@dataclass(frozen=True)
class Part:
    """Consecutive documents of a shard."""

    names: list[str]
    ids: np.ndarray
    """uint16 or uint32[tokens]."""
    offsets: np.ndarray
    """int64[documents + 1]."""
    mask: np.ndarray | None
    """bool[tokens], or ``None`` where all tokens carry loss."""


def export_tokens(
    cache: TokenCache,
    output: str,
    form: Format,
    *,
    dtype: str | None = None,
    drop_loss: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ExportRecord:
    """Write the files and ``export.json``.

    Args:
      cache: an opened cache.
      output: folder to write into.
      form: the format.
      dtype: width of OLMo's ids; by default the smallest that holds the vocabulary.
      drop_loss: leave loss spans out where the format has no place for them.
      progress: called after each shard with the number of shards done.

    Raises:
      SpecError: the ids do not fit the width, loss spans do not fit the format, or something else lies in the folder.
      ArtefactError: the cache is damaged.
    """
    ledger = cache.ledger
    if dtype is not None and form is not Format.OLMO:
        raise SpecError(
            "only OLMo's ids have a width to choose", field="--dtype", value=dtype, remedy="Leave it out"
        )
    loss = _has_loss(cache)
    if loss and form not in WITH_LOSS and not drop_loss:
        raise SpecError(
            f"the cache has loss spans, for which {form.value} has no place",
            file=cache.url,
            field="--drop-loss",
            remedy=f"Export to {' or '.join(WITH_LOSS)}, or let them go: --drop-loss",
        )
    output = output.rstrip("/")
    _refuse_other(output, cache, form)
    write = _write_store if form is Format.LEVANTER else _write_files
    files, stored = write(cache, output, form, dtype, loss and not drop_loss, progress)
    record = ExportRecord(
        format=form,
        cache=ledger.name,
        ledger_sha256=cache.ledger_sha256,
        tokenizer=ledger.tokenizer,
        dtype=stored,
        documents=ledger.documents,
        tokens=ledger.tokens,
        files=tuple(
            ExportedFile(
                path=url.removeprefix(output + "/"), size=storage.size(url), sha256=storage.sha256(url)
            )
            for url in files
        ),
    )
    write_export(output, record)
    return record


def _write_files(
    cache: TokenCache,
    output: str,
    form: Format,
    dtype: str | None,
    loss: bool,
    progress: Callable[[int], None] | None,
) -> tuple[list[str], str]:
    """Write a file (or pair) for each shard; return them, and the width of the ids."""
    files: list[str] = []
    ledger, stored = cache.ledger, ""
    vocabulary = ledger.tokenizer.vocabulary_size
    for number, entry in enumerate(ledger.shards):
        if not entry.documents:
            continue  # other trainers map their files, and an empty file cannot be mapped
        stem = entry.path.rsplit("/", 1)[-1].removesuffix(".arrow")
        prefix = storage.join(output, f"{stem}" if form is not Format.MEGATRON else f"{stem}_text_document")
        parts = _parts(cache, number, loss)
        if form is Format.MEGATRON:
            megatron = MegatronWriter(prefix, vocabulary)
            megatron.write((part.ids, part.offsets) for part in parts)
            files += megatron.files
            stored = megatron.dtype.name
        elif form is Format.PARQUET:
            parquet = ParquetWriter(prefix + ".parquet", vocabulary, loss=loss)
            parquet.write((part.names, part.ids, part.offsets, part.mask) for part in parts)
            files += parquet.files
            stored = "int32"
        else:
            olmo = OlmoWriter(prefix, vocabulary, dtype, ledger.name)
            olmo.write((part.names, part.ids, part.offsets) for part in parts)
            files += olmo.files
            stored = olmo.dtype.name
        if progress is not None:
            progress(number + 1)
    return files, stored


def _write_store(
    cache: TokenCache,
    output: str,
    form: Format,
    dtype: str | None,
    loss: bool,
    progress: Callable[[int], None] | None,
) -> tuple[list[str], str]:
    """Write all shards as one cache of Levanter's; return its files, and the width of the ids."""

    def batches() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        for number in range(len(cache.ledger.shards)):
            for part in _parts(cache, number, loss):
                yield part.ids, part.offsets, part.mask
            if progress is not None:
                progress(number + 1)

    writer = LevanterWriter(output, cache.ledger.tokenizer, loss=loss)
    writer.write(batches())
    return list(writer.files), "int32"


def _has_loss(cache: TokenCache) -> bool:
    return any(
        batch.loss_spans is not None
        for number in range(len(cache.ledger.shards))
        for batch in list(cache.open_shard(number).batches)[:1]
    )


def _parts(cache: TokenCache, number: int, loss: bool) -> Iterator[Part]:
    """Yield the documents of a shard in parts of bounded size."""
    for batch in cache.open_shard(number).batches:
        offsets, first = batch.offsets, 0
        names = batch.column("document_id")
        mask = _mask(batch) if loss else None
        while first < batch.documents:
            last = int(np.searchsorted(offsets, offsets[first] + PART_TOKENS, "right")) - 1
            last = min(max(last, first + 1), batch.documents)
            low, high = int(offsets[first]), int(offsets[last])
            yield Part(
                names=names.slice(first, last - first).to_pylist(),
                ids=batch.read(low, high),
                offsets=offsets[first : last + 1] - low,
                mask=None if mask is None else mask[low:high],
            )
            first = last


def _mask(batch) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return which tokens of a record batch carry loss, bool[tokens]."""
    found = batch.loss_spans
    edges = np.zeros(batch.tokens + 1, np.int32)
    if found is None:
        return np.ones(batch.tokens, bool)
    np.add.at(edges, found[1], 1)
    np.add.at(edges, found[2], -1)
    return np.cumsum(edges[:-1]) > 0


def _refuse_other(output: str, cache: TokenCache, form: Format) -> None:
    """Refuse a folder that holds something else than an earlier attempt at the same."""
    if not storage.exists(output):
        return
    filesystem, path = storage.url_to_fs(output)
    present = sorted(name.rstrip("/").rsplit("/", 1)[-1] for name in filesystem.ls(path, detail=False))
    url = storage.join(output, RECORD_NAME)
    stems = tuple(entry.path.rsplit("/", 1)[-1].removesuffix(".arrow") for entry in cache.ledger.shards)
    if form is Format.LEVANTER:
        stems = (*LEAVES, LEVANTER_LEDGER)
    others = [name for name in present if not name.startswith((*stems, RECORD_NAME))]
    if others:
        raise SpecError(
            "the folder is not empty", file=output, value=others[0], remedy="Choose another folder"
        )
    if LEVANTER_LEDGER in present and not storage.exists(url):
        raise ArtefactError(
            "the folder holds a cache of Levanter's that is no finished export",
            file=storage.join(output, LEVANTER_LEDGER),
            remedy="Choose another folder, or delete this one",
        )
    if storage.exists(url):
        record = ExportRecord.model_validate_json(storage.read_bytes(url))
        if (record.ledger_sha256, record.format) != (cache.ledger_sha256, form):
            raise ArtefactError(
                f"the folder holds an export of {record.cache} as {record.format.value}",
                file=url,
                remedy="Choose another folder, or delete this one",
            )
        storage.remove(url)
    storage.remove_temporary(output)

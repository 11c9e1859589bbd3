"""Foreign token files → token cache: looked through first, then written shard by shard like any other cache."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.datasets.provenance import code_version, fingerprint
from tootsie.tokenize.build_key import BuildKey
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.chat.encoding import spans_of
from tootsie.tokenize.exchange.columns import find_columns
from tootsie.tokenize.exchange.export_record import check_export
from tootsie.tokenize.exchange.levanter import find_levanter
from tootsie.tokenize.exchange.megatron import find_megatron
from tootsie.tokenize.exchange.olmo import find_olmo
from tootsie.tokenize.exchange.survey import Vocabulary, check_ends, survey
from tootsie.tokenize.exchange.token_file import Format, TokenDocument, TokenFile
from tootsie.tokenize.identity import TokenizerIdentity, dtype_of, require_same
from tootsie.tokenize.job import Job, complete, refuse_other_build
from tootsie.tokenize.ledger import EngineInfo, Source, SourceFile
from tootsie.tokenize.origin import file_numbers
from tootsie.tokenize.receipt import leave_receipt, read_receipt
from tootsie.tokenize.shard_writer import shard_path, write_shard
from tootsie.tokenize.sharding import BYTES_PER_TOKEN, Slice, cut, require_unchanged, shard_count
from tootsie.tokenize.sources import DocumentFile, paths_within
from tootsie.tokenize.spreading import by_beam
from tootsie.tokenize.tokenizers import load_tokenizer

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions


@dataclass(frozen=True)
class ImportSettings:
    """The options of an import."""

    format: Format
    tokenizer: str
    """The one that made the ids; see :func:`tootsie.tokenize.tokenizers.load_tokenizer`."""
    add_bos: bool | None = None
    """Whether the documents begin with BOS; by default as the tokenizer's makers do."""
    add_eos: bool | None = None
    """Whether they end with EOS; by default yes."""
    complete: bool = False
    """Add a BOS or EOS that is missing."""
    dtype: str | None = None
    """Width of OLMo's ids; by default the smallest that holds the vocabulary."""
    split_at_eos: bool = False
    """OLMo's files without a table: a document ends at each EOS."""
    name: str | None = None
    """Name of the dataset; by default that of the output folder."""
    shards: int | None = None
    """Number of shards; by default as many as their size asks for."""


@dataclass(frozen=True)
class ImportTask:
    """One shard to write."""

    folder: str
    path: str
    slices: tuple[Slice, ...]
    files: tuple[int, ...]
    """Of each slice, the number of its file among those of the ledger."""
    paths: tuple[str, ...]
    """Of each slice, how the ledger names its file."""
    format: Format
    tokenizer: str
    add_bos: bool | None
    add_eos: bool | None
    identity: TokenizerIdentity
    complete: bool
    dtype: str
    split_at: int | None
    loss: bool
    """Whether any of the files has loss masks."""
    build: str


def find_files(inputs: Sequence[str], form: Format, dtype: str, split_at: int | None) -> Sequence[TokenFile]:
    """Return the files of a format.

    Raises:
      InputError: there is none, or one is damaged.
    """
    if form is Format.MEGATRON:
        return find_megatron(inputs)
    if form is Format.PARQUET:
        return find_columns(inputs)
    if form is Format.LEVANTER:
        return find_levanter(inputs)
    return find_olmo(inputs, dtype, split_at)


def plan_import(inputs: Sequence[str], output: str, settings: ImportSettings) -> Job:
    """Look through the inputs and decide every shard; nothing is written.

    Raises:
      UserError: bad input or settings, ids that are not the tokenizer's, or documents that do not begin and end as it says.
    """
    if settings.shards is not None and settings.shards < 1:
        raise SpecError("must be at least 1", field="--shards", value=settings.shards)
    if settings.dtype not in (None, "uint16", "uint32"):
        raise SpecError("no such width", field="--dtype", value=settings.dtype, remedy="Use uint16 or uint32")
    tokenizer = load_tokenizer(settings.tokenizer, add_bos=settings.add_bos, add_eos=settings.add_eos)
    identity = tokenizer.identity
    dtype = settings.dtype or dtype_of(identity.vocabulary_size)
    split_at = identity.eos_id if settings.split_at_eos else None
    files = find_files(inputs, settings.format, dtype, split_at)
    states = [storage.state(file.url) for file in files]
    sums = {name: storage.sha256(name) for file in files for name in file.files}
    check_export(_by_folder(files, sums), identity)
    found = survey(files, Vocabulary(tokenizer))
    if not sum(found.tokens):
        raise InputError("the input holds no token", file=", ".join(inputs)[:200], remedy="Check the input")
    check_ends(found, tokenizer, ", ".join(inputs)[:200], complete=settings.complete)
    listed = [
        DocumentFile(file.url, documents, max(1, tokens * BYTES_PER_TOKEN), state)
        for file, documents, tokens, state in zip(files, found.documents, found.tokens, states, strict=True)
    ]
    weight, documents = sum(file.weight for file in listed), sum(found.documents)
    runs = cut(listed, shard_count(weight, documents, shards=settings.shards))
    output = output.rstrip("/")
    name = settings.name or output.rsplit("/", 1)[-1] or "imported"
    counts = dict(zip((file.url for file in files), found.documents, strict=True))
    paths = dict(zip(sums, paths_within(list(sums)), strict=True))
    source = Source(
        manifest_sha256=None,
        source=name,
        files=tuple(
            SourceFile(path=paths[url], sha256=digest, documents=counts.get(url, 0))
            for url, digest in sums.items()
        ),
    )
    key = BuildKey(
        name=name,
        split="train",
        tokenizer=identity,
        engine=EngineInfo(name=f"imported from {settings.format.value}", version="1"),
        sources=(source,),
        settings={
            "format": settings.format.value,
            "complete": settings.complete,
            "dtype": dtype if settings.format is Format.OLMO else None,
            "split_at_eos": settings.split_at_eos,
            "shards": len(runs),
        },
        code_version=code_version("tokenize"),
    )
    numbers = file_numbers(list(sums))
    tasks = tuple(
        ImportTask(
            folder=output,
            path=shard_path(number, len(runs)),
            slices=run,
            files=tuple(numbers[part.url] for part in run),
            paths=tuple(paths[part.url] for part in run),
            format=settings.format,
            tokenizer=settings.tokenizer,
            add_bos=settings.add_bos,
            add_eos=settings.add_eos,
            identity=identity,
            complete=settings.complete,
            dtype=dtype,
            split_at=split_at,
            loss=any(file.has_loss for file in files),
            build=fingerprint(key.model_dump(mode="json")),
        )
        for number, run in enumerate(runs)
    )
    job = Job(output, key, tasks)
    refuse_other_build(job)
    return job


def _by_folder(files: Sequence[TokenFile], sums: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the checksums of files by the folder that a record of an export would lie in."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for file in files:
        for name in file.files:
            beside = name.rsplit("/", 1)[0] if "/" in name else ""
            found[beside if file.folder is None else file.folder][name] = sums[name]
    return found


def import_tokens(
    inputs: Sequence[str],
    output: str,
    settings: ImportSettings,
    options: PipelineOptions | None = None,
    progress: Callable[[list[Job]], Any] | None = None,
) -> TokenCache:
    """Make a cache of foreign token files and return it opened.

    Raises:
      UserError: see :func:`plan_import`; or the output was made from something else.
    """
    job = plan_import(inputs, output, settings)
    complete([job], by_beam(import_shards, options, progress))
    return TokenCache.open(job.folder)


def import_shards(tasks: Sequence[ImportTask]) -> list[str]:
    """Write shards and their receipts, unless they are there; return their paths."""
    return [import_shard(task) for task in tasks]


def import_shard(task: ImportTask) -> str:
    """Write one shard and its receipt; see :func:`import_shards`.

    Raises:
      UserError: a file was changed since it was looked through.
    """
    if read_receipt(task) is not None:
        return task.path
    tokenizer = load_tokenizer(task.tokenizer, add_bos=task.add_bos, add_eos=task.add_eos)
    require_same(tokenizer.identity, task.identity, storage.join(task.folder, task.path))
    vocabulary = Vocabulary(tokenizer)
    read = 0
    counters: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    with write_shard(task.folder, task.path, task.identity, loss_spans=task.loss, origins=True) as shard:
        for part, number, path in zip(task.slices, task.files, task.paths, strict=True):
            (file,) = find_files([part.url], task.format, task.dtype, task.split_at)
            for row, document in enumerate(file.documents(part.first, part.stop), start=part.first):
                read += 1
                ids = vocabulary.checked(document.ids, part.url, row)
                if not len(ids):
                    dropped["no_tokens"] += 1
                    continue
                ids, spans = _completed(ids, document, task, counters)
                shard.writer.append(
                    document.id or f"{path}:{row}",
                    ids,
                    vocabulary.byte_length(ids),
                    spans,
                    origin=(number, row),
                )
    require_unchanged(task.slices)
    expected = sum(part.stop - part.first for part in task.slices)
    if read != expected:
        raise InputError(
            f"{read:,} documents where {expected:,} were found before",
            file=", ".join(part.url for part in task.slices)[:200],
            remedy="Were the files changed meanwhile? Run again",
        )
    leave_receipt(task, shard, read, dropped, counters)
    return task.path


def _completed(
    ids: np.ndarray, document: TokenDocument, task: ImportTask, counters: Counter[str]
) -> tuple[np.ndarray, list[tuple[int, int]] | None]:
    """Return the ids with BOS and EOS as the policy says, and the loss spans."""
    identity, shift = task.identity, 0
    if task.complete and identity.add_bos and ids[0] != identity.bos_id:
        ids, shift = np.concatenate((np.array([identity.bos_id], np.uint32), ids)), 1
        counters["bos_added"] += 1
    if task.complete and identity.add_eos and ids[-1] != identity.eos_id:
        ids = np.concatenate((ids, np.array([identity.eos_id], np.uint32)))
        counters["eos_added"] += 1
    if document.loss_mask is None:
        return ids, None
    return ids, [(start + shift, end + shift) for start, end in spans_of(document.loss_mask)]

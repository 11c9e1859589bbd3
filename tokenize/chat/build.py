"""Conversations → supervised token cache: one Beam element for each run of shards, as for documents.

What goes into which shard is decided from the input alone, and every shard packs its own rows, so the bytes do not depend on the
runner or the number of workers.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.datasets.provenance import code_version, fingerprint
from tootsie.datasets.readers.counting import count
from tootsie.tokenize.build_key import BuildKey
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.chat.shard import ChatTask, Overlong, build_chat_shards
from tootsie.tokenize.chat.template import ChatTemplate, find_template
from tootsie.tokenize.hold_out import check_fraction
from tootsie.tokenize.job import Job, complete, refuse_other_build, split_folders
from tootsie.tokenize.ledger import EngineInfo, Source, SourceFile
from tootsie.tokenize.origin import file_numbers
from tootsie.tokenize.shard_writer import shard_path
from tootsie.tokenize.sharding import cut, limited, shard_count
from tootsie.tokenize.sources import DocumentFile, paths_within
from tootsie.tokenize.spreading import by_beam
from tootsie.tokenize.tokenizers import DEFAULT_TOKENIZER, load_tokenizer

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

SMALLEST_ROW, LARGEST_ROW = 8, 2**24
"""Bounds of ``row_tokens``."""


@dataclass(frozen=True)
class ChatSettings:
    """The options of a build."""

    row_tokens: int
    """Length of a row: the sequence length of the plan that will draw from the cache."""
    template: str
    """See :func:`tootsie.tokenize.chat.template.find_template`."""
    tokenizer: str = DEFAULT_TOKENIZER
    """See :func:`tootsie.tokenize.tokenizers.load_tokenizer`."""
    overlong: Overlong = Overlong.DROP
    """What to do with a conversation that is longer than a row."""
    date: datetime.date | None = None
    """What the template takes for today."""
    name: str | None = None
    """Name of the dataset; by default that of the output folder."""
    validation_fraction: float = 0.0
    """Share of conversations held out, by a hash of their cluster of near-duplicates, or else of their id: makes ``train`` and
    ``validation``."""
    seed: int = 0
    """Which conversations are held out."""
    shards: int | None = None
    """Number of training shards; by default as many as their size asks for."""
    limit: int | None = None
    """Read only so many records."""
    add_bos: bool | None = None
    """See :func:`tootsie.tokenize.tokenizers.load_tokenizer`."""
    add_eos: bool | None = None
    """Likewise."""


def plan_chat_jobs(inputs: Sequence[str], output: str, settings: ChatSettings) -> list[Job]:
    """Check the inputs and decide every shard; nothing is written.

    Args:
      inputs: files, globs and brace ranges, in any format that :func:`tootsie.datasets.readers.reading.read_records` reads.
      output: folder of the cache (or of its two splits).
      settings: the options.

    Raises:
      UserError: bad input or settings, or the output was made from something else.
    """
    check_fraction(settings.validation_fraction)
    if not SMALLEST_ROW <= settings.row_tokens <= LARGEST_ROW:
        raise SpecError(
            f"must be from {SMALLEST_ROW} to {LARGEST_ROW:,}",
            field="--row-tokens",
            value=settings.row_tokens,
            remedy="Give the sequence length of the plan",
        )
    for field, value in (("--shards", settings.shards), ("--limit", settings.limit)):
        if value is not None and value < 1:
            raise SpecError("must be at least 1", field=field, value=value)
    tokenizer = load_tokenizer(settings.tokenizer, add_bos=settings.add_bos, add_eos=settings.add_eos)
    source = find_template(settings.template)
    ChatTemplate(source, tokenizer, settings.date)
    output = output.rstrip("/")
    name = settings.name or output.rsplit("/", 1)[-1] or "conversations"
    files, listed = _survey(storage.expand(inputs), name)
    numbers = file_numbers([file.url for file in files])
    paths = {file.url: entry.path for file, entry in zip(files, listed.files, strict=True)}
    files = limited(files, settings.limit)
    records = sum(file.documents for file in files)
    if not records:
        raise InputError("the input holds no record", file=", ".join(inputs)[:200], remedy="Check the input")
    fraction = settings.validation_fraction
    splits = split_folders(output, fraction)
    jobs = []
    for split, folder, share in splits:
        shards = settings.shards
        if shards is not None and split == "validation":
            shards = math.ceil(shards * fraction)
        weight = sum(file.weight for file in files)
        runs = cut(files, shard_count(weight, records, shards=shards, share=share))
        key = BuildKey(
            name=name,
            split=split,
            tokenizer=tokenizer.identity,
            engine=EngineInfo(name=tokenizer.engine, version=tokenizer.engine_version),
            sources=(listed,),
            settings={
                "validation_fraction": fraction,
                "seed": settings.seed,
                "shards": len(runs),
                "limit": settings.limit,
                "row_tokens": settings.row_tokens,
                "overlong": settings.overlong.value,
                "template": {"name": source.name, "sha256": source.sha256, "text": source.text},
                "date": None if settings.date is None else settings.date.isoformat(),
            },
            code_version=code_version("tokenize"),
        )
        build = fingerprint(key.model_dump(mode="json"))
        tasks = tuple(
            ChatTask(
                folder=folder,
                path=shard_path(number, len(runs)),
                slices=run,
                files=tuple(numbers[part.url] for part in run),
                paths=tuple(paths[part.url] for part in run),
                split=split,
                fraction=fraction,
                seed=settings.seed,
                tokenizer=settings.tokenizer,
                add_bos=settings.add_bos,
                add_eos=settings.add_eos,
                identity=tokenizer.identity,
                template=source,
                date=settings.date,
                row_tokens=settings.row_tokens,
                overlong=settings.overlong,
                build=build,
            )
            for number, run in enumerate(runs)
        )
        job = Job(folder, key, tasks)
        refuse_other_build(job)
        jobs.append(job)
    return jobs


def build_chat_caches(
    inputs: Sequence[str],
    output: str,
    settings: ChatSettings,
    options: PipelineOptions | None = None,
    progress: Callable[[list[Job]], Any] | None = None,
) -> list[TokenCache]:
    """Build one cache, or with a hold-out two, and return them opened; see :func:`tootsie.tokenize.build.build_caches`.

    Raises:
      UserError: bad input or settings, or the output was made from something else.
    """
    jobs = plan_chat_jobs(inputs, output, settings)
    complete(jobs, by_beam(build_chat_shards, options, progress))
    return [TokenCache.open(job.folder) for job in jobs]


def _survey(urls: Sequence[str], name: str) -> tuple[list[DocumentFile], Source]:
    """Read every file once: its records, its checksum."""
    files, entries = [], []
    for url, path in zip(urls, paths_within(urls), strict=True):
        state = storage.state(url)
        records = count(url).rows
        files.append(DocumentFile(url, records, max(storage.size(url), records), state))
        entries.append(SourceFile(path=path, sha256=storage.sha256(url), documents=records))
    return files, Source(manifest_sha256=None, source=name, files=tuple(entries))

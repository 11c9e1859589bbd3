"""Documents → token cache, as a Beam pipeline: one element for each shard, each shard a function of the input alone.

What goes into which shard is decided first (:mod:`tootsie.tokenize.sharding`); then every worker reads the documents of its
shard, encodes them and writes the file. No document travels between workers, memory is that of one batch and one document,
and contents depend neither on the runner nor on the number of workers. A finished shard leaves a receipt in ``progress/``, so a
killed build continues; the ledger is written when all are there, and the receipts go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tootsie.datasets import fork_server, storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.datasets.provenance import code_version, fingerprint
from tootsie.tokenize.build_key import BuildKey
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.engines import Engine, EngineChoice, choose_engine, load_with_engine
from tootsie.tokenize.hold_out import check_fraction
from tootsie.tokenize.job import Job, complete, refuse_other_build, split_folders
from tootsie.tokenize.ledger import (
    LEDGER_NAME,
    EngineInfo,
)
from tootsie.tokenize.origin import file_numbers
from tootsie.tokenize.shard_build import ShardTask, build_run
from tootsie.tokenize.shard_writer import shard_path
from tootsie.tokenize.sharding import Slice, cut, limited, shard_count
from tootsie.tokenize.sources import Corpus, find_corpora, sample
from tootsie.tokenize.spreading import by_beam
from tootsie.tokenize.tokenizers import DEFAULT_TOKENIZER, load_tokenizer

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions


@dataclass(frozen=True)
class BuildSettings:
    """The options of a build."""

    tokenizer: str = DEFAULT_TOKENIZER
    """See :func:`tootsie.tokenize.tokenizers.load_tokenizer`."""
    name: str | None = None
    """Name of the dataset; by default that of the corpus."""
    validation_fraction: float = 0.0
    """Share of documents held out; with 0 the cache is made in the output folder itself, else in ``train`` and
    ``validation`` below it."""
    seed: int = 0
    """Which documents are held out."""
    shards: int | None = None
    """Number of training shards; by default as many as their size asks for."""
    shard_tokens: int | None = None
    """Target size of a shard in tokens (reckoned at four bytes of text a token)."""
    limit: int | None = None
    """Read only so many documents."""
    add_bos: bool | None = None
    """Begin documents with BOS; by default as the tokenizer's makers do."""
    add_eos: bool | None = None
    """End documents with EOS; by default yes."""
    engine: Engine = Engine.AUTO
    """What encodes; the ids, and with them the shards, are the same."""

    def preload(self, engine: EngineChoice | None) -> None:
        """Let workers to come find tokenizer and engine loaded; see :mod:`tootsie.datasets.fork_server`."""
        fork_server.preload(load_with_engine, self.tokenizer, self.add_bos, self.add_eos, engine)


def plan_jobs(inputs: Sequence[str], output: str, settings: BuildSettings) -> list[Job]:
    """Check the inputs and decide every shard; nothing is written.

    Args:
      inputs: see :func:`tootsie.tokenize.sources.find_corpora`.
      output: folder of the cache (or of its two splits).
      settings: the options.

    Raises:
      UserError: bad input or settings, or the output was made from something else.
    """
    check_fraction(settings.validation_fraction)
    for field, value in (
        ("--shards", settings.shards),
        ("--shard-tokens", settings.shard_tokens),
        ("--limit", settings.limit),
    ):
        if value is not None and value < 1:
            raise SpecError("must be at least 1", field=field, value=value)
    if settings.shards is not None and settings.shard_tokens is not None:
        raise SpecError("give one of --shards and --shard-tokens", field="--shards", value=settings.shards)
    if settings.name is not None and not (settings.name.strip() and settings.name.isprintable()):
        raise SpecError("must be printable text", field="--name", value=settings.name)
    tokenizer = load_tokenizer(settings.tokenizer, add_bos=settings.add_bos, add_eos=settings.add_eos)
    output = output.rstrip("/")
    default_name = output.rsplit("/", 1)[-1] or "files"
    corpora = find_corpora(inputs, settings.name or default_name)
    name = settings.name or "+".join(dict.fromkeys(corpus.source.source for corpus in corpora))
    fraction = settings.validation_fraction
    splits = split_folders(output, fraction)
    files = [file for corpus in corpora for file in corpus.files]
    engine = EngineChoice(tokenizer.engine, tokenizer.engine_version)
    if not all(storage.exists(storage.join(folder, LEDGER_NAME)) for _, folder, _ in splits):
        weight = sum(file.weight for file in limited(files, settings.limit))
        engine = choose_engine(tokenizer, settings.engine, weight, sample(files), settings.preload)
    jobs = []
    numbers = file_numbers([file.url for corpus in corpora for file in corpus.files])
    for split, folder, share in splits:
        shards = settings.shards
        if shards is not None and split == "validation":
            shards = math.ceil(shards * fraction)
        cuts = _runs(corpora, settings, shards, share)
        key = BuildKey(
            name=name,
            split=split,
            tokenizer=tokenizer.identity,
            engine=EngineInfo(name=engine.name, version=engine.version),
            sources=tuple(corpus.source for corpus in corpora),
            settings={
                "validation_fraction": fraction,
                "seed": settings.seed,
                "shards": len(cuts),
                "limit": settings.limit,
            },
            code_version=code_version("tokenize"),
        )
        build = fingerprint(key.model_dump(mode="json"))
        tasks = tuple(
            ShardTask(
                folder=folder,
                path=shard_path(number, len(cuts)),
                slices=run,
                files=tuple(numbers[part.url] for part in run),
                split=split,
                fraction=fraction,
                seed=settings.seed,
                tokenizer=settings.tokenizer,
                add_bos=settings.add_bos,
                add_eos=settings.add_eos,
                identity=tokenizer.identity,
                build=build,
                engine=engine,
            )
            for number, run in enumerate(cuts)
        )
        job = Job(folder, key, tasks, notes=(engine.note,) if engine.note else ())
        refuse_other_build(job)
        jobs.append(job)
    return jobs


def build_caches(
    inputs: Sequence[str],
    output: str,
    settings: BuildSettings,
    options: PipelineOptions | None = None,
    progress: Callable[[list[Job]], Any] | None = None,
) -> list[TokenCache]:
    """Build one cache, or with a hold-out two, and return them opened.

    Args:
      inputs: corpus folders, or jsonl files, globs and brace ranges.
      output: folder to make the cache in.
      settings: the options.
      options: Beam's, from :func:`tootsie.datasets.beam_runner.pipeline_options`; by default in this process.
      progress: called once with the jobs; returns a context manager that is open while the pipeline runs.

    Raises:
      UserError: bad input or settings, or the output was made from something else.
    """
    jobs = plan_jobs(inputs, output, settings)
    complete(jobs, by_beam(build_run, options, progress))
    return [TokenCache.open(job.folder) for job in jobs]


def _runs(
    corpora: Sequence[Corpus], settings: BuildSettings, shards: int | None, share: float
) -> list[tuple[Slice, ...]]:
    files = limited([file for corpus in corpora for file in corpus.files], settings.limit)
    documents = sum(file.documents for file in files)
    if not documents:
        raise InputError(
            "the input holds no document",
            file=", ".join(file.url for corpus in corpora for file in corpus.files)[:200]
            or corpora[0].source.source,
            remedy="A cache of nothing is never made; check the input",
        )
    weight = sum(file.weight for file in files)
    count = shard_count(weight, documents, shards=shards, shard_tokens=settings.shard_tokens, share=share)
    return cut(files, count)

"""Documents → token cache, as a Beam pipeline: one element for each shard, each shard a function of the input alone.

What goes into which shard is decided first (:mod:`tootsie.tokenize.sharding`); then every worker reads the documents of its
shard, encodes them and writes the file. No document travels between workers, memory is that of one batch and one document,
and contents depend neither on the runner nor on the number of workers. A finished shard leaves a receipt in ``progress/``, so a
killed build continues; the ledger is written when all are there, and the receipts go.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.datasets.provenance import code_version, fingerprint
from tootsie.tokenize.build_key import PROGRESS, BuildKey, Split, first_difference, key_url, read_key
from tootsie.tokenize.cache import TokenCache, check_sizes
from tootsie.tokenize.hold_out import check_fraction
from tootsie.tokenize.ledger import (
    LEDGER_NAME,
    EngineInfo,
    Ledger,
    load_ledger,
    save_ledger,
)
from tootsie.tokenize.shard_build import Receipt, ShardTask, build_run, receipt_url
from tootsie.tokenize.shard_writer import shard_path
from tootsie.tokenize.sharding import Slice, cut, limited, shard_count
from tootsie.tokenize.sources import Corpus, find_corpora
from tootsie.tokenize.tokenizers import DEFAULT_TOKENIZER, load_tokenizer
from tootsie.tokenize.verification import histogram

if TYPE_CHECKING:
    from apache_beam import Pipeline
    from apache_beam.options.pipeline_options import PipelineOptions


READERS = 8
"""How often one file may be read, at most: as many workers can work on it at the same time."""


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


@dataclass(frozen=True)
class Job:
    """One cache to build."""

    folder: str
    key: BuildKey
    tasks: tuple[ShardTask, ...]

    @property
    def finished(self) -> bool:
        """Whether its ledger is there."""
        return storage.exists(storage.join(self.folder, LEDGER_NAME))


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
    splits: list[tuple[Split, str, float]] = [("train", output, 1.0)]
    if fraction:
        splits = [
            ("train", storage.join(output, "train"), 1 - fraction),
            ("validation", storage.join(output, "validation"), fraction),
        ]
    _refuse_other_layout(output, bool(fraction))
    jobs = []
    for split, folder, share in splits:
        shards = settings.shards
        if shards is not None and split == "validation":
            shards = math.ceil(shards * fraction)
        runs = _runs(corpora, settings, shards, share)
        key = BuildKey(
            name=name,
            split=split,
            tokenizer=tokenizer.identity,
            engine=EngineInfo(name=tokenizer.engine, version=tokenizer.engine_version),
            sources=tuple(corpus.source for corpus in corpora),
            settings={
                "validation_fraction": fraction,
                "seed": settings.seed,
                "shards": len(runs),
                "limit": settings.limit,
            },
            code_version=code_version("tokenize"),
        )
        build = fingerprint(key.model_dump(mode="json"))
        tasks = tuple(
            ShardTask(
                folder=folder,
                path=shard_path(number, len(runs)),
                slices=run,
                split=split,
                fraction=fraction,
                seed=settings.seed,
                tokenizer=settings.tokenizer,
                add_bos=settings.add_bos,
                add_eos=settings.add_eos,
                identity=tokenizer.identity,
                build=build,
            )
            for number, run in enumerate(runs)
        )
        job = Job(folder, key, tasks)
        _refuse_other_build(job)
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
    from tootsie.datasets import beam_runner

    jobs = plan_jobs(inputs, output, settings)
    waiting = [job for job in jobs if not job.finished]
    for job in waiting:
        _prepare(job)
    if waiting:
        tasks = [task for job in waiting for task in job.tasks]
        with progress(waiting) if progress else _Nothing():
            beam_runner.run(functools.partial(_pipeline, tasks), options or beam_runner.pipeline_options([]))
        ledgers = [_ledger(job) for job in waiting]
        for job, ledger in zip(waiting, ledgers, strict=True):
            save_ledger(job.folder, ledger)
    for job in jobs:
        _tidy(job.folder)
    return [TokenCache.open(job.folder) for job in jobs]


def finished_shards(jobs: Iterable[Job]) -> int:
    """Return how many shards of unfinished caches have their receipt."""
    return sum(
        len(
            [
                name
                for name in storage.list_files(storage.join(job.folder, PROGRESS))
                if name.endswith(".receipt.json")
            ]
        )
        for job in jobs
    )


def runs_of_one_file(tasks: Sequence[ShardTask]) -> list[list[ShardTask]]:
    """Group consecutive shards of one large file, so that it is read at most :data:`READERS` times and not once a shard."""
    shards = Counter(part.url for task in tasks for part in task.slices)
    runs: list[list[ShardTask]] = []
    for task in tasks:
        last = runs[-1][-1].slices[-1:] if runs else ()
        continues = bool(last and task.slices) and (last[0].url, last[0].stop) == (
            task.slices[0].url,
            task.slices[0].first,
        )
        if continues and len(runs[-1]) < math.ceil(shards[last[0].url] / READERS):
            runs[-1].append(task)
        else:
            runs.append([task])
    return runs


def _pipeline(tasks: list[ShardTask], pipeline: Pipeline) -> None:
    import apache_beam as beam

    (
        pipeline
        | "Shards" >> beam.Create(runs_of_one_file(tasks), reshuffle=False)
        | "Spread over workers" >> beam.Reshuffle()
        | "Tokenize and write" >> beam.Map(build_run)
    )


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


def _refuse_other_layout(output: str, split: bool) -> None:
    others = [output] if split else [storage.join(output, "train"), storage.join(output, "validation")]
    for other in others:
        for name in (LEDGER_NAME, f"{PROGRESS}/build.json"):
            if storage.exists(storage.join(other, name)):
                raise SpecError(
                    f"the output was begun {'without' if split else 'with'} a hold-out",
                    file=other,
                    field="--validation-fraction",
                    remedy="Use the same option, or another output folder",
                )


def _refuse_other_build(job: Job) -> None:
    """Compare the job with what its folder holds, finished or begun.

    Another code or engine version does not matter to a finished cache (its ledger says which it was; the tokenizer's
    fingerprint is compared in any case); a begun one is begun anew, see :func:`_prepare`.
    """
    if job.finished:
        ledger, _ = load_ledger(job.folder)
        check_sizes(job.folder, ledger)
        found = BuildKey(**{name: getattr(ledger, name) for name in BuildKey.model_fields})
        state = "is finished and was built"
    else:
        begun = read_key(job.folder)
        if begun is None:
            return
        found, state = begun, "was begun"
    difference = first_difference(found, job.key)
    if difference:
        field, before, now = difference
        raise SpecError(
            f"the output {state} with {field} {before}, now it is {now}",
            file=job.folder,
            field=field,
            remedy="Use the same settings and input, or another output folder, or delete this one",
        )


def _prepare(job: Job) -> None:
    """Clear what can't be used of an earlier attempt, and write down what is being built."""
    shards, progress = (storage.join(job.folder, name) for name in ("shards", PROGRESS))
    storage.remove_temporary(shards)
    storage.remove_temporary(progress)
    if read_key(job.folder) != job.key:
        for folder in (progress, shards):
            for name in storage.list_files(folder):
                storage.remove(storage.join(folder, name))
    storage.write_bytes(key_url(job.folder), job.key.model_dump_json().encode())


def _tidy(folder: str) -> None:
    """Remove what only an unfinished build needs."""
    filesystem, path = storage.url_to_fs(storage.join(folder, PROGRESS))
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)
    storage.remove_temporary(storage.join(folder, "shards"))


def _ledger(job: Job) -> Ledger:
    receipts = []
    first_tokens: Counter[int] = Counter()
    last_tokens: Counter[int] = Counter()
    counters: Counter[str] = Counter()
    for task in job.tasks:
        url = receipt_url(job.folder, task.path)
        if not storage.exists(url):
            raise ArtefactError(
                "the pipeline ended without this shard", file=url, remedy="Run the same command again"
            )
        receipt = Receipt.model_validate_json(storage.read_bytes(url))
        assert receipt.build == task.build, f"{url}: the receipt of another build"
        receipts.append(receipt)
        first_tokens.update(receipt.first_tokens)
        last_tokens.update(receipt.last_tokens)
        counters.update(receipt.counters)
    entries = tuple(receipt.entry for receipt in receipts)
    documents = sum(entry.documents for entry in entries)
    if not documents:
        dropped = Accounting.total(receipt.accounting for receipt in receipts).dropped
        raise_or_lower = "Raise" if job.key.split == "validation" else "Lower"
        held_out = "other_split" in dropped
        raise InputError(
            f"no document is left for the {job.key.split} split" if held_out else "every document is empty",
            file=job.folder,
            value=dropped,
            remedy=f"{raise_or_lower} --validation-fraction or change --seed"
            if held_out
            else "Check the input",
        )
    return Ledger(
        name=job.key.name,
        split=job.key.split,
        tokenizer=job.key.tokenizer,
        engine=job.key.engine,
        sources=job.key.sources,
        settings=job.key.settings,
        code_version=job.key.code_version,
        shards=entries,
        documents=documents,
        tokens=sum(entry.tokens for entry in entries),
        bytes=sum(entry.bytes for entry in entries),
        accounting=Accounting.total(receipt.accounting for receipt in receipts),
        counters=dict(sorted(counters.items())),
        first_tokens=histogram(first_tokens),
        last_tokens=histogram(last_tokens),
    )


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

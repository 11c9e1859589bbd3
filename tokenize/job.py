"""One cache being built, whatever it is built from: begun, continued, finished.

The folder holds the key and the receipts of finished shards in ``progress/`` until all are there; then the ledger is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize.build_key import PROGRESS, BuildKey, Split, first_difference, key_url, read_key
from tootsie.tokenize.cache import check_sizes
from tootsie.tokenize.ledger import LEDGER_NAME, Ledger, load_ledger, save_ledger
from tootsie.tokenize.receipt import Receipt, receipt_url
from tootsie.tokenize.verification import histogram


@dataclass(frozen=True)
class Job:
    """One cache to build."""

    folder: str
    key: BuildKey
    tasks: tuple[Any, ...]
    """One for each shard, with ``folder``, ``path`` and ``build`` (the fingerprint of the key) at least."""
    notes: tuple[str, ...] = ()
    """What the user should know of how it is built."""

    @property
    def finished(self) -> bool:
        """Whether its ledger is there."""
        return storage.exists(storage.join(self.folder, LEDGER_NAME))


def split_folders(output: str, fraction: float) -> list[tuple[Split, str, float]]:
    """Return name, folder and share of documents of each split: one in ``output`` itself, or with a hold-out two below it.

    Args:
      output: folder of the cache or caches.
      fraction: share of documents held out.

    Raises:
      SpecError: the output was begun with the other layout.
    """
    halves = [storage.join(output, "train"), storage.join(output, "validation")]
    for other in [output] if fraction else halves:
        for name in (LEDGER_NAME, f"{PROGRESS}/build.json"):
            if storage.exists(storage.join(other, name)):
                raise SpecError(
                    f"the output was begun {'without' if fraction else 'with'} a hold-out",
                    file=other,
                    field="--validation-fraction",
                    remedy="Use the same option, or another output folder",
                )
    if not fraction:
        return [("train", output, 1.0)]
    return [("train", halves[0], 1 - fraction), ("validation", halves[1], fraction)]


def complete(jobs: Sequence[Job], write: Callable[[list[Job]], None]) -> None:
    """Take every job to its ledger; finished ones stay as they are.

    Args:
      jobs: the caches.
      write: writes the shards and receipts of the unfinished ones, where they are not there already.

    Raises:
      UserError: a shard is missing afterwards, or no document was written.
    """
    waiting = [job for job in jobs if not job.finished]
    for job in waiting:
        prepare(job)
    if waiting:
        write(waiting)
        try:
            ledgers = [ledger_of(job) for job in waiting]
        except InputError:
            for job in waiting:  # Such a build never ends: another one, with other settings, may begin here.
                storage.remove(key_url(job.folder))
            raise
        for job, ledger in zip(waiting, ledgers, strict=True):
            save_ledger(job.folder, ledger)
    for job in jobs:
        tidy(job.folder)


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


def refuse_other_build(job: Job) -> None:
    """Compare the job with what its folder holds, finished or begun.

    Another code or engine version does not matter to a finished cache (its ledger says which it was; the tokenizer's
    fingerprint is compared in any case); a begun one is begun anew, see :func:`prepare`.
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


def prepare(job: Job) -> None:
    """Clear what can't be used of an earlier attempt, and write down what is being built."""
    shards, progress = (storage.join(job.folder, name) for name in ("shards", PROGRESS))
    storage.remove_temporary(shards)
    storage.remove_temporary(progress)
    if read_key(job.folder) != job.key:
        for folder in (progress, shards):
            for name in storage.list_files(folder):
                storage.remove(storage.join(folder, name))
    storage.write_bytes(key_url(job.folder), job.key.model_dump_json().encode())


def tidy(folder: str) -> None:
    """Remove what only an unfinished build needs."""
    filesystem, path = storage.url_to_fs(storage.join(folder, PROGRESS))
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)
    storage.remove_temporary(storage.join(folder, "shards"))


def ledger_of(job: Job) -> Ledger:
    """Add up the receipts of a job whose shards are all written.

    Raises:
      ArtefactError: a shard is missing.
      InputError: no document was written.
    """
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
            f"no document is left for the {job.key.split} split"
            if held_out
            else "every document is empty"
            if set(dropped) == {"empty_text"}
            else "no document is left",
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

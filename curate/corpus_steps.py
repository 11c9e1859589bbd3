"""The Beam steps of a corpus: split the units into records, group by shard, convert and write.

Between the steps travel only names and byte ranges (see :mod:`tootsie.curate.shuffle_file`).
Each step is idempotent: run again, by a runner's retry or after a kill, it writes the same bytes under the same names.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import apache_beam as beam

from tootsie.curate.corpus import Corpus, Record, Unit
from tootsie.curate.dropped_text_sample import DroppedTextSample
from tootsie.curate.limited_conversion import (
    ConversionLimits,
    LimitedConverter,
    convert_here,
    convert_pending,
)
from tootsie.curate.shard_output import WORK, finished_receipt, write_shard
from tootsie.curate.shuffle_file import ShardRecords, ShuffleWriter, shard_of
from tootsie.datasets import storage

Range = tuple[int, int, tuple[tuple[int, int], ...]]
"""Task, records, frames: what one task has for one shard."""


def split_url(folder: str, task: int, suffix: str) -> str:
    """Return the intermediate file of a task: its records (``bin``) or where they lie (``json``)."""
    return storage.join(folder, WORK, "split", f"{task:05d}.{suffix}")


def read_index(folder: str, task: int) -> dict[int, Range] | None:
    """Return what a finished task has for each shard, ``None`` where it is not finished."""
    url = split_url(folder, task, "json")
    if not storage.exists(url):
        return None
    content = json.loads(storage.read_bytes(url))
    return {
        int(shard): (task, count, tuple((offset, length) for offset, length in frames))
        for shard, (count, frames) in content["shards"].items()
    }


def task_records(corpus: Corpus, units: Iterable[Unit], limit: int | None) -> Iterator[Record]:
    """Yield the records of several units in order, at most ``limit`` counted ones over all."""
    left = limit
    for unit in units:
        if unit.joins:
            yield from corpus.split(unit, None)
        elif left != 0:
            for record in corpus.split(unit, left):
                yield record
                if left is not None and record.counted:
                    left -= 1


class SplitUnits(beam.DoFn):
    """``(task, [units])`` → ``(shard, Range)``: writes the records of a task, grouped by shard."""

    def __init__(self, corpus: Corpus, folder: str, shards: int, seed: int, limit: int | None) -> None:
        self._corpus = corpus
        self._folder = folder
        self._shards = shards
        self._seed = seed
        self._limit = limit

    def process(self, element: tuple[int, Iterable[Sequence[Unit]]]) -> Iterator[tuple[int, Range]]:
        """Split one task; one that is already finished only says again where its records lie."""
        task, groups = element
        index = read_index(self._folder, task)
        if index is None:
            index = self._split(task, itertools.chain.from_iterable(groups))
        yield from index.items()

    def _split(self, task: int, units: Iterable[Unit]) -> dict[int, Range]:
        counts: Counter[int] = Counter()
        with storage.atomic_write(split_url(self._folder, task, "bin")) as stream:
            writer = ShuffleWriter(stream, self._shards, self._seed)
            for record in task_records(self._corpus, units, self._limit):
                counts[shard_of(record.key, self._shards, self._seed)] += 1
                writer.add(record)
            writer.finish()
        content = {
            "records": writer.records,
            "shards": {str(shard): [counts[shard], writer.frames[shard]] for shard in sorted(counts)},
        }
        storage.write_bytes(split_url(self._folder, task, "json"), json.dumps(content).encode())
        return {shard: (task, counts[shard], tuple(writer.frames[shard])) for shard in sorted(counts)}


class WriteShard(beam.DoFn):
    """``(shard, {"wanted": …, "records": [Range]})`` → shard number: converts and writes one shard."""

    def __init__(
        self, corpus: Corpus, folder: str, shards: int, limits: ConversionLimits, sample: int
    ) -> None:
        self._corpus = corpus
        self._folder = folder
        self._shards = shards
        self._limits = limits
        self._sample = sample
        self._converter: LimitedConverter | None = None

    def setup(self) -> None:
        """Make a converter; its process starts with the first document."""
        if self._limits.seconds or self._limits.memory:
            self._converter = LimitedConverter(self._limits, self._corpus.converter)

    def teardown(self) -> None:
        """End the converter's process."""
        if self._converter is not None:
            self._converter.close()

    def process(self, element: tuple[int, Mapping[str, Iterable[Any]]]) -> Iterator[int]:
        """Write the shard unless it is not wanted, or has been written meanwhile."""
        shard, groups = element
        if not list(groups["wanted"]) or finished_receipt(self._folder, shard) is not None:
            return
        ranges: list[Range] = sorted(groups["records"])
        records = ShardRecords(
            tuple((split_url(self._folder, task, "bin"), frames) for task, _, frames in ranges)
        )
        write_shard(
            self._folder,
            shard,
            self._shards,
            self._corpus.name,
            convert_pending(
                self._corpus.documents(records),
                self._converter or partial(convert_here, function=self._corpus.converter),
                DroppedTextSample(self._sample),
            ),
            sum(count for _, count, _ in ranges),
        )
        yield shard


def add_steps(
    pipeline: beam.Pipeline,
    corpus: Corpus,
    folder: str,
    *,
    tasks: Sequence[Sequence[Unit]],
    wanted: Sequence[int],
    shards: int,
    seed: int,
    limit: int | None,
    limits: ConversionLimits,
    sample: int,
) -> Any:
    """Add the steps of a corpus to a pipeline; return the PCollection of shards written.

    Args:
      pipeline: to add to.
      corpus: the kind of dump, with its options.
      folder: URL of the output.
      tasks: units that one worker reads one after another.
      wanted: the shards that are still to be written.
      shards: how many there are in all.
      seed: of the spread of keys over shards.
      limit: counted records a task may yield.
      limits: of the conversion of a document.
      sample: one document in so many tells what was left out of it.
    """
    records = (
        pipeline
        | "Tasks" >> beam.Create(list(enumerate(tasks)), reshuffle=False)
        | "SpreadTasks" >> beam.GroupByKey()
        | "SplitUnits" >> beam.ParDo(SplitUnits(corpus, folder, shards, seed, limit))
    )
    shard_numbers = pipeline | "Shards" >> beam.Create([(shard, True) for shard in wanted], reshuffle=False)
    return (
        {"wanted": shard_numbers, "records": records}
        | "JoinByShard" >> beam.CoGroupByKey()
        | "WriteShards" >> beam.ParDo(WriteShard(corpus, folder, shards, limits, sample))
    )

"""Numbers on their way through a shuffle: one file for each task that makes them, ranges of it for each bucket they go to.

As with :mod:`tootsie.curate.shuffle_file`, what Beam groups is where records lie; the records, of a fixed number of bytes
each, are in these files. A task that is run again writes the same bytes; one that is finished only says where they are.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import apache_beam as beam
import numpy as np
from numpy.typing import NDArray

from tootsie.curate.shard_output import WORK
from tootsie.datasets import beam_runner, storage

HELD_RECORDS = 1 << 20
"""Records that a writer holds before it writes them, grouped by bucket."""

Records = NDArray[Any]
"""A one-dimensional structured array."""
Kind = tuple[tuple[str, str], ...]
"""Fields and types of records."""
Part = tuple[int, int, int]
"""Task, offset in bytes, records."""


def step_url(folder: str, step: str, number: int, suffix: str) -> str:
    """Return the file of one task or bucket of a step."""
    return storage.join(folder, WORK, step, f"{number:05d}.{suffix}")


class ArrayWriter:
    """Writes records into an open stream and remembers where each bucket's lie."""

    def __init__(self, stream: IO[bytes], buckets: int) -> None:
        self._stream = stream
        self._buckets = buckets
        self._held: list[Records] = []
        self._count = 0
        self._position = 0
        self.parts: dict[int, list[tuple[int, int]]] = {}

    def add(self, records: Records) -> None:
        """Add records; the field ``hash`` (uint64) says to which bucket each goes."""
        if len(records):
            self._held.append(records)
            self._count += len(records)
            if self._count >= HELD_RECORDS:
                self.flush()

    def flush(self) -> None:
        """Write what is held, in the order added within each bucket."""
        if not self._count:
            return
        records = np.concatenate(self._held)
        self._held, self._count = [], 0
        # The high bits: within a bucket the low ones stay free to sort by.
        bucket = ((records["hash"] >> np.uint64(32)) % np.uint64(self._buckets)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        counts = np.bincount(bucket, minlength=self._buckets)
        for number, part in zip(
            np.flatnonzero(counts).tolist(),
            np.split(records[order], np.cumsum(counts[counts > 0])[:-1]),
            strict=True,
        ):
            data = part.tobytes()
            self._stream.write(data)
            self.parts.setdefault(number, []).append((self._position, len(part)))
            self._position += len(data)


def filled(kind: Kind, count: int, /, **fields: Any) -> Records:
    """Return ``count`` records with these fields, the others zero."""
    made = np.zeros(count, list(kind))
    for name, values in fields.items():
        made[name] = values
    return made


def only(records: Records, kind: Kind) -> Records:
    """Return records with some of their fields."""
    return filled(kind, len(records), **{name: records[name] for name, _ in kind})


def spread(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return hashes of numbers, by whose upper half they spread evenly over buckets (SplitMix64)."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def read_parts(folder: str, step: str, parts: Iterable[Part], kind: np.dtype[Any]) -> Records:
    """Return the records of one bucket, task after task."""
    found = [np.empty(0, kind)]
    for task, group in itertools.groupby(sorted(parts), key=lambda part: part[0]):
        with storage.open_binary(step_url(folder, step, task, "bin")) as stream:
            for _, offset, count in group:
                stream.seek(offset)
                found.append(np.frombuffer(stream.read(count * kind.itemsize), kind))
    return np.concatenate(found)


@dataclass(frozen=True)
class Shuffle:
    """A step in two halves: tasks that make records, buckets in which records with equal hashes meet."""

    folder: str
    """Of the run; the files lie in its ``_work``."""
    name: str
    """Of the step."""
    kind: Kind
    """Of a record; one field is ``hash``, ``<u8``."""
    make: Callable[[Any], Iterator[Records]]
    """Yields the records of a task."""
    meet: Callable[[Records], Mapping[str, NDArray[Any]]]
    """Returns the arrays that the records of a bucket come down to."""
    buckets: int


class _Make(beam.DoFn):
    """``(task, [payload])`` → ``(bucket, Part)``."""

    def __init__(self, shuffle: Shuffle) -> None:
        self._shuffle = shuffle

    def process(self, element: tuple[int, Iterable[Any]]) -> Iterator[tuple[int, Part]]:
        """Write the records of a task, unless that is done."""
        task, payloads = element
        one = self._shuffle
        index = step_url(one.folder, one.name, task, "json")
        if not storage.exists(index):
            with storage.atomic_write(step_url(one.folder, one.name, task, "bin")) as stream:
                writer = ArrayWriter(stream, one.buckets)
                for payload in payloads:
                    for records in one.make(payload):
                        writer.add(records)
                writer.flush()
            storage.write_bytes(index, json.dumps(writer.parts).encode())
        for bucket, parts in json.loads(storage.read_bytes(index)).items():
            for offset, count in parts:
                yield int(bucket), (task, offset, count)


class _Meet(beam.DoFn):
    """``(bucket, [Part])`` → bucket: writes what its records come down to."""

    def __init__(self, shuffle: Shuffle) -> None:
        self._shuffle = shuffle

    def process(self, element: tuple[int, Iterable[Part]]) -> Iterator[int]:
        """Reduce one bucket, unless that is done."""
        bucket, parts = element
        one = self._shuffle
        url = step_url(one.folder, f"{one.name}-met", bucket, "npz")
        if not storage.exists(url):
            found = one.meet(read_parts(one.folder, one.name, parts, np.dtype(list(one.kind))))
            with storage.atomic_write(url) as stream:
                np.savez(stream, **dict(found))  # type: ignore[arg-type]
        yield bucket


@dataclass(frozen=True)
class Met:
    """What a step came down to: some arrays for each bucket, in files, read one bucket at a time."""

    folder: str
    """Of the run."""
    name: str
    """Of the step."""
    buckets: int
    shuffled_bytes: int = 0
    """What went through the files of the shuffle."""

    def read(self, bucket: int, name: str, kind: Any) -> NDArray[Any]:
        """Return one array of a bucket, an empty one of type ``kind`` where the bucket got no records."""
        url = step_url(self.folder, f"{self.name}-met", bucket, "npz")
        if not storage.exists(url):
            return np.empty(0, kind)
        with storage.open_binary(url) as stream, contextlib.closing(np.load(stream)) as arrays:
            return np.asarray(arrays[name])

    def gather(self, name: str, kind: Any) -> NDArray[Any]:
        """Return one array of all buckets, bucket after bucket."""
        return np.concatenate([self.read(bucket, name, kind) for bucket in range(self.buckets)])

    def total(self, name: str) -> int:
        """Return the sum of a count that each bucket has."""
        return sum(int(self.read(bucket, name, np.int64).sum()) for bucket in range(self.buckets))


def run_shuffle(shuffle: Shuffle, tasks: Sequence[Any], options: Any, *, alone: bool = False) -> Met:
    """Run a step.

    Args:
      shuffle: the step.
      tasks: what ``make`` is called with, one worker each.
      options: of Beam.
      alone: do it in this process, bucket after bucket: for steps so small that the start of workers costs more.
    """
    done = step_url(shuffle.folder, f"{shuffle.name}-met", 99_999, "done")
    if not storage.exists(done):
        if alone:
            _run_alone(shuffle, tasks)
        else:
            beam_runner.run(
                lambda pipeline: (
                    pipeline
                    | "Tasks" >> beam.Create(list(enumerate(tasks)), reshuffle=False)
                    | "SpreadTasks" >> beam.GroupByKey()
                    | "Make" >> beam.ParDo(_Make(shuffle))
                    | "ByBucket" >> beam.GroupByKey()
                    | "Meet" >> beam.ParDo(_Meet(shuffle))
                ),
                options,
            )
        sizes = (
            storage.size(step_url(shuffle.folder, shuffle.name, task, "bin")) for task in range(len(tasks))
        )
        storage.write_bytes(done, str(sum(sizes)).encode())
    return Met(shuffle.folder, shuffle.name, shuffle.buckets, int(storage.read_bytes(done)))


def _run_alone(shuffle: Shuffle, tasks: Sequence[Any]) -> None:
    make, meet = _Make(shuffle), _Meet(shuffle)
    parts: dict[int, list[Part]] = {}
    for task, payload in enumerate(tasks):
        for bucket, part in make.process((task, [payload])):
            parts.setdefault(bucket, []).append(part)
    for element in sorted(parts.items()):
        for _ in meet.process(element):
            pass


class _Do(beam.DoFn):
    """``(task, [payload])`` → task: calls a function with a payload."""

    def __init__(self, function: Callable[[Any], None]) -> None:
        self._function = function

    def process(self, element: tuple[int, Iterable[Any]]) -> Iterator[int]:
        """Do one task."""
        task, payloads = element
        for payload in payloads:
            self._function(payload)
        yield task


def run_tasks(function: Callable[[Any], None], tasks: Sequence[Any], options: Any) -> None:
    """Call a function for each task, spread over the workers; it leaves alone what it finds done.

    Args:
      function: to call; travels to the workers.
      tasks: its arguments.
      options: of Beam.
    """
    if tasks:
        beam_runner.run(
            lambda pipeline: (
                pipeline
                | "Tasks" >> beam.Create(list(enumerate(tasks)), reshuffle=False)
                | "SpreadTasks" >> beam.GroupByKey()
                | "Do" >> beam.ParDo(_Do(function))
            ),
            options,
        )

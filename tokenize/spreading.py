"""Spread the shards of caches over Beam's workers."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tootsie.tokenize.job import Job

if TYPE_CHECKING:
    from apache_beam import Pipeline
    from apache_beam.options.pipeline_options import PipelineOptions

    from tootsie.tokenize.sharding import Slice

READERS = 8
"""How often one file may be read, at most: as many workers can work on it at the same time."""

BuildRun = Callable[[Sequence[Any]], list[str]]
"""Writes consecutive shards with their receipts and returns their paths; a function of a module, so that workers find it."""


def by_beam(
    build: BuildRun,
    options: PipelineOptions | None,
    progress: Callable[[list[Job]], Any] | None,
) -> Callable[[list[Job]], None]:
    """Return what :func:`tootsie.tokenize.job.complete` writes shards with.

    Args:
      build: writes consecutive shards of one job.
      options: Beam's; by default in this process.
      progress: called once with the jobs; returns a context manager that is open while the pipeline runs.
    """
    from tootsie.datasets import beam_runner

    def write(waiting: list[Job]) -> None:
        tasks = [task for job in waiting for task in job.tasks]
        with progress(waiting) if progress else contextlib.nullcontext():
            chosen = options or beam_runner.pipeline_options([])
            groups = runs(tasks, beam_runner.worker_count(chosen))
            beam_runner.run(functools.partial(_pipeline, build, groups), chosen)

    return write


def _pipeline(build: BuildRun, groups: list[list[Any]], pipeline: Pipeline) -> None:
    import apache_beam as beam

    (
        pipeline
        | "Shards" >> beam.Create(groups, reshuffle=False)
        | "Spread over workers" >> beam.Reshuffle()
        | "Write shards" >> beam.Map(build)
    )


def runs(tasks: Sequence[Any], workers: int | None = None) -> list[list[Any]]:
    """Group consecutive shards, so that each group reads its input from beginning to end.

    A compressed file has to be read from its start wherever a shard begins in it. A runner with a known number of workers gives
    each of them every so many-th group, so a group for each worker is as good as many; another gets as many as files and
    :data:`READERS` allow.

    Args:
      tasks: the shards of one or more caches, in order.
      workers: how many there are; ``None`` where the runner decides.
    """
    if workers is None:
        return runs_of_one_file(tasks)
    found = []
    for _, group in itertools.groupby(tasks, lambda task: task.folder):
        mine = list(group)
        cuts = [len(mine) * number // workers for number in range(workers + 1)]
        found += [mine[first:end] for first, end in itertools.pairwise(cuts) if first < end]
    return found


def runs_of_one_file(tasks: Sequence[Any]) -> list[list[Any]]:
    """Group consecutive shards of one large file, so that it is read at most :data:`READERS` times and not once a shard."""
    shards = Counter(part.url for task in tasks for part in task.slices)
    runs: list[list[Any]] = []
    for task in tasks:
        last: Sequence[Slice] = runs[-1][-1].slices[-1:] if runs else ()
        continues = bool(last and task.slices) and (last[0].url, last[0].stop) == (
            task.slices[0].url,
            task.slices[0].first,
        )
        if continues and len(runs[-1]) < math.ceil(shards[last[0].url] / READERS):
            runs[-1].append(task)
        else:
            runs.append([task])
    return runs

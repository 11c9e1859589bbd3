"""Spread the shards of caches over Beam's workers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tootsie.tokenize.build import runs
from tootsie.tokenize.job import Job

if TYPE_CHECKING:
    from apache_beam import Pipeline
    from apache_beam.options.pipeline_options import PipelineOptions

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

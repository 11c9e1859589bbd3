"""What the commands of all corpora do once their options are read: check the paths, plan, build, say what came of it."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tootsie.curate import arguments

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

    from tootsie.curate.corpus import Corpus
    from tootsie.curate.corpus_build import BuildSettings, Job


def run_corpus(
    corpus: Corpus,
    tokens: Sequence[str],
    settings: BuildSettings,
    workers: int | None,
    *,
    dry_run: bool,
    overwrite: bool,
) -> None:
    """Build a corpus, or show what would be done.

    Args:
      corpus: what it is made from and how.
      tokens: inputs, the output folder last, and options for Beam among them.
      settings: of the build.
      workers: processes; see :func:`tootsie.datasets.beam_runner.pipeline_options`.
      dry_run: only list what would be read and written.
      overwrite: replace a finished corpus that was made from something else.

    Raises:
      UserError: bad paths, inputs or settings.
    """
    paths, folder, beam_arguments = arguments.inputs_and_output(tokens)
    beam_options = arguments.beam_options(corpus.name, beam_arguments, workers)

    from tootsie.curate import corpus_build
    from tootsie.datasets.sole_writer import sole_writer

    job = corpus_build.make_job(corpus, paths, folder, settings, on_file=_say_file)
    if dry_run:
        _say_plan(job)
        return
    with sole_writer(folder):
        _build(job, beam_options, overwrite=overwrite)


def _build(job: Job, beam_options: PipelineOptions, *, overwrite: bool) -> None:
    from tootsie.curate import corpus_build, progress

    folder = job.folder
    finished = corpus_build.check_output(job, overwrite=overwrite)
    if finished is not None:
        print(f"{folder}: already finished, {finished.documents:,} documents; nothing to do")
        progress.show_accounting(finished, folder)
        return
    start = time.monotonic()
    try:
        with progress.watch(job):
            manifest = corpus_build.build(job, beam_options)
    except OSError as error:
        if error.filename is None:  # as with a full disk: both places that a run writes to are named
            error.filename = f"{folder} or {tempfile.gettempdir()}"
        raise
    seconds = time.monotonic() - start
    progress.show_accounting(manifest, folder)
    progress.show_notes(manifest)
    text = sum(entry.text_bytes for entry in manifest.files)
    source = sum(entry.size for entry in manifest.inputs)
    print(
        f"{folder}: {manifest.documents:,} documents, {text / 1e6:.1f} MB of text from {source / 1e6:.1f} MB of dumps "
        f"in {seconds:.1f} s ({manifest.documents / seconds:.1f} documents/s)"
    )


def _say_file(name: str, size: int) -> None:
    if size > 2**28:
        print(f"computing the checksum of {name} ({size / 1e9:.1f} GB)", file=sys.stderr, flush=True)


def _say_plan(job: Job) -> None:
    from tootsie.curate.shard_output import part_name

    for entry in job.plan.inputs:
        print(f"read\t{entry.path}\t{entry.size}")
    for name, value in job.plan.settings.items():
        print(f"setting\t{name}\t{value}")
    for shard in range(job.shards):
        print(f"write\t{job.folder}/{part_name(shard, job.shards)}")
    for name in ("README.md", "_manifest.json"):
        print(f"write\t{job.folder}/{name}")

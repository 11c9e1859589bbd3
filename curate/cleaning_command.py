"""What the commands of the cleaning stages share: paths, the plan, the lock on the output, the books at the end."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tootsie.curate import arguments, cleaning_run, progress
from tootsie.curate.cleaning_run import CleaningRun
from tootsie.curate.document_inputs import InputCorpus, find_corpora
from tootsie.datasets.errors import SpecError
from tootsie.datasets.manifest import Manifest
from tootsie.datasets.sole_writer import sole_writer

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True)
class CleaningCommand:
    """A command line that has been read."""

    stage: str
    folder: str
    corpora: tuple[InputCorpus, ...]
    beam_options: Any

    def plan(self, settings: dict[str, Any], report: str) -> CleaningRun:
        """Return what is going to be done; see :func:`tootsie.curate.cleaning_run.plan_run`."""
        return cleaning_run.plan_run(self.stage, self.corpora, self.folder, settings, report)

    def say_plan(self, run: CleaningRun) -> None:
        """Print what would be read and written."""
        for output in run.outputs:
            for entry in output.corpus.entries:
                print(f"read\t{output.corpus.source}/{entry.path}\t{entry.size}")
            print(f"write\t{output.folder}")
        for name, value in run.outputs[0].plan.settings.items():
            print(f"setting\t{name}\t{value}")

    @contextlib.contextmanager
    def writing(self, run: CleaningRun, *, overwrite: bool, documents: bool = True) -> Iterator[bool]:
        """Hold the output folder for the block; gives whether the same run is finished there.

        Args:
          run: what is going to be done.
          overwrite: whether another run's output is deleted.
          documents: whether the run writes documents, not only a report.
        """
        with sole_writer(self.folder):
            finished = cleaning_run.check_output(run, overwrite=overwrite, documents=documents)
            if finished:
                print(f"{self.folder}: already finished; nothing to do")
            yield finished

    def finish(
        self, run: CleaningRun, report: dict[str, Any], manifests: Sequence[Manifest], seconds: float
    ) -> None:
        """Write the report and print the books."""
        cleaning_run.finish_run(run, report)
        for output, manifest in zip(run.outputs, manifests, strict=bool(manifests)):
            progress.show_accounting(manifest, output.folder)
        written = f", wrote {sum(one.documents for one in manifests):,}" if manifests else ""
        print(
            f"{self.folder}: read {run.documents:,} documents{written} in {seconds:.1f} s "
            f"({run.documents / seconds:,.0f} documents/s)"
        )


def parse(stage: str, tokens: Sequence[str], name: str, workers: int | None) -> CleaningCommand:
    """Read paths and Beam's options off a command line and look at the inputs.

    Args:
      stage: name of the command.
      tokens: what its own options left over.
      name: source name of loose files.
      workers: see :func:`tootsie.datasets.beam_runner.pipeline_options`.

    Raises:
      SpecError: a path is missing, or a name cannot be that of a folder.
    """
    paths, folder, beam_arguments = arguments.inputs_and_output(tokens)
    beam_options = arguments.beam_options(stage, beam_arguments, workers)
    corpora = find_corpora(paths, name)
    for corpus in corpora:
        if not _NAME.fullmatch(corpus.source):
            raise SpecError(
                "a corpus whose output is a folder of its name needs letters, digits, '.', '_', '+' and '-' in it",
                field="source",
                value=corpus.source,
            )
    return CleaningCommand(stage, folder, corpora, beam_options)

"""Read every document once: the n-grams of evaluation sets that it has, and the contaminated documents it comes from."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tootsie.curate.array_shuffle import step_url
from tootsie.curate.cleaning_run import NO_FAULTS_OF_DOCUMENTS, problem_of
from tootsie.curate.decontamination.index import EvaluationIndex
from tootsie.curate.decontamination.taint import inherited, origins
from tootsie.curate.document_inputs import InputFile, Unreadable, read_numbered
from tootsie.datasets import storage

STEP = "scan"


@dataclass(frozen=True)
class ScanTask:
    """One file to read."""

    index: int
    source: str
    file: InputFile


@dataclass(frozen=True)
class Found:
    """What there is of one document."""

    number: int
    id: str
    source: str
    """As the document says; the corpus may have another name."""
    grams: tuple[int, ...]
    """Numbers of n-grams, see :class:`EvaluationIndex`."""
    tainted: tuple[str, ...]
    """Contaminated documents that it is, or was made from."""
    lost: bool
    """Whether it should say what it was made from, and does not."""
    problem: str = ""
    """What was raised when it was searched."""


class Scanner:
    """Scans files."""

    def __init__(self, folder: str, index: str, taint: str, derived: bool) -> None:
        self._folder = folder
        self._index_url = index
        self._taint_url = taint
        self._derived = derived
        self._index: EvaluationIndex | None = None
        self._taint: dict[str, list[str]] = {}

    def __getstate__(self) -> tuple[str, str, str, bool]:
        return self._folder, self._index_url, self._taint_url, self._derived

    def __setstate__(self, state: tuple[str, str, str, bool]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def __call__(self, task: ScanTask) -> None:
        """Write what was found in one file, unless that is done."""
        url = step_url(self._folder, STEP, task.index, "npz")
        if storage.exists(url):
            return
        if self._index is None:
            self._index = EvaluationIndex.load(self._index_url)
            self._taint = json.loads(storage.read_bytes(self._taint_url))
        numbers: list[int] = []
        grams: list[int] = []
        rows: list[tuple[int, str, str, list[str], bool, str]] = []
        for number, document in read_numbered(task.file):
            if isinstance(document, Unreadable):
                continue
            problem = ""
            try:
                found = self._index.find(document.text)
            except NO_FAULTS_OF_DOCUMENTS:
                raise
            except Exception as error:
                found, problem = [], problem_of(error)
            names = {f"{task.source}/{document.id}", f"{document.source}/{document.id}"}
            tainted = inherited(document, self._taint, sorted(names))
            lost = self._derived and origins(document) is None
            if found or tainted or lost or problem:
                numbers += [number] * len(found)
                grams += found
                rows.append((number, document.id, document.source, tainted, lost, problem))
        names_url = step_url(self._folder, STEP, task.index, "json")
        storage.write_bytes(names_url, json.dumps(rows).encode())
        with storage.atomic_write(url) as stream:
            np.savez(stream, number=np.array(numbers, np.uint64), gram=np.array(grams, np.uint32))


def read_scan(folder: str, index: int) -> Iterator[Found]:
    """Yield what was found in one file, in the order of its documents."""
    with np.load(io.BytesIO(storage.read_bytes(step_url(folder, STEP, index, "npz")))) as arrays:
        numbers, grams = arrays["number"], arrays["gram"]
    for number, name, source, tainted, lost, problem in json.loads(
        storage.read_bytes(step_url(folder, STEP, index, "json"))
    ):
        first, stop = np.searchsorted(numbers, np.array([number, number + 1], np.uint64)).tolist()
        yield Found(number, name, source, tuple(grams[first:stop].tolist()), tuple(tainted), lost, problem)

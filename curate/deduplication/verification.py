"""Compare the documents of proposed pairs: what share of the n-grams of the small one the large one has.

The n-grams of all documents that are in a pair are written down once (``_work/fingerprints``); pairs are then compared in
chunks, ordered by the large document, which is read once for all its pairs. N-grams are compared as 64-bit hashes: that one
that is missing passes for present has a probability of about 5e-20 for each n-gram of the large document.
"""

from __future__ import annotations

import functools
import io
import json
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import run_tasks, step_url
from tootsie.curate.cleaning_run import CleaningRun
from tootsie.curate.deduplication.compared_text import (
    containment,
    fingerprint,
    paragraphs,
    without_boilerplate,
)
from tootsie.curate.deduplication.proposal import BoilerplateFile
from tootsie.curate.deduplication.settings import DeduplicationSettings
from tootsie.curate.document_inputs import InputFile, Unreadable, read_numbered
from tootsie.curate.ngrams import Hashes
from tootsie.datasets import storage

CHUNK = 1 << 16
"""Pairs of a task."""
REMEMBERED = 64
"""Fingerprints that a task holds."""
STEP = "fingerprints"


@dataclass(frozen=True)
class ExtractTask:
    """A file, and which of its documents are in a pair."""

    index: int
    file: InputFile
    numbers: bytes
    """uint64[k] of the documents, ascending."""
    compared: bytes
    """bool[k]: those whose n-grams are needed."""


@dataclass(frozen=True)
class Extractor:
    """Writes the n-grams and the names of documents."""

    folder: str
    settings: DeduplicationSettings
    boilerplate: BoilerplateFile

    def __call__(self, task: ExtractTask) -> None:
        """Write ``<index>.bin`` (n-grams, then one byte for each), ``.names.json`` and, last, ``.npz``: where each lies."""
        index = step_url(self.folder, STEP, task.index, "npz")
        if storage.exists(index):
            return
        numbers = np.frombuffer(task.numbers, "<u8")
        compared = dict(zip(numbers.tolist(), np.frombuffer(task.compared, bool).tolist(), strict=True))
        names: dict[int, str] = {}
        places: list[tuple[int, int, int]] = []
        position = 0
        with storage.atomic_write(step_url(self.folder, STEP, task.index, "bin")) as stream:
            for number, document in read_numbered(task.file):
                if number not in compared or isinstance(document, Unreadable):
                    continue
                names[number] = document.id
                if compared[number]:
                    text, _ = without_boilerplate(document, self.boilerplate.lines)
                    whole, within = fingerprint(paragraphs(text), self.settings.ngram)
                    stream.write(whole.astype("<u8").tobytes() + within.tobytes())
                    places.append((number, position, len(whole)))
                    position += 9 * len(whole)
        storage.write_bytes(
            step_url(self.folder, STEP, task.index, "names.json"),
            json.dumps(names, ensure_ascii=False).encode("utf-8", "surrogatepass"),
        )
        with storage.atomic_write(index) as stream:
            np.savez(stream, places=np.array(places, np.uint64).reshape(-1, 3))


class Fingerprints:
    """Reads what :class:`Extractor` wrote, by number."""

    def __init__(self, folder: str, firsts: list[int]) -> None:
        self._folder = folder
        self._firsts = np.array(firsts, np.uint64)
        self._places: dict[int, NDArray[np.uint64]] = {}
        self._streams: dict[int, IO[bytes]] = {}
        self.get = functools.lru_cache(REMEMBERED)(self._read)

    def _read(self, number: int) -> tuple[Hashes, NDArray[np.bool_]]:
        file = int(np.searchsorted(self._firsts, np.uint64(number), side="right")) - 1
        if file not in self._places:
            data = storage.read_bytes(step_url(self._folder, STEP, file, "npz"))
            with np.load(io.BytesIO(data)) as arrays:
                self._places[file] = arrays["places"]
            self._streams[file] = storage.open_binary(step_url(self._folder, STEP, file, "bin"))
        places = self._places[file]
        row = int(np.searchsorted(places[:, 0], np.uint64(number)))
        _, offset, count = (int(value) for value in places[row])
        stream = self._streams[file]
        stream.seek(offset)
        data = stream.read(9 * count)
        return np.frombuffer(data[: 8 * count], "<u8"), np.frombuffer(data[8 * count :], bool)

    def close(self) -> None:
        """Close all files."""
        for stream in self._streams.values():
            stream.close()


@dataclass(frozen=True)
class Comparer:
    """Compares the pairs of a chunk."""

    folder: str
    round: int
    firsts: tuple[int, ...]

    def __call__(self, chunk: int) -> None:
        """Write float64[pairs] of the chunk: how much of the small document the large one has."""
        url = step_url(self.folder, f"compared-{self.round}", chunk, "f8")
        if storage.exists(url):
            return
        pairs = np.load(io.BytesIO(storage.read_bytes(_pairs_url(self.folder, self.round, chunk))))
        prints = Fingerprints(self.folder, list(self.firsts))
        found = np.zeros(len(pairs))
        for row in range(len(pairs)):
            large, _ = prints.get(int(pairs["large"][row]))
            found[row] = containment(prints.get(int(pairs["small"][row])), large)
        prints.close()
        storage.write_bytes(url, found.astype("<f8").tobytes())


def _pairs_url(folder: str, number: int, chunk: int) -> str:
    return step_url(folder, f"pairs-{number}", chunk, "npy")


def extract(
    run: CleaningRun,
    settings: DeduplicationSettings,
    boilerplate: BoilerplateFile,
    numbers: NDArray[np.uint64],
    compared: NDArray[np.bool_],
    options: Any,
) -> None:
    """Write the n-grams of the documents ``numbers`` (ascending) that are ``compared``, and the names of all of them."""
    tasks = []
    for index, file in enumerate(run.files):
        first, stop = np.searchsorted(numbers, [file.first, file.first + file.documents]).tolist()
        if stop > first:
            tasks.append(
                ExtractTask(index, file, numbers[first:stop].tobytes(), compared[first:stop].tobytes())
            )
    run_tasks(Extractor(run.folder, settings, boilerplate), tasks, options)


def compare(run: CleaningRun, number: int, pairs: NDArray[Any], options: Any) -> NDArray[np.float64]:
    """Return float64[pairs]: the share of the n-grams of each pair's small document that its large one has.

    Args:
      run: whose ``_work`` holds the fingerprints.
      number: of the round of comparisons.
      pairs: see :data:`tootsie.curate.deduplication.proposal.PAIR`.
      options: of Beam.
    """
    if not len(pairs):
        return np.empty(0)
    # By the large document, so that each is read in few chunks.
    order = np.lexsort((pairs["small"], pairs["large"]))
    chunks = range(-(-len(pairs) // CHUNK))
    for chunk in chunks:
        with storage.atomic_write(_pairs_url(run.folder, number, chunk)) as stream:
            np.save(stream, pairs[order[chunk * CHUNK : (chunk + 1) * CHUNK]])
    firsts = tuple(file.first for file in run.files)
    comparer = Comparer(run.folder, number, firsts)
    if len(chunks) == 1:  # not worth the start of workers
        comparer(0)
    else:
        run_tasks(comparer, list(chunks), options)
    step = f"compared-{number}"
    found = np.empty(len(pairs))
    found[order] = np.concatenate(
        [np.frombuffer(storage.read_bytes(step_url(run.folder, step, chunk, "f8"))) for chunk in chunks]
    )
    return found


def read_names(run: CleaningRun) -> dict[int, tuple[str, str]]:
    """Return source and id of each document that is in a pair, by number."""
    names: dict[int, tuple[str, str]] = {}
    index = 0
    for output in run.outputs:
        for _ in output.corpus.files:
            url = step_url(run.folder, STEP, index, "names.json")
            if storage.exists(url):
                for number, name in json.loads(storage.read_bytes(url)).items():
                    names[int(number)] = (output.corpus.source, name)
            index += 1
    return names

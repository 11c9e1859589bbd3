"""The n-grams and the names of the documents that are in a pair: written once, file by file, then read by number."""

from __future__ import annotations

import functools
import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Met, Records, Shuffle, filled, run_shuffle, step_url
from tootsie.curate.cleaning_run import CleaningRun
from tootsie.curate.deduplication.compared_text import fingerprint, paragraphs, without_boilerplate
from tootsie.curate.deduplication.proposal import BoilerplateFile
from tootsie.curate.deduplication.settings import DeduplicationSettings
from tootsie.curate.document_inputs import InputFile, Unreadable, read_numbered
from tootsie.curate.ngrams import Hashes
from tootsie.datasets import storage

WANTED = (("hash", "<u8"), ("number", "<u8"), ("compared", "?"))
PLACE = (("position", "<u8"), ("grams", "<u8"), ("name", "<u8"), ("length", "<u8"))
"""Where the n-grams and the name of a document lie, in bytes; ``grams`` is how many there are."""
STEP = "fingerprints"
REMEMBERED_BYTES = 1 << 26
"""Bytes of the fingerprints that a task holds, beside the last one."""
REMEMBERED_NAMES = 1 << 16
OPEN_FILES = 128
"""Files that a task holds open."""


@dataclass(frozen=True)
class Files:
    """Which file a document is in."""

    firsts: tuple[int, ...]
    """Number of the first document of each."""
    sources: tuple[str, ...]
    """Name of the corpus of each."""

    def of(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the index of the file of each document."""
        firsts = np.array(self.firsts, np.uint64)
        return (np.searchsorted(firsts, numbers, side="right") - 1).astype(np.uint64)

    def key(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return hashes by which a shuffle with a bucket for each file sends documents to theirs."""
        return self.of(numbers) << np.uint64(32)


def files_of(run: CleaningRun) -> Files:
    """Return the files of a run."""
    sources = [output.corpus.source for output in run.outputs for _ in output.corpus.files]
    return Files(tuple(file.first for file in run.files), tuple(sources))


@dataclass(frozen=True)
class _Ask:
    """Asks the files for the documents of a bucket of pairs."""

    pairs: Met
    files: Files

    def __call__(self, bucket: int) -> Iterator[Records]:
        number = self.pairs.read(bucket, "number", np.uint64)
        compared = self.pairs.read(bucket, "compared", bool)
        yield filled(WANTED, len(number), hash=self.files.key(number), number=number, compared=compared)


@dataclass(frozen=True)
class _Extract:
    """Writes the n-grams and the names of the documents of a file that are asked for."""

    folder: str
    settings: DeduplicationSettings
    boilerplate: BoilerplateFile
    inputs: tuple[InputFile, ...]

    def __call__(self, records: Records) -> Mapping[str, NDArray[Any]]:
        """Write ``<file>.bin`` (n-grams, then a byte for each), ``.names``, ``.places.npy`` and ``.numbers.npy``."""
        index = int(records["hash"][0] >> np.uint64(32))
        compared = set(records["number"][records["compared"]].tolist())
        wanted = set(records["number"].tolist())
        numbers: list[int] = []
        places: list[tuple[int, int, int, int]] = []
        position = name = 0
        with (
            storage.atomic_write(step_url(self.folder, STEP, index, "grams")) as grams,
            storage.atomic_write(step_url(self.folder, STEP, index, "names")) as names,
        ):
            for number, document in read_numbered(self.inputs[index]):
                if number not in wanted or isinstance(document, Unreadable):
                    continue
                count = 0
                if number in compared:
                    text, _ = without_boilerplate(document, self.boilerplate.lines)
                    whole, within = fingerprint(paragraphs(text), self.settings.ngram)
                    grams.write(whole.astype("<u8").tobytes() + within.tobytes())
                    count = len(whole)
                encoded = document.id.encode("utf-8", "surrogatepass")
                names.write(encoded)
                numbers.append(number)
                places.append((position, count, name, len(encoded)))
                position += 9 * count
                name += len(encoded)
        for suffix, array in (
            ("places.npy", np.array(places, list(PLACE))),
            ("numbers.npy", np.array(numbers, np.uint64)),
        ):
            with storage.atomic_write(step_url(self.folder, STEP, index, suffix)) as stream:
                np.save(stream, array)
        return {"bytes": np.array([position])}


def extract(
    run: CleaningRun,
    settings: DeduplicationSettings,
    boilerplate: BoilerplateFile,
    pairs: Met,
    options: Any,
) -> Met:
    """Write the names of all documents of ``pairs``, and the n-grams of those that are compared."""
    make, meet = (
        _Ask(pairs, files_of(run)),
        _Extract(run.folder, settings, boilerplate, tuple(run.files)),
    )
    shuffle = Shuffle(run.folder, f"{STEP}-asked", WANTED, make, meet, len(run.files))
    return run_shuffle(shuffle, list(range(pairs.buckets)), options)


class ComparedDocuments:
    """Reads what was written of documents, by number."""

    def __init__(self, folder: str, files: Files) -> None:
        self._folder = folder
        self._files = files
        self._indices: dict[int, tuple[NDArray[np.uint64], NDArray[Any]]] = {}
        self._streams: OrderedDict[tuple[int, str], IO[bytes]] = OrderedDict()
        self._held: OrderedDict[int, tuple[Hashes, NDArray[np.bool_]]] = OrderedDict()
        self._held_bytes = 0
        self.name = functools.lru_cache(REMEMBERED_NAMES)(self._name)

    def grams(self, number: int) -> tuple[Hashes, NDArray[np.bool_]]:
        """Return the n-grams of a document, and which of them one that replaces it must have; the last ones are held."""
        found = self._held.get(number)
        if found is None:
            found = self._held[number] = self._grams(number)
            self._held_bytes += found[0].nbytes + found[1].nbytes
            while self._held_bytes > REMEMBERED_BYTES and len(self._held) > 1:
                _, gone = self._held.popitem(last=False)
                self._held_bytes -= gone[0].nbytes + gone[1].nbytes
        self._held.move_to_end(number)
        return found

    def _grams(self, number: int) -> tuple[Hashes, NDArray[np.bool_]]:
        file, place = self._place(number)
        count = int(place["grams"])
        data = self._read(file, "grams", int(place["position"]), 9 * count)
        return np.frombuffer(data[: 8 * count], "<u8"), np.frombuffer(data[8 * count :], bool)

    def _name(self, number: int) -> tuple[str, str]:
        file, place = self._place(number)
        data = self._read(file, "names", int(place["name"]), int(place["length"]))
        return self._files.sources[file], data.decode("utf-8", "surrogatepass")

    def _place(self, number: int) -> tuple[int, Any]:
        file = int(self._files.of(np.array(number, np.uint64)))
        if file not in self._indices:
            numbers, places = (
                _load(step_url(self._folder, STEP, file, f"{name}.npy")) for name in ("numbers", "places")
            )
            self._indices[file] = numbers, places
        numbers, places = self._indices[file]
        return file, places[int(np.searchsorted(numbers, np.uint64(number)))]

    def _read(self, file: int, suffix: str, position: int, count: int) -> bytes:
        key = (file, suffix)
        if key not in self._streams:
            if len(self._streams) >= OPEN_FILES:
                self._streams.popitem(last=False)[1].close()
            self._streams[key] = storage.open_binary(step_url(self._folder, STEP, file, suffix))
        self._streams.move_to_end(key)
        stream = self._streams[key]
        stream.seek(position)
        return stream.read(count)

    def close(self) -> None:
        """Close all files."""
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()


def _load(url: str) -> NDArray[Any]:
    """Return an array, of a file on this machine as the system's pages, which all workers share."""
    path = storage.local_path(url)
    if path is None:
        return np.asarray(np.load(io.BytesIO(storage.read_bytes(url))))
    found: NDArray[Any] = np.load(path, mmap_mode="r")
    return found

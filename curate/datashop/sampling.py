"""A uniform sample without replacement: the documents whose names have the smallest hashes.

Every document has the same chance, wherever it lies, and the same seed draws the same documents however many workers look; a
smaller sample is a part of a larger one.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import xxhash

from tootsie.curate.array_shuffle import run_tasks, step_url
from tootsie.curate.document_inputs import InputCorpus, InputFile, Unreadable, read_numbered
from tootsie.datasets import storage
from tootsie.datasets.document import Document

STEP = "annotate/sample"


def draw(seed: int, source: str, name: str) -> int:
    """Return the number by which a document is drawn: xxh3 of seed, corpus and id, 64 bits."""
    return xxhash.xxh3_64_intdigest(json.dumps([seed, source, name]).encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class _Task:
    index: int
    source: str
    file: InputFile


@dataclass(frozen=True)
class SampleFile:
    """Writes the documents of a file that can be in the sample."""

    folder: str
    seed: int
    size: int

    def __call__(self, task: _Task) -> None:
        """Write the ``size`` documents of a file with the smallest hashes, and how many documents it has."""
        url = step_url(self.folder, STEP, task.index, "jsonl.zst")
        if storage.exists(url):
            return
        held: list[tuple[int, int, str]] = []
        read = unreadable = empty = 0
        for number, document in read_numbered(task.file):
            read += 1
            if isinstance(document, Unreadable):
                unreadable += 1
            elif not document.text.strip():
                empty += 1
            else:
                entry = (-draw(self.seed, task.source, document.id), -number, document.to_json())
                if len(held) < self.size:
                    heapq.heappush(held, entry)
                elif entry > held[0]:
                    heapq.heapreplace(held, entry)
        books = {"read": read, "no document": unreadable, "empty": empty}
        storage.write_bytes(step_url(self.folder, STEP, task.index, "json"), json.dumps(books).encode())
        with storage.atomic_zstd(url) as stream:
            for drawn, number, line in sorted(held, reverse=True):
                row = {"drawn": -drawn, "number": -number, "source": task.source, "document": line}
                stream.write(json.dumps(row).encode() + b"\n")


def sample(
    corpora: tuple[InputCorpus, ...], folder: str, seed: int, size: int, options: Any
) -> tuple[list[tuple[str, Document]], dict[str, int]]:
    """Return the sample, each document with the name of its corpus, in the order drawn, and the books.

    Args:
      corpora: to draw from.
      folder: of the run.
      seed: of the draw.
      size: documents wanted; all, where there are fewer.
      options: of Beam.
    """
    tasks = [
        _Task(index, source, file)
        for index, (source, file) in enumerate(
            (corpus.source, file) for corpus in corpora for file in corpus.files
        )
    ]
    run_tasks(SampleFile(folder, seed, size), tasks, options)
    books = {"read": 0, "no document": 0, "empty": 0}
    best: list[tuple[int, int, str, str]] = []
    for task in tasks:
        for name, count in json.loads(storage.read_bytes(step_url(folder, STEP, task.index, "json"))).items():
            books[name] += count
        best = heapq.nsmallest(size, _merged(best, step_url(folder, STEP, task.index, "jsonl.zst")))
    found = [(source, Document.model_validate_json(line)) for _, _, source, line in best]
    books["sampled"] = len(found)
    return found, books


def _merged(best: list[tuple[int, int, str, str]], url: str) -> Iterator[tuple[int, int, str, str]]:
    yield from best
    for line in storage.read_lines(url):
        row = json.loads(line)
        yield row["drawn"], row["number"], row["source"], row["document"]

"""Propose pairs: documents with equal words, and documents whose MinHash signatures agree in a band.

Source: A. Broder, "On the resemblance and containment of documents" (1997); banding: Leskovec, Rajaraman, Ullman,
"Mining of Massive Datasets", chapter 3. Signatures are those of the package ``rensa``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import rensa
import xxhash
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Records, step_url
from tootsie.curate.cleaning_run import NO_FAULTS_OF_DOCUMENTS, problem_of
from tootsie.curate.deduplication.compared_text import exact_hash, paragraphs, without_boilerplate
from tootsie.curate.deduplication.settings import DeduplicationSettings
from tootsie.curate.document_inputs import InputFile, Unreadable, read_numbered
from tootsie.curate.ngrams import Hashes, ngram_hashes
from tootsie.datasets import storage
from tootsie.datasets.document import Document

KIND = (
    ("hash", "<u8"),
    ("check", "<u8"),
    ("number", "<u8"),
    ("words", "<u4"),
    ("characters", "<u4"),
    ("near", "<u4"),
    ("band", "u1"),
)
"""One thing that documents can agree in: their words (``band`` 0, ``check`` the other half of the hash), or a band (``check``
the hash of the words, ``near`` a hash of another band, by which like documents of a crowd lie side by side)."""
PAIR = (("small", "<u8"), ("large", "<u8"), ("words", "<u4"), ("characters", "<u4"))
"""A pair: the document that may go, the one that may replace it; length of the former."""
BATCH = 256
"""Documents whose signatures are made together, at most."""
BATCH_SHINGLES = 1 << 21
"""Shingles of theirs that are held, of 8 bytes each, beside those of the last one."""
CROWD = 24
"""Documents that agree in a band up to which all pairs are proposed."""
_SPACES = (" ", "\n", "\t", "\r", "\u00a0")
NEIGHBOURS = 6
"""In a larger crowd: pairs of a document with those next to it by another band, beside that with the longest one."""


class BoilerplateFile:
    """The hashes of boilerplate as a file, read where it is first needed."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._lines: frozenset[int] | None = None

    def __getstate__(self) -> tuple[str | None]:
        return (self._url,)

    def __setstate__(self, state: tuple[str | None]) -> None:
        (self._url,) = state
        self._lines = None

    @property
    def lines(self) -> frozenset[int]:
        """Hashes of the lines."""
        if self._lines is None:
            data = b"" if self._url is None else storage.read_bytes(self._url)
            self._lines = frozenset(np.frombuffer(data, "<u8").tolist())
        return self._lines


def failures_url(folder: str, first: int) -> str:
    """Return where it is written down on which documents of a file the :class:`Signer` failed, if on any.

    Args:
      folder: of the run.
      first: number of the first document of the file.
    """
    return step_url(folder, "failed", first, "json")


@dataclass(frozen=True)
class Signer:
    """Makes what documents are told by."""

    settings: DeduplicationSettings
    boilerplate: BoilerplateFile
    folder: str | None = None
    """Of the run, where it is written down on which documents this fails; without it, that is raised."""

    def __call__(self, file: InputFile) -> Iterator[Records]:
        """Yield the records of the documents of a file."""
        failed: dict[int, str] = {}
        heads: list[tuple[int, int, int, int, int]] = []
        shingles: list[Hashes] = []
        held = 0
        for number, document in read_numbered(file):
            if isinstance(document, Unreadable):
                continue
            try:
                head, found = self._told_by(number, document)
            except NO_FAULTS_OF_DOCUMENTS:
                raise
            except Exception as error:
                if self.folder is None:
                    raise
                failed[number] = problem_of(error)
                continue
            heads.append(head)
            shingles.append(found)
            held += len(shingles[-1])
            if len(heads) == BATCH or held >= BATCH_SHINGLES:
                yield self._records(heads, shingles)
                heads, shingles, held = [], [], 0
        if heads:
            yield self._records(heads, shingles)
        if failed and self.folder is not None:
            storage.write_bytes(failures_url(self.folder, file.first), json.dumps(failed).encode())

    def _told_by(self, number: int, document: Document) -> tuple[tuple[int, int, int, int, int], Hashes]:
        text, _ = without_boilerplate(document, self.boilerplate.lines)
        parts = paragraphs(text)
        words = np.concatenate(parts) if parts else np.empty(0, np.uint64)
        high, low = exact_hash(text, words, self.settings.exact)
        characters = len(text) - sum(map(text.count, _SPACES))
        head = high, low, number, min(len(words), 2**32 - 1), min(characters, 2**32 - 1)
        return head, np.unique(ngram_hashes(words, self.settings.shingle))

    def _records(self, heads: list[tuple[int, int, int, int, int]], shingles: list[Hashes]) -> Records:
        high, low, number, words, characters = (
            np.array(column, np.uint64) for column in zip(*heads, strict=True)
        )
        exact = np.zeros(len(heads), list(KIND))
        exact["hash"], exact["check"], exact["number"] = high, low, number
        exact["words"], exact["characters"] = words, characters
        signed = np.flatnonzero([len(one) for one in shingles])
        if not len(signed):
            return exact
        signatures = self._signatures([shingles[row] for row in signed])
        bands, rows = self.settings.bands, self.settings.rows
        found = np.zeros((len(signed), bands), list(KIND))
        for band in range(bands):
            part = np.ascontiguousarray(signatures[:, band * rows : (band + 1) * rows])
            found["hash"][:, band] = [xxhash.xxh3_64_intdigest(row.tobytes(), band + 1) for row in part]
            found["near"][:, band] = signatures[:, ((band + 1) % bands) * rows]
        found["band"] = np.minimum(np.arange(1, bands + 1), 255)
        for name, column in (
            ("check", high),
            ("number", number),
            ("words", words),
            ("characters", characters),
        ):
            found[name] = column[signed][:, None]
        return np.concatenate([exact, found.reshape(-1)])

    def _signatures(self, shingles: list[Hashes]) -> NDArray[np.uint32]:
        """Return uint32[documents, bands × rows]."""
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in shingles])]).astype(np.uint64)
        size = self.settings.bands * self.settings.rows
        matrix = rensa.RMinHash.digest_matrix_from_flat_token_hashes(
            np.concatenate(shingles), offsets, size, self.settings.seed
        )
        return np.array(matrix.to_rows(), np.uint32)


def propose(records: Records) -> Mapping[str, NDArray[Any]]:
    """Return the pairs of one bucket, ``exact`` and ``near``, and how many ``pairs`` and documents in crowds there were.

    Of two documents the one with more words is the large one, then that with more characters, spaces aside, then the first.
    """
    exact, bands = records[records["band"] == 0], records[records["band"] != 0]
    exact = exact[_by_rank(exact, exact["check"], exact["hash"])]
    pairs = []
    for start, stop in _groups(
        (exact["hash"][1:] == exact["hash"][:-1]) & (exact["check"][1:] == exact["check"][:-1])
    ):
        pairs.append(_pairs(exact, np.arange(start + 1, stop), np.full(stop - start - 1, start)))
    bands = bands[_by_rank(bands, bands["hash"])]
    near = []
    crowded = 0
    for start, stop in _groups(bands["hash"][1:] == bands["hash"][:-1]):
        group = bands[start:stop]
        # Of documents with the same words the first by rank speaks for all.
        group = group[np.sort(np.unique(group["check"], return_index=True)[1])]
        count = len(group)
        if count < 2:
            continue
        if count <= CROWD:
            large, small = np.triu_indices(count, 1)
        else:
            crowded += count
            small, large = np.arange(1, count), np.zeros(count - 1, np.int64)
            order = np.lexsort((group["number"], group["near"]))
            for step in range(1, NEIGHBOURS + 1):
                one, other = order[:-step], order[step:]
                small = np.concatenate([small, np.maximum(one, other)])
                large = np.concatenate([large, np.minimum(one, other)])
        near.append(_pairs(group, small, large))
    empty = np.empty(0, list(PAIR))
    found = {
        "exact": np.concatenate([empty, *pairs]),
        "near": unique_pairs(np.concatenate([empty, *near])),
    }
    count = sum(map(len, found.values()))
    return {**found, "crowded": np.array([crowded]), "pairs": np.array([count])}


def unique_pairs(pairs: Records) -> Records:
    """Return each pair once, ordered by the small document, then by the large one."""
    pairs = pairs[np.lexsort((pairs["large"], pairs["small"]))]
    same = (pairs["small"][1:] == pairs["small"][:-1]) & (pairs["large"][1:] == pairs["large"][:-1])
    return pairs[np.concatenate([np.ones(min(1, len(pairs)), bool), ~same])]


def _by_rank(records: Records, *first: NDArray[Any]) -> NDArray[np.int64]:
    """Return the order by ``first`` (the last key is the first to look at), then the best document first."""
    largest = np.uint32(2**32 - 1)
    return np.lexsort(
        (records["number"], largest - records["characters"], largest - records["words"], *first)
    )


def _groups(same: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each run of at least two, where ``same[i]`` says that i and i + 1 belong together."""
    edges = np.diff(np.concatenate([[0], same.astype(np.int8), [0]]))
    yield from zip(
        np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) + 1).tolist(), strict=True
    )


def _pairs(records: Records, small: NDArray[np.int64], large: NDArray[np.int64]) -> Records:
    pairs = np.empty(len(small), list(PAIR))
    pairs["small"], pairs["large"] = records["number"][small], records["number"][large]
    pairs["words"], pairs["characters"] = records["words"][small], records["characters"][small]
    return pairs

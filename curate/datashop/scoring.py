"""The stages ``score`` and ``filter``: the probability of every document, and the corpus of those that reach the cut."""

from __future__ import annotations

import bisect
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate import cleaning_run
from tootsie.curate.array_shuffle import run_tasks
from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome
from tootsie.curate.datashop.asking import RESPONSES, for_each_worker
from tootsie.curate.datashop.embeddings import Encoder
from tootsie.curate.datashop.encoder_scorer import EncoderScorer, check_failures, fetched
from tootsie.curate.datashop.features import BLOCK_BYTES, text_bytes
from tootsie.curate.datashop.quantile import Cut, cut_share, cut_threshold
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.scorer import ScorerModel
from tootsie.curate.datashop.spec import EncoderSpec
from tootsie.curate.datashop.training import MODEL_NAME
from tootsie.curate.document_inputs import InputFile, Unreadable, read_numbered
from tootsie.datasets import beam_runner, storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, InputError

SCORE = "datashop_score"
"""Field of a kept document's metadata: the probability that it is wanted."""
Scores = NDArray[np.float32]
NO_DOCUMENT, FAILED = -1, -2
"""In the place of a score: the line is no document; the encoder could not do it."""
VECTORS_AT_ONCE = 1024
FEW = ("url", "license", "title")
"""Fields of the metadata that are told of a dropped document."""


def scores_url(folder: str, index: int) -> str:
    """Return where the scores of a file lie: ``.npy``, float32, one for each line, or :data:`NO_DOCUMENT`, :data:`FAILED`."""
    return storage.join(folder, Stage.SCORE.value, f"{index:05d}.npy")


def failures_url(folder: str, index: int) -> str:
    """Return where a file's books lie that is scored with an encoder: ``failed`` has id, reason and detail by line."""
    return storage.join(folder, Stage.SCORE.value, f"{index:05d}.json")


@dataclass(frozen=True)
class ScoreFile:
    """Scores the documents of a file."""

    folder: str
    encoder: EncoderSpec | None = None
    """With its URL."""
    first_wait: float = 0.5

    def __call__(self, task: tuple[int, InputFile]) -> None:
        """Write the scores, unless that is done.

        Raises:
          ArtefactError: the scorer was trained on another encoder.
          UserError: see :func:`fetched`.
        """
        index, file = task
        url = scores_url(self.folder, index)
        if storage.exists(url):
            return
        trained = storage.join(self.folder, Stage.TRAIN.value, MODEL_NAME)
        found = [np.empty(0, np.float32)]
        if self.encoder is not None:
            books: dict[str, Any] = {"failed": {}, "documents in part": 0}
            found += self._by_vectors(EncoderScorer.load(trained, Encoder.of(self.encoder)), file, books)
            storage.write_bytes(failures_url(self.folder, index), json.dumps(books, indent=1).encode())
        else:
            documents = (document for _, document in read_numbered(file))
            found += score_documents(ScorerModel.load(trained), documents)
        stream = io.BytesIO()
        np.save(stream, np.concatenate(found))
        storage.write_bytes(url, stream.getvalue())

    def _by_vectors(self, model: EncoderScorer, file: InputFile, books: dict[str, Any]) -> Iterator[Scores]:
        """Yield the scores of a file's documents: all are embedded first, then read once more."""
        assert self.encoder is not None

        def documents() -> Iterator[Document | Unreadable]:
            return (document for _, document in read_numbered(file))

        texts = (document.text for document in documents() if isinstance(document, Document))
        folder = storage.join(self.folder, RESPONSES, "encoder", file.sha256[:16])
        with fetched(self.encoder, model.encoder, folder, texts, self.first_wait) as client:
            held: list[Scores] = []
            marks: dict[int, int] = {}
            for line, document in enumerate(documents()):
                vector = model.mean
                if isinstance(document, Unreadable):
                    marks[len(held)] = NO_DOCUMENT
                else:
                    found = client.vector(document.text)
                    books["documents in part"] += not model.encoder.divided(document.text)[1]
                    if isinstance(found, tuple):
                        marks[len(held)] = FAILED
                        books["failed"][line] = [document.id, *found]
                    elif found is not None:
                        vector = found
                held.append(vector)
                if len(held) == VECTORS_AT_ONCE:
                    yield _marked(model.probabilities(np.array(held)), marks)
                    held, marks = [], {}
            if held:
                yield _marked(model.probabilities(np.array(held)), marks)
            books["client"] = dict(sorted(client.counters.items()))


def _marked(found: Scores, marks: dict[int, int]) -> Scores:
    for place, mark in marks.items():
        found[place] = mark
    return found


def score_documents(model: ScorerModel, documents: Iterable[Document | Unreadable]) -> Iterator[Scores]:
    """Yield the scores of documents, block after block."""
    held: list[bytes] = []
    missing: list[int] = []
    size = 0
    for document in documents:
        if isinstance(document, Unreadable):
            missing.append(len(held))
            held.append(b"")
        else:
            held.append(text_bytes(document.text))
            size += len(held[-1])
        if size >= BLOCK_BYTES:
            yield _block(model, held, missing)
            held, missing, size = [], [], 0
    if held:
        yield _block(model, held, missing)


def _block(model: ScorerModel, contents: list[bytes], missing: list[int]) -> Scores:
    found = model.probabilities(contents)
    found[missing] = NO_DOCUMENT
    return found


def _files(run: Run) -> list[InputFile]:
    return [file for corpus in run.corpora for file in corpus.files]


def _read(folder: str, index: int, file: InputFile) -> Scores:
    url = scores_url(folder, index)
    found: Scores = np.load(io.BytesIO(storage.read_bytes(url)), allow_pickle=False)
    if len(found) != file.documents:
        raise ArtefactError(
            f"{len(found):,} scores for {file.documents:,} documents",
            file=url,
            remedy="Delete the file and run the stage score again",
        )
    return found


def score(run: Run) -> dict[str, Any]:
    """Write ``score/NNNNN.npy`` for each file of the inputs. Return the books.

    Raises:
      InputError: more documents than ``max_failures`` allows could not be embedded; the files that have any are put back.
      UserError: the encoder's server is gone, or the budget is spent.
    """
    files = _files(run)
    workers = min(max(1, len(files)), beam_runner.worker_count(run.options) or 1)
    encoder = None if run.encoder is None else for_each_worker(run.encoder, workers)
    run_tasks(ScoreFile(run.folder, encoder, run.first_wait), list(enumerate(files)), run.options)
    books = {} if encoder is None else _encoder_books(run, files)
    counts = np.zeros(10, np.int64)
    unreadable = 0
    for index, file in enumerate(files):
        found = _read(run.folder, index, file)
        unreadable += int((found == NO_DOCUMENT).sum())
        counts += np.histogram(found[found >= 0], 10, (0, 1))[0]
    return {
        "files": len(files),
        "documents": int(counts.sum()),
        "no document": unreadable,
        "by_tenth_of_probability": counts.tolist(),
        **books,
    }


def _encoder_books(run: Run, files: list[InputFile]) -> dict[str, Any]:
    """Return what became of the documents that were embedded, the failed ones within the budget."""
    failed: Counter[str] = Counter()
    counters: Counter[str] = Counter()
    in_part, example, faulty = 0, "", []
    for index in range(len(files)):
        found = json.loads(storage.read_bytes(failures_url(run.folder, index)))
        counters.update(found["client"])
        in_part += found["documents in part"]
        failed.update(reason for _, reason, _ in found["failed"].values())
        if found["failed"]:
            faulty.append(index)
            example = ": ".join(next(iter(found["failed"].values())))
    documents = sum(file.documents for file in files)
    stage = Stage.SCORE.value
    try:
        check_failures(
            stage, failed, documents, example, folder=run.path(stage), max_failures=run.spec.max_failures
        )
    except InputError:
        for index in faulty:
            storage.remove(scores_url(run.folder, index))
        raise
    return {
        "failed": dict(sorted(failed.items())),
        "documents in part": in_part,
        "encoder": dict(sorted(counters.items())),
    }


class JudgeScore:
    """Keeps the documents that reach the cut."""

    def __init__(self, folder: str, firsts: tuple[int, ...], threshold: float) -> None:
        self._folder = folder
        self._firsts = firsts
        self._threshold = threshold
        self._file = -1
        self._scores: Scores = np.empty(0, np.float32)
        self._failed: dict[str, list[str]] = {}

    def __call__(self, number: int, document: Document) -> Outcome:
        """Return what becomes of a document."""
        file = bisect.bisect_right(self._firsts, number) - 1
        if file != self._file:
            self._file = file
            content = io.BytesIO(storage.read_bytes(scores_url(self._folder, file)))
            self._scores = np.load(content, allow_pickle=False)
            books = failures_url(self._folder, file)
            self._failed = json.loads(storage.read_bytes(books))["failed"] if storage.exists(books) else {}
        line = number - self._firsts[file]
        found = self._scores[line]
        if found == FAILED:
            _, reason, detail = self._failed[str(line)]
            return Dropped(
                reason=f"not scored: {reason}",
                id=document.id,
                excerpt=document.text[: EXCERPT // 10],
                detail=detail,
                metadata={name: document.metadata[name] for name in FEW if name in document.metadata},
            )
        metadata = {**document.metadata, SCORE: round(float(found), 6)}
        if found >= np.float32(self._threshold):
            return Kept(document.model_copy(update={"metadata": metadata}), {}, len(document.text))
        few = {name: metadata[name] for name in (*FEW, SCORE) if name in metadata}
        return Dropped(
            reason="score below the cut",
            id=document.id,
            excerpt=document.text[: EXCERPT // 10],
            detail=f"{found:.6f} < {self._threshold:.6f}",
            metadata=few,
        )


def keep_best(run: Run) -> dict[str, Any]:
    """Write the corpora of ``filter/``. Return the books, with the cut and how far it is from what was asked for."""
    files = _files(run)

    def scores() -> Iterator[Scores]:
        for index, file in enumerate(files):
            found = _read(run.folder, index, file)
            yield found[found >= 0]

    settings = run.spec.filter
    cut: Cut = (
        cut_share(scores, settings.keep)
        if settings.keep is not None
        else cut_threshold(scores(), settings.threshold or 0.0)
    )
    folder = run.path(Stage.FILTER.value)
    content = {**run.spec.content("filter"), "threshold": cut.threshold, "scorer": _identity(run)}
    cleaning = cleaning_run.plan_run("datashop filter", run.corpora, folder, content, "filter.json")
    begin_cleaning(cleaning)
    # A corpus may have empty files, whose documents begin where those of the next do: bisect_right takes the last of them.
    judge = JudgeScore(run.folder, tuple(file.first for file in files), cut.threshold)
    manifests = cleaning_run.write_documents(cleaning, judge, run.options, run.spec.max_failures)
    kept = sum(manifest.documents for manifest in manifests)
    if kept != cut.kept:
        raise AssertionError(f"{folder}: kept {kept:,} documents, the scores say {cut.kept:,}")
    books = {
        "threshold": cut.threshold,
        "documents": cut.documents,
        "kept": cut.kept,
        "wanted": cut.wanted,
        "error": cut.error,
        "corpora": [output.folder.removeprefix(run.folder).lstrip("/") for output in cleaning.outputs],
        "accounting": [manifest.accounting.model_dump() for manifest in manifests],
    }
    cleaning_run.finish_run(cleaning, {"run": cleaning.identity, **books})
    return books


def begin_cleaning(cleaning: cleaning_run.CleaningRun) -> None:
    """Go on with the same cleaning where it was stopped; start over where another one left something."""
    try:
        cleaning_run.check_output(cleaning)
    except ArtefactError:
        cleaning_run.check_output(cleaning, overwrite=True)
    storage.remove(storage.join(cleaning.folder, cleaning.report))


def _identity(run: Run) -> str:
    return storage.sha256(run.path(Stage.TRAIN.value, MODEL_NAME))

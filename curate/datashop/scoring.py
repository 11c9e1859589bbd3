"""The stages ``score`` and ``filter``: the probability of every document, and the corpus of those that reach the cut."""

from __future__ import annotations

import bisect
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate import cleaning_run
from tootsie.curate.array_shuffle import run_tasks
from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome
from tootsie.curate.datashop.features import BLOCK_BYTES, text_bytes
from tootsie.curate.datashop.quantile import Cut, cut_share, cut_threshold
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.scorer import ScorerModel
from tootsie.curate.datashop.training import MODEL_NAME
from tootsie.curate.document_inputs import InputFile, Unreadable, read_numbered
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError

SCORE = "datashop_score"
"""Field of a kept document's metadata: the probability that it is wanted."""
Scores = NDArray[np.float32]


def scores_url(folder: str, index: int) -> str:
    """Return where the scores of a file lie: ``.npy``, float32, one for each line; -1 for a line that is no document."""
    return storage.join(folder, Stage.SCORE.value, f"{index:05d}.npy")


@dataclass(frozen=True)
class ScoreFile:
    """Scores the documents of a file."""

    folder: str

    def __call__(self, task: tuple[int, InputFile]) -> None:
        """Write the scores, unless that is done."""
        index, file = task
        url = scores_url(self.folder, index)
        if storage.exists(url):
            return
        model = ScorerModel.load(storage.join(self.folder, Stage.TRAIN.value, MODEL_NAME))
        documents = (document for _, document in read_numbered(file))
        found = [np.empty(0, np.float32), *score_documents(model, documents)]
        stream = io.BytesIO()
        np.save(stream, np.concatenate(found))
        storage.write_bytes(url, stream.getvalue())


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
    found[missing] = -1
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
    """Write ``score/NNNNN.npy`` for each file of the inputs. Return the books."""
    files = _files(run)
    run_tasks(ScoreFile(run.folder), list(enumerate(files)), run.options)
    counts = np.zeros(10, np.int64)
    unreadable = 0
    for index, file in enumerate(files):
        found = _read(run.folder, index, file)
        unreadable += int((found < 0).sum())
        counts += np.histogram(found[found >= 0], 10, (0, 1))[0]
    return {
        "files": len(files),
        "documents": int(counts.sum()),
        "no document": unreadable,
        "by_tenth_of_probability": counts.tolist(),
    }


class JudgeScore:
    """Keeps the documents that reach the cut."""

    def __init__(self, folder: str, firsts: tuple[int, ...], threshold: float) -> None:
        self._folder = folder
        self._firsts = firsts
        self._threshold = threshold
        self._file = -1
        self._scores: Scores = np.empty(0, np.float32)

    def __call__(self, number: int, document: Document) -> Outcome:
        """Return what becomes of a document."""
        file = bisect.bisect_right(self._firsts, number) - 1
        if file != self._file:
            self._file = file
            content = io.BytesIO(storage.read_bytes(scores_url(self._folder, file)))
            self._scores = np.load(content, allow_pickle=False)
        found = self._scores[number - self._firsts[file]]
        metadata = {**document.metadata, SCORE: round(float(found), 6)}
        if found >= np.float32(self._threshold):
            return Kept(document.model_copy(update={"metadata": metadata}), {}, len(document.text))
        few = {name: metadata[name] for name in ("url", "license", "title", SCORE) if name in metadata}
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

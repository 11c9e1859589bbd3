"""The stage ``train-scorer``: from grades to a scorer, and a report on how good it is on documents it has not seen."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from tootsie.curate.datashop import encoder_scorer, scorer, scorer_report
from tootsie.curate.datashop.answers import grade_of
from tootsie.curate.datashop.asking import RESPONSES, read_rows, result_of, rows_url
from tootsie.curate.datashop.clusters import near_duplicate_clusters
from tootsie.curate.datashop.embeddings import Encoder, Floats
from tootsie.curate.datashop.features import text_bytes
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.spec import Rubric
from tootsie.datasets import storage
from tootsie.datasets.document import CLUSTER
from tootsie.datasets.errors import InputError

MODEL_NAME = "scorer.npz"
LEAST = 5
"""Documents of either class that a scorer needs."""


def train_scorer(run: Run) -> dict[str, Any]:
    """Write ``train-scorer/``: the scorer, ``report.json``, ``report.md`` and its plots. Return the books.

    Raises:
      InputError: too few documents of a class, or too many that the encoder could not do.
      UserError: the encoder's server is gone, or the budget is spent.
    """
    settings = run.spec.scorer
    # Documents of one id are two where their texts are; a document graded for several subjects is one.
    texts: dict[tuple[str, str], bytes] = {}
    clusters: dict[tuple[str, str], str | None] = {}
    grades: dict[tuple[str, str], float] = {}
    for name in _row_files(run):
        for row in read_rows(name):
            if result_of(row)["state"] == "done":
                key = (f"{row.source}/{row.metadata['document']}", row.text)
                texts[key] = text_bytes(row.text)
                clusters[key] = row.metadata.get(CLUSTER)
                grades[key] = max(grades.get(key, 0.0), grade_of(result_of(row)["answer"]))
    names = sorted(texts)
    vectors = np.empty((0, 0), np.float32)
    encoder: Encoder | None = None
    encoder_books: dict[str, Any] = {}
    if run.encoder is not None:
        names, vectors, encoder, encoder_books = _vectors(run, names)
    contents = [texts[name] for name in names]
    grade = np.array([grades[name] for name in names])
    least: float = settings.positive
    if run.spec.annotate.rubric is Rubric.LIKELIHOOD and len(grade):
        least = float(np.quantile(grade, 1 - settings.positive_share, method="higher"))
    truth = (grade >= least).astype(np.int64)
    if min(truth.sum(), len(truth) - truth.sum()) < LEAST:
        counts = ", ".join(
            f"{value}: {count}" for value, count in zip(*np.unique(grade, return_counts=True), strict=True)
        )
        raise InputError(
            f"a scorer needs {LEAST} documents from grade {least:g} on and as many below; the grades are {counts}",
            file=run.path(Stage.ANNOTATE.value),
            field="scorer.positive",
            value=settings.positive,
            remedy="Set another lowest grade, grade a larger sample, or ask a better model",
        )
    cluster = near_duplicate_clusters(contents, [clusters[name] for name in names])
    held = _held_out(cluster, truth, settings.held_out, run.spec.seed)
    learned: scorer.ScorerModel | encoder_scorer.EncoderScorer
    if encoder is not None:
        learned, chosen = encoder_scorer.train(
            vectors[~held],
            truth[~held],
            cluster[~held],
            encoder=encoder,
            balanced=settings.balanced,
            seed=run.spec.seed,
        )
        found = learned.probabilities(vectors[held])
    else:
        learned, chosen = scorer.train(
            [contents[i] for i in np.flatnonzero(~held)],
            truth[~held],
            cluster[~held],
            bits=settings.bits,
            balanced=settings.balanced,
            seed=run.spec.seed,
        )
        found = learned.probabilities([contents[i] for i in np.flatnonzero(held)])
    report = {
        **encoder_books,
        "positive_grade": round(least, 4),
        "documents": len(names),
        "wanted": int(truth.sum()),
        "clusters": len(np.unique(cluster)),
        "trained_on": int((~held).sum()),
        "chosen": chosen,
        "held_out": scorer_report.measure(truth[held], found),
    }
    folder = run.path(Stage.TRAIN.value)
    learned.save(storage.join(folder, MODEL_NAME))
    scorer_report.write(folder, report, truth[held], found)
    return report


def _vectors(
    run: Run, names: list[tuple[str, str]]
) -> tuple[list[tuple[str, str]], Floats, Encoder, dict[str, Any]]:
    """Return the texts that have a vector, these vectors, their encoder, and the books of it."""
    spec = run.encoder
    assert spec is not None
    encoder = Encoder.of(spec)
    failed: Counter[str] = Counter()
    kept, rows, example = [], [], ""
    folder = run.path(RESPONSES, "encoder", "sample")
    with encoder_scorer.fetched(spec, encoder, folder, (text for _, text in names), run.first_wait) as client:
        for name in names:
            found = client.vector(name[1])
            if isinstance(found, np.ndarray):
                kept.append(name)
                rows.append(found)
            else:
                reason, detail = found or ("no text", "")
                failed[reason] += 1
                example = f"{name[0]}: {reason}: {detail}"
    stage = Stage.TRAIN.value
    encoder_scorer.check_failures(
        stage, failed, len(names), example, folder=run.path(stage), max_failures=run.spec.max_failures
    )
    cut = sum(not encoder.divided(text)[1] for _, text in kept)
    books = {
        "encoder": {
            "name": client.encoder.name,
            "revision": client.encoder.revision,
            "served_model": client.encoder.served_model,
            "dimension": client.encoder.dimension,
            "documents_embedded": len(kept),
            "of_these_in_part": cut,
            "failed": dict(sorted(failed.items())),
            "client": dict(sorted(client.counters.items())),
        }
    }
    return kept, np.asarray(rows, np.float32), client.encoder, books


def _row_files(run: Run) -> list[str]:
    lots = len(run.books(Stage.ANNOTATE)["files"])
    return [rows_url(run.folder, Stage.ANNOTATE.value, lot) for lot in range(lots)]


def _held_out(cluster: Any, truth: Any, share: float, seed: int) -> Any:
    """Return which rows only measure: whole clusters, with both classes among them and among the others where that can be."""
    count = max(2, round(1 / share))
    for attempt in range(20):
        held = scorer.folds(cluster, count, seed + attempt) == 0
        if len(np.unique(truth[held])) == 2 and len(np.unique(truth[~held])) == 2:
            return held
    raise InputError(
        "no split by near-duplicates has both classes on both sides",
        field="scorer.held_out",
        value=share,
        remedy="Grade a larger sample",
    )


def read_report(run: Run) -> dict[str, Any]:
    """Return the report of the scorer."""
    found: dict[str, Any] = json.loads(
        storage.read_bytes(run.path(Stage.TRAIN.value, scorer_report.REPORT_NAME))
    )
    return found

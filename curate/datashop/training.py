"""The stage ``train-scorer``: from grades to a scorer, and a report on how good it is on documents it has not seen."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tootsie.curate.datashop import scorer, scorer_report
from tootsie.curate.datashop.answers import grade_of
from tootsie.curate.datashop.asking import read_rows, result_of, rows_url
from tootsie.curate.datashop.clusters import near_duplicate_clusters
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
      InputError: too few documents of a class.
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

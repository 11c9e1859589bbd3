"""How good a scorer is on rows it has not seen: numbers, a page, and three pictures."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from tootsie.curate.datashop.scorer import auc
from tootsie.datasets import storage

REPORT_NAME = "report.json"
PICTURES = ("precision-recall.png", "calibration.png", "scores.png")
CUTS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Probabilities at which precision and recall are told."""
BINS = 10
LEAST_IN_BIN = 10
"""Rows of a bin, about, where there are enough for two."""
Array = Any


def measure(truth: Array, found: Array) -> dict[str, Any]:
    """Return what there is to say of probabilities ``found`` for rows of which ``truth`` says whether they are wanted."""
    cuts = []
    for cut in CUTS:
        kept = found >= cut
        right = int((kept & (truth == 1)).sum())
        cuts.append(
            {
                "threshold": cut,
                "kept": int(kept.sum()),
                "precision": round(right / kept.sum(), 4) if kept.any() else None,
                "recall": round(right / max(1, int(truth.sum())), 4),
            }
        )
    low, high = _interval(truth, found)
    return {
        "documents": len(truth),
        "wanted": int(truth.sum()),
        "auc": round(auc(truth, found), 4),
        "auc_95_percent": [low, high],
        "brier": round(float(((found - truth) ** 2).mean()), 4),
        "brier_of_the_share": round(float(truth.mean() * (1 - truth.mean())), 4),
        "calibration_error": round(calibration_error(truth, found), 4),
        "thresholds": cuts,
        "calibration": [
            {
                "predicted": round(float(found[i].mean()), 4),
                "wanted": round(float(truth[i].mean()), 4),
                "documents": len(i),
            }
            for i in bins(found)
        ],
    }


def bins(found: Array) -> list[Array]:
    """Return the rows of at most ten bins with about equally many each, by probability; equal probabilities stay together."""
    order = np.argsort(found, kind="stable")
    cuts = [0]
    count = min(BINS, max(2, len(order) // LEAST_IN_BIN))
    for number in range(1, count):
        place = number * len(order) // count
        while 0 < place < len(order) and found[order[place]] == found[order[place - 1]]:
            place += 1
        cuts.append(max(place, cuts[-1]))
    return [order[one:other] for one, other in zip(cuts, [*cuts[1:], len(order)], strict=True) if other > one]


def calibration_error(truth: Array, found: Array) -> float:
    """Return the expected calibration error: the mean distance of predicted and real share over the bins, by their rows."""
    return float(
        sum(len(i) * abs(found[i].mean() - truth[i].mean()) for i in bins(found)) / max(1, len(found))
    )


def _interval(truth: Array, found: Array) -> tuple[float, float]:
    """Return bounds of the AUC: the middle 95 % of 200 draws of the rows with replacement."""
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(200):
        rows = random.integers(0, len(truth), len(truth))
        value = auc(truth[rows], found[rows])
        if value == value:
            drawn.append(value)
    low, high = np.quantile(drawn, [0.025, 0.975]) if drawn else (float("nan"), float("nan"))
    return round(float(low), 4), round(float(high), 4)


def write(folder: str, report: dict[str, Any], truth: Array, found: Array) -> None:
    """Write ``report.json``, ``report.md`` and the pictures into a folder."""
    storage.write_bytes(storage.join(folder, REPORT_NAME), (json.dumps(report, indent=1) + "\n").encode())
    storage.write_bytes(storage.join(folder, "report.md"), page(report).encode())
    for name, content in zip(PICTURES, _pictures(truth, found), strict=True):
        storage.write_bytes(storage.join(folder, name), content)


def page(report: dict[str, Any]) -> str:
    """Return the report for people."""
    held = report["held_out"]
    low, high = held["auc_95_percent"]
    lines = [
        "# Scorer",
        "",
        f"Trained on {report['trained_on']:,} graded documents, measured on {held['documents']:,} others "
        f"({held['wanted']:,} of grade {report['positive_grade']} or more); no cluster of near-duplicates is on both sides. The "
        "truth here is what the model says, not what people would.",
        "",
        "| measure | value |",
        "| --- | --- |",
        f"| AUC | {held['auc']} (95 %: {low} to {high}) |",
        f"| Brier score | {held['brier']} (always saying the share: {held['brier_of_the_share']}) |",
        f"| expected calibration error | {held['calibration_error']} |",
        "",
        "| kept from probability | documents | precision | recall |",
        "| --- | --- | --- | --- |",
    ]
    for row in held["thresholds"]:
        precision = "" if row["precision"] is None else row["precision"]
        lines.append(f"| {row['threshold']} | {row['kept']:,} | {precision} | {row['recall']} |")
    lines += ["", *(f"![{name.removesuffix('.png')}]({name})" for name in PICTURES), ""]
    return "\n".join(lines)


def _pictures(truth: Array, found: Array) -> list[bytes]:
    from matplotlib.figure import Figure

    order = np.argsort(-found, kind="stable")
    right = np.cumsum(truth[order])
    last = np.append(found[order][1:] != found[order][:-1], True)
    precision, recall = right / np.arange(1, len(truth) + 1), right / max(1, truth.sum())
    pictures = []
    for kind in range(3):
        figure = Figure(figsize=(4.2, 3.4), layout="constrained")
        axes = figure.subplots()
        if kind == 0:
            axes.plot(recall[last], precision[last], color="C0")
            axes.axhline(truth.mean(), color="0.6", linestyle="--", label="keeping all")
            axes.set(
                xlabel="recall",
                ylabel="precision",
                ylim=(0, 1.03),
                xlim=(0, 1.03),
                title="Precision and recall",
            )
            axes.legend(frameon=False)
        elif kind == 1:
            groups = bins(found)
            axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="perfect")
            axes.plot(
                [found[i].mean() for i in groups],
                [truth[i].mean() for i in groups],
                "o-",
                color="C0",
                clip_on=False,
            )
            axes.set(
                xlabel="predicted probability",
                ylabel="share wanted",
                title="Calibration",
                xlim=(0, 1),
                ylim=(0, 1),
            )
            axes.legend(frameon=False)
        else:
            edges = np.linspace(0, 1, 21).tolist()
            axes.hist(found[truth == 0], edges, color="0.6", label="others")
            axes.hist(found[truth == 1], edges, color="C0", alpha=0.7, label="wanted")
            axes.set(xlabel="predicted probability", ylabel="documents", title="Scores")
            axes.legend(frameon=False)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=120)
        pictures.append(stream.getvalue())
    return pictures

"""How good a scorer is on rows it has not seen: numbers, a page, and four pictures."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from tootsie.curate.datashop.scorer import auc
from tootsie.datasets import storage

REPORT_NAME = "report.json"
PICTURES = ("precision-recall.png", "roc.png", "calibration.png", "scores.png")
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
    encoder = report.get("encoder")
    features = (
        f"vectors of {encoder['name']} ({encoder['dimension']:,} numbers, {encoder['of_these_in_part']:,} documents in part)"
        if encoder
        else "hashed words and pairs of words"
    )
    lines = [
        "# Scorer",
        "",
        f"Trained on {report['trained_on']:,} graded documents, measured on {held['documents']:,} others "
        f"({held['wanted']:,} of grade {report['positive_grade']} or more); no cluster of near-duplicates is on both sides. The "
        "truth here is what the model says, not what people would.",
        "",
        f"Features: {features}.",
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
    """Return the pictures as PNG, in the order of :data:`PICTURES`."""
    from matplotlib.figure import Figure

    pictures = []
    for draw in (_precision_recall, _roc, _calibration, _scores):
        figure = Figure(figsize=(4.2, 3.4), layout="constrained")
        draw(figure.subplots(), truth, found)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=120)
        pictures.append(stream.getvalue())
    return pictures


def _kept(truth: Array, found: Array) -> tuple[Array, Array]:
    """Return how many wanted and how many other rows are kept from each probability on, from the highest to the lowest."""
    order = np.argsort(-found, kind="stable")
    last = np.append(found[order][1:] != found[order][:-1], True)  # rows of one probability go together
    return np.cumsum(truth[order])[last], np.cumsum(1 - truth[order])[last]


def _precision_recall(axes: Any, truth: Array, found: Array) -> None:
    right, wrong = _kept(truth, found)
    precision, recall = right / (right + wrong), right / max(1, truth.sum())
    # Between two cuts there is none: lines between their points would promise what cannot be had.
    axes.plot(
        [0, *recall],
        [precision[0], *precision],
        drawstyle="steps-pre",
        label="by falling score",
        clip_on=False,
    )
    axes.axhline(truth.mean(), color="0.6", linestyle="--", label="keeping all")
    axes.set(xlabel="recall", ylabel="precision", ylim=(0, 1.02), xlim=(0, 1), title="Precision and recall")
    _legend(axes)


def _roc(axes: Any, truth: Array, found: Array) -> None:
    right, wrong = _kept(truth, found)
    axes.plot(
        [0, *wrong / max(1, (1 - truth).sum())],
        [0, *right / max(1, truth.sum())],
        label=f"by falling score, AUC {auc(truth, found):.3f}",
        clip_on=False,
    )
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="by chance")
    axes.set(xlabel="share of others kept", ylabel="recall", xlim=(0, 1), ylim=(0, 1.02), title="ROC")
    _legend(axes)


def _calibration(axes: Any, truth: Array, found: Array) -> None:
    groups = bins(found)
    shares = np.array([truth[i].mean() for i in groups])
    bounds = [wilson(int(truth[i].sum()), len(i)) for i in groups]
    errors = np.clip(
        [(share - low, high - share) for share, (low, high) in zip(shares, bounds, strict=True)], 0, 1
    )
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="perfect")
    axes.errorbar(
        [found[i].mean() for i in groups],
        shares,
        errors.T,
        fmt="o-",
        color="C0",
        ecolor="0.5",
        elinewidth=1,
        capsize=2,
        clip_on=False,
        label="bins of equal size, 95 %",
    )
    axes.set(
        xlabel="predicted probability",
        ylabel="share wanted",
        title="Calibration",
        xlim=(0, 1),
        ylim=(0, 1.02),
    )
    _legend(axes)


def _scores(axes: Any, truth: Array, found: Array) -> None:
    from matplotlib.ticker import MaxNLocator

    edges = np.linspace(0, 1, 21 if len(found) >= 200 else 11).tolist()
    axes.hist(
        [found[truth == 1], found[truth == 0]],
        edges,
        stacked=True,
        color=["C0", "0.75"],
        label=["wanted", "others"],
    )
    axes.set(xlabel="predicted probability", ylabel="documents, stacked", xlim=(0, 1), title="Scores")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(axes)


def _legend(axes: Any) -> None:
    """Write what lines and bars are below the picture, where it hides none of them."""
    axes.figure.legend(
        *axes.get_legend_handles_labels(), frameon=False, ncols=2, fontsize=8, loc="outside lower center"
    )


def wilson(right: int, count: int) -> tuple[float, float]:
    """Return bounds of a share, 95 %: the score interval of Wilson (1927)."""
    z = 1.96
    middle = (right + z * z / 2) / (count + z * z)
    half = z / (count + z * z) * float(np.sqrt(right * (count - right) / count + z * z / 4))
    return max(0.0, middle - half), min(1.0, middle + half)

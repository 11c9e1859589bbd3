"""A calibrated logistic regression on hashed words: what the grades of a sample say of the whole corpus.

Loss: weighted cross-entropy plus ``|w|² / (2 strength)`` over the mean, minimised by L-BFGS. With balanced classes each row
weighs n / (2 n_class). Probabilities are those of the sample, whatever the weights: a second regression of two parameters
(Platt) on scores of rows that the first did not see maps scores to probabilities. Source: Platt, Probabilistic outputs for
support vector machines, 1999.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from tootsie.curate.datashop.features import feature_counts, score_texts
from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError

STRENGTHS = (1.0, 10.0, 100.0)
"""Of the regularisation: the one with the best AUC over the folds is taken."""
FOLDS = 5
Array = NDArray[Any]


def sigmoid(values: Array) -> Array:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))


def auc(truth: Array, scores: Array) -> float:
    """Return the chance that a wanted row scores higher than another, ties counted half; nan where a class is missing."""
    wanted = int(truth.sum())
    others = len(truth) - wanted
    if not wanted or not others:
        return float("nan")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[truth > 0].sum() - wanted * (wanted + 1) / 2) / (wanted * others))


def design(contents: Sequence[bytes], bits: int) -> csr_array:
    """Return the vectors of some texts: float32[n, 2**bits], sparse."""
    offsets, buckets, values = feature_counts(contents, bits)
    return csr_array((values, buckets, offsets), shape=(len(contents), 1 << bits))


def class_weights(truth: Array, balanced: bool) -> Array:
    """Return the weight of each row: all 1, or such that both classes have the same sum."""
    if not balanced:
        return np.ones(len(truth))
    shares = np.array([(truth == 0).mean(), (truth == 1).mean()])
    return np.asarray(0.5 / shares[truth.astype(int)])


def fit_weights(matrix: csr_array, truth: Array, weights: Array, strength: float) -> tuple[Array, float]:
    """Return weights float64[features] and intercept of the regression.

    Args:
      matrix: [n, features], sparse.
      truth: 0 or 1, [n].
      weights: of the rows, [n].
      strength: the larger, the less regularised.
    """
    columns = np.unique(matrix.indices)
    dense = matrix[:, columns].astype(np.float64)
    transposed = dense.T.tocsr()
    signs = 2.0 * truth - 1.0
    total = weights.sum()

    def loss(parameters: Array) -> tuple[float, Array]:
        margin = signs * (dense @ parameters[:-1] + parameters[-1])
        value = (weights * np.logaddexp(0.0, -margin)).sum() / total
        slope = -weights * signs * sigmoid(-margin) / total
        ridge = 1.0 / (strength * len(truth))
        gradient = np.append(transposed @ slope + ridge * parameters[:-1], slope.sum())
        return float(value + 0.5 * ridge * parameters[:-1] @ parameters[:-1]), gradient

    found = minimize(loss, np.zeros(len(columns) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    full = np.zeros(matrix.shape[1])
    full[columns] = found.x[:-1]
    return full, float(found.x[-1])


def calibrate(scores: Array, truth: Array) -> tuple[float, float]:
    """Return slope and intercept of Platt's regression; a slope is never negative, so that the order stays."""
    positive = truth.sum()
    high, low = (positive + 1) / (positive + 2), 1 / (len(truth) - positive + 2)
    target = np.where(truth > 0, high, low)

    def loss(parameters: Array) -> tuple[float, Array]:
        logits = parameters[0] * scores + parameters[1]
        value = (np.logaddexp(0.0, logits) - target * logits).mean()
        slope = (sigmoid(logits) - target) / len(truth)
        return float(value), np.array([slope @ scores, slope.sum()])

    found = minimize(
        loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(1e-6, None), (None, None)]
    )
    return float(found.x[0]), float(found.x[1])


def folds(clusters: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Return a fold for each row, none of which divides a cluster: int64[n]; the largest clusters are dealt first."""
    names, inverse, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = np.zeros(count, np.int64)
    fold_of = np.zeros(len(names), np.int64)
    for name in order:
        fold_of[name] = int(np.argmin(filled))
        filled[fold_of[name]] += sizes[name]
    return np.asarray(fold_of[inverse])


@dataclass(frozen=True)
class ScorerModel:
    """What scores a text."""

    weights: NDArray[np.float32]
    """[2**bits], the calibration's slope multiplied in."""
    intercept: float
    """Calibrated."""
    bits: int

    def probabilities(self, contents: Sequence[bytes]) -> NDArray[np.float32]:
        """Return the probability that each text is wanted: float32[n]."""
        logits = score_texts(contents, self.weights, self.bits).astype(np.float64) + self.intercept
        return np.asarray(sigmoid(logits).astype(np.float32))

    def save(self, url: str) -> None:
        """Write the model as ``.npz``, only the weights that are not 0."""
        used = np.flatnonzero(self.weights).astype(np.int32)
        stream = io.BytesIO()
        np.savez(stream, used=used, weights=self.weights[used], intercept=self.intercept, bits=self.bits)
        storage.write_bytes(url, stream.getvalue())

    @classmethod
    def load(cls, url: str) -> ScorerModel:
        """Read a model.

        Raises:
          ArtefactError: the file is none.
        """
        try:
            with np.load(io.BytesIO(storage.read_bytes(url)), allow_pickle=False) as arrays:
                bits = int(arrays["bits"])
                weights = np.zeros(1 << bits, np.float32)
                weights[arrays["used"]] = arrays["weights"]
                return cls(weights, float(arrays["intercept"]), bits)
        except (ValueError, KeyError, IndexError, OSError) as error:
            raise ArtefactError(
                f"not a scorer: {error}", file=url, remedy="Run the stage train-scorer again"
            ) from None


def train(
    contents: Sequence[bytes],
    truth: Array,
    clusters: NDArray[np.int64],
    *,
    bits: int,
    balanced: bool,
    seed: int,
) -> tuple[ScorerModel, dict[str, Any]]:
    """Fit a scorer to graded texts; everything that is chosen is chosen across folds that divide no cluster.

    Args:
      contents: UTF-8 texts.
      truth: 1 for wanted, else 0: [n], both present.
      clusters: of near-duplicates, [n].
      bits: of the features.
      balanced: see :class:`tootsie.curate.datashop.spec.Scorer`.
      seed: of the folds.

    Returns:
      The scorer, and what was chosen: see :func:`fit`.
    """
    weights, intercept, chosen = fit(design(contents, bits), truth, clusters, balanced=balanced, seed=seed)
    return ScorerModel(weights.astype(np.float32), intercept, bits), chosen


def fit(
    matrix: csr_array, truth: Array, clusters: NDArray[np.int64], *, balanced: bool, seed: int
) -> tuple[Array, float, dict[str, Any]]:
    """Return weights float64[features] and intercept of a calibrated regression, and what was chosen for it.

    Args:
      matrix: [n, features], rows of length 1, about.
      truth: see :func:`train`, as the others.
      clusters: …
      balanced: …
      seed: …

    Returns:
      Weights, intercept, and ``strength`` with the AUC over the folds of each that was tried.
    """
    truth = np.asarray(truth, np.float64)
    fold_of = folds(clusters, FOLDS, seed)
    tried: dict[float, float] = {}
    best: tuple[float, float, Array] | None = None
    for strength in STRENGTHS:
        out = np.zeros(len(truth))
        for fold in range(FOLDS):
            learn = fold_of != fold
            if not learn.any() or learn.all() or len(np.unique(truth[learn])) < 2:
                continue
            weights, intercept = fit_weights(
                matrix[learn], truth[learn], class_weights(truth[learn], balanced), strength
            )
            out[~learn] = matrix[~learn] @ weights + intercept
        tried[strength] = auc(truth, out)
        if best is None or tried[strength] > best[0] + 1e-3:
            best = (tried[strength], strength, out)
    assert best is not None
    weights, intercept = fit_weights(matrix, truth, class_weights(truth, balanced), best[1])
    slope, shift = calibrate(best[2], truth)
    chosen = {
        "strength": best[1],
        "auc_over_folds": {str(key): round(value, 4) for key, value in tried.items()},
    }
    return slope * weights, slope * intercept + shift, chosen

"""Our logits beside those that another program computed from the same weights.

Glossary of shapes:
- R: rows of the reference.
- T: tokens of a row.
- V: vocabulary size.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.train.architecture import Architecture
from tootsie.train.model import Execution, LayerLoop, build

TOLERANCE = 1e-3
"""Largest difference of a logit that is taken for rounding, in standard deviations of the reference's logits."""


class Reference(NamedTuple):
    """What another program computed."""

    input_ids: np.ndarray  # int32 [R, T]; each row one document from its beginning.
    logits: np.ndarray  # float32 [R, T, V].
    file: str  # Where it lies.


class Agreement(NamedTuple):
    """How far two sets of logits are from each other."""

    largest: float  # Largest absolute difference of a logit.
    spread: float  # Standard deviation of the reference's logits.
    same_first: float  # Share of positions whose likeliest token is the same.
    nats: float  # Largest KL divergence of a position's distribution from the reference's, nats.
    positions: int  # Positions compared.

    @property
    def relative(self) -> float:
        """The largest difference in standard deviations."""
        return self.largest / self.spread

    def line(self) -> str:
        """Say it in one line."""
        return (
            f"logits at {self.positions:,} positions: largest difference {self.largest:.3g}, {self.relative:.2g} of their "
            f"standard deviation {self.spread:.3g}; likeliest token the same at {self.same_first:.2%}, "
            f"largest divergence {self.nats:.2g} nats"
        )


def read_reference(url: str) -> Reference:
    """Read ``input_ids`` and ``logits`` from a ``.npz`` or ``.safetensors`` file.

    Raises:
      ArtefactError: not such a file, one of the two is missing, or their shapes do not fit.
    """
    content = storage.read_bytes(url)
    try:
        if url.endswith(".npz"):
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                found = {name: arrays[name] for name in ("input_ids", "logits") if name in arrays}
        else:
            import safetensors.numpy

            found = safetensors.numpy.load(content)
    except Exception as error:  # zipfile's, numpy's and safetensors' own
        raise ArtefactError(f"not a file of reference logits: {error}", file=url) from None
    for name in ("input_ids", "logits"):
        if name not in found:
            raise ArtefactError(
                "an array is missing", file=url, field=name, remedy="Store input_ids and logits"
            )
    ids, logits = found["input_ids"], np.asarray(found["logits"], np.float32)
    if ids.ndim == 1:
        ids = ids[None]
    if logits.ndim == 2:
        logits = logits[None]
    if ids.ndim != 2 or logits.ndim != 3 or logits.shape[:2] != ids.shape or not logits.size:
        raise ArtefactError(
            "logits must be [rows, tokens, vocabulary], input_ids [rows, tokens]",
            file=url,
            value=f"{list(logits.shape)} and {list(ids.shape)}",
        )
    return Reference(np.asarray(ids, np.int32), logits, url)


def compute_logits(params: Any, architecture: Architecture, input_ids: np.ndarray) -> np.ndarray:
    """Return the logits of each position, float32 ``[R, T, V]``, computed in float32, a row at a time."""
    model = build(architecture, Execution("float32", LayerLoop.UNROLLED))

    @jax.jit
    def row_logits(params: Any, tokens: jax.Array) -> jax.Array:
        with jax.default_matmul_precision("highest"):
            output = model.apply(params, tokens, jnp.ones_like(tokens))
            return output.hidden @ output.head.T

    return np.concatenate([np.asarray(row_logits(params, row[None])) for row in input_ids])


def compare(params: Any, architecture: Architecture, reference: Reference) -> Agreement:
    """Return how well the model (unrolled ``params``) agrees with a reference.

    Raises:
      ArtefactError: the reference has another vocabulary.
    """
    ids, theirs, file = reference
    if theirs.shape[-1] != architecture.vocabulary_size or ids.min() < 0 or ids.max() >= theirs.shape[-1]:
        raise ArtefactError(
            f"the model has {architecture.vocabulary_size:,} ids",
            file=file,
            field="logits",
            value=f"{theirs.shape[-1]:,} ids, input_ids from {ids.min()} to {ids.max()}",
        )
    ours = compute_logits(params, architecture, ids)
    return agreement(ours, theirs)


def agreement(ours: np.ndarray, theirs: np.ndarray) -> Agreement:
    """Return how far ``ours`` are from ``theirs``, both ``[R, T, V]``."""
    one, other = _log_softmax(ours), _log_softmax(theirs)
    divergence = (np.exp(other) * (other - one)).sum(axis=-1)
    return Agreement(
        largest=float(np.abs(ours - theirs).max()),
        spread=float(theirs.std()),
        same_first=float(np.mean(ours.argmax(-1) == theirs.argmax(-1))),
        nats=float(divergence.max()),
        positions=int(np.prod(theirs.shape[:2])),
    )


def require_agreement(found: Agreement, tolerance: float, file: str) -> None:
    """Refuse a model that computes something else than the reference.

    Raises:
      ArtefactError: a logit differs by more than ``tolerance`` standard deviations, or is not a number.
    """
    if not found.relative <= tolerance:  # also where it is not a number
        raise ArtefactError(
            f"the model computes something else than the reference: {found.line()}",
            file=file,
            field="logits",
            value=found.relative,
            remedy=f"At most {tolerance:g} standard deviations are taken for rounding (--tolerance)",
        )


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))

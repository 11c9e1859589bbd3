"""A calibrated logistic regression on the vectors of a transformer encoder, which it names: another one's are refused."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tootsie.curate.datashop import scorer
from tootsie.curate.datashop.embeddings import FIELD, Encoder, EncoderClient, Floats
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.spec import EncoderSpec
from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError

TOLERATED = 1
"""Documents that do not fail a stage, whatever the budget."""


@dataclass(frozen=True)
class EncoderScorer:
    """What scores a vector."""

    encoder: Encoder
    """Whose vectors, with their dimension."""
    weights: Floats
    """[dimension], scale and the calibration's slope multiplied in."""
    intercept: float
    """Calibrated."""
    mean: Floats
    """[dimension], of the vectors it was trained on: what a document without a text counts as."""

    def probabilities(self, vectors: Floats) -> Floats:
        """Return the probability that each text is wanted: float32[n] for float32[n, dimension]."""
        logits = vectors.astype(np.float64) @ self.weights.astype(np.float64) + self.intercept
        return np.asarray(scorer.sigmoid(logits).astype(np.float32))

    def save(self, url: str) -> None:
        """Write the model as ``.npz``."""
        stream = io.BytesIO()
        encoder = np.array(json.dumps(asdict(self.encoder)))
        np.savez(stream, encoder=encoder, weights=self.weights, intercept=self.intercept, mean=self.mean)
        storage.write_bytes(url, stream.getvalue())

    @classmethod
    def load(cls, url: str, wanted: Encoder) -> EncoderScorer:
        """Read a model.

        Args:
          url: of its file.
          wanted: the encoder that the spec names.

        Raises:
          ArtefactError: the file is none, or was trained on the vectors of another encoder.
        """
        try:
            with np.load(io.BytesIO(storage.read_bytes(url)), allow_pickle=False) as arrays:
                encoder = Encoder(**json.loads(str(arrays["encoder"])))
                found = cls(encoder, arrays["weights"], float(arrays["intercept"]), arrays["mean"])
                if found.weights.shape != (encoder.dimension,) or found.mean.shape != (encoder.dimension,):
                    raise ValueError(f"weights of the shape {found.weights.shape}")
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ArtefactError(
                f"not a scorer of vectors: {error}", file=url, remedy="Run the stage train-scorer again"
            ) from None
        if encoder.as_specified() != wanted.as_specified():
            raise ArtefactError(
                f"the scorer was trained on the vectors of another encoder: {encoder.as_specified()}",
                file=url,
                field=FIELD,
                value=wanted.as_specified(),
                remedy="Name that encoder again, or run the stage train-scorer with this one",
            )
        return found


def train(
    vectors: Floats,
    truth: NDArray[Any],
    clusters: NDArray[np.int64],
    *,
    encoder: Encoder,
    balanced: bool,
    seed: int,
) -> tuple[EncoderScorer, dict[str, Any]]:
    """Fit a scorer to the vectors of graded texts.

    Each dimension is brought to mean 0 and deviation 1 / sqrt(dimension), so that vectors are about as long as those of hashed
    words and the same regularisation fits; the scale ends up in the weights.

    Args:
      vectors: float32[n, dimension].
      truth: 1 for wanted, else 0: [n], both present.
      clusters: of near-duplicates, [n].
      encoder: whose vectors they are.
      balanced: see :class:`tootsie.curate.datashop.spec.Scorer`.
      seed: of the folds.

    Returns:
      The scorer, and what was chosen: see :func:`tootsie.curate.datashop.scorer.fit`.
    """
    wide = vectors.astype(np.float64)
    mean = wide.mean(axis=0)
    scale = np.maximum(wide.std(axis=0), 1e-9) * np.sqrt(wide.shape[1])
    weights, intercept, chosen = scorer.fit(
        csr_array((wide - mean) / scale), truth, clusters, balanced=balanced, seed=seed
    )
    weights = weights / scale
    model = EncoderScorer(
        encoder, weights.astype(np.float32), float(intercept - weights @ mean), mean.astype(np.float32)
    )
    return model, chosen


@contextlib.contextmanager
def fetched(
    spec: EncoderSpec, encoder: Encoder, folder: str, texts: Iterable[str], first_wait: float
) -> Iterator[EncoderClient]:
    """Give, while the block runs, a client that has the vectors of texts.

    Args:
      spec: the endpoint, with its URL.
      encoder: see :class:`EncoderClient`.
      folder: where vectors are filed.
      texts: to embed.
      first_wait: seconds before a request is tried again.

    Raises:
      UserError: see :meth:`EncoderClient.fetch`.
    """
    cache = ResponseCache(folder)

    async def run() -> EncoderClient:
        async with EncoderClient(spec, encoder, cache, first_wait=first_wait) as client:
            await client.fetch(texts)
            return client

    try:
        yield asyncio.run(run())
    finally:
        cache.close()


def check_failures(
    stage: str, failed: Counter[str], documents: int, example: str, *, folder: str, max_failures: float
) -> None:
    """Stop where too many documents have no vector.

    Raises:
      InputError: more than ``max_failures`` of them.
    """
    if failed.total() > max(TOLERATED, max_failures * documents):
        raise InputError(
            f"{failed.total():,} of {documents:,} documents of the stage {stage} could not be embedded, more than the budget of "
            f"{max_failures:.1%}: "
            + ", ".join(f"{reason} {count:,}" for reason, count in failed.most_common()),
            file=folder,
            field="max_failures",
            value=example,
            remedy="What was answered is kept; the same command asks again for the rest. Where the server refuses texts as too "
            f"long, set a smaller {FIELD}.piece_characters",
        )

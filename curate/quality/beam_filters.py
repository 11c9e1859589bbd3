"""The filters as a Beam transform, for pipelines of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam

from tootsie.curate.corpus import Dropped, Kept
from tootsie.curate.quality.filter_settings import DatatroveFilter, Filter
from tootsie.curate.quality.judge import FilterJudge
from tootsie.datasets.document import Document
from tootsie.datasets.errors import SpecError

KEPT, REJECTED = "kept", "rejected"
"""Outputs of :class:`QualityFilters`."""


class QualityFilters(beam.PTransform):
    """``PCollection[Document]`` → ``kept`` (documents) and ``rejected`` (:class:`.corpus.Dropped`, with the rule).

    Each rule has a counter of its own in the metrics of the pipeline, in the namespace ``quality``, beside ``read`` and
    ``written``.
    """

    def __init__(self, filters: Sequence[Filter]) -> None:
        """Take the filters.

        Args:
          filters: datatrove's; attributes are by file and row, which a PCollection does not know.

        Raises:
          SpecError: one of them looks at attributes.
        """
        super().__init__()
        if not all(isinstance(one, DatatroveFilter) for one in filters):
            raise SpecError(
                "attributes are by file and row",
                field="filters",
                remedy="Use tootsie curate filter, which reads files",
            )
        self._filters = tuple(filters)

    def expand(self, documents: Any) -> Any:
        """Add the step."""
        step = beam.ParDo(_Judge(self._filters)).with_outputs(REJECTED, main=KEPT)
        return documents | "Judge" >> step


class _Judge(beam.DoFn):
    def __init__(self, filters: Sequence[Filter]) -> None:
        self._judge = FilterJudge(filters)

    def process(self, element: Document) -> Iterator[Any]:
        beam.metrics.Metrics.counter("quality", "read").inc()
        outcome = self._judge(0, element)
        if isinstance(outcome, Kept):
            beam.metrics.Metrics.counter("quality", "written").inc()
            yield outcome.document
        else:
            assert isinstance(outcome, Dropped)
            beam.metrics.Metrics.counter("quality", outcome.reason).inc()
            yield beam.pvalue.TaggedOutput(REJECTED, outcome)

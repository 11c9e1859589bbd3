"""Dolma's attribute files: for each document file one of the same name, for each document a line, in the same order.

    {"id": "a", "attributes": {"quality__model__score": [[0, 1200, 0.83]]}}

A value is a list of spans, ``[start, end, score]``, in characters; one that covers the whole text is a score of the document.
Source: the Dolma toolkit's data format, https://github.com/allenai/dolma/blob/main/docs/data-format.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tootsie.curate.quality.filter_settings import Reduction
from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, shorten

Span = tuple[int, int, float]
"""First character, the one behind the last, score."""


def attribute_line(identity: str, attributes: Mapping[str, Sequence[Span]]) -> bytes:
    """Return the line of one document, with its newline."""
    content = {
        "id": identity,
        "attributes": {key: [list(span) for span in spans] for key, spans in attributes.items()},
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class AttributeFile:
    """The attributes of the documents of one file, read forward."""

    def __init__(self, url: str) -> None:
        """Open a file.

        Raises:
          ArtefactError: there is none.
        """
        if not storage.exists(url):
            raise ArtefactError(
                "there is no attribute file for a document file",
                file=url,
                remedy="Write the attributes of all documents; one that has none is not kept for that",
            )
        self._url = url
        self._lines: Iterator[bytes] = storage.read_lines(url)
        self._next = 0

    def of(self, row: int, identity: str) -> dict[str, Any]:
        """Return the attributes of the document in a row; rows are asked for in ascending order.

        Raises:
          ArtefactError: there is no such row, or it is of another document.
        """
        line = None
        while self._next <= row:
            line = next(self._lines, None)
            if line is None:
                raise self._wrong("the document has no attributes: the file ends before it", row, identity)
            self._next += 1
        assert line is not None, "rows are asked for once, in order"
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            raise self._wrong(
                "the line is no JSON", row, shorten(line.decode("utf-8", "replace"), 80)
            ) from None
        if not isinstance(content, dict) or not isinstance(content.get("attributes"), dict):
            raise self._wrong("the line has no attributes", row, shorten(line.decode("utf-8", "replace"), 80))
        if content.get("id") != identity:
            raise self._wrong(
                f"the attributes are of another document than {identity!r}", row, content.get("id")
            )
        return dict(content["attributes"])

    def score(self, row: int, identity: str, key: str, reduce: Reduction, characters: int) -> float:
        """Return a score of the document in a row, whose text has so many characters; see :meth:`of`.

        Raises:
          ArtefactError: it has none, it is no finite number, or it is that of a longer text.
        """
        spans: Any = self.of(row, identity).get(key)
        score = score_of(spans, key, reduce, self._url, row)
        last = max(span[1] for span in spans)
        if last > characters:
            raise self._wrong(
                f"a span of {key} ends behind the {characters:,} characters of the text, so it is of another one",
                row,
                last,
            )
        return score

    def _wrong(self, problem: str, row: int, value: Any) -> ArtefactError:
        return ArtefactError(
            problem, file=self._url, field=f"row {row}", value=value, remedy="Write the attributes again"
        )


def score_of(spans: Any, key: str, reduce: Reduction, url: str, row: int) -> float:
    """Return the score that spans give a document.

    Raises:
      ArtefactError: there are none, they are no spans with finite scores, or there are several and nothing says what to make
        of them.
    """

    def wrong(problem: str) -> ArtefactError:
        return ArtefactError(
            problem,
            file=url,
            field=f"row {row}, {key}",
            value=spans,
            remedy="A document without a score is not kept for that",
        )

    if not spans:
        raise wrong("the document has no such attribute")
    if not isinstance(spans, list) or not all(_is_span(span) for span in spans):
        raise wrong("not a list of spans [start, end, score]")
    scores = [float(span[2]) for span in spans]
    if reduce is Reduction.MINIMUM:
        return min(scores)
    if reduce is Reduction.MAXIMUM:
        return max(scores)
    if reduce is Reduction.MEAN:
        lengths = [span[1] - span[0] for span in spans]
        total = sum(lengths)
        weighted = sum(length * score for length, score in zip(lengths, scores, strict=True))
        return weighted / total if total else sum(scores) / len(scores)
    if len(spans) > 1:
        raise wrong(
            f"the document has {len(spans)} spans; reduce says which score they make (min, max or mean)"
        )
    return scores[0]


def _is_span(span: Any) -> bool:
    return (
        isinstance(span, list)
        and len(span) == 3
        and all(isinstance(one, int) and not isinstance(one, bool) for one in span[:2])
        and 0 <= span[0] <= span[1]
        and isinstance(span[2], int | float)
        and not isinstance(span[2], bool)
        and math.isfinite(span[2])
    )

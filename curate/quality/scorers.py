"""What gives a document scores that are written down as attributes: filters, the language, a trained model.

Every scorer has a score for every document, so that a bound on it always finds one.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tootsie.curate import language
from tootsie.curate.quality.attributes import Span
from tootsie.curate.quality.filter_settings import DATATROVE, DatatroveFilter, check_packages, parse_filters
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import SpecError

LANGUAGE, MODEL = "language", "model"
"""Scorers besides the filters."""
_KEY = re.compile(r"[A-Za-z0-9.-]+(?:_[A-Za-z0-9.-]+)*")
"""A part of a key: two underscores are between parts."""

Score = Callable[[Document], dict[str, float]]
"""Gives a document scores, by label."""


@dataclass(frozen=True)
class Scorer:
    """One scorer."""

    name: str
    """Middle part of its keys."""
    labels: tuple[str, ...]
    """Last parts of its keys: each document gets all of them."""
    content: dict[str, Any] = field(default_factory=dict)
    """What decides about the scores, as JSON values."""
    url: str = ""
    """Of a model's file."""
    filter: DatatroveFilter | None = None

    def make(self) -> Score:
        """Return what scores, made where it is needed."""
        if self.filter is not None:
            return _filter_score(self.filter)
        if self.url:
            return _model_score(self.url)
        return lambda document: language.probabilities(document.text, self.labels)


def parse_scorers(text: str) -> tuple[Scorer, ...]:
    """Return the scorers that a list with semicolons names: ``language:en,de; model:scorer.npz; gopher_quality; filters.yaml``.

    Raises:
      SpecError: an unknown scorer, two of one name, a model that is not there.
    """
    found: list[Scorer] = []
    for part in text.split(";"):
        name, _, rest = part.strip().partition(":")
        if name == LANGUAGE:
            found.append(_language(rest))
        elif name == MODEL:
            found.append(_model(rest.strip()))
        else:
            found += map(_filter, _datatrove(part.strip()))
    names = [scorer.name for scorer in found]
    for scorer in found:
        if names.count(scorer.name) > 1:
            raise SpecError("two scorers have this name", field="--scorers", value=scorer.name)
    return tuple(found)


def _language(text: str) -> Scorer:
    codes = tuple(dict.fromkeys(code.strip() for code in text.split(",")))
    version = language.identifier_version("--scorers")
    unknown = sorted(set(codes) - language.known_languages())
    if unknown:
        raise SpecError(
            "no codes of languages that the identifier knows",
            field="--scorers",
            value=",".join(unknown),
            remedy="language:en, or language:en,de: the probability of each is written",
        )
    return Scorer(LANGUAGE, codes, {"scorer": LANGUAGE, "identifier": version, "languages": list(codes)})


def _model(url: str) -> Scorer:
    if not url or not storage.exists(url):
        raise SpecError("no such model", field="--scorers", value=url, remedy="model:RUN/train/scorer.npz")
    name = url.rsplit("/", 1)[-1].split(".")[0]
    if not _KEY.fullmatch(name):
        raise SpecError("not a name for a key of attributes", field="--scorers", value=name)
    return Scorer(name, ("score",), {"scorer": MODEL, "name": name, "sha256": storage.sha256(url)}, url)


def _datatrove(text: str) -> list[DatatroveFilter]:
    found = parse_filters(text)
    check_packages(found)
    filters = [one for one in found if isinstance(one, DatatroveFilter)]
    if len(filters) < len(found):
        raise SpecError("scores from scores are not made", field="--scorers", value=text)
    return filters


def _filter(one: DatatroveFilter) -> Scorer:
    version = importlib.metadata.version("datatrove")
    return Scorer(one.name, ("keep",), {**one.content(), "datatrove": version}, filter=one)


def _filter_score(settings: DatatroveFilter) -> Score:
    """Return what gives 1 to a document that a filter keeps, whatever it would take out of it, and 0 to the others."""
    from tootsie.curate.corpus import Dropped, Kept
    from tootsie.curate.quality.judge import FilterJudge

    judge = FilterJudge([settings])

    def score(document: Document) -> dict[str, float]:
        outcome = judge(0, document)
        if isinstance(outcome, Dropped) and outcome.failure:
            raise ValueError(outcome.detail)
        return {"keep": float(isinstance(outcome, Kept))}

    return score


def _model_score(url: str) -> Score:
    from tootsie.curate.datashop.features import text_bytes
    from tootsie.curate.datashop.scorer import ScorerModel

    model = ScorerModel.load(url)
    return lambda document: {"score": float(model.probabilities([text_bytes(document.text)])[0])}


def attributes_of(
    document: Document, experiment: str, scorers: Sequence[tuple[Scorer, Score]]
) -> tuple[dict[str, list[Span]], list[str]]:
    """Return the attributes of a document, and what went wrong with the scorers whose attributes it therefore lacks.

    Args:
      document: the document.
      experiment: first part of the keys.
      scorers: scorers with what they make.
    """
    found: dict[str, list[Span]] = {}
    problems: list[str] = []
    for scorer, score in scorers:
        try:
            scores = score(document)
        except Exception as error:
            problems.append(f"{scorer.name}: {type(error).__name__}: {error}")
            continue
        for label in scorer.labels:
            found[f"{experiment}__{scorer.name}__{label}"] = [(0, len(document.text), scores[label])]
    return found, problems


def check_experiment(name: str) -> str:
    """Return the name of a folder of attributes, which is the first part of their keys.

    Raises:
      SpecError: it cannot be one.
    """
    if not _KEY.fullmatch(name):
        raise SpecError(
            "the name of the output folder is the first part of the keys: letters, digits, '.', '-' and single '_'",
            field="OUT",
            value=name,
        )
    return name


KNOWN = (*sorted(DATATROVE), f"{LANGUAGE}:CODES", f"{MODEL}:FILE")
"""Scorers, as ``--help`` lists them."""

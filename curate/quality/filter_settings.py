"""Which filters a document goes through, in which order, with which thresholds."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tootsie.curate.quality.threshold_values import expected
from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import read_yaml

DATATROVE = {
    "c4_badwords": "C4BadWordsFilter",
    "c4_paragraph": "C4ParagraphFilter",
    "c4_quality": "C4QualityFilter",
    "fineweb_quality": "FineWebQualityFilter",
    "gopher_quality": "GopherQualityFilter",
    "gopher_repetition": "GopherRepetitionFilter",
    "url": "URLFilter",
}
"""Our names for datatrove's classes; their arguments are the thresholds, by their own names."""
ATTRIBUTE = "attribute"
"""Name of the filter that looks at scores in attribute files."""
PACKAGES = {
    "c4_quality": ("spacy",),
    "fineweb_quality": ("spacy",),
    "gopher_quality": ("spacy",),
    "gopher_repetition": ("spacy",),
    "url": ("tldextract", "ahocorasick"),
}
"""What a filter needs besides datatrove: the words of English and many other languages are spaCy's."""
LISTS = "lists"
"""Argument of ``c4_badwords`` that is ours: the folder of its lists of words."""
_NOT_THRESHOLDS = ("self", "exclusion_writer", "kwargs")


class Reduction(StrEnum):
    """What the score of a document is that has several spans."""

    WHOLE = "whole"
    """There must be one span only."""
    MINIMUM = "min"
    MAXIMUM = "max"
    MEAN = "mean"
    """Weighted by the characters of the spans."""


@dataclass(frozen=True)
class DatatroveFilter:
    """One of datatrove's filters."""

    name: str
    """Key of :data:`DATATROVE`."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that differ from its defaults."""

    def content(self) -> dict[str, Any]:
        """Return what it does, every threshold included, as JSON values."""
        values = {**_defaults(self.name), **self.parameters}
        if LISTS in values:  # what is in them counts, not where they are
            folder = str(values[LISTS])
            names = storage.list_files(folder)
            values[LISTS] = {name: storage.sha256(storage.join(folder, name)) for name in sorted(names)}
        return {"filter": self.name, **{key: _plain(value) for key, value in values.items()}}


@dataclass(frozen=True)
class AttributeFilter:
    """A bound on a score of Dolma's attribute files."""

    folder: str
    """URL of the attribute files, which have the names of the document files."""
    key: str
    """Of the attribute, as in ``experiment__tagger__score``."""
    minimum: float | None = None
    """Lowest score that is kept."""
    maximum: float | None = None
    """Highest score that is kept."""
    reduce: Reduction = Reduction.WHOLE

    @property
    def name(self) -> str:
        """What its drops are counted under."""
        return self.key

    def content(self) -> dict[str, Any]:
        """Return what it does as JSON values; the files themselves are named by their checksums elsewhere."""
        return {
            "filter": ATTRIBUTE,
            "key": self.key,
            "min": self.minimum,
            "max": self.maximum,
            "reduce": self.reduce.value,
        }


Filter = DatatroveFilter | AttributeFilter


def parse_filters(text: str) -> tuple[Filter, ...]:
    """Return the filters that a command line names: ``gopher_quality,url``, or a YAML file of a list of them.

    Raises:
      SpecError: an unknown filter or threshold, or a value out of range.
    """
    if not text.endswith((".yaml", ".yml")):
        return tuple(_filter(name.strip(), {}, "--filters") for name in text.split(","))
    content = read_yaml(text).content
    entries = content.get("filters") if isinstance(content, dict) and set(content) == {"filters"} else None
    if not isinstance(entries, list) or not entries:
        raise SpecError(
            "one key is needed, filters, with a list", file=text, remedy="filters: [gopher_quality]"
        )
    return tuple(_entry(entry, f"filters[{number}]", text) for number, entry in enumerate(entries))


def _entry(entry: Any, where: str, file: str) -> Filter:
    if isinstance(entry, str):
        return _filter(entry, {}, where, file)
    if isinstance(entry, dict) and len(entry) == 1:
        ((name, parameters),) = entry.items()
        if isinstance(name, str) and isinstance(parameters, dict | None):
            return _filter(name, parameters or {}, where, file)
    raise SpecError(
        "a filter is its name, or its name with its thresholds",
        file=file,
        field=where,
        value=entry,
        remedy="gopher_quality, or gopher_quality: {min_doc_words: 100}",
    )


def _filter(name: str, parameters: Mapping[str, Any], where: str, file: str | None = None) -> Filter:
    if name == ATTRIBUTE:
        return _attribute(parameters, where, file)
    if name not in DATATROVE:
        known = ", ".join([*sorted(DATATROVE), ATTRIBUTE])
        raise SpecError("unknown filter", file=file, field=where, value=name, remedy=f"Known: {known}")
    known_parameters = _defaults(name)
    for key in parameters:
        if key not in known_parameters:
            raise SpecError(
                f"unknown threshold of {name}",
                file=file,
                field=f"{where}.{key}",
                remedy=f"Known: {', '.join(known_parameters) or 'none'}",
            )
        wanted = None if key == LISTS else expected(load_class(name), key, parameters[key])
        if wanted:
            raise SpecError(f"must be {wanted}", file=file, field=f"{where}.{key}", value=parameters[key])
    if LISTS in known_parameters:
        parameters = {**parameters, LISTS: _lists(parameters.get(LISTS), where, file)}
    return DatatroveFilter(name, dict(parameters))


def _lists(folder: Any, where: str, file: str | None) -> str:
    """Return the folder of the lists of bad words."""
    remedy = (
        "Fetch github.com/LDNOOBW/List-of-Dirty-Naughty-Obscene-and-Otherwise-Bad-Words, a file for each language, named by its "
        "code, and write in a YAML file: filters: [c4_badwords: {lists: FOLDER}]"
    )
    field = f"{where}.{LISTS}"
    if not isinstance(folder, str) or not folder:
        raise SpecError(
            "c4_badwords needs a folder with lists of words, which are not in any package",
            file=file,
            field=field,
            value=folder,
            remedy=remedy,
        )
    url = storage.resolve(_base(file), folder)
    if not storage.list_files(url):
        raise SpecError("no file is in this folder", file=file, field=field, value=folder, remedy=remedy)
    return url


def _base(file: str | None) -> str:
    """Return the folder that paths in a file are relative to."""
    return file.rsplit("/", 1)[0] if file and "/" in file else ""


def _attribute(parameters: Mapping[str, Any], where: str, file: str | None) -> AttributeFilter:
    def wrong(problem: str, key: str) -> SpecError:
        remedy = "attribute: {folder: attributes/quality, key: quality__model__score, min: 0.5}"
        return SpecError(problem, file=file, field=f"{where}.{key}", value=parameters.get(key), remedy=remedy)

    for key in parameters:
        if key not in ("folder", "key", "min", "max", "reduce"):
            raise wrong("unknown key", str(key))
    for key in ("folder", "key"):
        if not isinstance(parameters.get(key), str) or not parameters[key]:
            raise wrong("a text is needed", key)
    bounds: list[float | None] = []
    for key in ("min", "max"):
        value = parameters.get(key)
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if value is not None and not number:
            raise wrong("a number is needed", key)
        bounds.append(None if value is None else float(value))
    if bounds == [None, None]:
        raise wrong("a bound is needed, min or max", "min")
    reduce = parameters.get("reduce", Reduction.WHOLE.value)
    if reduce not in list(Reduction):
        raise wrong(f"must be one of {', '.join(Reduction)}", "reduce")
    folder = parameters["folder"]
    return AttributeFilter(
        storage.resolve(_base(file), folder), parameters["key"], bounds[0], bounds[1], Reduction(reduce)
    )


def load_class(name: str) -> Any:
    """Return datatrove's class of a filter."""
    return getattr(importlib.import_module("datatrove.pipeline.filters"), DATATROVE[name])


@functools.cache
def _defaults(name: str) -> dict[str, Any]:
    parameters = inspect.signature(load_class(name).__init__).parameters
    defaults = {key: one.default for key, one in parameters.items() if key not in _NOT_THRESHOLDS}
    return {**defaults, LISTS: None} if name == "c4_badwords" else defaults


def _plain(value: Any) -> Any:
    """Return a threshold as JSON values."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


def check_packages(filters: Sequence[Filter]) -> None:
    """Raise where a filter needs a package that is not installed.

    Raises:
      SpecError: names the filter and the extra that brings it.
    """
    for name, package in packages_of(filters):
        if importlib.util.find_spec(package) is None:
            raise SpecError(
                f"this filter needs the package {package}",
                field="--filters",
                value=name,
                remedy="pip install 'tootsie[filters]'",
            )


def packages_of(filters: Sequence[Filter]) -> list[tuple[str, str]]:
    """Return each package that a filter needs besides datatrove, with the filter's name."""
    return [
        (one.name, package)
        for one in filters
        if isinstance(one, DatatroveFilter)
        for package in PACKAGES.get(one.name, ())
    ]


RULE = re.compile(r"[^A-Za-z0-9_<>. ]+")
"""What a rule's name may not have in it: it is a key of the books."""

"""Validate parsed YAML with pydantic; what is wrong is said in one sentence with the line, the value and the remedy."""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from tootsie.datasets.errors import SpecError, shorten
from tootsie.datasets.yaml_source import Path, YamlSource

Model = TypeVar("Model", bound=BaseModel)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a remedy that names the known key nearest to an unknown one, or all known ones."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.55)
    if close:
        return f"Did you mean {close[0]!r}?"
    shown = ", ".join(known[:30]) + (", …" if len(known) > 30 else "")
    return f"Known: {shown}"


def validate(
    model: type[Model],
    source: YamlSource,
    *,
    what: str,
    remedies: Mapping[str, str] = types.MappingProxyType({}),
    see: str = "",
) -> Model:
    """Return the content of a YAML file as a model.

    Args:
      model: pydantic model of the whole file.
      source: the parsed file.
      what: what the file is, for messages ("a spec").
      remedies: what to write where a key is missing, by key.
      see: where the keys are described.

    Raises:
      SpecError: an unknown key (the nearest known one is named), a missing one, or a value that cannot be used.
    """
    if not isinstance(source.content, dict):
        raise source.error(
            f"{what} is a mapping of keys to values", remedy=f"Start with 'name: …'; {see}".rstrip("; ")
        )
    try:
        return model.model_validate(source.content)
    except ValidationError as error:
        raise _explain(error, model, source, remedies, see) from None


def _explain(
    error: ValidationError, model: type[BaseModel], source: YamlSource, remedies: Mapping[str, str], see: str
) -> SpecError:
    """Turn the first fault that pydantic found into one sentence."""
    faults = error.errors()
    # An unknown key is usually a typo, and the cause of the other faults.
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    path = _yaml_path(first["loc"], source.content)
    kind, value = first["type"], first["input"]
    shown = value if isinstance(value, str | int | float | bool) or value is None else _compact(value)
    if kind == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        return source.error(f"unknown key {path[-1]!r}", path, remedy=nearest(str(path[-1]), known))
    if kind == "missing":
        return source.error(
            "this key is required", path, remedy=remedies.get(str(path[-1]), see or "It has no default")
        )
    message = first["msg"].removeprefix("Value error, ")
    remedy = remedies.get(str(path[-1]) if path else "", _ADVICE.get(kind) or see or None)
    if kind == "value_error":
        return source.error(message, path, shown, see or None)
    message = message[:1].lower() + message[1:]
    if kind in ("model_type", "dict_type"):
        message = "keys and values are needed here"
    if kind == "string_pattern_mismatch":
        pattern = str(first.get("ctx", {}).get("pattern", ""))
        marks = " ".join(mark for mark in "_.+-/" if re.search(pattern, f"a{mark}a"))
        message = f"a name has letters, digits and {marks} only"
    bounds = first.get("ctx", {})
    if kind in _BOUNDS:
        remedy = _BOUNDS[kind].format(*bounds.values())
    if kind == "enum" and isinstance(value, str):
        remedy = nearest(value, [name.strip("'") for name in re.split(", | or ", str(bounds["expected"]))])
    return source.error(message, path, "null" if value is None else shown, remedy)


_BOUNDS = {
    "greater_than": "Write a number above {0}",
    "greater_than_equal": "Write {0} or a number above it",
    "less_than": "Write a number below {0}",
    "less_than_equal": "Write {0} or a number below it",
}
_ADVICE = {
    "int_type": "Write a whole number, without quotes or unit",
    "int_from_float": "Write a whole number",
    "float_type": "Write a number, without quotes or unit",
    "finite_number": "Write a finite number",
    "string_type": "Write text; quote it where it looks like a number",
    "bool_type": "Write true or false",
    "model_type": "Write them indented below, or in braces: {key: value}",
    "dict_type": "Write them indented below, or in braces: {key: value}",
    "list_type": "Write a list: one '- …' a line, or [a, b]",
    "too_short": "Write at least one",
    "string_too_short": "Write something, or leave the key out",
    "string_too_long": "Make it shorter",
    "string_pattern_mismatch": "Rename it",
}


def _compact(value: Any) -> str:
    """Return nested data on one short line, as YAML would have it in braces."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10**6)
    return shorten(" ".join(text.split()), 150)


def _yaml_path(location: tuple[int | str, ...], content: Any) -> Path:
    """Return the part of a pydantic location that exists in the file, without the names of unions and keys."""
    path: list[str | int] = []
    for index, part in enumerate(location):
        if part == "[key]":
            continue
        if isinstance(content, dict) and isinstance(part, str):
            path.append(part)
            if part not in content:
                # Either a missing key, the last part; or the name of a union member.
                if index < len(location) - 1:
                    path.pop()
                    continue
                break
            content = content[part]
        elif isinstance(content, list) and isinstance(part, int) and part < len(content):
            path.append(part)
            content = content[part]
    return tuple(path)


def _keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """Return the keys that may stand at a path."""
    annotation: Any = model
    for part in path:
        annotation = _inner(annotation, part)
        if annotation is None:
            return []
    inner = _model(annotation)
    return [] if inner is None else [field.alias or name for name, field in inner.model_fields.items()]


def _inner(annotation: Any, part: str | int) -> Any:
    for option in _options(annotation):
        if isinstance(option, type) and issubclass(option, BaseModel):
            for name, field in option.model_fields.items():
                if part == (field.alias or name):
                    return field.annotation
        elif typing.get_origin(option) is dict:
            return typing.get_args(option)[1]
        elif typing.get_origin(option) is list:
            return typing.get_args(option)[0]
    return None


def _model(annotation: Any) -> type[BaseModel] | None:
    for option in _options(annotation):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return option
    return None


def _options(annotation: Any) -> tuple[Any, ...]:
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return typing.get_args(annotation)
    return (annotation,)

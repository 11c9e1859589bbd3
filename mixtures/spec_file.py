"""Read a spec file; what is wrong with it is said in one sentence with the line, the value and the remedy."""

from __future__ import annotations

import types
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import Path, YamlSource, parse_yaml, read_yaml
from tootsie.mixtures.spec import Spec
from tootsie.mixtures.spec_references import check_names, nearest


def load_spec(url: str) -> tuple[Spec, YamlSource]:
    """Read and check a spec file.

    Raises:
      SpecError: see :func:`parse_spec`.
      InputError: there is no such file.
    """
    return check_spec(read_yaml(url))


def parse_spec(text: str | bytes, url: str = "spec.yaml") -> tuple[Spec, YamlSource]:
    """Check a spec given as text.

    Raises:
      SpecError: it is not YAML, has an unknown key (the nearest known one is named), a value that cannot be used, or
        names what is not there. The message has the line.
    """
    return check_spec(parse_yaml(text.encode() if isinstance(text, str) else text, url))


def check_spec(source: YamlSource) -> tuple[Spec, YamlSource]:
    """Validate parsed YAML; see :func:`parse_spec`."""
    if not isinstance(source.content, dict):
        raise source.error(
            "a spec is a mapping of keys to values", remedy="Start with 'name: …'; see docs/mixtures.md"
        )
    try:
        spec = Spec.model_validate(source.content)
    except ValidationError as error:
        raise _explain(error, source) from None
    check_names(spec, source)
    return spec, source


def _explain(error: ValidationError, source: YamlSource) -> SpecError:
    """Turn the first fault that pydantic found into one sentence."""
    faults = error.errors()
    # An unknown key is usually a typo, and the cause of the other faults.
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    path = _yaml_path(first["loc"], source.content)
    kind, value = first["type"], first["input"]
    shown = value if isinstance(value, str | int | float | bool) or value is None else None
    if kind == "extra_forbidden":
        known = _keys_at(tuple(part for part in path[:-1]))
        return source.error(f"unknown key {path[-1]!r}", path, remedy=nearest(str(path[-1]), known))
    if kind == "missing":
        return source.error("this key is required", path, remedy=_required(str(path[-1])))
    message = first["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return source.error(message, path, shown)
    message = message[:1].lower() + message[1:]
    if kind in ("model_type", "dict_type"):
        message = "keys and values are needed here"
    if kind == "string_pattern_mismatch":
        message = "a name has letters, digits and _ . + - / only"
    return source.error(message, path, "null" if value is None else shown)


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


def _required(key: str) -> str:
    return {
        "seed": "Write for example 'seed: 17'",
        "sequence_length": "Write for example 'sequence_length: 4096'",
        "name": "Give it a name of letters, digits and _ . + -",
        "cache": "Give the URL of a token cache made by tootsie tokenize",
    }.get(key, "See docs/mixtures.md for an example")


def _keys_at(path: Path) -> list[str]:
    """Return the keys that may stand at a path."""
    annotation: Any = Spec
    for part in path:
        annotation = _inner(annotation, part)
        if annotation is None:
            return []
    model = _model(annotation)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


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

"""What a search for elements asks of a name, an attribute or a text. Source: Beautiful Soup 4.13, "Kinds of filters"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Criterion = Any
"""Text, a list, ``True``, a compiled pattern or a function."""


def is_wanted(element: Any, name: Criterion, attrs: Any, attributes: Mapping[str, Criterion]) -> bool:
    """Return whether ``element`` meets all criteria; for words as value, one of them or all together do."""
    if name is not None and not (name(element) if _is_function(name) else meets(element.name, name)):
        return False
    wanted = dict(attributes)
    if "class_" in wanted:
        wanted["class"] = wanted.pop("class_")
    if isinstance(attrs, Mapping):
        wanted.update(attrs)
    elif attrs is not None:
        wanted["class"] = attrs
    for key, criterion in wanted.items():
        value = element.get(key)
        if isinstance(value, list):
            whole = " ".join(value)
            if not (meets(whole, criterion) or any(meets(word, criterion) for word in value)):
                return False
        elif not meets(value, criterion):
            return False
    return True


def _is_function(criterion: Criterion) -> bool:
    return callable(criterion) and not hasattr(criterion, "search")


def meets(value: str | None, criterion: Criterion) -> bool:
    """Return whether ``value`` (``None``: there is none) is what ``criterion`` asks for."""
    if criterion is None or criterion is False:
        return value is None
    if criterion is True:
        return value is not None
    if hasattr(criterion, "search"):
        return value is not None and criterion.search(value) is not None
    if _is_function(criterion):
        return bool(criterion(value))
    if isinstance(criterion, list | tuple | set | frozenset):
        return any(meets(value, entry) for entry in criterion)
    return value == criterion

"""The methods of a :class:`.MarkdownConverter` that are hooks, and how each wants to be called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tootsie.curate.markdownify.element import Element

Hook = Callable[[Any, Element, str, set[str]], Any]
"""From a converter, an element, the text in it and the names around it to Markdown."""


def hooks_of(converter: Any) -> frozenset[str]:
    """Return the names of the methods that ``converter`` has beside or instead of the base class's."""
    kind: Any = type(converter)
    return hooks_of_class(kind)


@functools.lru_cache(maxsize=64)
def hooks_of_class(converter: Any) -> frozenset[str]:
    """Return the names of the ``convert_*`` methods, and ``escape``, that a class has beside or instead of the base's."""
    base = next(kind for kind in reversed(converter.__mro__) if "convert_soup" in vars(kind))
    return frozenset(
        name
        for name in dir(converter)
        if (
            name.startswith(("convert_", "process_", "get_conv_fn"))
            or name in ("escape", "should_convert_tag")
        )
        and name != "convert_soup"
        and getattr(converter, name) is not getattr(base, name, None)
    )


def method_of(kind: type, name: str) -> Callable[..., Any] | None:
    """Return a method of a class as a function of a converter and the rest, also where it needs no converter."""
    method: Callable[..., Any] | None = getattr(kind, name, None)
    if method is None or not isinstance(inspect.getattr_static(kind, name), staticmethod | classmethod):
        return method
    alone = method

    @functools.wraps(alone)
    def call(converter: Any, *arguments: Any, **named: Any) -> Any:
        return alone(*arguments, **named)

    return call


def bound(method: Callable[..., Any], *first: Any) -> Hook:
    """Return a method of a class as it wants to be called: with ``parent_tags``, the older ``convert_as_inline``, or neither."""
    parameters = inspect.signature(method).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    if "convert_as_inline" in parameters and "parent_tags" not in parameters:
        return lambda own, el, text, tags: method(own, *first, el, text, convert_as_inline="_inline" in tags)
    if "parent_tags" in parameters or inspect.Parameter.VAR_KEYWORD in kinds:
        return lambda own, el, text, tags: method(own, *first, el, text, parent_tags=tags)
    if inspect.Parameter.VAR_POSITIONAL in kinds or len(parameters) > 3 + len(first):
        return lambda own, el, text, tags: method(own, *first, el, text, tags)
    return lambda own, el, text, tags: method(own, *first, el, text)


def escape_hook(method: Callable[..., Any]) -> Callable[[str, set[str]], str]:
    """Return a converter's own ``escape``, with or without the names around the text, as one function."""
    parameters = inspect.signature(method).parameters
    if len(parameters) > 1:
        return lambda text, tags: method(text, tags) or ""
    return lambda text, tags: method(text) or ""

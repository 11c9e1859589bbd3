"""The filters of chat templates, each keeping track of where text comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import filters as jinja
from jinja2.runtime import Undefined

from tootsie.tokenize.chat.budget import ChatTemplateError
from tootsie.tokenize.chat.tracked import Tracked, concatenate, plain_text, tracked

WIDEST = 256
"""Characters that an indent or a separator may have."""


def _text(value: Any) -> Tracked:
    return tracked(plain_text(value))


def _join(context: Any, value: Iterable[Any], d: Any = "", attribute: Any = None) -> Tracked:
    separator = _text(d)
    if len(separator) > WIDEST:
        raise ChatTemplateError(f"a separator of more than {WIDEST} characters")
    if attribute is not None:
        value = (context.environment.getitem(item, attribute) for item in value)
    return separator.join(_text(item) for item in value)


def _concatenate(context: Any, value: Iterable[Any]) -> Tracked:
    return concatenate([plain_text(item) for item in value])


def _indent(context: Any, s: Any, width: Any = 4, first: bool = False, blank: bool = False) -> Tracked:
    prefix = " " * _small(width) if isinstance(width, int) else str(width)
    if len(prefix) > WIDEST:
        raise ChatTemplateError(f"an indent of more than {WIDEST}")
    lines = _text(s).split("\n")
    context.environment.budget.charge_product(len(lines), len(prefix))
    parts: list[str] = []
    for number, line in enumerate(lines):
        indented = (number > 0 or first) and bool(line or blank)
        parts += ["\n"] * (number > 0) + [prefix] * indented + [line]
    return concatenate(parts)


def _tojson(
    context: Any,
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> Tracked:
    if indent is not None:
        indent = _small(indent)
    if separators is not None:
        separators = tuple(str(item)[:WIDEST] for item in separators)
    try:
        text = json.dumps(
            value,
            ensure_ascii=bool(ensure_ascii),
            indent=indent,
            separators=separators,
            sort_keys=bool(sort_keys),
        )
    except (TypeError, ValueError) as error:
        raise ChatTemplateError(f"tojson: {error}") from None
    return Tracked(text)


def _small(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value <= 16:
        raise ChatTemplateError("an indent is a number from 0 to 16")
    return int(value)


def _replace(context: Any, s: Any, old: str, new: str, count: int | None = None) -> Tracked:
    text, new = _text(s), _text(new)
    context.environment.budget.charge_product(str.count(text, old), len(new))
    return text.replace(old, new, -1 if count is None else count)


def _default(context: Any, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    return default_value if isinstance(value, Undefined) or (boolean and not value) else value


def _items(context: Any, value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Undefined):
        return []
    if not isinstance(value, dict):
        raise ChatTemplateError("items: a dictionary is needed")
    return list(value.items())


def _last(context: Any, value: Any) -> Any:
    listed = value if isinstance(value, list | tuple | str) else list(value)
    return listed[-1] if len(listed) else context.environment.undefined(name="last")


def _first(context: Any, value: Any) -> Any:
    return next(iter(value), context.environment.undefined(name="first"))


def _attributes(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return one of Jinja's filters over the items of a list, made a list."""
    return lambda context, value, *args, **kwargs: list(choose(context, value, *args, **kwargs))


def _of_environment(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda context, value, *args, **kwargs: function(context.environment, value, *args, **kwargs)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda context, value, *args, **kwargs: function(value, *args, **kwargs)


def _number(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    def convert(context: Any, value: Any, default: Any = 0) -> Any:
        try:
            return kind(value) if not isinstance(value, str) or len(value) <= 32 else default
        except (TypeError, ValueError, OverflowError):
            return default

    return convert


FILTERS: dict[str, Callable[..., Any]] = {
    "_concatenate": _concatenate,
    "abs": _plain(abs),
    "capitalize": lambda context, s: _text(s).capitalize(),
    "count": _plain(len),
    "d": _default,
    "default": _default,
    "dictsort": _of_environment(lambda environment, value: sorted(value.items())),
    "first": _first,
    "float": _number(float),
    "indent": _indent,
    "int": _number(int),
    "items": _items,
    "join": _join,
    "last": _last,
    "length": _plain(len),
    "list": _plain(list),
    "lower": lambda context, s: _text(s).lower(),
    "map": _attributes(jinja.do_map),
    "max": _of_environment(jinja.do_max),
    "min": _of_environment(jinja.do_min),
    "reject": _attributes(jinja.do_reject),
    "rejectattr": _attributes(jinja.do_rejectattr),
    "replace": _replace,
    "reverse": _plain(lambda value: value[::-1] if isinstance(value, str) else list(value)[::-1]),
    "safe": lambda context, s: _text(s),
    "select": _attributes(jinja.do_select),
    "selectattr": _attributes(jinja.do_selectattr),
    "sort": _of_environment(jinja.do_sort),
    "string": lambda context, s: _text(s),
    "title": lambda context, s: _text(s).title(),
    "tojson": _tojson,
    "trim": lambda context, s, chars=None: _text(s).strip(chars),
    "unique": _of_environment(lambda environment, *a, **k: list(jinja.do_unique(environment, *a, **k))),
    "upper": lambda context, s: _text(s).upper(),
}
"""By name; each takes Jinja's context and the value."""
